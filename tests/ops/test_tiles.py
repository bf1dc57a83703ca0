"""Tiles cover a matrix once, fit their room, and leave out what their mirror images say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchrank.ops.tiles import parts_of_tile, plan_tiles, square_side

sizes = st.integers(0, 40)


@given(
    b=st.integers(0, 5), m=sizes, m2=sizes, symmetric=st.booleans(), row=st.integers(0, 50), room=st.integers(1, 9999)
)
def test_tiles_cover_every_pair_once_and_fit(b, m, m2, symmetric, row, room):
    m2 = m if symmetric else m2
    covered = np.zeros((b, m, m2), int)
    for tile in plan_tiles((b, m, m2), symmetric=symmetric, row_bytes=row, pair_bytes=3, room=room):
        part = covered[tile.batches, tile.rows, tile.columns]
        count, r, c = part.shape
        assert row * count * (r + c) + 3 * part.size <= room or part.size == 1
        assert tile.mirrored == (symmetric and not tile.on_diagonal)
        part += 1
        if tile.mirrored:
            covered[tile.batches, tile.columns, tile.rows] += 1
    assert (covered == 1).all()


def test_few_rows_leave_room_for_more_columns():
    tiles = plan_tiles((1, 3, 10_000), symmetric=False, row_bytes=0, pair_bytes=4, room=4 * 3 * 5_000)
    assert [(t.rows, t.columns) for t in tiles] == [(slice(0, 3), slice(0, 5000)), (slice(0, 3), slice(5000, 10_000))]


@pytest.mark.parametrize(("row_bytes", "room"), [(1, 2**19), (38 * 10_000, 2**26), (38, 2**12)])
def test_the_square_is_the_largest_that_fits(row_bytes, room):
    side = square_side(row_bytes, 100, room)
    assert 2 * row_bytes * side + 100 * side**2 <= room or side == 1
    assert 2 * row_bytes * (side + 1) + 100 * (side + 1) ** 2 > room


@given(b=st.integers(1, 5), r=st.integers(1, 40), c=st.integers(1, 40), most=st.integers(1, 500), square=st.booleans())
def test_parts_cover_a_tile_once(b, r, c, most, square):
    covered = np.zeros((b, r, c), int)
    for where in parts_of_tile((b, r, c), most, square=square):
        assert covered[where].size <= max(most, c if not square else 1)
        covered[where] += 1
    assert (covered == 1).all()
