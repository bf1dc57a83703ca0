import copy
import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from tests.label_ranking.rows import seeded
from tests.oracles import label_ranking as oracle
from torchrank.label_ranking.mm_pl import MMPL

NAN = math.nan


def random_problem(seed=0, N=7, d=3, L=4, K=3, P=2, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, d))
    Y = rng.permuted(np.broadcast_to(np.arange(1.0, L + 1), (N, L)), axis=1)
    Y[rng.random(Y.shape) < missing] = NAN
    torch.manual_seed(seed)
    model = MMPL(d, L, K, P, sigma=0.8, dtype=torch.float64)
    with torch.no_grad():
        model.logits.normal_()
    model.membership.copy_(torch.from_numpy(rng.permutation(model.membership.numpy())))
    return torch.from_numpy(X), torch.from_numpy(Y), model


def expected_log_prob(model, X, Y, missing="interleaving"):
    parameters = (model.prototypes, model.membership, model.logits)
    arrays = [p.detach().numpy() for p in parameters]
    return oracle.log_likelihood(X.numpy(), Y.numpy(), *arrays, model.sigma.item(), missing)


def test_gates_are_those_of_the_definition():
    X, _, model = random_problem()
    expected = [
        oracle.gates(x, model.prototypes.detach().numpy(), model.membership.tolist(), 0.8, 3) for x in X.numpy()
    ]
    np.testing.assert_allclose(model(X).exp().detach(), expected, rtol=1e-12)


@pytest.mark.parametrize("missing", ["interleaving", "topk"])
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_log_prob_sums_over_rankings_that_agree(missing, rate):
    X, Y, model = random_problem(1, missing=rate)
    np.testing.assert_allclose(
        model.log_prob(X, Y, missing=missing).detach(), expected_log_prob(model, X, Y, missing), rtol=1e-12, atol=1e-15
    )


def test_rows_of_both_kinds_in_one_call():
    X, Y, model = random_problem(2, missing=0.4)
    words = ["topk" if row % 2 == 0 else "interleaving" for row in range(len(X))]
    topk = torch.arange(len(X)) % 2 == 0
    expected = torch.where(topk, model.log_prob(X, Y, missing="topk"), model.log_prob(X, Y))
    for missing in (words, tuple(words), np.array(words), np.array(words, dtype=object)):
        torch.testing.assert_close(model.log_prob(X, Y, missing=missing), expected, rtol=0, atol=0)
    for word in ("topk", "interleaving"):
        assert torch.equal(model.log_prob(X, Y, missing=[word] * len(X)), model.log_prob(X, Y, missing=word))


def test_probabilities_of_all_rankings_sum_to_one():
    X, _, model = random_problem(N=1)
    from itertools import permutations

    Y = torch.tensor(list(permutations(range(4))), dtype=torch.float64)
    total = model.log_prob(X.expand(len(Y), -1), Y).exp().sum()
    assert total.item() == pytest.approx(1, abs=1e-12)


def test_one_pair_as_a_partial_and_as_a_top_list():
    model = MMPL(1, 4, 1, 1, dtype=torch.float64)
    torch.nn.init.zeros_(model.logits)
    X, Y = torch.zeros(1, 1, dtype=torch.float64), torch.tensor([[2.0, 1.0, NAN, NAN]], dtype=torch.float64)
    assert model.log_prob(X, Y).item() == pytest.approx(math.log(1 / 2), abs=1e-14)
    assert model.log_prob(X, Y, missing="topk").item() == pytest.approx(math.log(1 / 12), abs=1e-14)


def test_order_is_read_best_first():
    model = MMPL(1, 3, 1, 1, dtype=torch.float64)
    with torch.no_grad():
        model.logits.copy_(torch.tensor([[3.0, 2.0, 1.0]], dtype=torch.float64).log())
    Y = torch.tensor([[2.0, 1.0, 3.0]], dtype=torch.float64)  # label 2, then 0, then 1
    assert model.log_prob(torch.zeros(1, 1).double(), Y).exp().item() == pytest.approx(0.1, abs=1e-14)


@pytest.mark.parametrize("shift", [0.0, 998.0])
def test_large_log_scores_do_not_overflow(shift):
    model = MMPL(1, 3, 1, 1, dtype=torch.float64)
    with torch.no_grad():
        model.logits.copy_(torch.tensor([[2.0, 1.0, 0.0]]) + shift)
    Y = torch.tensor([[3.0, 2.0, 1.0]], dtype=torch.float64)
    assert -model.log_prob(torch.zeros(1, 1).double(), Y).item() == pytest.approx(0.72086765, abs=1e-8)


def test_rows_without_a_pair_are_certain_and_have_no_gradient():
    X, Y, model = random_problem(N=3)
    Y[0], Y[1, 1:], Y[2] = NAN, NAN, NAN
    for missing in ("interleaving", "topk"):
        model.zero_grad()
        log_prob = model.log_prob(X, Y, missing=missing)
        assert log_prob[[0, 2]].abs().max() < 1e-15
        log_prob[[0, 2]].sum().backward()
        assert model.prototypes.grad is not None
        assert model.prototypes.grad.abs().max() < 1e-15
        assert model.logits.grad is None or model.logits.grad.abs().max() == 0
    assert model.log_prob(X, Y)[1].abs() < 1e-15


