"""Supervised clustering of label rankings from its definitions: loops over rows, pairs and permutations."""

from collections.abc import Sequence
from itertools import combinations, permutations
from math import exp, log

import numpy as np


def gates(
    x: np.ndarray, prototypes: np.ndarray, membership: Sequence[int], sigma: float, n_clusters: int
) -> list[float]:
    """Probability of each cluster given one row's features."""
    squared = [float(((x - m) ** 2).sum()) for m in prototypes]
    weights = [exp(-(s - min(squared)) / (2 * sigma**2)) for s in squared]
    return [
        sum(w for w, k in zip(weights, membership, strict=True) if k == cluster) / sum(weights)
        for cluster in range(n_clusters)
    ]


def ranking_probability(scores: np.ndarray, worths: np.ndarray, missing: str) -> float:
    """Plackett-Luce probability of partial scores: summed over all total rankings that agree with them."""
    n = len(scores)
    ranked = [i for i in range(n) if not np.isnan(scores[i])]
    if not ranked:
        return 1.0
    order = sorted(ranked, key=lambda i: -scores[i])
    total = 0.0
    for permutation in permutations(range(n)):
        agrees = [i for i in permutation if i in ranked] == order
        if agrees and (missing == "interleaving" or list(permutation[: len(order)]) == order):
            total += _total_probability(permutation, worths)
    return total


def _total_probability(order: Sequence[int], worths: np.ndarray) -> float:
    probability = 1.0
    for place in range(len(order)):
        probability *= worths[order[place]] / sum(worths[i] for i in order[place:])
    return probability


def log_likelihood(
    X: np.ndarray,
    Y: np.ndarray,
    prototypes: np.ndarray,
    membership: Sequence[int],
    logits: np.ndarray,
    sigma: float,
    missing: str = "interleaving",
) -> list[float]:
    """Log-probability of each row's ranking under the mixture."""
    K = len(logits)
    return [
        log(
            sum(
                g * ranking_probability(y, np.exp(z), missing)
                for g, z in zip(gates(x, prototypes, membership, sigma, K), logits, strict=True)
            )
        )
        for x, y in zip(X, Y, strict=True)
    ]


def discordant_share(y: np.ndarray, predicted: np.ndarray) -> float | None:
    """Share of a row's ordered pairs that a prediction gets wrong, a tie one half; None without such pairs."""
    wrong, pairs = 0.0, 0
    for i, j in combinations(range(len(y)), 2):
        if np.isnan(y[i]) or np.isnan(y[j]) or y[i] == y[j]:
            continue
        pairs += 1
        if predicted[i] == predicted[j]:
            wrong += 0.5
        elif (y[i] > y[j]) != (predicted[i] > predicted[j]):
            wrong += 1
    return wrong / pairs if pairs else None


def loss(Y: np.ndarray, predicted: np.ndarray) -> float:
    """Mean of :func:`discordant_share`."""
    shares = [discordant_share(y, p) for y, p in zip(Y, predicted, strict=True)]
    return float(np.mean([share for share in shares if share is not None]))


def delta_rank(Y: np.ndarray, labels: np.ndarray, centers: np.ndarray) -> float:
    """Mean over clusters of their rows' mean share of discordant pairs."""
    means = []
    for k in range(len(centers)):
        shares = [discordant_share(y, centers[k]) for y in Y[labels == k]]
        known = [share for share in shares if share is not None]
        if known:
            means.append(np.mean(known))
    return float(np.mean(means))


def neighborhood_distance(X: np.ndarray, labels: np.ndarray, k: int) -> float:
    """d_knh with squared distances."""
    means = []
    for cluster in sorted(set(labels.tolist())):
        rows = X[labels == cluster]
        distances = []
        for n in range(len(rows)):
            others = sorted(float(((rows[n] - rows[i]) ** 2).sum()) for i in range(len(rows)) if i != n)[:k]
            distances.append(np.mean(others) if others else 0.0)
        means.append(np.mean(distances))
    return float(np.mean(means))


def split_cost(X: np.ndarray, distance: np.ndarray, min_leaf: int) -> float:
    """Least sum of distances after at most one split, each side with its best central ranking."""
    best = distance.sum(0).min()
    for feature in range(X.shape[1]):
        for threshold in X[:, feature]:
            left = X[:, feature] <= threshold
            if min(left.sum(), (~left).sum()) >= min_leaf:
                best = min(best, distance[left].sum(0).min() + distance[~left].sum(0).min())
    return float(best)


def closest_completion_cost(y: np.ndarray, around: Sequence[int]) -> int:
    """Least number of discordant pairs between an order and a total ranking that agrees with partial scores."""
    place = {label: i for i, label in enumerate(around)}
    ranked = sorted((i for i in range(len(y)) if not np.isnan(y[i])), key=lambda i: -y[i])
    costs = [
        sum(place[a] > place[b] for a, b in combinations(order, 2))
        for order in permutations(range(len(y)))
        if [i for i in order if i in ranked] == ranked
    ]
    return min(costs)
