"""Partial rankings by enumeration: the mean over all total rankings that agree with them."""

from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np

from tests.oracles.pair_counts import is_ranked, sign


def agreeing(row: Sequence[float], kind: str) -> list[tuple[int, ...]]:
    """All total rankings (rank of each item, larger = preferred) that keep every strict preference of ``row``."""
    n = len(row)

    def keeps(ranks: tuple[int, ...]) -> bool:
        for i, j in permutations(range(n), 2):
            above = is_ranked(row[i]) and (row[i] > row[j] if is_ranked(row[j]) else kind == "topk")
            if above and ranks[i] < ranks[j]:
                return False
        return True

    return [ranks for ranks in permutations(range(n)) if keeps(ranks)]


def expected_signs(row: Sequence[float], kind: str) -> np.ndarray:
    """The mean sign of every pair of items over the agreeing rankings."""
    rankings = agreeing(row, kind)
    pairs = combinations(range(len(row)), 2)
    return np.array([sum(sign(r[i], r[j]) for r in rankings) / len(rankings) for i, j in pairs])


def convolution_kernel(x: Sequence[float], y: Sequence[float], kind_x: str, kind_y: str) -> float:
    """The mean Kendall kernel over all pairs of agreeing rankings, as a literal double sum."""
    X, Y = agreeing(x, kind_x), agreeing(y, kind_y)
    pairs = list(combinations(range(len(x)), 2))
    total = sum(sign(r[i], r[j]) * sign(s[i], s[j]) for r in X for s in Y for i, j in pairs)
    return total / (len(X) * len(Y) * len(pairs))
