"""Tensors whose surroundings and unwritten words show."""

import numpy as np
import torch
from torch import Tensor

POISON = -77_777
GUARD = 64


class Guarded:
    """A poisoned contiguous integer tensor between two guard bands."""

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype = torch.int32) -> None:
        size = int(np.prod(shape))
        self._all = torch.full((GUARD + size + GUARD,), POISON, dtype=dtype)
        self.tensor = self._all[GUARD : GUARD + size].view(shape)

    def check(self) -> None:
        """Every word inside was written and none outside."""
        bands = torch.cat([self._all[:GUARD], self._all[-GUARD:]])
        assert (bands == POISON).all(), "a guard band was written"
        assert (self.tensor != POISON).all(), "a word was left out"


def rankings(kind: str, b: int, m: int, n: int, seed: int) -> Tensor:
    """Dense ranks ``(b, m, n)``: "total", "tied", "partial" (ties and unranked items) or "constant"."""
    rng = np.random.default_rng(seed)
    shape = (b, m, n)
    if kind == "total":
        ranks = rng.permuted(np.broadcast_to(np.arange(n), shape), axis=-1)
    elif kind == "constant":
        ranks = np.zeros(shape)
    else:
        scores = rng.integers(0, max(2, n // 2), shape)
        ranks = np.array([np.unique(row, return_inverse=True)[1] for row in scores.reshape(-1, n)]).reshape(shape)
        if kind == "partial":
            ranks[rng.random(shape) < 0.3] = -1
            ranks = _dense(ranks)
    return torch.tensor(ranks, dtype=torch.int32)


def _dense(ranks: np.ndarray) -> np.ndarray:
    """Renumber what is left in each row 0, 1, ... and keep -1."""
    for row in ranks.reshape(-1, ranks.shape[-1]):
        ranked = row >= 0
        row[ranked] = np.unique(row[ranked], return_inverse=True)[1]
    return ranks
