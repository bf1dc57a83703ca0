"""scikit-learn's named kernels, with digits to spare far from the origin."""

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels


def named_kernel(X: np.ndarray, Y: np.ndarray, name: str, params: dict[str, Any]) -> np.ndarray:
    """``pairwise_kernels(X, Y, metric=name)`` of ``(r, d)`` and ``(s, d)``, ``(r, s)``.

    scikit-learn takes Euclidean distances from products of matrices, whose digits cancel where features are large
    beside their differences, as times are. The radial kernel depends on differences alone, so the origin is moved.
    """
    if name == "rbf" and len(Y) > 0:
        origin = np.asarray(Y, dtype=np.float64).mean(axis=0)
        moved = Y - origin
        X, Y = moved if X is Y else X - origin, moved  # scikit-learn is exact on the diagonal of a matrix with itself
    return pairwise_kernels(X, Y, metric=name, **params)
