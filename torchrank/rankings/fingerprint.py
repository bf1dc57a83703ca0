"""A fingerprint of rows that does not depend on their order, or on how they are cut into batches."""

import numpy as np
from torch import Tensor

from torchrank.rankings.arrays import to_numpy
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.sparse import SparseRankings

_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of splitmix64


class Fingerprint:
    """The sum of a 64-bit hash of every row, and how many rows there were."""

    def __init__(self) -> None:
        self.n_rows, self.total = 0, 0

    def add(self, rankings: Rankings | SparseRankings, *others: Tensor | None) -> None:
        """Take in rankings, and what belongs to them, float64 ``(r,)`` or ``(r, d)``."""
        if isinstance(rankings, SparseRankings):
            items, ranks = (
                to_numpy(part).astype(np.int64).view(np.uint64) for part in (rankings.items, rankings.ranks)
            )
            sums = np.concatenate([[np.uint64(0)], (_mixed(ranks) * _factors(items)).cumsum(dtype=np.uint64)])
            hashes = np.diff(sums[to_numpy(rankings.starts)])
        else:
            hashes = _of_columns(to_numpy(rankings.ranks).astype(np.int64))
        for other in others:
            if other is not None:
                numbers = np.ascontiguousarray(to_numpy(other).astype(np.float64).reshape(len(hashes), -1))
                hashes = _mixed(hashes) + _of_columns(numbers.view(np.int64))
        self.total = (self.total + int(_mixed(hashes).sum(dtype=np.uint64))) % 2**64
        self.n_rows += len(hashes)

    def text(self) -> str:
        """The number of rows, and the hash in hexadecimal."""
        return f"{self.n_rows} rows {self.total:016x}"


def _of_columns(numbers: np.ndarray) -> np.ndarray:
    """A hash of each row of int64 numbers."""
    bits = np.ascontiguousarray(numbers).view(np.uint64)
    return (_mixed(bits) * _factors(np.arange(bits.shape[1], dtype=np.uint64))).sum(1, dtype=np.uint64)


def _factors(columns: np.ndarray) -> np.ndarray:
    """An odd number for each column."""
    return _mixed(columns + np.uint64(1)) | np.uint64(1)


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Each uint64 number as another, of which all bits depend on all of its bits (the finalizer of splitmix64)."""
    mixed = numbers + np.uint64(_STEP)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_FIRST)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_SECOND)
    return mixed ^ (mixed >> np.uint64(31))
