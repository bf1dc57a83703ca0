import inspect
import math
import warnings

import numpy as np
import pytest
import torch

from tests.oracles.conditional import (
    complete_edges,
    edge_duals,
    objective,
    pair_kernel_matrix,
    random_kernel,
    random_labels,
)
from torchrank import conditional
from torchrank.conditional import (
    KroneckerEigh,
    antisymmetrize,
    kron_edge_rls,
    kron_rank_rls,
    kron_rls,
    symmetrize,
    two_step_rls,
)

SIDES = [  # nodes and ranks of the start and end kernels
    (1, 1, 1, 1),
    (1, 1, 4, 4),
    (4, 4, 1, 1),
    (3, 3, 5, 5),
    (5, 2, 3, 3),
    (6, 1, 8, 2),
    (8, 3, 4, 4),
    (2, 0, 3, 1),
]
LAMS = [1.0, 1e-2, 40.0]


def kernels(sides):
    m, r, n, s = sides
    return random_kernel(m, r, 1), random_kernel(n, s, 2)


def assert_close(result, expected):
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-9 * max(1.0, float(expected.abs().max())))


@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize("sides", SIDES)
def test_regression_equals_the_explicit_solution(sides, lam):
    Ks, Ke = kernels(sides)
    F = random_labels(len(Ks), len(Ke))
    G = pair_kernel_matrix(Ks, Ke)
    A = kron_rls(Ks, Ke, F, lam)
    expected = edge_duals(G, F.reshape(-1), lam)
    assert_close(A.reshape(-1), expected)
    assert_close(G @ A.reshape(-1), G @ expected)


@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize("direction", ["outgoing", "incoming"])
@pytest.mark.parametrize("sides", SIDES)
def test_ranking_equals_the_explicit_solution(sides, direction, lam):
    Ks, Ke = kernels(sides)
    F = random_labels(len(Ks), len(Ke))
    G = pair_kernel_matrix(Ks, Ke)
    groups = complete_edges(len(Ks), len(Ke))[:, 0 if direction == "outgoing" else 1]
    A = kron_rank_rls(Ks, Ke, F, lam, direction=direction)
    expected = edge_duals(G, F.reshape(-1), lam, groups)
    assert_close(A.reshape(-1), expected)
    assert_close(G @ A.reshape(-1), G @ expected)
    assert A.sum(1 if direction == "outgoing" else 0).abs().max() < 1e-10 / lam


@pytest.mark.parametrize("direction", ["outgoing", "incoming"])
def test_ranking_minimizes_the_objective(direction):
    Ks, Ke = kernels((4, 2, 3, 3))
    F, G = random_labels(4, 3), pair_kernel_matrix(Ks, Ke)
    groups = complete_edges(4, 3)[:, 0 if direction == "outgoing" else 1]
    a = kron_rank_rls(Ks, Ke, F, 0.3, direction=direction).reshape(-1).requires_grad_()
    value = objective(G, F.reshape(-1), a, 0.3, groups)
    assert torch.autograd.grad(value, a)[0].abs().max() < 1e-12


def test_directions_are_not_exchanged():
    """Ranking end nodes for each start node ignores what all edges of one start node have in common, and only that."""
    K, F = random_kernel(4, 4, 1), random_labels(4, 4)
    by_start, by_end = random_labels(4, 1, seed=3), random_labels(1, 4, seed=4)
    outgoing = kron_rank_rls(K, None, F, 1.0)
    torch.testing.assert_close(kron_rank_rls(K, None, F + by_start, 1.0), outgoing, rtol=0, atol=1e-13)
    assert (kron_rank_rls(K, None, F + by_end, 1.0) - outgoing).abs().max() > 0.1
    torch.testing.assert_close(kron_rank_rls(K, None, F.mT, 1.0, direction="incoming").mT, outgoing, rtol=0, atol=1e-13)


