"""The ranking loss where the labels of a query are equal: nothing is to be learned, and rounding is not iterated on."""

import numpy as np
import pytest
import torch

from tests.oracles.conditional import centering, complete_edges, pair_kernel_matrix, random_kernel, random_labels
from torchrank.conditional import KroneckerRLS, kron_edge_rls, kron_iterative_rls
from torchrank.estimators import KroneckerRLS as Estimator

P = 12
K = random_kernel(P, P, 1)
OFFSET = random_labels(P, 1)
EQUAL = {
    "equal": OFFSET.expand(P, P),
    "one number": torch.full((P, P), 0.1, dtype=torch.float64),
    "equal up to rounding": OFFSET * (1 + 2.0**-52 * (torch.arange(P) % 5)),
    "large": 1e30 * OFFSET.expand(P, P),
    "small": 1e-30 * OFFSET.expand(P, P),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("method", ["cg", "bicgstab"])
@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
@pytest.mark.parametrize("direction", ["outgoing", "incoming"])
@pytest.mark.parametrize("kind", EQUAL)
def test_equal_labels_need_no_iteration(kind, direction, relation, method, dtype):
    F = EQUAL[kind].to(dtype)
    F = F if direction == "outgoing" else F.mT
    options = {"loss": "ranking", "direction": direction, "relation": relation, "method": method}
    complete = kron_iterative_rls(K.to(dtype), None, F, 1.0, **options)
    on_edges = kron_edge_rls(K.to(dtype), None, complete_edges(P, P), F.reshape(-1), 1.0, **options)
    for fit in (complete, on_edges):
        assert (fit.n_iter, fit.converged, fit.objective) == (0, True, (0.0,))
        assert not bool(fit.duals.any())
        assert not bool(fit.pair_duals.any())


@pytest.mark.parametrize("direction", ["outgoing", "incoming"])
def test_small_differences_of_one_query_stay_beside_large_labels_of_another(direction):
    F = random_labels(P, P) * 1e-9
    F[0] = 1e9 + 1e-8  # one query has nothing to say, at a size beside which the others vanish
    F = F if direction == "outgoing" else F.mT
    y, edges = F.reshape(-1), complete_edges(P, P)
    L = centering(edges[:, 0 if direction == "outgoing" else 1])
    G = pair_kernel_matrix(K, K)
    centered = F - F.mean(1 if direction == "outgoing" else 0, keepdim=True)
    centered[(0, slice(None)) if direction == "outgoing" else (slice(None), 0)] = 0
    expected = torch.linalg.solve(L @ G @ L + torch.eye(P * P, dtype=torch.float64), centered.reshape(-1))
    options = {"loss": "ranking", "direction": direction, "tol": 1e-13}
    for fit in (kron_iterative_rls(K, None, F, 1.0, **options), kron_edge_rls(K, None, edges, y, 1.0, **options)):
        torch.testing.assert_close(fit.duals.reshape(-1), expected, rtol=0, atol=1e-6 * float(expected.abs().max()))


def test_modules_and_estimators_pass_equal_labels_on():
    edges = complete_edges(P, P)[::2]
    y = OFFSET[edges[:, 0], 0]
    model = KroneckerRLS(lambda a, b: a @ b.mT, torch.eye(P, dtype=torch.float64), loss="ranking")
    assert model.fit_edges(edges, y).n_iter == 0
    assert not bool(model.duals.any())
    estimator = Estimator(nodes=np.eye(P), loss="ranking").fit(edges.numpy(), y.numpy())
    assert (estimator.n_iter_, estimator.converged_) == (0, True)
    assert not estimator.pair_duals_.any()


def test_equal_labels_have_gradients():
    y = torch.full((5,), 0.1, dtype=torch.float64, requires_grad=True)
    edges = torch.tensor([[0, 0], [0, 1], [0, 2], [1, 0], [1, 2]])

    def duals(y):
        return kron_edge_rls(K[:3, :3], None, edges, y, 1.0, loss="ranking", tol=1e-14).duals

    assert torch.autograd.gradcheck(duals, y)
