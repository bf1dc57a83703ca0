"""A fingerprint of rows that does not depend on their order, or on how they are cut into batches."""

import numpy as np
from torch import Tensor

from torchrank.rankings.arrays import to_numpy

_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of splitmix64


class Fingerprint:
    """The sum of a 64-bit hash of every row, and how many rows there were."""

    def __init__(self) -> None:
        self.n_rows, self.total = 0, 0

    def add(self, ranks: Tensor, *others: Tensor | None) -> None:
        """Take in rows ``(r, n)`` of integers, and what belongs to them, float64 ``(r,)`` or ``(r, d)``."""
        columns = [to_numpy(ranks).astype(np.int64)]
        columns += [
            to_numpy(other).astype(np.float64).reshape(len(ranks), -1).view(np.int64)
            for other in others
            if other is not None
        ]
        bits = np.concatenate(columns, axis=1).view(np.uint64)
        factors = _mixed(np.arange(1, bits.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
        hashes = _mixed((_mixed(bits) * factors).sum(1, dtype=np.uint64))
        self.total = (self.total + int(hashes.sum(dtype=np.uint64))) % 2**64
        self.n_rows += len(ranks)

    def text(self) -> str:
        """The number of rows, and the hash in hexadecimal."""
        return f"{self.n_rows} rows {self.total:016x}"


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Each uint64 number as another, of which all bits depend on all of its bits (the finalizer of splitmix64)."""
    mixed = numbers + np.uint64(_STEP)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_FIRST)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_SECOND)
    return mixed ^ (mixed >> np.uint64(31))
