"""How a large problem is cut so that scratch memory stays within the workspace."""

from collections.abc import Iterator
from math import isqrt
from typing import NamedTuple

from torch import Tensor

from kernels_triton.launching import round_up

_MOST_PAIRS = 2**30  # a launch has fewer than 2**31 programs


class RowBlock(NamedTuple):
    """One launch: rankings of x and of y of some batch entries, and whether both are the same rankings."""

    batch: slice
    x: slice
    y: slice
    symmetric: bool

    def rankings(self, x: Tensor, y: Tensor | None) -> tuple[Tensor, Tensor]:
        """The block's ranks of both sides."""
        return x[self.batch, self.x], (x if y is None else y)[self.batch, self.y]


def blocks(
    x: Tensor, y: Tensor | None, row_bytes: int, pair_bytes: int, workspace: int, padding: int = 1
) -> Iterator[RowBlock]:
    """Cut ``(b, m, n)`` against ``(b, m2, n)`` into launches that fit three quarters of the workspace.

    Args:
        x: ranks of the first side.
        y: ranks of the second side, or None for x; then only blocks on and above the diagonal come out.
        row_bytes: scratch that a prepared ranking takes; rankings share half of the workspace.
        pair_bytes: scratch for each pair of rankings in a launch, together at most a quarter.
        workspace: bytes; one pair of rankings is launched however small it is.
        padding: rankings of each side of each batch entry are made up to a multiple of this.
    """
    b, m, _ = x.shape
    m2 = m if y is None else y.shape[1]
    rows = max(2 * padding, _round_down(workspace // 2 // row_bytes, 2 * padding))
    pairs = min(max(1, workspace // 4 // max(pair_bytes, 1)), _MOST_PAIRS)
    if y is None:
        step_x = step_y = min(m, rows // 2, isqrt(pairs))
    else:
        step_y = min(m2, max(rows // 2, rows - round_up(m, padding)), pairs)
        step_x = min(m, rows - round_up(step_y, padding), pairs // step_y)
    batch = 1
    if step_x == m and step_y == m2:
        batch = max(1, min(rows // (round_up(m, padding) + round_up(m2, padding)), pairs // (m * m2)))
    for first in range(0, b, batch):
        for i in range(0, m, step_x):
            for j in range(i if y is None else 0, m2, step_y):
                yield RowBlock(
                    slice(first, first + batch),
                    slice(i, i + step_x),
                    slice(j, j + step_y),
                    symmetric=y is None and i == j,
                )


def _round_down(size: int, multiple: int) -> int:
    return size // multiple * multiple
