"""The op behind Kendall kernels, distances and counts: what is wanted of all pairs of rows, tile by tile.

Counts of a tile are divided before the next tile is counted, so that nothing but the result has the result's size.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from torchrank._progress import progress_bar
from torchrank.ops.common_items import common_items, strict_among_common
from torchrank.ops.expected_signs import (
    ITEM_BYTES,
    PAIR_BYTES,
    PartialRankings,
    RowKinds,
    RowSums,
    common_sums,
    expected_signs_product,
    partial_rankings,
)
from torchrank.ops.memory import explaining_memory
from torchrank.ops.pair_counts import pair_counts
from torchrank.ops.quantities import Counts, Quantity, values
from torchrank.ops.registration import implement, vmap_as_batch
from torchrank.ops.tiles import Tile, parts_of_tile, plan_tiles

# Stays in cache, and is as much as torch computes in the calling thread: its own threads, which spin while they wait
# for each other, cost a busy machine many times what they gain here.
_PART = 2**15
_PART_BYTES = 64  # temporaries for each pair of rows while counts become results

torch.library.define(
    "torchrank::kendall_matrix",
    "(Tensor x, Tensor strict_x, Tensor? top_x, Tensor? y, Tensor? strict_y, Tensor? top_y, Tensor? lam, "
    "Tensor? untied, str missing, str name, float tie_penalty, bool normalize, int min_common, float fill_value, "
    "float shrink, ScalarType dtype, str method, int workspace, bool progress) -> Tensor",
)


class Side(NamedTuple):
    """One side of the matrix."""

    ranks: Tensor  # (b, m, n) int32 dense ranks, -1 = unranked
    strict: Tensor  # (b, m) int64, pairs of items ordered strictly
    top: Tensor | None = None  # (b, m) bool, for expected signs: whether a row is "topk", else it is "interleaving"

    def part(self, batches: slice, rows: slice) -> "Side":
        """Some of its rows."""
        top = None if self.top is None else self.top[batches, rows]
        return Side(self.ranks[batches, rows], self.strict[batches, rows], top)


class Counting(NamedTuple):
    """How to count."""

    missing: str  # "raise", "pairwise", or "topk" or "interleaving" for expected signs; the latter where any row is
    method: str
    workspace: int  # bytes
    progress: bool
    untied: Tensor | None = None  # what is known of both sides, see torchrank.ops.completeness.refuse_unranked
    n_items: int = 0  # where items that no row ranks have no column; 0 means the columns


def kendall_matrix(
    x: Side, y: Side | None, quantity: Quantity, dtype: torch.dtype, counting: Counting, lam: Tensor | None = None
) -> Tensor:
    """``quantity`` of all pairs of rows, ``(1 or 5, b, m, m2)`` of ``dtype``; symmetric bit for bit without ``y``.

    ``lam`` ``(b,)`` float64 is for "mallows". There is no derivative in anything.

    Raises:
        RuntimeError: the method has no engine on this device.
        torch.OutOfMemoryError: the result does not fit.
    """
    return torch.ops.torchrank.kendall_matrix(
        *x,
        *((None, None, None) if y is None else y),
        lam,
        counting.untied,
        counting.missing,
        *quantity,
        dtype,
        counting.method,
        counting.workspace,
        counting.progress,
    )


@explaining_memory
def _body(
    x: Tensor,
    strict_x: Tensor,
    top_x: Tensor | None,
    y: Tensor | None,
    strict_y: Tensor | None,
    top_y: Tensor | None,
    lam: Tensor | None,
    untied: Tensor | None,
    missing: str,
    name: str,
    tie_penalty: float,
    normalize: bool,
    min_common: int,
    fill_value: float,
    shrink: float,
    dtype: torch.dtype,
    method: str,
    workspace: int,
    progress: bool,
) -> Tensor:
    one = Side(x, strict_x, top_x)
    two = None if y is None or strict_y is None else Side(y, strict_y, top_y)
    quantity = _simplest(Quantity(name, tie_penalty, normalize, min_common, fill_value, shrink), one, two, missing)
    result = _empty(name, x, y, dtype)
    count, row_bytes, pair_bytes = counter(missing, x.shape[2], quantity)
    tiles = plan_tiles(
        tuple(result.shape[1:]), symmetric=y is None, row_bytes=row_bytes, pair_bytes=pair_bytes, room=workspace // 2
    )
    counting = Counting(missing, method, workspace, progress and len(tiles) == 1, untied)
    for tile in progress_bar("kendall_matrix", "tile", tiles, progress=progress and len(tiles) > 1):
        rows = one.part(tile.batches, tile.rows)
        columns = None if two is None and tile.on_diagonal else (two or one).part(tile.batches, tile.columns)
        b, r, c = rows.strict.shape[0], rows.strict.shape[1], (columns or rows).strict.shape[1]
        used = row_bytes * b * (r + c) + pair_bytes * b * r * c
        left = counting._replace(workspace=max(workspace // 4, workspace - used))
        fill(result, tile, count(rows, columns, quantity, left), quantity, lam, workspace)
    return result


def _fake(
    x: Tensor,
    strict_x: Tensor,
    top_x: Tensor | None,
    y: Tensor | None,
    strict_y: Tensor | None,
    top_y: Tensor | None,
    lam: Tensor | None,
    untied: Tensor | None,
    missing: str,
    name: str,
    tie_penalty: float,
    normalize: bool,
    min_common: int,
    fill_value: float,
    shrink: float,
    dtype: torch.dtype,
    *counting: object,
) -> Tensor:
    return _empty(name, x, y, dtype)


def _empty(name: str, x: Tensor, y: Tensor | None, dtype: torch.dtype) -> Tensor:
    parts = len(Quantity(name).transposed)
    return torch.empty(parts, x.shape[0], x.shape[1], (x if y is None else y).shape[1], dtype=dtype, device=x.device)


implement("kendall_matrix", "default", _body)
torch.library.register_fake("torchrank::kendall_matrix", _fake)
vmap_as_batch("kendall_matrix", axis=1)


def _simplest(quantity: Quantity, x: Side, y: Side | None, missing: str) -> Quantity:
    """On the CPU, where asking costs nothing, "a" in place of its equal "b" if no complete row has ties."""
    n = x.ranks.shape[2]
    if quantity.name != "b" or missing != "raise" or x.strict.device.type != "cpu":
        return quantity
    strict = [side.strict.numpy() for side in (x, y) if side is not None]
    return quantity._replace(name="a") if all((s == n * (n - 1) // 2).all() for s in strict) else quantity


Counter = Callable[[Side, Side | None, Quantity, Counting], Counts]


def counter(missing: str, n: int, quantity: Quantity) -> tuple[Counter, int, int]:
    """What counts a tile of rankings of n items, and the bytes for each row of either side and each pair of rows."""
    if missing == "pairwise":
        return _pairwise, 48 * n, 56
    if missing in ("topk", "interleaving"):
        return _expected, ITEM_BYTES * n, PAIR_BYTES
    return _complete, 0, (4 if n <= 65_536 else 8) * (2 if quantity.needs_strict else 1)


def _complete(x: Side, y: Side | None, quantity: Quantity, counting: Counting) -> Counts:
    score, both = _op(x.ranks, None if y is None else y.ranks, quantity.needs_strict, counting)
    return Counts(score, x.strict[:, :, None], (y or x).strict[:, None, :], both, x.ranks.shape[2])


def _pairwise(x: Side, y: Side | None, quantity: Quantity, counting: Counting) -> Counts:
    """Counts over commonly ranked items."""
    score, both = _op(x.ranks, None if y is None else y.ranks, quantity.needs_strict, counting)
    other = (y or x).ranks
    common = common_items(x.ranks, other)
    strict_x = strict_y = score.new_empty(0)
    if quantity.needs_ties:
        strict_x = strict_among_common(x.ranks, other, common, counting.method, counting.workspace)
        strict_y = (
            strict_x.mT
            if y is None
            else strict_among_common(other, x.ranks, common.mT, counting.method, counting.workspace).mT
        )
    return Counts(score, strict_x, strict_y, both, common)


def _expected(x: Side, y: Side | None, quantity: Quantity, counting: Counting) -> Counts:
    """Expected signs in place of signs: the convolution kernel and its self-kernels, times the number of pairs."""
    n = counting.n_items or x.ranks.shape[2]

    def prepared(side: Side) -> PartialRankings:
        assert side.top is not None
        # Known without a look at values, which would wait for a GPU.
        kinds = RowKinds(side.top, some_interleaved=counting.missing == "interleaving")
        return partial_rankings(side.ranks, side.strict, kinds, n)

    one = prepared(x)
    two = None if y is None else prepared(y)
    sums = common_sums(one, two, counting.method, counting.workspace, counting.progress)
    product = expected_signs_product(one.rows, (two or one).rows, sums)
    return expected_counts(one.rows, None if two is None else two.rows, product)


def expected_counts(x: RowSums, y: RowSums | None, product: Tensor) -> Counts:
    """Products of expected signs, and of those with themselves, in place of counts."""
    if y is None:  # the diagonal as each row alone has it, so that its cosine is exactly 1
        product.diagonal(dim1=-2, dim2=-1).copy_(x.self_kernel)
    self_y = (y or x).self_kernel
    return Counts(product, x.self_kernel[:, :, None], self_y[:, None, :], product.new_empty(0), x.n)


def _op(x: Tensor, y: Tensor | None, strict: bool, counting: Counting) -> tuple[Tensor, Tensor]:
    return pair_counts(x, y, strict, counting.method, counting.workspace, counting.progress, counting.untied)


def fill(result: Tensor, tile: Tile, counts: Counts, quantity: Quantity, lam: Tensor | None, workspace: int) -> None:
    """Turn the counts of a tile into results, part by part."""
    most = max(1, workspace // 4 // _PART_BYTES)
    most = min(most, _PART) if result.device.type == "cpu" else most
    lam = None if lam is None else lam[tile.batches]
    whole = result[:, tile.batches, tile.rows, tile.columns]
    mirror = result[:, tile.batches, tile.columns, tile.rows].mT if tile.mirrored else None
    for where in parts_of_tile(counts.score.shape, most, square=tile.mirrored):
        for k, value in enumerate(values(counts, where, quantity, lam)):
            whole[(k, *where)] = value
            if mirror is not None:
                mirror[(quantity.transposed[k], *where)] = value
