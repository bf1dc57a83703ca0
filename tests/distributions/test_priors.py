"""Priors of Plackett-Luce worths: rankings that say the same, and the normal law by its optimum."""

import numpy as np
import pytest

from torchrank import SparseRankings, fit_plackett_luce
from torchrank.distributions import GhostItem, NormalPrior

ONE_WAY = SparseRankings.from_orders([[0, 1]] * 3 + [[1, 0], [0, 2], [1, 2]])


def test_ghost_is_an_item_that_all_were_compared_with() -> None:
    fit = fit_plackett_luce(ONE_WAY, prior=GhostItem(0.5))
    pairs = [[0, 1]] * 3 + [[1, 0], [0, 2], [1, 2]] + [[i, 3] for i in range(3)] + [[3, i] for i in range(3)]
    same = fit_plackett_luce(SparseRankings.from_orders(pairs), [1.0] * 6 + [0.5] * 6)
    np.testing.assert_allclose(fit.logits, same.logits[:3] - same.logits[:3].mean(), atol=1e-8)
    center = np.eye(3) - 1 / 3
    np.testing.assert_allclose(fit.covariance, center @ same.covariance[:3, :3] @ center, atol=1e-8)
    np.testing.assert_allclose(
        fit_plackett_luce(ONE_WAY, prior=GhostItem(0.5), method="cg", covariance=[2, 0]).covariance,
        fit.covariance[np.ix_([2, 0], [2, 0])],
        atol=1e-8,
    )


@pytest.mark.parametrize("method", ["newton", "cg"])
@pytest.mark.parametrize(
    "covariance", [2.0, [1.0, 2.0, 0.5], [[2.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 1.0]]], ids=["one", "own", "all"]
)
def test_normal_law(method: str, covariance: object) -> None:
    from scipy.optimize import minimize

    mean = np.array([0.5, 0.0, -1.0])
    table = np.array(covariance)
    precision = np.linalg.inv(table if table.ndim == 2 else np.eye(3) * table)

    def loss(logits: np.ndarray) -> float:
        won = [(0, 1)] * 3 + [(1, 0), (0, 2), (1, 2)]
        data = sum(np.log1p(np.exp(logits[j] - logits[i])) for i, j in won)
        return data + (logits - mean) @ precision @ (logits - mean) / 2

    best = minimize(loss, np.zeros(3), tol=1e-12).x
    fit = fit_plackett_luce(ONE_WAY, prior=NormalPrior(mean, covariance), method=method)
    np.testing.assert_allclose(fit.logits, best - best.mean(), atol=1e-5)
    assert -fit.objective[-1] == pytest.approx(loss(best), abs=1e-8)


def test_bad_priors() -> None:
    with pytest.raises(ValueError, match=r"prior\.strength=-1"):
        fit_plackett_luce(ONE_WAY, prior=GhostItem(-1))
    with pytest.raises(ValueError, match=r"prior\.covariance has the variance 0"):
        fit_plackett_luce(ONE_WAY, prior=NormalPrior(0.0, 0.0))
    with pytest.raises(ValueError, match=r"prior\.mean has shape \(2,\)"):
        fit_plackett_luce(ONE_WAY, prior=NormalPrior([0.0, 1.0]))
    with pytest.raises(ValueError, match="not a symmetric positive definite"):
        fit_plackett_luce(ONE_WAY, prior=NormalPrior(0.0, np.ones((3, 3))))
    with pytest.raises(TypeError, match="GhostItem or NormalPrior"):
        fit_plackett_luce(ONE_WAY, prior=(0.5,))
    with pytest.raises(ValueError, match='"mm" takes no ties, and a number'):
        fit_plackett_luce(ONE_WAY, prior=GhostItem(), method="mm")