def test_gates_far_from_all_prototypes():
    model = MMPL(1, 2, 2, 1, sigma=1.0, dtype=torch.float64)
    with torch.no_grad():
        model.prototypes.copy_(torch.tensor([[100.0], [99.0]]))
    gates = model(torch.zeros(1, 1, dtype=torch.float64)).exp()[0]
    assert gates[0].item() == pytest.approx(math.exp(-(100**2 - 99**2) / 2), rel=1e-9, abs=0)
    assert gates[1].item() == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_vanishing_width_leaves_the_nearest_prototype(dtype):
    X, Y, model = random_problem()
    model = model.to(dtype)
    model.sigma = 1e-30
    gates = model(X.to(dtype)).exp()
    assert torch.equal(gates.argmax(1), model.predict_cluster(X.to(dtype)))
    assert torch.equal(gates.sum(1), torch.ones(len(X), dtype=dtype))
    model.log_prob(X.to(dtype), Y.to(dtype)).sum().backward()
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("missing", ["interleaving", "topk"])
def test_gradients_are_those_of_finite_differences(missing):
    X, Y, model = random_problem(3, missing=0.3)

    def log_prob(prototypes, logits, log_sigma):
        values = {"prototypes": prototypes, "logits": logits, "log_sigma": log_sigma, "membership": model.membership}
        return torch.func.functional_call(
            _LogProb(model), {f"model.{k}": v for k, v in values.items()}, (X, Y, missing)
        )

    parameters = tuple(p.detach().clone().requires_grad_() for p in (model.prototypes, model.logits, model.log_sigma))
    assert gradcheck(log_prob, parameters)


class _LogProb(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, X, Y, missing):
        return self.model.log_prob(X, Y, missing=missing)


def test_gradient_is_the_corrected_equation_30():
    X, Y, model = random_problem(4, missing=0.3)
    model.log_prob(X, Y).sum().backward()
    with torch.no_grad():
        g, h = model(X).exp(), model.responsibilities(X, Y)
        squared = ((X[:, None] - model.prototypes) ** 2).sum(-1)
        w = (-squared / (2 * model.sigma**2)).softmax(-1)
        ratio = (h / g)[:, model.membership]
        step = -(w * (1 - ratio))[..., None] * (X[:, None] - model.prototypes) / model.sigma**2
    torch.testing.assert_close(model.prototypes.grad, step.sum(0), rtol=1e-11, atol=1e-13)
    slope = torch.zeros_like(model.logits)
    worths = model.logits.detach().exp()
    for n, scores in enumerate(Y):
        order = [int(i) for i in scores.argsort(descending=True) if not scores[i].isnan()]
        for k in range(len(slope)):
            for c, label in enumerate(order):
                passed = sum(1 / worths[k, order[i:]].sum() for i in range(c + 1))
                slope[k, label] += h[n, k] * (1 - worths[k, label] * passed)
    torch.testing.assert_close(model.logits.grad, slope, rtol=1e-11, atol=1e-13)
    assert model.logits.grad.sum(1).abs().max() < 1e-12  # the scale of scores is not identified


def test_responsibilities_far_apart():
    model = MMPL(1, 2, 2, 1, sigma=1.0, dtype=torch.float64)
    with torch.no_grad():
        model.prototypes.zero_()
        model.logits.copy_(torch.tensor([[50.0, -50.0], [-50.0, 50.0]]))
    Y = torch.tensor([[2.0, 1.0]], dtype=torch.float64)
    responsibilities = model.responsibilities(torch.zeros(1, 1).double(), Y)[0]
    assert responsibilities[0].item() == 1
    assert responsibilities[1].item() == pytest.approx(math.exp(-100), rel=1e-9, abs=0)


def test_predictions():
    X, _, model = random_problem(5)
    cluster = model.predict_cluster(X)
    nearest = ((X[:, None] - model.prototypes) ** 2).sum(-1).argmin(-1)
    assert torch.equal(cluster, model.membership[nearest])
    scores = model.predict(X)
    assert torch.equal(scores.argsort(dim=-1, descending=True), model.central_orders[cluster])
    assert torch.equal(scores.sort(dim=-1).values, torch.arange(1.0, 5).double().expand(len(X), -1))
    expected = torch.zeros(len(X), 4, dtype=torch.float64)
    g, v = model(X).exp().detach(), model.logits.detach().exp()
    for n in range(len(X)):
        for k in range(3):
            for i in range(4):
                expected[n, i] += g[n, k] * sum(v[k, i] / (v[k, i] + v[k, j]) for j in range(4) if j != i)
    torch.testing.assert_close(model.predict(X, method="mixture").detach(), expected, rtol=1e-12, atol=1e-12)


