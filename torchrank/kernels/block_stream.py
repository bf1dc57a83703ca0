"""A matrix over all pairs of rows block by block, whatever computes a block."""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchrank._progress import progress_bar
from torchrank.rankings.arrays import to_numpy
from torchrank.rankings.validate import check_count

_ENTRY_BYTES = 32  # counts of a pair, its value, and what is computed on the way
_MULTIPLE = 64  # rows of a block: whole groups of rows of the engines


@dataclass(frozen=True)
class Part:
    """A block of the plan."""

    rows: slice
    columns: slice
    mirrored: bool  # the transposed block holds the same pairs of rows and is no block of its own

    def upper(self, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places in the block, of one set of rankings, where ``mask`` is true, each pair of different rows once."""
        row, column = mask.nonzero()
        if self.mirrored:
            return row, column
        above = row < column
        return row[above], column[above]


class BlockStream(ABC):
    """All pairs of two sets of rows, block by block; for one set only blocks on and above the diagonal."""

    block: int  # rows and columns of a block
    dtype: torch.dtype  # of the values

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether both sides are the same rows."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """``(m, m2)``, of the whole matrix."""

    @abstractmethod
    def values(self, part: Part) -> Tensor:
        """What is wanted of all pairs of a block, ``(k, rows, columns)``; on the diagonal it is symmetric."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What decides the bits of the matrix beside its shape, dtype and blocks, of which JSON can be made."""

    @property
    def n_pairs(self) -> int:
        """How many pairs of different rows there are; each of one set counts once."""
        m, m2 = self.shape
        return m * (m - 1) // 2 if self.symmetric else m * m2

    def parts(self) -> list[Part]:
        """The plan: blocks row by row, those on and right of the diagonal where both sides are the same."""
        m, m2 = self.shape
        return [
            Part(rows, columns, self.symmetric and rows != columns)
            for rows in _spans(0, m, self.block)
            for columns in _spans(rows.start if self.symmetric else 0, m2, self.block)
        ]

    def run(self, title: str, progress: bool, parts: list[Part] | None = None) -> Iterator[tuple[Part, Tensor]]:
        """All blocks, or those asked for, under a progress bar that counts pairs."""
        parts = self.parts() if parts is None else parts
        total = sum(map(self._n_pairs_of, parts))
        with progress_bar(title, "pair", total=total, unit_scale=True, progress=progress) as bar:
            for part in parts:
                yield part, self.values(part)
                bar.update(self._n_pairs_of(part))

    def _n_pairs_of(self, part: Part) -> int:
        r, c = part.rows.stop - part.rows.start, part.columns.stop - part.columns.start
        return r * (r - 1) // 2 if self.symmetric and not part.mirrored else r * c


def check_block(block: int | None) -> None:
    """Raise unless ``block`` is None or a number of rows."""
    if block is not None:
        check_count(block, "block", least=1, unit="row")


def block_rows(block: int | None, workspace: int) -> int:
    """Rows and columns of a block: those asked for, or as many as fit."""
    fits = max(_MULTIPLE, math.isqrt(workspace // _ENTRY_BYTES) // _MULTIPLE * _MULTIPLE)
    return fits if block is None else int(block)


def check_one_matrix(shape: torch.Size, name: str) -> None:
    """Raise ``ValueError`` for batch dimensions."""
    if len(shape) != 2:
        raise ValueError(f"{name} has shape {tuple(shape)}; expected one matrix (rankings, items)")


def digest(parts: Iterable[Tensor | str]) -> str:
    """Of tensors, with their shapes and dtypes, and of words."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            found.update(part.encode())
            continue
        found.update(repr((tuple(part.shape), str(part.dtype))).encode())
        found.update(np.ascontiguousarray(to_numpy(part)).data)
    return found.hexdigest()


def _spans(start: int, stop: int, step: int) -> Iterator[slice]:
    return (slice(first, min(first + step, stop)) for first in range(start, stop, step))
