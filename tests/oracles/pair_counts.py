"""Pair counts of two rankings by looking at every pair of items."""

import numpy as np


def score_and_strict(x: np.ndarray, y: np.ndarray) -> tuple[int, int]:
    """Concordant minus discordant and concordant plus discordant pairs of two rows of ranks, -1 = unranked."""
    score = strict = 0
    for i in range(len(x)):
        for j in range(i):
            if min(x[i], x[j], y[i], y[j]) < 0:
                continue
            product = int(np.sign(int(x[i]) - int(x[j]))) * int(np.sign(int(y[i]) - int(y[j])))
            score += product
            strict += abs(product)
    return score, strict


def score_and_strict_gram(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two counts for all rows of ``(b, m, n)`` against all rows of ``(b, m2, n)``, each ``(b, m, m2)``."""
    counts = np.array(
        [[[score_and_strict(row_x, row_y) for row_y in by] for row_x in bx] for bx, by in zip(x, y, strict=True)],
        dtype=np.int64,
    ).reshape(x.shape[0], x.shape[1], y.shape[1], 2)
    return counts[..., 0], counts[..., 1]
