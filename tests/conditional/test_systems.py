"""The products that the iterations are made of, for any vector, against dense matrices."""

import numpy as np
import pytest
import torch

from tests.oracles.conditional import centering, complete_edges, pair_kernel_matrix, random_kernel, random_labels
from torchrank.conditional import KroneckerRLS, PairKernel, kron_edge_rls, kron_iterative_rls, kron_rls
from torchrank.conditional.systems import CompleteSystem, EdgeSystem
from torchrank.linalg import psd_eigh

P = 5
K = random_kernel(P, 3, 1)
EDGES = complete_edges(P, P)


def dense(edges, relation, query, symmetric, lam):
    """``L G L + lam I`` or ``L G + lam I`` on listed edges, and L."""
    places = edges[:, 0] * P + edges[:, 1]
    G = pair_kernel_matrix(K, K, relation)[places][:, places]
    eye = torch.eye(len(edges), dtype=torch.float64)
    L = eye if query is None else centering(edges[:, query])
    return L @ G @ (L if symmetric else eye) + lam * eye, L


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("query", [None, 0, 1])
@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
def test_products_with_any_vector(relation, query, symmetric):
    eigen = psd_eigh(K)
    some = torch.cat([EDGES[::2], EDGES[:3]])  # not all, and some of them twice
    kernel = PairKernel(K, relation=relation, out_edges=some, in_edges=some)
    on_edges = EdgeSystem(kernel, None if query is None else some[:, query])
    for edges, system in ((some, on_edges), (EDGES, CompleteSystem(eigen, eigen, query, relation))):
        v = random_labels(len(edges), seed=3)
        shape = (len(edges),) if system is on_edges else (P, P)
        A, L = dense(edges, relation, query, symmetric, 0.7)
        inside = system.from_duals(v.reshape(shape).clone())
        product = system.to_duals(system.product(inside.clone(), 0.7, symmetric)).reshape(-1)
        torch.testing.assert_close(product, A @ v, rtol=0, atol=1e-11)
        for centered in (system.center(inside), system.right_side(v.reshape(shape))):
            torch.testing.assert_close(system.to_duals(centered).reshape(-1), L @ v, rtol=0, atol=1e-12)


def test_one_kernel_for_two_sets_of_nodes():
    x, z, F = random_labels(4, 2, seed=1), random_labels(3, 2, seed=2), random_labels(4, 3)
    model = KroneckerRLS(lambda a, b: a @ b.mT, x, z, lam=0.5)
    duals = kron_rls(x @ x.mT, z @ z.mT, F, 0.5)
    expected = (x @ x.mT) @ duals @ (z @ z.mT)
    model.fit(F)
    torch.testing.assert_close(model(x, z), expected, rtol=0, atol=1e-12)
    model.fit_edges(complete_edges(4, 3), F.reshape(-1), tol=1e-13)
    torch.testing.assert_close(model(x, z), expected, rtol=0, atol=1e-9)


def test_unknown_directions_are_named():
    for solve, labels in ((kron_edge_rls, ([[0, 1]], [1.0], 1.0)), (kron_iterative_rls, (np.eye(2), 1.0))):
        with pytest.raises(ValueError, match="direction='sideways'"):
            solve(np.eye(2), None, *labels, loss="ranking", direction="sideways")
