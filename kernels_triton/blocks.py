"""How a large problem is cut so that scratch memory stays within the workspace."""

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor


class Block(NamedTuple):
    """One launch: rankings of x and y of some batch entries, and whether both are the same rankings."""

    batch: slice
    x: slice
    y: slice
    symmetric: bool


def blocks(x: Tensor, y: Tensor | None, row_bytes: int, pair_bytes: int, workspace: int) -> Iterator[Block]:
    """Cut ``(b, m, n)`` against ``(b, m2, n)`` into launches that fit the workspace.

    Args:
        x: ranks of the first side.
        y: ranks of the second side, or None for x; then only blocks on and above the diagonal come out.
        row_bytes: scratch that a prepared ranking takes.
        pair_bytes: scratch for each pair of rankings in a launch.
        workspace: bytes; one pair of rankings is launched however small it is.
    """
    b, m, _ = x.shape
    m2 = m if y is None else y.shape[1]
    rows = max(2, workspace // 2 // row_bytes) if pair_bytes else max(2, workspace // row_bytes)
    pairs = max(1, workspace // 2 // pair_bytes) if pair_bytes else max(1, 2**62)
    side = max(1, min(rows // 2, int(pairs**0.5)))
    step_x, step_y = min(m, side), min(m2, side)
    step_b = max(1, min(b, rows // max(step_x + step_y, 1), pairs // max(step_x * step_y, 1)))
    if step_x < m or step_y < m2:
        step_b = 1
    for first in range(0, b, step_b):
        for i in range(0, m, max(step_x, 1)):
            for j in range(i if y is None else 0, m2, max(step_y, 1)):
                yield Block(
                    slice(first, min(first + step_b, b)),
                    slice(i, min(i + step_x, m)),
                    slice(j, min(j + step_y, m2)),
                    y is None and i == j,
                )
