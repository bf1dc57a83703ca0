"""Central rankings from their definitions: votes and disagreements counted one by one, centers by enumeration."""

from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np

from tests.oracles.pair_counts import is_ranked, sign
from tests.oracles.partial import agreeing


def borda_votes(row: Sequence[float], kind: str) -> np.ndarray:
    """The mean votes, 1 for the last item, over all total rankings that agree with a row."""
    rankings = agreeing(row, kind)
    return np.array([[1 + rank for rank in ranks] for ranks in rankings]).mean(axis=0)


def preferences(X: np.ndarray, weights: Sequence[float], missing: str) -> np.ndarray:
    """The weight that prefers i to j, for all i and j."""
    n = X.shape[1]
    P = np.zeros((n, n))
    for row, weight in zip(X, weights, strict=True):
        for i, j in permutations(range(n), 2):
            P[i, j] += weight * _share(row, i, j, missing)
    return P


def _share(row: Sequence[float], i: int, j: int, missing: str) -> float:
    if is_ranked(row[i]) and is_ranked(row[j]):
        return float(row[i] > row[j])
    if missing == "pairwise":
        return 0.0
    rankings = agreeing(row, missing)
    return sum(r[i] > r[j] for r in rankings) / len(rankings)


def copeland_scores(P: np.ndarray) -> list[int]:
    """Items beaten minus items lost to."""
    n = len(P)
    return [sum(sign(P[i, j], P[j, i]) for j in range(n) if j != i) for i in range(n)]


def disagreement(P: np.ndarray, order: Sequence[int]) -> float:
    """The weight of rankings that prefer the lower of two items, over all pairs of an order."""
    return sum(P[lower, upper] for upper, lower in combinations(order, 2))


def kemeny_orders(P: np.ndarray, tolerance: float = 1e-9) -> tuple[float, list[tuple[int, ...]]]:
    """The least disagreement of all orders, and the orders that have it, in lexicographic order."""
    costs = {order: disagreement(P, order) for order in permutations(range(len(P)))}
    least = min(costs.values())
    return least, [order for order, cost in costs.items() if cost <= least + tolerance]