@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize(("p", "rank"), [(1, 1), (2, 1), (5, 5), (8, 3)])
@pytest.mark.parametrize("relation", ["symmetric", "reciprocal"])
def test_symmetric_and_reciprocal_regression_by_labels(relation, p, rank, lam):
    K, F = random_kernel(p, rank, 1), random_labels(p, p)
    A = kron_rls(K, None, F, lam, relation=relation)
    G = pair_kernel_matrix(K, K, relation)
    expected = edge_duals(G, F.reshape(-1), lam)
    new = random_labels(2, p, seed=5)
    G_new = pair_kernel_matrix(new, new, relation)
    assert_close((new @ A @ new.mT).reshape(-1), G_new @ expected)
    part = symmetrize if relation == "symmetric" else antisymmetrize
    torch.testing.assert_close(A, part(A), rtol=0, atol=1e-12 / lam)


def test_many_lams_and_outputs_at_once():
    Ks, Ke = kernels((3, 3, 4, 2))
    F, lam = random_labels(2, 5, 3, 4), torch.tensor([[0.1, 1.0], [10.0, 3.0], [0.5, 2.0]], dtype=torch.float64)
    for loss in ("regression", "ranking"):
        solver = KroneckerEigh(Ks, Ke, loss=loss)
        A = solver.solve(F, lam)
        assert A.shape == (3, 2, 2, 5, 3, 4)
        torch.testing.assert_close(A[2, 1, 1, 4], solver.solve(F[1, 4], 2.0), rtol=0, atol=1e-14)
        assert solver.solve(F[:0], lam).shape == (3, 2, 0, 5, 3, 4)


def test_predict_uses_the_last_duals_or_those_given():
    Ks, Ke = kernels((3, 3, 4, 2))
    F, G_new, H_new = random_labels(3, 4), random_labels(2, 3), random_labels(5, 4)
    solver = KroneckerEigh(Ks, Ke)
    with pytest.raises(ValueError, match="nothing is solved yet"):
        solver.predict(G_new, H_new)
    A = solver.solve(F, 0.5)
    torch.testing.assert_close(solver.predict(G_new, H_new), G_new @ A @ H_new.mT, rtol=0, atol=1e-12)
    torch.testing.assert_close(solver.predict(), F - 0.5 * A, rtol=0, atol=1e-11)
    torch.testing.assert_close(solver.predict(G_new, H_new, duals=2 * A), 2 * G_new @ A @ H_new.mT, rtol=0, atol=1e-11)
    with pytest.raises(ValueError, match=r"K_start has shape \(3, 2\)"):
        solver.predict(G_new.mT, H_new)
    with pytest.raises(ValueError, match="K_end is missing: start and end nodes are two sets"):
        solver.predict(G_new)
    with pytest.raises(ValueError, match="K_start is missing"):
        solver.predict(None, H_new)


@pytest.mark.parametrize("given_twice", [False, True])
def test_predict_takes_one_kernel_for_both_sides_of_one_set_of_nodes(given_twice):
    K, F, new = random_kernel(4, 4, 1), random_labels(4, 4), random_labels(2, 4)
    solver, fit = (
        KroneckerEigh(K, K if given_twice else None),
        kron_edge_rls(K, None, complete_edges(4, 4), F.reshape(-1), 0.5, tol=1e-13),
    )
    A = solver.solve(F, 0.5)
    torch.testing.assert_close(solver.predict(new), new @ A @ new.mT, rtol=0, atol=1e-11)
    torch.testing.assert_close(fit.predict(new), solver.predict(new), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("loss", "direction"), [("regression", "outgoing"), ("ranking", "outgoing"), ("ranking", "incoming")]
)
def test_training_loss_is_what_is_minimized(loss, direction):
    Ks, Ke, F = random_kernel(4, 3, 1), random_kernel(3, 3, 2), random_labels(2, 4, 3)
    solver = KroneckerEigh(Ks, Ke, loss=loss, direction=direction)
    A = solver.solve(F, [0.3, 2.0])
    groups = None if loss == "regression" else complete_edges(4, 3)[:, 0 if direction == "outgoing" else 1]
    for i, lam in enumerate((0.3, 2.0)):
        for k in range(2):
            expected = objective(pair_kernel_matrix(Ks, Ke), F[k].reshape(-1), A[i, k].reshape(-1), lam, groups)
            assert float(solver.training_loss()[i, k]) == pytest.approx(float(expected), rel=1e-10)


