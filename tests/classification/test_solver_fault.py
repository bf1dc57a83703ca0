"""The solver of the Table 2 experiment against scikit-learn's and kernlab's, and what its faults do."""

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.svm import SVC

from benchmarks.papers.classification_solver import solve
from benchmarks.papers.table2_solver import position_folds


def problem(seed, m=60):
    rng = np.random.default_rng(seed)
    y = (rng.random(m) < 0.4).astype(int)
    X = rng.normal(size=(m, 8)) + 0.7 * y[:, None]
    Z = rng.normal(size=(200, 8))
    return y, np.exp(-((X[:, None] - X) ** 2).sum(2) / 16), np.exp(-((Z[:, None] - X) ** 2).sum(2) / 16)


def dual(K, y, alpha):
    signed = np.where(y > 0, alpha, -alpha)
    return alpha.sum() - signed @ K @ signed / 2


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("seed", range(10))
def test_without_fault_it_is_the_machine_of_scikit_learn(seed, C):
    y, K, K_new = problem(seed)
    machine = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
    alpha = np.zeros(len(y))
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    found = solve(K, y, C, eps=1e-8)
    # Both keep rows of the kernel matrix in single precision.
    assert found.objective == pytest.approx(dual(K, y, alpha), rel=1e-5)
    assert found.objective == pytest.approx(dual(K, y, found.alpha), rel=1e-5)
    assert abs(found.alpha @ np.where(y > 0, 1, -1)) < 1e-9 * max(C, 1)
    decision = K_new @ np.where(y > 0, found.alpha, -found.alpha) + found.bias
    np.testing.assert_allclose(decision, machine.decision_function(K_new), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_at_the_usual_tolerance_objective_and_predictions_agree(seed):
    y, K, K_new = problem(seed)
    machine = SVC(C=10, kernel="precomputed").fit(K, y)
    found = solve(K, y, 10)
    alpha = np.zeros(len(y))
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    assert found.swaps > 0
    assert found.objective == pytest.approx(dual(K, y, alpha), rel=1e-3)
    decision = K_new @ np.where(y > 0, found.alpha, -found.alpha) + found.bias
    clear = np.abs(machine.decision_function(K_new)) > 1e-2
    np.testing.assert_array_equal(decision[clear] > 0, machine.predict(K_new)[clear] > 0)


def test_faults_harm_only_where_shrinking_swaps():
    harmed = 0
    for seed in range(10):
        y, K, _ = problem(seed)
        for C in (0.01, 1.0, 100.0):
            sound, faulty = solve(K, y, C), solve(K, y, C, fault="kernel")
            if sound.swaps == 0:
                np.testing.assert_array_equal(faulty.alpha, sound.alpha)
            harmed += dual(K, y, faulty.alpha) < (1 - 1e-2) * sound.objective
    assert harmed > 0


@pytest.mark.parametrize(
    ("fault", "bias", "total", "moment"),
    [("kernel", 0.21754985, 232.35076686, 288.68019595), ("none", 0.17906057, 228.15319705, 223.02790388)],
)
def test_kernlab_has_the_kernel_fault_with_shrinking_and_none_without(fault, bias, total, moment):
    # m <- ksvm(as.kernelMatrix(K), y, C = 10, type = "C-svc", shrinking = TRUE or FALSE) of kernlab 0.9-32:
    # -b(m), sum(abs(coef(m)[[1]])), sum(coef(m)[[1]] * SVindex(m)).
    y, K, _ = problem(3)
    found = solve(K, y, 10, fault=fault)
    signed = np.where(y > 0, found.alpha, -found.alpha)
    figures = [found.bias, found.alpha.sum(), signed @ np.arange(1, len(y) + 1)]
    np.testing.assert_allclose(figures, [bias, total, moment], rtol=1e-6)


def test_folds_by_position_spread_over_the_samples():
    for m in (21, 62):
        folds = position_folds(m, np.random.default_rng(0))
        assert np.array_equal(np.sort(np.concatenate([fold.test for fold in folds])), np.arange(m))
        for fold in folds:
            assert np.array_equal(np.union1d(fold.train, fold.test), np.arange(m))
            for part in np.array_split(np.arange(m), 4):
                assert abs(np.isin(part, fold.test).sum() - len(part) / 5) < 1
