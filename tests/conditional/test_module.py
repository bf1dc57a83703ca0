import math

import numpy as np
import pytest
import torch
from torch import nn

from tests.oracles.conditional import complete_edges, random_labels
from torchrank.conditional import KroneckerRLS, conditional_rank_loss, kron_edge_rls, kron_rank_rls, kron_rls


class Gaussian(nn.Module):
    def __init__(self, width=1.0):
        super().__init__()
        self.log_width = nn.Parameter(torch.tensor(math.log(width), dtype=torch.float64))

    def forward(self, x, y):
        return (-(x[:, None] - y[None]).square().sum(-1) / (2 * self.log_width.exp() ** 2)).exp()


X, Z = random_labels(6, 2, seed=1), random_labels(5, 3, seed=2)


def test_fit_and_scores_on_one_set_of_nodes():
    model, F, new = KroneckerRLS(Gaussian(), X, lam=0.3), random_labels(6, 6), random_labels(4, 2, seed=5)
    assert model(new).abs().max() == 0
    evidence = model.fit(F)
    K, K_new = model.kernel(X, X), model.kernel(new, X)
    expected = K_new @ kron_rls(K, None, F, 0.3) @ K_new.mT
    torch.testing.assert_close(model(new), expected, rtol=0, atol=1e-12)
    assert (evidence.objective, evidence.n_iter, evidence.converged, evidence.reason) == ((), 0, True, "closed form")
    model.requires_grad_(False)
    loss = (F - model(X)).square().sum() + 0.3 * (model.duals * model(X)).sum()
    assert evidence.losses == pytest.approx((float(loss),), rel=1e-12)
    torch.testing.assert_close(model.score_pairs(new[:3], new[1:]), expected.diagonal(1), rtol=0, atol=1e-12)


def test_two_sets_of_nodes_and_the_ranking_loss():
    model = KroneckerRLS(Gaussian(), X, Z, kernel_end=Gaussian(3.0), loss="ranking", direction="incoming", lam=2.0)
    F = random_labels(6, 5)
    model.fit(F)
    Ks, Ke = model.kernel(X, X), model.kernel_end(Z, Z)
    A = kron_rank_rls(Ks, Ke, F, 2.0, direction="incoming")
    torch.testing.assert_close(model(X[:2], Z[:3]), Ks[:2] @ A @ Ke[:3].mT, rtol=0, atol=1e-12)
    assert {name for name, _ in model.named_parameters()} == {"log_lam", "kernel.log_width", "kernel_end.log_width"}


def test_edges():
    model, edges, y = KroneckerRLS(Gaussian(), X, relation="reciprocal"), complete_edges(6, 6)[::2], random_labels(18)
    fit = model.fit_edges(edges, y, tol=1e-12)
    expected = kron_edge_rls(model.kernel(X, X).detach(), None, edges, y, 1.0, relation="reciprocal", tol=1e-12)
    assert fit.converged
    torch.testing.assert_close(model.duals, expected.pair_duals, rtol=0, atol=1e-11)
    torch.testing.assert_close(model(X), -model(X).mT, rtol=0, atol=1e-12)


def test_state_dict_is_the_whole_model():
    model = KroneckerRLS(Gaussian(), X, lam=0.3)
    model.fit(random_labels(6, 6))
    other = KroneckerRLS(Gaussian(7.0), torch.zeros(6, 2, dtype=torch.float64))
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(X[:3]), model(X[:3]))
    assert set(model.state_dict()) == {"x_start", "duals", "log_lam", "kernel.log_width"}