def test_float32_kernel_of_rank_one():
    v = torch.arange(1.0, 9.0)
    K = torch.outer(v, v)
    solver = KroneckerEigh(K)
    assert solver.solve(torch.ones(8, 8), 1e-3).dtype == torch.float32
    assert solver.predict().dtype == torch.float32
    assert float(solver.predict()[7, 7]) == pytest.approx(1.993080, abs=1e-6)


def test_ranking_without_regularization():
    F = torch.tensor([[1.0, 2, 4], [0, 0, 0], [3, 3, 9]], dtype=torch.float64)
    prediction = kron_rank_rls(torch.eye(3, dtype=torch.float64), None, F, 0.0)
    expected = torch.tensor([[-4, -1, 5], [0, 0, 0], [-6, -6, 12]], dtype=torch.float64) / 3
    torch.testing.assert_close(prediction, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("sides", [(3, 3, 4, 4), (5, 2, 3, 1), (4, 4, 6, 3)])
def test_no_regularization_gives_least_squares_of_least_norm(sides):
    Ks, Ke = kernels(sides)
    F, G = random_labels(len(Ks), len(Ke)), pair_kernel_matrix(Ks, Ke)
    expected = torch.linalg.pinv(G, hermitian=True) @ F.reshape(-1)
    torch.testing.assert_close(kron_rls(Ks, Ke, F, 0.0).reshape(-1), expected, rtol=1e-8, atol=1e-8)


def test_numpy_integers_and_lists():
    K = np.array([[2, 1], [1, 2]])
    A = kron_rls(K, None, [[1, 0], [0, 1]], 1)
    assert isinstance(A, np.ndarray)
    assert A.dtype == np.float64
    np.testing.assert_allclose(K @ A @ K + A, np.eye(2), atol=1e-14)
    assert kron_rls(torch.tensor([[2, 1], [1, 2]]), None, torch.eye(2), 1.0).dtype == torch.get_default_dtype()


def test_scaling_labels_scales_duals():
    Ks, Ke = kernels((5, 5, 4, 4))
    F = random_labels(5, 4)
    assert torch.equal(kron_rank_rls(Ks, Ke, F * 2.0**-30, 1.0), kron_rank_rls(Ks, Ke, F, 1.0) * 2.0**-30)


def test_kernel_within_tolerance_of_positive_is_cleared_with_a_warning():
    K = torch.diag(torch.tensor([1.0, 0.5, -1e-9], dtype=torch.float64))
    F = random_labels(3, 3)
    with pytest.warns(UserWarning, match="K_start has eigenvalues down to -1e-09"):
        A = kron_rls(K, None, F, 1.0)
    torch.testing.assert_close(A, kron_rls(torch.diag(K.diagonal().clamp(min=0)), None, F, 1.0), rtol=0, atol=0)


@pytest.mark.parametrize("rank", [1, 3])
def test_singular_kernels_pass_without_a_warning(rank):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kron_rank_rls(random_kernel(30, rank, 0), None, random_labels(30, 30), 1e-6)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[2.0, 0.5], [0, 2]], None, np.eye(2), 1), ValueError, "K_start is not symmetric"),
        ((np.eye(2), [[2.0, 0.5], [0, 2]], np.eye(2), 1), ValueError, "K_end is not symmetric"),
        ((np.ones((2, 3)), None, np.eye(2), 1), ValueError, r"K_start has shape \(2, 3\)"),
        ((np.diag([1, math.nan]), None, np.eye(2), 1), ValueError, r"K_start\[1, 1\] is nan"),
        ((-np.eye(2), None, np.eye(2), 1), ValueError, "K_start is not positive semi-definite"),
        ((np.eye(2), None, np.eye(3), 1), ValueError, r"F has shape \(3, 3\)"),
        ((np.eye(2), None, [[1, 2], [3, math.nan]], 1), ValueError, r"F\[1, 1\] is nan.*observed_edges"),
        ((np.eye(2), None, [[1, math.inf], [3, -math.inf]], 1), ValueError, r"F\[0, 1\] is inf"),
        ((np.eye(2), None, np.eye(2), -1), ValueError, "lam has the value -1.*at least 0"),
        ((np.eye(2), None, np.eye(2), [1, math.nan]), ValueError, "lam has the value nan"),
        ((np.eye(2), None, np.eye(2), math.inf), ValueError, "lam has the value inf"),
        ((np.eye(2), None, np.eye(2) * 1j, 1), TypeError, "F has dtype complex128"),
        (
            (torch.eye(2).half(), None, torch.eye(2), 1),
            TypeError,
            r"K_start has dtype torch.float16",
        ),
        (
            (torch.eye(2), None, torch.eye(2).double(), 1),
            TypeError,
            "F has dtype torch.float64 and K_start torch.float32",
        ),
        (
            (torch.eye(2), torch.eye(2).double(), torch.eye(2), 1),
            TypeError,
            "K_end has dtype torch.float64 and K_start",
        ),
        (
            (torch.eye(2), torch.eye(2, device="meta"), torch.eye(2), 1),
            ValueError,
            "K_end is on meta and K_start on cpu",
        ),
    ],
)
def test_bad_input_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        kron_rls(*arguments)


