"""Leave-out predictions against models trained again without what is left out."""

import pytest
import torch

from tests.oracles.conditional import (
    centering,
    complete_edges,
    edge_duals,
    pair_kernel_matrix,
    random_kernel,
    random_labels,
)
from torchrank.conditional import KroneckerEigh, two_step_loo, two_step_rls

SIDES = pytest.mark.parametrize("sides", [(2, 2, 2, 2), (4, 4, 3, 3), (5, 2, 4, 1), (3, 1, 6, 6)])
LAMS = pytest.mark.parametrize("lam", [0.05, 1.0, 20.0])


def kernels(sides):
    m, r, n, s = sides
    return random_kernel(m, r, 1), random_kernel(n, s, 2)


def refit(Ks, Ke, F, lam, exclude, loss, direction):
    """Train without one part after the other and predict it; the ranking loss adds the mean residual of what is left of
    the query, its best constant, where the query has edges left."""
    m, n = F.shape
    edges, G, y = complete_edges(m, n), pair_kernel_matrix(Ks, Ke), F.reshape(-1)
    out = torch.empty(m * n, dtype=torch.float64)
    groups = edges[:, 0 if direction == "outgoing" else 1] if loss == "ranking" else None
    for e in range(m * n):
        if exclude == "edge":
            kept = torch.arange(m * n) != e
        else:
            side = 0 if exclude == "start" else 1
            kept = edges[:, side] != edges[e, side]
        left = groups[kept] if groups is not None else None
        a = edge_duals(G[kept][:, kept], y[kept], lam, left)
        f = G[:, kept] @ a
        out[e] = f[e]
        if groups is not None and (same := kept & (groups == groups[e])).any():
            out[e] += (y - f)[same].mean()
    return out.reshape(m, n)


@LAMS
@SIDES
@pytest.mark.parametrize("direction", ["outgoing", "incoming"])
@pytest.mark.parametrize("loss", ["regression", "ranking"])
@pytest.mark.parametrize("exclude", ["edge", "start", "end", "query"])
def test_formulas_equal_refits(exclude, loss, direction, sides, lam):
    Ks, Ke = kernels(sides)
    F = random_labels(len(Ks), len(Ke))
    query = "start" if direction == "outgoing" else "end"
    expected = refit(Ks, Ke, F, lam, query if exclude == "query" else exclude, loss, direction)
    if loss == "ranking" and exclude in (query, "query"):
        expected = expected - expected.mean(1 if query == "start" else 0, keepdim=True)
    result = KroneckerEigh(Ks, Ke, loss=loss, direction=direction).loo(F, lam, exclude=exclude)
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("loss", ["regression", "ranking"])
@pytest.mark.parametrize("exclude", ["edge", "start", "end"])
def test_small_lam_loses_no_digits_and_zero_is_its_limit(exclude, loss):
    Ks, Ke = kernels((4, 4, 5, 5))
    F = random_labels(4, 5)
    solver = KroneckerEigh(Ks, Ke, loss=loss)
    exact = solver.loo(F, 0.0, exclude=exclude)
    torch.testing.assert_close(solver.loo(F, 1e-13, exclude=exclude), exact, rtol=1e-8, atol=1e-8)
    expected = refit(Ks, Ke, F, 1e-9, exclude, loss, "outgoing")
    if loss == "ranking" and exclude == "start":
        expected = expected - expected.mean(1, keepdim=True)
    torch.testing.assert_close(exact, expected, rtol=1e-4, atol=1e-4)


def test_many_lams_and_outputs_and_the_last_solve():
    Ks, Ke = kernels((3, 3, 4, 4))
    F, lam = random_labels(2, 3, 4), torch.tensor([0.1, 1.0, 10.0], dtype=torch.float64)
    solver = KroneckerEigh(Ks, Ke, loss="ranking")
    solver.solve(F, lam)
    for exclude in ("edge", "start", "end"):
        result = solver.loo(exclude=exclude)
        assert result.shape == (3, 2, 3, 4)
        torch.testing.assert_close(result[1, 1], solver.loo(F[1], 1.0, exclude=exclude), rtol=0, atol=1e-13)


def test_edges_of_a_ranking_without_one_are_on_the_scale_of_the_labels():
    K, F = random_kernel(6, 6, 1), random_labels(6, 6)
    solver = KroneckerEigh(K, loss="ranking")
    torch.testing.assert_close(solver.loo(F + 100, 1.0), solver.loo(F, 1.0) + 100, rtol=0, atol=1e-10)


def test_refusals():
    K, F = torch.eye(3, dtype=torch.float64), torch.eye(3, dtype=torch.float64)
    with pytest.raises(ValueError, match="exclude='node'"):
        KroneckerEigh(K).loo(F, 1.0, exclude="node")
    with pytest.raises(ValueError, match="pass both F and lam"):
        KroneckerEigh(K).loo(F)
    with pytest.raises(ValueError, match="hold for relation='ordinary', not 'symmetric'"):
        KroneckerEigh(K, relation="symmetric").loo(F, 1.0)
    with pytest.raises(ValueError, match="lam=0 with a singular kernel"):
        KroneckerEigh(random_kernel(3, 2, 0)).loo(F, 0.0)
    with pytest.raises(ValueError, match="a single node is ranked"):
        KroneckerEigh(K, torch.eye(1, dtype=torch.float64), loss="ranking").loo(F[:, :1], 1.0)
    with pytest.raises(ValueError, match="lam=0 with a singular kernel"):
        two_step_loo(random_kernel(3, 2, 0), None, F, 0.0, 1.0)


@SIDES
@pytest.mark.parametrize("exclude", ["start", "end", "both"])
def test_two_step_formulas_equal_refits(exclude, sides):
    Ks, Ke = kernels(sides)
    m, n = len(Ks), len(Ke)
    F = random_labels(m, n)
    expected = torch.empty(m, n, dtype=torch.float64)
    for i in range(m):
        for j in range(n):
            rows = torch.arange(m) != i if exclude in ("start", "both") else torch.ones(m, dtype=torch.bool)
            columns = torch.arange(n) != j if exclude in ("end", "both") else torch.ones(n, dtype=torch.bool)
            A = two_step_rls(Ks[rows][:, rows], Ke[columns][:, columns], F[rows][:, columns], 0.5, 2.0)
            expected[i, j] = Ks[i, rows] @ A @ Ke[columns, j]
    torch.testing.assert_close(two_step_loo(Ks, Ke, F, 0.5, 2.0, exclude=exclude), expected, rtol=0, atol=1e-10)


def test_the_constant_of_a_query_is_what_an_unpenalized_column_gives():
    """Centering over a query equals adding to the model a constant for each query that costs nothing."""
    K, F = random_kernel(4, 4, 3), random_labels(4, 4)
    groups, G = complete_edges(4, 4)[:, 0], pair_kernel_matrix(K, K)
    a = edge_duals(G, F.reshape(-1), 0.7, groups)
    residual = F.reshape(-1) - G @ a
    constant = residual - centering(groups) @ residual
    torch.testing.assert_close(residual - constant, 0.7 * a, rtol=0, atol=1e-11)
