"""Pair counts of two rankings by looking at every pair of items, in Python integers."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import combinations, groupby
from typing import Any, NamedTuple

import numpy as np


class PairClasses(NamedTuple):
    """How many pairs of commonly ranked items two rankings order alike, oppositely, or not at all."""

    concordant: int
    discordant: int
    tied_x: int  # in x only
    tied_y: int  # in y only
    tied_xy: int


def pair_classes(x: Sequence[Any], y: Sequence[Any]) -> PairClasses:
    """Classify all pairs of items; scores are numbers of any kind, NaN or None = unranked."""
    counts = dict.fromkeys(PairClasses._fields, 0)
    items = [i for i in range(len(x)) if is_ranked(x[i]) and is_ranked(y[i])]
    for i, j in combinations(items, 2):
        s, t = sign(x[i], x[j]), sign(y[i], y[j])
        if s and t:
            counts["concordant" if s == t else "discordant"] += 1
        else:
            counts["tied_x" if t else "tied_y" if s else "tied_xy"] += 1
    return PairClasses(**counts)


def is_ranked(score: Any) -> bool:
    """Whether a score is neither None nor NaN."""
    return score is not None and score == score


def sign(a: Any, b: Any) -> int:
    """The sign of a - b without subtracting."""
    return int(a > b) - int(a < b)


def score_and_strict(x: Sequence[int], y: Sequence[int]) -> tuple[int, int]:
    """Concordant minus discordant and concordant plus discordant pairs of two rows of ranks, -1 = unranked."""
    counts = pair_classes(*([None if r < 0 else int(r) for r in row] for row in (x, y)))
    return counts.concordant - counts.discordant, counts.concordant + counts.discordant


def score_and_strict_gram(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two counts for all rows of ``(b, m, n)`` against all rows of ``(b, m2, n)``, each ``(b, m, m2)``."""
    counts = np.array(
        [[[score_and_strict(row_x, row_y) for row_y in by] for row_x in bx] for bx, by in zip(x, y, strict=True)],
        dtype=np.int64,
    ).reshape(x.shape[0], x.shape[1], y.shape[1], 2)
    return counts[..., 0], counts[..., 1]


def score_and_strict_of_many_items(x: Sequence[int], y: Sequence[int]) -> tuple[int, int]:
    """The same as :func:`score_and_strict` in n log n comparisons: items enter a sorted list in the order of x."""
    items = sorted((i for i in range(len(x)) if x[i] >= 0 and y[i] >= 0), key=lambda i: x[i])
    score = strict = 0
    entered: list[int] = []
    for _, group in groupby(items, key=lambda i: x[i]):
        values = [int(y[i]) for i in group]
        for value in values:
            below, not_above = bisect_left(entered, value), bisect_right(entered, value)
            score += below - (len(entered) - not_above)
            strict += below + (len(entered) - not_above)
        for value in values:
            insort(entered, value)
    return score, strict
