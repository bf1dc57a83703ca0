"""Mixtures of distributions of rankings by the letter: sums over all permutations, loops over rows and components."""

import itertools
import math

import numpy as np

from tests.oracles.clustering import discordant, sign_features


def all_rankings(n: int) -> list[tuple[int, ...]]:
    return list(itertools.permutations(range(n)))


def mallows(x, center, lam) -> float:
    """Mallows probability with the normalizer summed."""
    total = sum(math.exp(-lam * discordant(y, center)) for y in all_rankings(len(center)))
    return math.exp(-lam * discordant(x, center)) / total


def expected_distance(n: int, lam: float) -> float:
    distances = np.array([discordant(y, range(n)) for y in all_rankings(n)])
    chances = np.exp(-lam * distances)
    return float((distances * chances).sum() / chances.sum())


def concentration(n: int, mean: float) -> float:
    """By bisection."""
    low, high = 0.0, 30.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_distance(n, middle) > mean else (low, middle)
    return low


def mallows_m_step(X, shares):
    """Shares, Kemeny centers and concentrations for weighted memberships ``(c, m)``."""
    n, fit = X.shape[1], []
    for own in shares:
        costs = {y: sum(z * discordant(x, y) for z, x in zip(own, X, strict=True)) for y in all_rankings(n)}
        center = min(costs, key=costs.__getitem__)
        fit.append((own.sum() / shares.sum(), center, concentration(n, costs[center] / own.sum())))
    return fit


def gaussian_m_step(features, shares, dimension):
    """Shares, means and concentrations of isotropic Gaussians."""
    fit = []
    for own in shares:
        mean = (own[:, None] * features).sum(0) / own.sum()
        scatter = (own * ((features - mean) ** 2).sum(1)).sum()
        fit.append((own.sum() / shares.sum(), mean, dimension * own.sum() / (2 * scatter)))
    return fit


def gaussian(feature, mean, lam, dimension) -> float:
    return (lam / math.pi) ** (dimension / 2) * math.exp(-lam * ((feature - mean) ** 2).sum())


def kernel_mallows(x, theta) -> float:
    """Probability proportional to exp(theta . Phi(x))."""
    values = {y: math.exp(theta @ sign_features(y)) for y in all_rankings(len(x))}
    return math.exp(theta @ sign_features(x)) / sum(values.values())


def e_step(weights, densities):
    """Log-likelihood and weighted memberships from shares times densities ``(c, m)``."""
    total = densities.sum(0)
    return float((weights * np.log(total)).sum()), weights * densities / total
