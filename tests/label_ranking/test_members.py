"""MM-PL of several members, and gates that see features through a map."""

import itertools
import math

import numpy as np
import pytest
import torch

from torchrank import MMPL, Batches, EMSettings, rank
from torchrank.label_ranking.metric import ridge_metric
from torchrank.metrics import label_ranking_loss

N = math.nan
SETTINGS = EMSettings(n_updates=2000)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def rows(n=200, seed=0, d=4):
    """Three labels in the order of linear functions of two of the features, which others hide."""
    X = torch.randn(n, d, dtype=torch.float64, generator=seeded(seed))
    Y = X[:, :2] @ torch.tensor([[2.0, 0.0, -2.0], [0.0, 2.0, -2.0]], dtype=torch.float64)
    Y = Y + 0.1 * torch.randn(n, 3, dtype=torch.float64, generator=seeded(seed + 1))
    return X, Y.argsort(-1).argsort(-1).double() + 1


def model_of(n_members, metric, dtype=torch.float64):
    torch.manual_seed(1)
    model = MMPL(4, 3, 2, 3, n_members=n_members, metric=metric, sigma=0.9, dtype=dtype)
    with torch.no_grad():
        model.logits.normal_()
        model.log_sigma += torch.linspace(0, 0.4, n_members)
        if model.metric is not None:
            model.metric.normal_()
    return model