def test_parameters_learn_through_the_duals():
    target = Gaussian(0.7)
    F = (target(X, X) @ random_labels(6, 6) @ target(X, X)).detach()
    model = KroneckerRLS(Gaussian(3.0), X[:4], lam=1.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = (model(X[4:], X[:4], duals=model.solve(F[:4, :4])) - F[4:, :4]).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.9 * losses[0]
    assert 0 < model.kernel.log_width.exp().item() < 3.0


def test_gradcheck_with_respect_to_parameters():
    model, F = KroneckerRLS(Gaussian(), X, lam=0.5, loss="ranking"), random_labels(6, 6)

    def scores(log_width, log_lam):
        parameters = {"kernel.log_width": log_width, "log_lam": log_lam}
        return torch.func.functional_call(_Solve(model), {f"model.{k}": v for k, v in parameters.items()}, (F,))

    inputs = (model.kernel.log_width.detach().clone(), model.log_lam.detach().clone())
    assert torch.autograd.gradcheck(scores, tuple(x.requires_grad_() for x in inputs))


class _Solve(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, F):
        return self.model(X[:3], duals=self.model.solve(F))


def test_features_in_single_precision_lose_no_digits_in_the_duals():
    v = torch.arange(1.0, 9.0)[:, None]
    model = KroneckerRLS(lambda x, y: x @ y.mT, v, lam=1e-3)
    model.fit(torch.ones(8, 8))
    assert model(v).dtype == torch.float32
    assert float(model(v)[7, 7].detach()) == pytest.approx(1.993080, abs=1e-6)


def test_refusals_and_repr():
    with pytest.raises(ValueError, match=r"lam=0.0"):
        KroneckerRLS(Gaussian(), X, lam=0.0)
    with pytest.raises(ValueError, match="kernel_end is for a second set of nodes"):
        KroneckerRLS(Gaussian(), X, kernel_end=Gaussian())
    with pytest.raises(ValueError, match=r"relation='symmetric' needs one set of nodes"):
        KroneckerRLS(Gaussian(), X, Z, relation="symmetric")
    with pytest.raises(ValueError, match="x_end is missing: start and end nodes are two sets"):
        KroneckerRLS(Gaussian(), X, X[:5])(X)
    assert "nodes=(6, 5), loss='regression'" in repr(KroneckerRLS(Gaussian(), X, Z, kernel_end=Gaussian()))


@pytest.mark.parametrize("normalization", ["pair", "node"])
def test_rank_loss_follows_the_definition(normalization):
    groups = torch.tensor([2, 0, 2, 0, 2, 4])  # queries 1 and 3 have no edges, 4 has one
    f, y = random_labels(6), random_labels(6, seed=3)
    by_query: dict[int, list[float]] = {}
    for i in range(6):
        for j in range(6):
            if i != j and groups[i] == groups[j]:
                by_query.setdefault(int(groups[i]), []).append(float(((y[i] - y[j]) - (f[i] - f[j])) ** 2))
    means = [sum(v) / len(v) for v in by_query.values()]
    pairs = [value for values in by_query.values() for value in values]
    expected = sum(pairs) / len(pairs) if normalization == "pair" else sum(means) / len(means)
    assert float(conditional_rank_loss(f, y, groups, normalization=normalization)) == pytest.approx(expected, rel=1e-13)
    assert torch.autograd.gradcheck(
        lambda f: conditional_rank_loss(f, y, groups, normalization=normalization), f.requires_grad_()
    )


@pytest.mark.parametrize("normalization", ["pair", "node"])
def test_rank_loss_without_pairs_is_zero_with_zero_gradient(normalization):
    f = torch.tensor([1.0, 2.0], requires_grad=True)
    conditional_rank_loss(f, torch.zeros(2), torch.tensor([0, 1]), normalization=normalization).backward()
    assert f.grad.tolist() == [0, 0]
    empty = torch.zeros(0, requires_grad=True)
    assert conditional_rank_loss(empty, torch.zeros(0), torch.zeros(0, dtype=torch.int64)).tolist() == 0


def test_rank_loss_refuses_other_shapes():
    with pytest.raises(ValueError, match=r"have shapes \(2,\), \(3,\), \(2,\)"):
        conditional_rank_loss(torch.zeros(2), torch.zeros(3), torch.zeros(2, dtype=torch.int64))


def test_rank_loss_takes_numpy_and_integers_and_names_bad_groups():
    scores, y, groups = [1.0, 1, 1, 5], [3, 1, 2, 7], [0, 0, 0, 1]
    expected = (2**2 + 1 + 1) / 3  # over the pairs of the first query
    result = conditional_rank_loss(np.array(scores), np.array(y), np.array(groups))
    assert isinstance(result, np.ndarray)
    assert float(result) == pytest.approx(expected)
    tensors = torch.tensor(scores).int(), torch.tensor(y), torch.tensor(groups)
    assert float(conditional_rank_loss(*tensors)) == pytest.approx(expected)
    with pytest.raises(TypeError, match="groups have dtype"):
        conditional_rank_loss(torch.ones(2), torch.ones(2), torch.zeros(2))
    with pytest.raises(ValueError, match=r"groups\[1\] is -1"):
        conditional_rank_loss(torch.ones(2), torch.ones(2), torch.tensor([0, -1]))
    with pytest.raises(TypeError, match="complex"):
        conditional_rank_loss(torch.ones(2) * 1j, torch.ones(2), torch.tensor([0, 0]))


def test_numpy_features_become_buffers():
    x = np.random.default_rng(0).normal(size=(5, 2))
    model = KroneckerRLS(lambda a, b: a @ b.mT, x, x[:3])
    assert {name: tuple(buffer.shape) for name, buffer in model.named_buffers()} == {
        "x_start": (5, 2),
        "x_end": (3, 2),
        "duals": (5, 3),
    }


def nearly_unsymmetric(x, y):
    return torch.exp(-torch.cdist(x, y).square() / 20) * (1 + torch.finfo(x.dtype).eps * torch.arange(len(y)))


@pytest.mark.parametrize("kernel", [lambda x, y: x @ y.mT, nearly_unsymmetric])
def test_rounding_of_a_float32_kernel_is_judged_as_such(kernel):
    x, F = random_labels(30, 3).float(), random_labels(30, 30)
    model, exact = (KroneckerRLS(kernel, x.to(dtype), lam=0.1) for dtype in (torch.float32, torch.float64))
    for either in (exact, model):
        either.fit(F)
    expected = exact(x.double())
    torch.testing.assert_close(model(x).double(), expected, rtol=0, atol=1e-3)
    assert model.duals.dtype == torch.float64
    model.fit_edges(complete_edges(30, 30), F.reshape(-1))
    torch.testing.assert_close(model(x).double(), expected, rtol=0, atol=1e-3)


def test_loading_a_state_leaves_the_callers_features_alone():
    x, other = torch.zeros(3, 2, dtype=torch.float64), torch.ones(3, 2, dtype=torch.float64)
    KroneckerRLS(x, x).load_state_dict(KroneckerRLS(other, other).state_dict())
    assert not x.any()
