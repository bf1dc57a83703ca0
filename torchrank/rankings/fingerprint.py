"""Fingerprints of rows: of what they are, and of the order and the batches in which they come."""

import hashlib
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from torchrank.rankings.arrays import to_numpy
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.sparse import SparseRankings

_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of splitmix64


class Fingerprint:
    """The sum of a 64-bit hash of every row, and how many rows there were; and a digest of these in their order."""

    def __init__(self) -> None:
        self.n_rows, self.total = 0, 0
        self._order = hashlib.sha256()

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
        self._order.update(hashes.tobytes() + b"batch")

    def text(self) -> str:
        """The number of rows, and the hash in hexadecimal."""
        return f"{self.n_rows} rows {self.total:016x}"

    def order(self) -> str:
        """A digest of the order in which rows came, and of how they were cut into batches."""
        return self._order.hexdigest()[:16]


@dataclass
class Tally:
    """How many rows there were, and a sum that other rows hardly have: cheaper than a fingerprint, for every pass."""

    n_rows: int = 0
    total: int = 0

    def add(self, rankings: Rankings | SparseRankings, *others: Tensor | None) -> None:
        """Take in what :meth:`Fingerprint.add` does."""
        total = 0
        if isinstance(rankings, SparseRankings):
            items, ranks = (to_numpy(part).astype(np.uint64) for part in (rankings.items, rankings.ranks))
            total += int((ranks * _factors(items)).sum(dtype=np.uint64))
            self.n_rows += len(rankings.starts) - 1
        else:
            sums = to_numpy(rankings.ranks.sum(0, dtype=torch.int64)).view(np.uint64)
            total += int((sums * _factors(np.arange(len(sums), dtype=np.uint64))).sum(dtype=np.uint64))
            self.n_rows += rankings.ranks.shape[0]
        for other in others:
            if other is not None:
                bits = np.ascontiguousarray(to_numpy(other).astype(np.float64)).view(np.uint64)
                total += int(bits.sum(dtype=np.uint64))
        self.total = (self.total + total) % 2**64


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
