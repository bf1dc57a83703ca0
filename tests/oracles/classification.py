"""Top scoring pairs, votes and Fisher discriminants from their definitions, in fractions where they are rational."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np


def share_above(rows: Sequence[Sequence[Any]], i: int, j: int, tied: Fraction = Fraction(1, 2)) -> Fraction:
    """Share of rows with item i above item j; tied rows count ``tied``."""
    return sum((int(row[i] > row[j]) + tied * int(row[i] == row[j]) for row in rows), Fraction(0)) / len(rows)


def mid_rank(row: Sequence[Any], i: int) -> Fraction:
    """Rank of item i, 1 for the least; the mean of their ranks for tied items."""
    below = sum(bool(other < row[i]) for other in row)
    tied = sum(bool(other == row[i]) for other in row)
    return below + Fraction(tied + 1, 2)


def mean_gap(rows: Sequence[Sequence[Any]], i: int, j: int) -> Fraction:
    """Mean over rows of the rank of item i minus that of item j."""
    return sum((mid_rank(row, i) - mid_rank(row, j) for row in rows), Fraction(0)) / len(rows)


def classes(X: Any, y: Any) -> tuple[list[Any], list[Any]]:
    """Rows of class 0 and of class 1."""
    rows = X.tolist()
    return [r for r, label in zip(rows, y, strict=True) if not label], [
        r for r, label in zip(rows, y, strict=True) if label
    ]


def scored_pairs(X: Any, y: Any) -> list[tuple[int, int, Fraction, Fraction]]:
    """All pairs, best first: item above in class 1, item below, score, secondary score."""
    first, second = classes(X, y)
    keyed = []
    for i, j in combinations(range(X.shape[1]), 2):
        difference = share_above(second, i, j) - share_above(first, i, j)
        gap = abs(mean_gap(second, i, j) - mean_gap(first, i, j))
        above, below = (j, i) if difference < 0 else (i, j)
        keyed.append(((-abs(difference), -gap, i, j), (above, below, abs(difference), gap)))
    return [pair for _, pair in sorted(keyed)]


def disjoint(pairs: list[tuple[int, int, Fraction, Fraction]]) -> list[tuple[int, int, Fraction, Fraction]]:
    """Pairs of which no earlier kept one has an item."""
    kept: list[tuple[int, int, Fraction, Fraction]] = []
    for pair in pairs:
        if all({pair[0], pair[1]}.isdisjoint(other[:2]) for other in kept):
            kept.append(pair)
    return kept


def margin(pairs: list[tuple[int, int, Fraction, Fraction]], row: Sequence[Any]) -> float:
    """Votes for class 1 minus votes for class 0 by pair, ties and pairs of score 0 one half each."""
    total = Fraction(0)
    for above, below, score, _ in pairs:
        for_second = Fraction(1, 2) if row[above] == row[below] or score == 0 else int(row[above] > row[below])
        total += for_second - (1 - for_second)
    return float(total / len(pairs))


def strict_margin(X: Any, y: Any, row: Sequence[Any]) -> float:
    """The same over all pairs i < j where "is i above j?" has two answers, and a pair two kinds."""
    first, second = classes(X, y)
    total, count = 0, 0
    for i, j in combinations(range(len(row)), 2):
        more_often = share_above(second, i, j, Fraction(0)) > share_above(first, i, j, Fraction(0))
        total += 1 if (row[i] > row[j]) == more_often else -1
        count += 1
    return total / count


def fisher_in_feature_space(features: Any, y: Any, new: Any, ridge: float, n_classes: int) -> np.ndarray:
    """Discriminant functions of explicit feature vectors, ``(m2, n_classes)``."""
    mean = features.mean(0)
    means = [features[y == c].mean(0) for c in range(n_classes)]
    scatter = sum((features[y == c] - means[c]).T @ (features[y == c] - means[c]) for c in range(n_classes))
    inverse = np.linalg.inv(scatter + ridge * np.eye(features.shape[1]))
    return np.stack(
        [(new - mean) @ inverse @ (m - mean) - (m - mean) @ inverse @ (m - mean) / 2 for m in means], axis=1
    )


def fisher_by_mika(K: Any, y: Any, K_new: Any, ridge: float) -> np.ndarray:
    """Two classes with the ridge on the scatter of projections, threshold zero; ``(m2,)``."""
    parts = [K[:, y == c] for c in (0, 1)]
    scatter = sum(part @ (np.eye(part.shape[1]) - 1 / part.shape[1]) @ part.T for part in parts)
    direction = np.linalg.solve(scatter + ridge * np.eye(len(K)), parts[1].mean(1) - parts[0].mean(1))
    return K_new @ direction
