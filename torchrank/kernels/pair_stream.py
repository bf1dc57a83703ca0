"""A stream of blocks of what is counted between rankings, each by the op that makes whole matrices."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torchrank.kernels.all_pairs import all_pairs, dtype_of
from torchrank.kernels.block_stream import BlockStream, Part, block_rows, check_block, check_one_matrix, digest
from torchrank.ops.pair_counts import METHODS
from torchrank.ops.quantities import Quantity
from torchrank.ops.rank import REMEDY, Pair, SparsePair, refusing_unranked
from torchrank.rankings.validate import check_choice, check_workspace


@dataclass(frozen=True)
class PairStream(BlockStream):
    """All pairs of two sets of rankings, block by block; for one set only blocks on and above the diagonal.

    Blocks are the entries of the whole matrix bit for bit, whatever their size.
    """

    pair: Pair | SparsePair
    quantity: Quantity
    block: int
    method: str
    workspace: int
    dtype: torch.dtype
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
        remedy: str = REMEDY,
    ) -> "PairStream":
        """Check once what every block would check again.

        Raises:
            ValueError: batch dimensions, unranked items with "raise", unknown words, a block below 1.
            TypeError: a block or a workspace that is no integer.
        """
        check_choice(method, "method", METHODS)
        workspace = check_workspace(workspace)
        check_block(block)
        for side, name in zip(pair.sides(), "XY", strict=False):
            check_one_matrix(side.shape, name)
        if isinstance(pair, Pair):
            known = [
                refusing_unranked(side, name, remedy).known() for side, name in zip(pair.sides(), "XY", strict=False)
            ]
            pair = pair._replace(X=known[0], Y=None if pair.Y is None else known[1])
        dtype = dtype_of(pair, quantity) if dtype is None else dtype
        return cls(pair, quantity, block_rows(block, workspace), method, workspace, dtype, lam)

    @property
    def symmetric(self) -> bool:
        """Whether both sides are the same rankings."""
        return self.pair.Y is None

    @property
    def shape(self) -> tuple[int, int]:
        """``(m, m2)``, of the whole matrix."""
        m = self.pair.X.shape[0]
        return m, m if self.pair.Y is None else self.pair.Y.shape[0]

    def values(self, part: Part) -> Tensor:
        """What is wanted of all pairs of a block, ``(1 or 5, rows, columns)``; on the diagonal it is symmetric."""
        x, y = self.pair.X[part.rows], None
        if not (self.symmetric and part.rows == part.columns):
            y = (self.pair.X if self.pair.Y is None else self.pair.Y)[part.columns]
        cut: Any = self.pair._replace(X=x, Y=y)
        return all_pairs(
            cut, self.quantity, method=self.method, workspace=self.workspace, dtype=self.dtype, lam=self.lam
        )

    def identity(self) -> dict[str, Any]:
        """The quantity, and what is known of the rankings on both sides."""
        quantity = {key: value if value == value else "NaN" for key, value in self.quantity._asdict().items()}
        lam = {} if self.lam is None else {"lam": float(self.lam)}
        known = (fact for side in self.pair.sides() for fact in facts_of(side))
        return {"arguments": quantity | lam, "input": digest(known)}


def facts_of(rankings: Any) -> Iterator[Tensor | str]:
    """What is known of prepared or sparse rankings and decides what is computed of them, for a digest."""
    yield rankings.meaning.word
    yield from (rankings.starts, rankings.items, rankings.ranks) if hasattr(rankings, "starts") else (rankings.ranks,)
    if rankings.meaning.topk is not None:
        yield rankings.meaning.topk