def test_state_dict_is_the_whole_model():
    X, Y, model = random_problem(6)
    model.fit(X, Y, generator=seeded(0))
    other = MMPL(3, 4, 3, 2, dtype=torch.float64)
    other.load_state_dict(copy.deepcopy(model.state_dict()))
    assert torch.equal(other.log_prob(X, Y), model.log_prob(X, Y))
    assert torch.equal(other.predict(X), model.predict(X))


def test_float32_agrees_with_float64():
    X, Y, model = random_problem(7, N=50)
    single = copy.deepcopy(model).float()
    result = single.log_prob(X.float(), Y.float())
    assert result.dtype == torch.float32
    torch.testing.assert_close(result.double(), model.log_prob(X, Y), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_compiled_graph_is_whole_and_agrees():
    X, Y, model = random_problem(8, missing=0.3)
    compiled = torch.compile(_LogProb(model), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(X, Y, "interleaving"), model.log_prob(X, Y), rtol=1e-12, atol=1e-12)
    compiled(X, Y, "interleaving").sum().backward()
    gradient = model.prototypes.grad.clone()
    model.zero_grad()
    model.log_prob(X, Y).sum().backward()
    torch.testing.assert_close(gradient, model.prototypes.grad, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="ties items"):
        compiled(X, torch.zeros_like(Y), "interleaving")


def test_anyones_optimizer_raises_the_likelihood():
    X, Y, model = random_problem(9, N=60)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    before = model.log_prob(X, Y).mean().item()
    for _ in range(50):
        optimizer.zero_grad()
        (-model.log_prob(X, Y).mean()).backward()
        optimizer.step()
    assert model.log_prob(X, Y).mean().item() > before + 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_labels": 1}, "n_labels=1"),
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_prototypes": 0}, "n_prototypes=0"),
        ({"sigma": 0.0}, r"sigma=0.0"),
        ({"sigma": NAN}, "sigma=nan"),
    ],
)
def test_sizes_are_checked(change, message):
    with pytest.raises(ValueError, match=message):
        MMPL(**{"n_features": 2, "n_labels": 3, "n_clusters": 2, **change})


def test_meta_device_gives_shapes():
    model = MMPL(3, 4, 2, device="meta")
    assert "n_labels=4" in repr(model)
    X, Y = torch.empty(7, 3, device="meta"), torch.empty(7, 4, device="meta")
    assert model(X).shape == (7, 2)
    assert model.log_prob(X, Y).shape == (7,)


def test_shapes_and_ties_are_refused():
    X, Y, model = random_problem()
    with pytest.raises(ValueError, match=r"X has shape \(7, 2\)"):
        model(X[:, :2])
    far = X.clone()
    far[2, 1] = math.inf
    for use in (model, model.predict, lambda features: model.log_prob(features, Y)):
        with pytest.raises(ValueError, match="X has inf at row 2, feature 1"):
            use(far)
    with pytest.raises(ValueError, match=r"Y has shape \(7, 3\)"):
        model.log_prob(X, Y[:, :3])
    for use in (model.log_prob, model.responsibilities):
        with pytest.raises(ValueError, match="X has 1 rows and Y 7"):
            use(X[:1], Y)
    with pytest.raises(TypeError, match="X is ndarray"):
        model(X.numpy())
    with pytest.raises(TypeError, match=r"X has dtype torch.float64 and the model torch.float32"):
        random_problem()[2].float().log_prob(X, Y)
    with pytest.raises(TypeError, match=r"X has dtype torch.float64 and the model torch.float32"):
        random_problem()[2].float().fit(X, Y)
    with pytest.raises(ValueError, match=r"X has features up to 1e\+200 at row 4"):
        model(X.index_fill(0, torch.tensor(4), 1e200))
    Y[2, 3] = Y[2, 1]
    with pytest.raises(ValueError, match="Y ties items 1 and 3 in row 2"):
        model.log_prob(X, Y)
    for missing, kind, message in (
        ("x", ValueError, "missing='x' is unknown; choose one of 'interleaving', 'topk'"),
        (
            ["topk"] * 3,
            ValueError,
            "missing has 3 words",
        ),
        (["topk"] * 6 + ["x"], ValueError, r"missing has 'x' for row 6"),
        (torch.ones(7, dtype=torch.bool), ValueError, "missing has True for row 0"),
        (5, ValueError, "missing=5"),
    ):
        with pytest.raises(kind, match=message):
            model.log_prob(X, Y[:1].expand(7, -1), missing=missing)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_agrees_with_the_cpu():
    X, Y, model = random_problem(3, missing=0.3)
    expected = model.log_prob(X, Y)
    torch.testing.assert_close(model.cuda().log_prob(X.cuda(), Y.cuda()).cpu(), expected, rtol=1e-12, atol=1e-12)
    evidence = model.fit(X.cuda(), Y.cuda(), generator=seeded(0))
    assert evidence.converged
    assert model.predict(X.cuda()).device.type == "cuda"
