"""Distributions of rankings from their definitions, over all permutations."""

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np

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
