import warnings

import pytest
import torch

from torchrank import ConvergenceWarning
from torchrank.linalg import bicgstab, cg

METHODS = pytest.mark.parametrize("method", [cg, bicgstab])


def spd(n, seed=0):
    X = torch.randn(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return X @ X.mT + torch.eye(n, dtype=torch.float64)


def vector(n, seed=1):
    return torch.randn(n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@METHODS
@pytest.mark.parametrize("n", [1, 2, 10, 40])
def test_solves_and_reports(method, n):
    A, b = spd(n), vector(n)
    solution = method(A.matmul, b, tol=1e-12)
    torch.testing.assert_close(solution.x, torch.linalg.solve(A, b), rtol=0, atol=1e-9)
    assert solution.converged
    assert solution.reason == "tolerance"
    assert len(solution.residuals) == solution.n_iter + 1
    assert solution.residuals[0] == 1.0
    assert solution.residuals[-1] == pytest.approx(float((b - A @ solution.x).norm() / b.norm()), rel=1e-6)


def test_bicgstab_solves_an_unsymmetric_system():
    A, b = spd(12) + torch.triu(spd(12, 3)), vector(12)
    solution = bicgstab(A.matmul, b, tol=1e-12)
    torch.testing.assert_close(solution.x, torch.linalg.solve(A, b), rtol=0, atol=1e-9)


@METHODS
@pytest.mark.parametrize("scale", [2.0**-30, 2.0**-400, 2.0**-900, 2.0**40, 2.0**900])  # powers of two round alike
def test_tolerance_is_relative(method, scale):
    A, b = spd(10), vector(10)
    expected, scaled = method(A.matmul, b), method(A.matmul, b * scale)
    assert scaled.n_iter == expected.n_iter
    assert torch.equal(scaled.x / scale, expected.x)
    assert scaled.residuals == expected.residuals


@METHODS
def test_zero_right_hand_side(method):
    A, b = spd(4), torch.zeros(4, dtype=torch.float64)
    solution = method(A.matmul, b, x0=vector(4))
    assert solution.x.tolist() == [0, 0, 0, 0]
    assert solution.converged


@METHODS
def test_right_hand_side_may_be_a_matrix(method):
    A, B = spd(5), spd(5, 7)
    X = method(lambda X: A @ X @ A + X, B, tol=1e-12).x
    torch.testing.assert_close(A @ X @ A + X, B, rtol=0, atol=1e-9)


@METHODS
def test_start_at_the_solution_needs_no_iteration(method):
    A, b = spd(10), vector(10)
    x = torch.linalg.solve(A, b)
    solution = method(A.matmul, b, x0=x)
    assert solution.n_iter == 0
    assert solution.converged
    assert solution.x is not x


@METHODS
def test_callback_sees_every_iterate_and_stops(method):
    A, b, seen = spd(30), vector(30), []

    def callback(state):
        seen.append((state.n_iter, float((b - A @ state.x).norm() / b.norm()), state.residual))
        return state.n_iter == 4

    solution = method(A.matmul, b, callback=callback)
    assert [n for n, _, _ in seen] == [1, 2, 3, 4]
    assert all(true == pytest.approx(recurrence, rel=1e-6) for _, true, recurrence in seen)
    assert solution.reason == "callback"
    assert not solution.converged


@METHODS
def test_running_out_of_iterations_warns_and_a_fixed_number_does_not(method):
    A, b = spd(30), vector(30)
    solution = method(A.matmul, b, max_iter=3)
    assert (solution.reason, solution.n_iter, solution.converged) == ("max_iter", 3, False)
    with pytest.warns(ConvergenceWarning, match="edge RLS did not converge in 3 iterations .* tolerance 1e-08"):
        solution.warn_unless_converged("edge RLS", 1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method(A.matmul, b, max_iter=3, tol=0).warn_unless_converged("edge RLS", 0)
    assert method(A.matmul, b, max_iter=0).n_iter == 0


@METHODS
def test_claims_no_convergence_that_the_recomputed_residual_denies(method):
    A = torch.diag(torch.logspace(-14, 0, 40, dtype=torch.float64))
    solution = method(A.matmul, vector(40), tol=1e-13, max_iter=400)
    true = float((vector(40) - A @ solution.x).norm() / vector(40).norm())
    assert solution.converged == (true <= 1e-13)


def test_indefinite_matrix_is_a_breakdown():
    solution = cg(torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64)).matmul, torch.ones(2, dtype=torch.float64))
    assert solution.reason == "breakdown"
    with pytest.warns(ConvergenceWarning, match="breakdown"):
        solution.warn_unless_converged("CG", 1e-8)


@METHODS
def test_consistent_singular_system(method):
    X = torch.randn(20, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    A, b = X @ X.mT, X @ vector(4)
    solution = method(A.matmul, b, tol=1e-10)
    assert solution.converged
    torch.testing.assert_close(solution.x, torch.linalg.pinv(A) @ b, rtol=0, atol=1e-8)


@METHODS
def test_a_fixed_number_of_iterations_ends_where_only_rounding_is_left(method):
    X = torch.randn(20, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    A, b = X @ X.mT, X @ vector(4)  # singular: noise along its null space would grow without bound
    solution = method(A.matmul, b, tol=0, max_iter=2000)
    assert solution.reason in ("precision", "breakdown")
    assert float((b - A @ solution.x).norm() / b.norm()) < 1e-13
