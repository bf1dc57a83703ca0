"""A plan of blocks of a matrix over all pairs of rankings, and each of its blocks by the op that makes whole ones."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from torchrank.kernels.all_pairs import all_pairs, dtype_of
from torchrank.ops.pair_counts import METHODS
from torchrank.ops.quantities import Quantity
from torchrank.ops.rank import REMEDY, Pair, SparsePair, refusing_unranked
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.validate import check_choice, check_count, check_workspace

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


@dataclass(frozen=True)
class PairStream:
    """All pairs of two sets of rankings, block by block; for one set only blocks on and above the diagonal."""

    pair: Pair | SparsePair
    quantity: Quantity
    block: int
    method: str
    workspace: int
    dtype: torch.dtype  # of the values
    lam: Tensor | None = None  # of "mallows"

    @classmethod
    def of(
        cls,
        pair: Pair | SparsePair,
        quantity: Quantity,
        *,
        block: int | None,
        method: str,
        workspace: int,
        dtype: torch.dtype | None = None,
        lam: Tensor | None = None,
    ) -> "PairStream":
        """Check once what every block would check again.

        Raises:
            ValueError: batch dimensions, unranked items with "raise", unknown words, a block below 1.
            TypeError: a block or a workspace that is no integer.
        """
        check_choice(method, "method", METHODS)
        workspace = check_workspace(workspace)
        if block is not None:
            check_count(block, "block", least=1, unit="row")
        for side, name in zip(pair.sides(), "XY", strict=False):
            if len(side.shape) != 2:
                raise ValueError(f"{name} has shape {tuple(side.shape)}; expected one matrix (rankings, items)")
        if isinstance(pair, Pair):
            known = [_known(side, name) for side, name in zip(pair.sides(), "XY", strict=False)]
            pair = pair._replace(X=known[0], Y=None if pair.Y is None else known[1])
        fits = max(_MULTIPLE, math.isqrt(workspace // _ENTRY_BYTES) // _MULTIPLE * _MULTIPLE)
        dtype = dtype_of(pair, quantity) if dtype is None else dtype
        return cls(pair, quantity, fits if block is None else int(block), method, workspace, dtype, lam)

    @property
    def symmetric(self) -> bool:
        """Whether both sides are the same rankings."""
        return self.pair.Y is None

    @property
    def shape(self) -> tuple[int, int]:
        """``(m, m2)``, of the whole matrix."""
        m = self.pair.X.shape[0]
        return m, m if self.pair.Y is None else self.pair.Y.shape[0]

    @property
    def n_pairs(self) -> int:
        """How many pairs of different rankings there are; each of one set counts once."""
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

    def values(self, part: Part) -> Tensor:
        """What is wanted of all pairs of a block, ``(1 or 5, rows, columns)``; on the diagonal it is symmetric."""
        x, y = self.pair.X[part.rows], None
        if not (self.symmetric and part.rows == part.columns):
            y = (self.pair.X if self.pair.Y is None else self.pair.Y)[part.columns]
        cut: Any = self.pair._replace(X=x, Y=y)
        return all_pairs(
            cut, self.quantity, method=self.method, workspace=self.workspace, dtype=self.dtype, lam=self.lam
        )

    def run(self, title: str, progress: bool, parts: list[Part] | None = None) -> Iterator[tuple[Part, Tensor]]:
        """All blocks, or those asked for, under a progress bar that counts pairs."""
        parts = self.parts() if parts is None else parts
        total = sum(map(self._n_pairs_of, parts))
        with tqdm(total=total, desc=title, unit="pair", unit_scale=True, disable=not progress) as bar:
            for part in parts:
                yield part, self.values(part)
                bar.update(self._n_pairs_of(part))

    def _n_pairs_of(self, part: Part) -> int:
        r, c = part.rows.stop - part.rows.start, part.columns.stop - part.columns.start
        return r * (r - 1) // 2 if self.symmetric and not part.mirrored else r * c


def _known(side: Rankings, name: str) -> Rankings:
    return refusing_unranked(side, name, REMEDY).known()


def _spans(start: int, stop: int, step: int) -> Iterator[slice]:
    return (slice(first, min(first + step, stop)) for first in range(start, stop, step))
