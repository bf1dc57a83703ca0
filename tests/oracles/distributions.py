"""Distributions of rankings from their definitions, over all permutations."""

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np
from scipy.optimize import minimize_scalar

from tests.oracles.pair_counts import is_ranked, pair_classes
from tests.oracles.partial import agreeing


def mallows_probabilities(center: Sequence[float], lam: float) -> dict[tuple[int, ...], float]:
    """The probability of every ranking (scores 1 to n) of n items."""
    rankings = list(permutations(range(1, len(center) + 1)))
    terms = [math.exp(-lam * pair_classes(ranking, center).discordant) for ranking in rankings]
    return {ranking: term / sum(terms) for ranking, term in zip(rankings, terms, strict=True)}


def plackett_luce_probability(worths: Sequence[float], row: Sequence[float]) -> float:
    """The probability of a total ranking, one choice after the other."""
    order = sorted(range(len(row)), key=lambda item: -row[item])
    return math.prod(worths[item] / sum(worths[rest] for rest in order[i:]) for i, item in enumerate(order))


def partial_probability(worths: Sequence[float], row: Sequence[float], kind: str) -> float:
    """The probability of a partial ranking: the sum over the total rankings that agree with it."""
    return sum(plackett_luce_probability(worths, ranking) for ranking in agreeing(row, kind))


def partial_log_likelihood(
    worths: Sequence[float], X: np.ndarray, weights: Sequence[float], kind: str, prior: float
) -> float:
    """What the fit maximizes, choice by choice; the prior adds ``prior`` choices of each item out of all."""
    total = prior * sum(math.log(worth / sum(worths)) for worth in worths)
    for row, weight in zip(X, weights, strict=True):
        ranked = sorted((i for i in range(len(row)) if is_ranked(row[i])), key=lambda item: -row[item])
        offered = [*ranked, *(i for i in range(len(row)) if not is_ranked(row[i]) and kind == "topk")]
        for i, item in enumerate(ranked):
            total += weight * math.log(worths[item] / sum(worths[rest] for rest in offered[i:]))
    return total


def agreeing_with_pairs(precedes: np.ndarray) -> list[tuple[int, ...]]:
    """All total rankings (rank of each item, larger = preferred) that keep the preferences ``(n, n)`` of a ranker."""
    pairs = np.argwhere(precedes)
    return [ranks for ranks in permutations(range(len(precedes))) if all(ranks[i] > ranks[j] for i, j in pairs)]


def discordant(ranks: Sequence[float], center: Sequence[float]) -> int:
    """Pairs that two total rankings order differently."""
    n = len(center)
    return sum((ranks[i] > ranks[j]) != (center[i] > center[j]) for j in range(n) for i in range(j))


def mallows_weights(rankings: Sequence[Sequence[float]], center: Sequence[float], lam: float) -> np.ndarray:
    """e^(-lam d) of each ranking."""
    return np.array([math.exp(-lam * discordant(ranking, center)) for ranking in rankings])


def partial_mallows(agree: Sequence[Sequence[float]], center: Sequence[float], lam: float) -> float:
    """The probability of a partial ranking: the sum over the total rankings that agree with it."""
    everything = list(permutations(range(len(center))))
    return float(mallows_weights(agree, center, lam).sum() / mallows_weights(everything, center, lam).sum())


def best_mallows(agreeing: Sequence[Sequence[Sequence[float]]], weights: np.ndarray, max_lam: float) -> float:
    """The largest log-likelihood of partial rankings, given by what agrees: all centers, and a search for each."""
    everything = list(permutations(range(len(agreeing[0][0]))))
    place = {ranking: k for k, ranking in enumerate(everything)}
    member = np.zeros((len(agreeing), len(everything)))
    for row, rankings in enumerate(agreeing):
        member[row, [place[tuple(ranking)] for ranking in rankings]] = 1
    best = -math.inf
    for center in everything:
        distance = np.array([discordant(ranking, center) for ranking in everything])

        def loss(lam: float, distance: np.ndarray = distance) -> float:
            chances = np.exp(-lam * distance)
            return -float(weights @ np.log(member @ chances / chances.sum()))

        found = minimize_scalar(loss, bounds=(0, max_lam), method="bounded", options={"xatol": 1e-9})
        best = max(best, -float(found.fun), -loss(0.0), -loss(max_lam))  # pyright: ignore[reportAttributeAccessIssue]
    return best
