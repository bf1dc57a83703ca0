"""The smoothed Kendall kernel from its definition, pair by pair and in extended precision."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import erf


def expected_sign(t: float, window: float, noise: str) -> float:
    """E sign(t + e - e') over two independent jitters of one score, by numerical integration over the first.

    "uniform": each on [-window / 2, window / 2]; "gaussian": each with standard deviation ``window``.
    """
    if noise == "uniform":
        half = window / 2
        kinks = [point for point in (-half - t, half - t) if -half < point < half]
        mean = quad(lambda e: 2 * min(max((t + e + half) / window, 0), 1) - 1, -half, half, points=kinks or None)[0]
        return mean / window

    def integrand(e: float) -> float:
        density = math.exp(-((e / window) ** 2) / 2) / (window * math.sqrt(2 * math.pi))
        return density * math.erf((t + e) / (window * math.sqrt(2)))

    return quad(integrand, -12 * window, 12 * window, points=[-t] if abs(t) < 12 * window else None)[0]


def g(t: Any, window: float, noise: str) -> Any:
    """The same in closed form, for arrays of extended precision."""
    s = t / np.longdouble(window)
    if noise == "gaussian":
        return erf((s / 2).astype(np.float64)).astype(np.longdouble)
    inside = np.where(s >= 0, 2 * s - s * s, 2 * s + s * s)
    return np.where(s >= 1, 1, np.where(s <= -1, -1, inside))


def smoothed(x: Sequence[Any], y: Sequence[Any], window: float, noise: str = "uniform") -> float:
    """Mean over all pairs i < j of g(x_i - x_j) g(y_i - y_j); equal scores, infinite ones too, differ by 0."""
    signs = []
    i, j = np.triu_indices(len(x), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        for row in (x, y):
            scores = np.asarray(row, dtype=np.longdouble)
            signs.append(g(np.where(scores[i] == scores[j], 0, scores[i] - scores[j]), window, noise))
    return float((signs[0] * signs[1]).mean())
