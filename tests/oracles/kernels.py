"""Kendall and Mallows kernels and distances of two rankings, from their definitions."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.oracles.pair_counts import pair_classes, sign


def kendall(x: Sequence[Any], y: Sequence[Any], variant: str = "b") -> float:
    """Agreement over pairs of commonly ranked items: per pair ("a"), or the cosine of the two sign vectors ("b")."""
    c = pair_classes(x, y)
    score, both = c.concordant - c.discordant, c.concordant + c.discordant
    scale = sum(c) if variant == "a" else math.sqrt((both + c.tied_y) * (both + c.tied_x))
    return score / scale if scale else 0.0


def distance(x: Sequence[Any], y: Sequence[Any], tie_penalty: float = 0.25, normalize: bool = False) -> float:
    """Discordant pairs, and ``tie_penalty`` for each pair tied in exactly one ranking."""
    c = pair_classes(x, y)
    pairs = c.discordant + tie_penalty * (c.tied_x + c.tied_y)
    return pairs / max(1, sum(c)) if normalize else pairs


def mallows(
    x: Sequence[Any], y: Sequence[Any], lam: float, tie_penalty: float = 0.25, normalize: bool = False
) -> float:
    """exp(-lam d)."""
    return math.exp(-lam * distance(x, y, tie_penalty, normalize))


def sign_features(x: Sequence[Any]) -> list[int]:
    """The sign of x_i - x_j for all i < j."""
    return [sign(x[i], x[j]) for i in range(len(x)) for j in range(i + 1, len(x))]


def gram(kernel: Callable[..., float], X: Any, Y: Any = None, **settings: Any) -> np.ndarray:
    """``kernel(x, y)`` for all rows x of X and y of Y; arrays and tensors become lists of Python numbers first."""
    rows = X.tolist() if hasattr(X, "tolist") else X
    columns = rows if Y is None else Y.tolist() if hasattr(Y, "tolist") else Y
    values = [[kernel(x, y, **settings) for y in columns] for x in rows]
    return np.array(values, dtype=np.float64).reshape(len(rows), len(columns))