def test_every_solver_takes_kernels_then_labels_then_lam_which_none_leaves_out():
    solvers = [kron_rls, kron_rank_rls, conditional.kron_edge_rls, conditional.kron_iterative_rls]
    for solver in [*solvers, two_step_rls, conditional.two_step_loo]:
        names = list(inspect.signature(solver).parameters)
        positional = [n for n, p in inspect.signature(solver).parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert names[:2] == ["K_start", "K_end"], solver
        assert positional[2:] in (["F", "lam"], ["edges", "y", "lam"], ["F", "lam_start", "lam_end"]), solver
        assert all(inspect.signature(solver).parameters[name].default is inspect.Parameter.empty for name in positional)
    assert list(inspect.signature(KroneckerEigh.solve).parameters) == ["self", "F", "lam"]


def test_bad_choices_are_named():
    K = torch.eye(2)
    with pytest.raises(ValueError, match="direction='out'"):
        kron_rank_rls(K, None, K, 1.0, direction="out")
    with pytest.raises(ValueError, match="relation='symmetric' needs one set of nodes"):
        kron_rls(K, torch.eye(2), K, 1.0, relation="symmetric")
    with pytest.raises(ValueError, match="has no closed form"):
        KroneckerEigh(K, loss="ranking", relation="reciprocal")
    with pytest.raises(ValueError, match=r"lam_end has shape \(2,\)"):
        two_step_rls(K, None, K, 1.0, [1.0, 2.0])


@pytest.mark.parametrize("sides", SIDES)
def test_two_step_is_ridge_regression_twice(sides):
    Ks, Ke = kernels(sides)
    F = random_labels(len(Ks), len(Ke))
    A = two_step_rls(Ks, Ke, F, 0.5, 2.0)
    first = torch.linalg.solve(Ks + 0.5 * torch.eye(len(Ks), dtype=torch.float64), F)
    expected = torch.linalg.solve(Ke + 2.0 * torch.eye(len(Ke), dtype=torch.float64), first.mT).mT
    torch.testing.assert_close(A, expected, rtol=0, atol=1e-11)


def test_any_tensor_among_numpy_arrays_gives_tensors_with_gradients():
    F, lam = torch.ones(3, 3, dtype=torch.float64, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    for duals, given in (
        (kron_rls(np.eye(3), None, F, 2.0), F),
        (kron_rls(np.eye(3), None, np.ones((3, 3)), lam), lam),
    ):
        duals.sum().backward()
        assert given.grad is not None


def test_duals_of_another_shape_are_named_and_those_of_float32_are_kept_in_float64():
    v = torch.arange(1.0, 9)
    solver = KroneckerEigh(torch.outer(v, v))
    with pytest.raises(ValueError, match=r"duals have shape \(2, 2\)"):
        solver.predict(duals=torch.ones(2, 2))
    assert solver.solve(torch.ones(8, 8), [1e-3, 1.0]).dtype == torch.float32
    assert solver.pair_duals.dtype == torch.float64
    assert solver.pair_duals.shape == (2, 8, 8)
