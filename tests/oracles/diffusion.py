"""The Cayley graph of the rankings of n items, and heat on it as the exponential of a dense matrix."""

from itertools import permutations

import numpy as np
from scipy.linalg import expm


def rankings(n: int) -> list[tuple[int, ...]]:
    """Every total ranking of n items: the rank of each item, 0 to n - 1."""
    return list(permutations(range(n)))


def adjacency(n: int) -> np.ndarray:
    """1 where two items of adjacent ranks are exchanged, in the order of :func:`rankings`."""
    vertices = rankings(n)
    number = {ranking: k for k, ranking in enumerate(vertices)}
    matrix = np.zeros((len(vertices), len(vertices)))
    for ranking in vertices:
        for rank in range(n - 1):
            exchanged = tuple({rank: rank + 1, rank + 1: rank}.get(r, r) for r in ranking)
            matrix[number[ranking], number[exchanged]] = 1
    return matrix


def diffusion(n: int, beta: float) -> np.ndarray:
    """exp(beta (A - (n - 1) I)) between all rankings."""
    A = adjacency(n)
    return expm(beta * (A - (n - 1) * np.eye(len(A))))
