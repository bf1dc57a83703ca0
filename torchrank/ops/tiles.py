"""How a matrix over all pairs of rows is cut, so that what is made on the way stays within the workspace."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Tile(NamedTuple):
    """A part ``(batches, rows, columns)`` of a matrix ``(b, m, m2)``."""

    batches: slice
    rows: slice
    columns: slice
    mirrored: bool = False  # the transposed part holds the same pairs of rows and is no tile of its own

    @property
    def on_diagonal(self) -> bool:
        """Whether rows and columns are the same, where both sides are."""
        return self.rows == self.columns


def plan_tiles(shape: Sequence[int], *, symmetric: bool, row_bytes: int, pair_bytes: int, room: int) -> list[Tile]:
    """Cut ``(b, m, m2)`` into tiles that take at most ``room`` bytes each, and at least one pair of rows.

    Args:
        shape: of the matrix.
        symmetric: whether both sides are the same rows; then tiles above the diagonal are left out.
        row_bytes: what each row of a tile takes, on either side.
        pair_bytes: what each pair of rows takes.
        room: bytes.
    """
    b, m, m2 = shape
    if 0 in shape:
        return []
    side = square_side(row_bytes, pair_bytes, room)
    columns = min(m2, side)
    rows = min(m, side if symmetric else max(1, (room - row_bytes * columns) // (row_bytes + pair_bytes * columns)))
    if not symmetric and rows == m:  # few rows leave room for more columns
        columns = min(m2, max(columns, (room - row_bytes * rows) // (row_bytes + pair_bytes * rows)))
    whole = row_bytes * (m + m2) + pair_bytes * m * m2
    together = max(1, room // max(1, whole)) if rows == m and columns == m2 else 1
    return [
        Tile(batches, r, c, symmetric and r != c)
        for batches in _slices(b, together)
        for r in _slices(m, rows)
        for c in _slices(r.stop if symmetric else m2, columns)
    ]


def square_side(row_bytes: int, pair_bytes: int, room: int) -> int:
    """The most rows on either side of a tile that takes ``room`` bytes, at least 1."""
    root = math.isqrt(row_bytes**2 + pair_bytes * room) - row_bytes  # of pair_bytes s^2 + 2 row_bytes s = room
    return max(1, root // pair_bytes)


def parts_of_tile(shape: Sequence[int], most: int, *, square: bool) -> Iterator[tuple[slice, slice, slice]]:
    """Cut a tile ``(b, r, c)`` into parts of about ``most`` pairs of rows: batches, stretches of rows, or squares."""
    b, r, c = shape
    together = max(1, most // max(1, r * c))
    columns = min(c, max(1, math.isqrt(most))) if square and r * c > most else c
    rows = max(1, most // max(1, columns))
    for batches in _slices(b, together):
        for one in _slices(r, rows):
            for two in _slices(c, columns):
                yield batches, one, two


def _slices(size: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, size)) for start in range(0, size, step))
