"""Losses of rankings from their definitions, by loops over pairs of items in extended precision."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.oracles.smoothed import g


def difference(a: Any, b: Any) -> Any:
    """0 for equal infinities, and finite for others."""
    return np.longdouble(0) if a == b else np.clip(np.longdouble(a) - np.longdouble(b), -1e200, 1e200)


def kendall_loss(
    x: Sequence[float],
    y: Sequence[float],
    window: float,
    noise: str = "uniform",
    variant: str = "b",
    weight: Callable[[int, int], float] = lambda i, j: 1.0,
) -> float | None:
    """One minus the smoothed correlation of one row over the items with a number in ``y``; None without a pair."""
    agreement = square = strict = total = np.longdouble(0)
    for i in range(len(x)):
        for j in range(i):
            if math.isnan(y[i]) or math.isnan(y[j]):
                continue
            w = np.longdouble(weight(i, j))
            expected = g(np.array([difference(x[i], x[j])]), window, noise)[0]
            sign = int(y[i] > y[j]) - int(y[i] < y[j])
            agreement += w * expected * sign
            square += w * expected**2
            strict += w * sign**2
            total += w
    if total == 0:
        return None
    scale = total if variant == "a" else np.sqrt(square * strict)
    return float(1 - agreement / scale) if scale > 0 else 1.0


def soft_rank(x: Sequence[float], window: float, noise: str = "uniform") -> list[float]:
    """1 plus the probability to be above each other ranked item, summed up; NaN where not ranked."""
    ranks = []
    for i in range(len(x)):
        others = [j for j in range(len(x)) if j != i and not math.isnan(x[j])]
        above = [(1 + g(np.array([difference(x[i], x[j])]), window, noise)[0]) / 2 for j in others]
        ranks.append(math.nan if math.isnan(x[i]) else float(1 + sum(above, np.longdouble(0))))
    return ranks
