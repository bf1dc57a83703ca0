"""How a large problem is cut so that scratch memory stays within the workspace."""

from collections.abc import Iterator
from math import isqrt
from typing import NamedTuple

from torch import Tensor

_MOST_PAIRS = 2**30  # a launch has fewer than 2**31 programs


class Block(NamedTuple):
    """One launch: rankings of x and of y of some batch entries, and whether both are the same rankings."""

    batch: slice
    x: slice
    y: slice
    symmetric: bool

    def rankings(self, x: Tensor, y: Tensor | None) -> tuple[Tensor, Tensor]:
        """The block's ranks of both sides."""
        return x[self.batch, self.x], (x if y is None else y)[self.batch, self.y]


def blocks(x: Tensor, y: Tensor | None, row_bytes: int, pair_bytes: int, workspace: int) -> Iterator[Block]:
    """Cut ``(b, m, n)`` against ``(b, m2, n)`` into launches that fit the workspace.

    Args:
        x: ranks of the first side.
        y: ranks of the second side, or None for x; then only blocks on and above the diagonal come out.
        row_bytes: scratch that a prepared ranking takes; rankings share half of the workspace.
        pair_bytes: scratch for each pair of rankings in a launch, in the other half.
        workspace: bytes; one pair of rankings is launched however small it is.
    """
    b, m, _ = x.shape
    m2 = m if y is None else y.shape[1]
    rows = max(2, workspace // 2 // row_bytes)
    pairs = min(max(1, workspace // 2 // max(pair_bytes, 1)), _MOST_PAIRS)
    side = min(rows // 2, isqrt(pairs))
    if max(m, m2) <= side:
        batch, side = min(rows // (m + m2), pairs // (m * m2)), max(m, m2)
    else:
        batch = 1
    for first in range(0, b, batch):
        for i in range(0, m, side):
            for j in range(i if y is None else 0, m2, side):
                yield Block(
                    slice(first, first + batch), slice(i, i + side), slice(j, j + side), symmetric=y is None and i == j
                )
