"""What the engines of the pair_counts op share: one call's arrays, its cut into blocks and tiles, the mirrored half."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from torchrank._progress import NoBar
from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles, spans


class RowBlock(NamedTuple):
    """A part of the result whose prepared rankings fit the workspace."""

    batches: slice
    rows: slice
    columns: slice
    lower: bool  # rows and columns are the same rankings, and only the half below the diagonal is computed


class Tile(NamedTuple):
    """A part of a block that one thread computes."""

    batch: int
    r0: int
    r1: int
    c0: int
    c1: int


@dataclass(frozen=True)
class Job:
    """One call of the op."""

    x: np.ndarray  # (b, m, n) int32 dense ranks
    y: np.ndarray  # (b, m2, n)
    score: np.ndarray  # (b, m, m2)
    strict: np.ndarray  # (b, m, m2), or (b, 0, 0) when it is not wanted
    symmetric: bool  # y is x
    untied: bool  # every ranking is complete and without ties
    workspace: int  # bytes
    bar: "tqdm[Any] | NoBar[Any]"

    def blocks(self, row_bytes: int, multiple: int) -> Iterator[RowBlock]:
        """Cut the result so that ``row_bytes`` for every row and column of a block fit the workspace.

        Whole batches go together where they fit; else rows and columns are cut at multiples of ``multiple``.
        """
        b, m, m2 = self.score.shape
        rows = max(multiple, self.workspace // (2 * row_bytes) // multiple * multiple)
        padded = -(-max(m, m2) // multiple) * multiple  # what whole groups of rows take
        if padded <= rows:
            for batches in spans(b, rows // padded):
                yield RowBlock(slice(*batches), slice(0, m), slice(0, m2), self.symmetric)
            return
        for batch in range(b):
            for r in spans(m, rows):
                for c in spans(m2, rows):
                    if not self.symmetric or c <= r:
                        yield RowBlock(slice(batch, batch + 1), slice(*r), slice(*c), self.symmetric and r == c)

    def tiles(self, block: RowBlock, rows: int, columns: int) -> list[Tile]:
        """Cut a block into tiles of ``rows`` x ``columns``, without those above the diagonal of a lower block."""
        m, m2 = block.rows.stop - block.rows.start, block.columns.stop - block.columns.start
        batches = range(block.batches.stop - block.batches.start)
        cut = [(*r, *c) for r in spans(m, rows) for c in spans(m2, columns) if not block.lower or c[0] < r[1]]
        return [Tile(batch, *part) for batch in batches for part in cut]

    def run(self, tiles: Sequence[Tile], work: Callable[[Tile], None], share: float = 0.0) -> None:
        """Run ``work`` over the tiles on all threads; together they advance the progress bar by ``share``."""
        bar = self.bar
        if isinstance(bar, NoBar) or not share:
            run_tiles(tiles, work)
        else:
            total = bar.total or 0
            step = share * total / max(1, len(tiles))
            run_tiles(tiles, work, lambda: bar.update(min(step, total - bar.n)))

    def share(self, block: RowBlock) -> float:
        """The block's part of all work."""
        whole = self.score.size / (2 if self.symmetric else 1)
        part = self.score[block.batches, block.rows, block.columns].size / (2 if block.lower else 1)
        return part / whole

    def mirror(self, block: RowBlock, tile: Tile) -> None:
        """Copy a finished tile of a symmetric result to the other side of the diagonal."""
        if not self.symmetric:
            return
        for matrix in (self.score, self.strict) if self.strict.size else (self.score,):
            whole = matrix[block.batches][tile.batch]
            _mirror(whole[block.rows, block.columns], whole[block.columns, block.rows], *tile[1:], block.lower)


@njit(nogil=True, cache=True)
def _mirror(source, target, r0, r1, c0, c1, lower):
    """``target[c, r] = source[r, c]`` over a tile; with ``lower`` for c < r only."""
    for r in range(r0, r1):
        for c in range(c0, min(c1, r) if lower else c1):
            target[c, r] = source[r, c]