def log_prob(model, x, order):
    """By definition: the mean over the members of what each says, clusters and choices one by one."""
    K, M, B = len(model.logits), len(model.prototypes), model.n_members
    seen = x if model.metric is None else x @ model.metric
    total = 0.0
    for b in range(B):
        mine = range(b * M // B, (b + 1) * M // B)
        width = float(model.log_sigma[b].exp())
        distances = {p: float((seen - model.prototypes[p]).square().sum()) for p in mine}
        near = {p: math.exp(-distance / 2 / width**2) for p, distance in distances.items()}
        for k in range(b * K // B, (b + 1) * K // B):
            gate = sum(near[p] for p in mine if model.membership[p] == k) / sum(near.values())
            left, chance = [float(v) for v in model.logits[k].exp()], 1.0
            remaining = list(range(3))
            for label in order:
                chance *= left[label] / sum(left[j] for j in remaining)
                remaining.remove(label)
            total += gate * chance / B
    return math.log(total)


@pytest.mark.parametrize("metric", ["euclidean", "ridge"])
@pytest.mark.parametrize("n_members", [1, 3])
def test_it_is_one_mixture(n_members, metric):
    model, (X, _) = model_of(n_members, metric), rows(5)
    with torch.no_grad():
        for x in X:
            logs = []
            for order in itertools.permutations(range(3)):
                scores = torch.empty(1, 3, dtype=torch.float64)
                scores[0, list(order)] = torch.tensor([3.0, 2, 1], dtype=torch.float64)
                logs.append(float(model.log_prob(x[None], scores)))
                assert logs[-1] == pytest.approx(log_prob(model, x, order), abs=1e-10)
            assert sum(map(math.exp, logs)) == pytest.approx(1)
        torch.testing.assert_close(model(X).exp().sum(-1), torch.ones(5, dtype=torch.float64))


@pytest.mark.parametrize("metric", ["euclidean", "ridge"])
def test_gradients(metric):
    model, (X, Y) = model_of(2, metric), rows(6)
    names, values = zip(*model.named_parameters(), strict=True)
    assert ("metric" in names) == (metric == "ridge")

    def loss(*values):
        parameters = {f"model.{name}": value for name, value in zip(names, values, strict=True)}
        return torch.func.functional_call(Likelihood(model), parameters, (X, Y))

    assert torch.autograd.gradcheck(loss, tuple(v.detach().requires_grad_() for v in values))


class Likelihood(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, X, Y):
        return self.model.log_prob(X, Y)


def test_predictions_are_those_of_the_members_together():
    model, (X, _) = model_of(3, "euclidean"), rows(20)
    alone = []
    for b in range(3):
        one = MMPL(4, 3, 2, 3, dtype=torch.float64)
        with torch.no_grad():
            for name in ("prototypes", "logits", "log_sigma"):
                getattr(one, name).copy_(getattr(model, name).chunk(3)[b])
        alone.append(one)
    for method in ("nearest", "mixture"):
        together = torch.stack([one.predict(X, method=method) for one in alone]).mean(0)
        torch.testing.assert_close(model.predict(X, method=method), together)
    gates = torch.cat([one(X).exp() for one in alone], -1) / 3
    torch.testing.assert_close(model(X).exp(), gates)
    assert model.predict_cluster(X).equal(gates.argmax(-1))
    assert model.central_orders.shape == (6, 3)


def test_the_ridge_metric():
    X, Y = rows(50)
    Y[0, 1] = N
    ranks = rank(Y, missing="interleaving").ranks
    A = ridge_metric(X, ranks, "interleaving", 3.0)
    torch.testing.assert_close(A[:, :4], torch.eye(4, dtype=torch.float64) / 2)
    votes = Y.clone()
    votes[0, 1] = 2  # of the two others, the better one can expect 4 times 2/3 votes, the other one 4 times 1/3
    votes[0, [0, 2]] = torch.tensor([8.0, 4.0] if Y[0, 0] > Y[0, 2] else [4.0, 8.0], dtype=torch.float64) / 3
    votes = (votes - votes.mean(0)) / math.sqrt(2)
    stacked = torch.cat([X - X.mean(0), torch.eye(4, dtype=torch.float64)])  # ridge as rows of its own
    solution = np.linalg.lstsq(stacked.numpy(), torch.cat([votes, torch.zeros(4, 3)]).numpy(), rcond=None)[0]
    np.testing.assert_allclose(A[:, 4:] / 3, solution, rtol=0, atol=1e-12)
    assert not ridge_metric(X, ranks, "topk", 0.0)[:, 4:].any()


def test_one_member_is_as_it_was():
    X, Y = rows()
    plain, one = (MMPL(4, 3, 2, 3, dtype=torch.float64) for _ in range(2))
    evidence = [model.fit(X, Y, SETTINGS, generator=seeded()) for model in (plain, one)]
    assert evidence[0].objective == evidence[1].objective
    mapped = MMPL(4, 3, 2, 3, metric="ridge", dtype=torch.float64)
    mapped.fit(X, Y, SETTINGS, generator=seeded())
    on_map = MMPL(7, 3, 2, 3, dtype=torch.float64)
    on_map.fit(X @ mapped.metric.detach(), Y, SETTINGS, generator=seeded())
    assert on_map.prototypes.equal(mapped.prototypes)


def test_members_learn_more_than_one():
    (X, Y), (more, truth) = rows(300, d=10), rows(1000, seed=5, d=10)
    losses = {}
    for n_members, metric in itertools.product((1, 8), ("euclidean", "ridge")):
        model = MMPL(10, 3, 10, 3, n_members=n_members, metric=metric, dtype=torch.float64)
        evidence = model.fit(X, Y, SETTINGS, generator=seeded())
        assert len(evidence.losses) == n_members
        assert len(evidence.objective) == evidence.n_iter
        assert evidence.reason == "schedule"
        losses[n_members, metric] = label_ranking_loss(truth, model.predict(more, method="mixture").detach())
    assert losses[8, "euclidean"] < losses[1, "euclidean"]
    assert losses[1, "ridge"] < losses[1, "euclidean"]
    assert losses[8, "ridge"] < losses[8, "euclidean"]


def test_words_of_rows_missing_labels_and_the_same_again():
    X, Y = rows()
    Y[::3, 0], Y[1::3, :2] = N, N  # a third of the rows teach nothing, unless they are top lists
    words = ["topk" if k % 2 else "interleaving" for k in range(len(X))]
    models = [MMPL(4, 3, 2, 3, n_members=3, metric="ridge", dtype=torch.float64) for _ in range(2)]
    for model in models:
        model.fit(X, Y, SETTINGS, missing=words, generator=seeded())
    assert models[0].logits.equal(models[1].logits)
    prepared = MMPL(4, 3, 2, 3, n_members=3, metric="ridge", dtype=torch.float64)
    prepared.fit(X, rank(Y, missing=words), SETTINGS, generator=seeded())
    assert prepared.logits.equal(models[0].logits)


def test_forms():
    model = model_of(3, "ridge", torch.float32)
    assert "n_features=4, n_labels=3, n_clusters=2, n_prototypes=3" in repr(model)
    assert "n_members=3, metric='ridge'" in repr(model)
    other = MMPL(4, 3, 2, 3, n_members=3, metric="ridge")
    other.load_state_dict(model.state_dict())
    X = rows(5)[0].float()
    assert other.predict(X).equal(model.predict(X))
    assert model.half()(X.half()).dtype == torch.float32
    X, Y = rows(40)
    validated = MMPL(4, 3, 2, 3, n_members=2, metric="ridge", dtype=torch.float64)
    assert (
        len(validated.fit(X, Y, EMSettings(n_updates=100, n_init=2), validation=rows(20), generator=seeded()).losses)
        == 4
    )


def test_a_fit_that_fails_leaves_the_metric_as_it_was():
    X, Y = rows(40)
    model = MMPL(4, 3, 2, 3, metric="ridge", dtype=torch.float64)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(ValueError, match="validation Y has 2 columns"):
        model.fit(X, Y, SETTINGS, validation=(X, Y[:, :2]))
    assert all(value.equal(before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MMPL(2, 3, 4, n_members=0), "n_members=0"),
        (lambda: MMPL(2, 3, 4, metric="cosine"), "metric='cosine'"),
        (lambda: EMSettings(metric_weight=-1.0), "metric_weight=-1.0"),
        (lambda: MMPL(4, 3, 2, n_members=2).fit(Batches(rows(9))), "one member"),
        (lambda: MMPL(4, 3, 2, metric="ridge").fit(Batches(rows(9))), "one member"),
        (lambda: MMPL(4, 3, 2, metric="ridge", dtype=torch.float64)(rows(9)[0][:, :3]), r"expected \(N, 4\)"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
