"""What is wanted of all pairs of sparse rankings, tile by tile, at the cost of the items that are ranked."""

from collections.abc import Callable

import torch
from torch import Tensor

from torchrank._progress import progress_bar
from torchrank.ops.engines import why_missing
from torchrank.ops.expected_signs import (
    ITEM_BYTES,
    PAIR_BYTES,
    CommonSums,
    RowKinds,
    RowSums,
    expected_signs_product,
    row_sums,
)
from torchrank.ops.kendall_matrix import Counting, Side, counter, expected_counts, fill
from torchrank.ops.memory import explaining_memory
from torchrank.ops.quantities import Counts, Quantity
from torchrank.ops.tiles import plan_tiles, square_side
from torchrank.rankings.missing import PARTIAL
from torchrank.rankings.sparse import SparseRankings

# Matrices of 600 rankings and c listed items are faster from about c^1.5 / 120 ranked items a row on, ties among them:
# 10 of 100, 40 of 300, 270 of 1,000, 1,200 of 3,000 ("pairwise"; 20, 70 and 300 of the first three for "interleaving").
_DENSE_FROM = 120
_STRIPE = 2**14  # pairs of rows

Count = Callable[[slice, slice | None, Counting], Counts]  # of a tile; None for the columns means the rows


@explaining_memory
def sparse_matrix(
    x: SparseRankings,
    y: SparseRankings | None,
    quantity: Quantity,
    dtype: torch.dtype,
    counting: Counting,
    lam: Tensor | None = None,
) -> Tensor:
    """As :func:`torchrank.ops.kendall_matrix.kendall_matrix`, ``(1 or 5, 1, m, m2)`` and equal to it bit for bit."""
    other = x if y is None else y
    listed = (x.items if y is None else torch.cat([x.items, y.items])).unique()
    shape = (1, len(x), len(other))
    result = torch.empty((len(quantity.transposed), *shape), dtype=dtype, device=x.starts.device)
    make = _dense if _dense_is_faster(x, other, len(listed), counting) else _by_items
    count, row_bytes, pair_bytes = make(x, y, listed, quantity, counting)
    tiles = plan_tiles(
        shape, symmetric=y is None, row_bytes=row_bytes, pair_bytes=pair_bytes, room=counting.workspace // 2
    )
    left = counting._replace(workspace=max(1, counting.workspace // 4), progress=False)
    for tile in progress_bar("sparse_matrix", "tile", tiles, progress=counting.progress):
        columns = None if y is None and tile.on_diagonal else tile.columns
        fill(result, tile, count(tile.rows, columns, left), quantity, lam, counting.workspace)
    return result


def _dense_is_faster(x: SparseRankings, y: SparseRankings, columns: int, counting: Counting) -> bool:
    """Whether matrices of rankings and listed items are to be made, or have to be: there is no other engine."""
    if x.starts.device.type != "cpu" or counting.method != "auto" or why_missing("cpu"):
        return True
    ranked = min(len(side.items) / max(1, len(side)) for side in (x, y))
    return ranked * _DENSE_FROM > columns**1.5


def _by_items(
    x: SparseRankings, y: SparseRankings | None, listed: Tensor, quantity: Quantity, counting: Counting
) -> tuple[Count, int, int]:
    """What counts a tile by the items that both rows rank, and its bytes for each row and pair of rows."""
    from torchrank.cpu.common_items import EXPECTED, SIGNS, Lists, sums_over_common  # numba takes long to import

    def lists(side: SparseRankings) -> Lists:
        items = torch.searchsorted(listed, side.items).to(torch.int32)
        return Lists(*(part.numpy() for part in (side.starts, items, side.ranks, side.mid_ranks())))

    expected = counting.missing in PARTIAL
    lists_x, rows_x = lists(x), _row_sums(x, counting) if expected else None
    lists_y, rows_y = (lists_x, rows_x) if y is None else (lists(y), _row_sums(y, counting) if expected else None)
    names = EXPECTED if expected else SIGNS

    def count(rows: slice, columns: slice | None, left: Counting) -> Counts:
        two = None if columns is None else lists_y.part(columns)
        sums = sums_over_common(lists_x.part(rows), two, len(listed), names)
        sums = {name: part[None] for name, part in sums.items()}
        if rows_x is None or rows_y is None:
            return Counts(common=sums.pop("items"), **sums)
        one, other = rows_x.part(rows), rows_y.part(rows if columns is None else columns)
        product = _expected_by_stripes(one, other, CommonSums(**sums))
        return expected_counts(one, None if columns is None else other, product)

    return count, 0, (56 + PAIR_BYTES if expected else 80)


def _expected_by_stripes(x: RowSums, y: RowSums, sums: CommonSums) -> Tensor:
    """The product of expected signs, a few rows at a time: what is made on the way stays in cache."""
    product = torch.empty(sums.score.shape, dtype=torch.float64)
    _, m, m2 = product.shape
    step = max(1, _STRIPE // max(1, m2))
    for rows in (slice(first, first + step) for first in range(0, m, step)):
        part = CommonSums(*(part[:, rows] for part in sums))
        product[:, rows] = expected_signs_product(x.part(rows), y, part)
    return product


def _row_sums(side: SparseRankings, counting: Counting) -> RowSums:
    squares = side.mid_ranks().square()
    squares = torch.zeros_like(side.lengths).index_add_(0, side.rows, squares)
    kinds = RowKinds(side.meaning.topk_rows(len(side), side.starts.device)[None], counting.missing == "interleaving")
    return row_sums(side.lengths[None], squares[None], side.strict_pairs()[None], kinds, side.n_items)


def _dense(
    x: SparseRankings, y: SparseRankings | None, listed: Tensor, quantity: Quantity, counting: Counting
) -> tuple[Count, int, int]:
    """The same by dense ranks of the items that the rows of a tile list."""
    count_dense, row_bytes, pair_bytes = counter(counting.missing, max(1, len(listed)), quantity)
    other = x if y is None else y
    room = counting.workspace // 2
    longest = int(torch.cat([x.lengths, other.lengths]).max()) if len(x) and len(other) else 0
    # Of few items all are columns; of many those of a tile, which are at most two rows' for each pair of rows.
    few = pair_bytes + 4 * ITEM_BYTES * longest
    if square_side(row_bytes, pair_bytes, room) < min(square_side(0, few, room), max(len(x), len(other))):
        row_bytes, pair_bytes = 0, few

    def count(rows: slice, columns: slice | None, left: Counting) -> Counts:
        sides = [x[rows]] if columns is None else [x[rows], other[columns]]
        one, *two = _dense_sides(sides)
        return count_dense(one, two[0] if two else None, quantity, left._replace(n_items=x.n_items))

    return count, row_bytes, pair_bytes


def _dense_sides(sides: list[SparseRankings]) -> list[Side]:
    """Dense ranks of the items that these rankings list."""
    listed = torch.cat([side.items for side in sides]).unique()
    made = []
    for side in sides:
        ranks = side.items.new_full((len(side), max(1, len(listed))), -1, dtype=torch.int32)
        ranks[side.rows, torch.searchsorted(listed, side.items)] = side.ranks
        top = side.meaning.topk_rows(len(side), ranks.device)
        made.append(Side(ranks[None], side.strict_pairs()[None], top[None]))
    return made
