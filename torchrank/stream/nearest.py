"""The k best of each row of a matrix, kept while its blocks come by, and merged where several have looked at some."""

from typing import NamedTuple, get_args

import torch
from torch import Tensor

from torchrank.kernels.pair_stream import PairStream, Part
from torchrank.ops.engines import why_missing
from torchrank.processes import Group, stacked
from torchrank.typing import Sign

ORDERS = get_args(Sign)  # largest, smallest or largest absolute values first
_MERGED_AT_ONCE = 2**24  # entries


class Best(NamedTuple):
    """The best of some rows, nearest first; places without one have NaN and -1."""

    values: Tensor  # (m, k)
    indices: Tensor  # (m, k) int64


def nearest(stream: PairStream, parts: list[Part], k: int, sign: str, progress: bool) -> Best:
    """The best of all rows among some blocks of a stream; of equal ones those of the first columns."""
    device, order = stream.pair.X.ranks.device, ORDERS.index(sign)
    kept = Best(
        torch.full((stream.shape[0], k), torch.nan, dtype=stream.dtype, device=device),
        torch.full((stream.shape[0], k), -1, dtype=torch.int64, device=device),
    )
    for part, block in stream.run("kendall_neighbors", progress, parts):
        values = block[0].detach()
        _take(values, part.rows, part.columns, order, kept, own=stream.symmetric)
        if part.mirrored:
            _take(values.mT, part.columns, part.rows, order, kept, own=False)
    if not _by_heaps(kept.values) or not len(kept.values):
        return kept
    from torchrank.cpu.nearest import sorted_best

    return Best(*map(torch.from_numpy, sorted_best((kept.values.numpy(), kept.indices.numpy()), order)))


def merged(values: Tensor, indices: Tensor, k: int, sign: str) -> Best:
    """The best k of each row of ``(r, q)`` entries, whatever their order; of equal ones those of the first columns."""
    by_index = indices.argsort(dim=1)
    values, indices = values.gather(1, by_index), indices.gather(1, by_index)
    best = _keys(values, ORDERS.index(sign)).argsort(dim=1, descending=True, stable=True)[:, :k]
    return Best(values.gather(1, best), indices.gather(1, best))


def merged_over(best: Best, sign: str, group: Group) -> Best:
    """The best of what the processes of a group have found, in all of them."""
    if group is None:
        return best
    k = best.values.shape[1]
    rows = max(1, _MERGED_AT_ONCE // k)
    merges = []
    for mine in zip(best.values.split(rows), best.indices.split(rows), strict=True):
        values, indices = (stacked(part, group).transpose(0, 1).flatten(1) for part in mine)
        merges.append(merged(values, indices, k, sign))
    return Best(*map(torch.cat, zip(*merges, strict=True)))


def _keys(values: Tensor, order: int) -> Tensor:
    """Larger = nearer; NaN is the least near."""
    return (values if order == 0 else -values if order == 1 else values.abs()).nan_to_num(nan=-torch.inf)


def _by_heaps(values: Tensor) -> bool:
    """Whether these are kept by the CPU's engine."""
    return values.device.type == "cpu" and values.dtype in (torch.float32, torch.float64) and why_missing("cpu") is None


def _take(values: Tensor, rows: slice, columns: slice, order: int, kept: Best, *, own: bool) -> None:
    """Let a block ``(rows, columns)`` into the best of its rows; ``own`` says that a row is a column too."""
    if not _by_heaps(values):
        _take_sorted(values, rows, columns, order, kept, own=own)
        return
    from torchrank.cpu.nearest import keep_best, keep_best_of_columns  # numba takes half a second to import

    arrays = kept[0].numpy(), kept[1].numpy()
    if values.is_contiguous():
        keep_best(values.numpy(), rows.start, columns.start, order, arrays, own)
    else:  # a transposed block
        keep_best_of_columns(values.mT.numpy(), columns.start, rows.start, order, arrays)


def _take_sorted(values: Tensor, rows: slice, columns: slice, order: int, kept: Best, *, own: bool) -> None:
    """The same by sorting; stable, and columns come in rising order, so that of equal ones the first are kept."""
    k = kept[0].shape[1]
    column = torch.arange(columns.start, columns.stop, device=values.device)
    if own:
        row = torch.arange(rows.start, rows.stop, device=values.device)
        values = values.masked_fill(row[:, None] == column, torch.nan)
    both = torch.cat([kept[0][rows], values], 1)
    places = torch.cat([kept[1][rows], column.expand(values.shape)], 1)
    best = _keys(both, order).argsort(dim=1, descending=True, stable=True)[:, :k]
    kept[0][rows] = both.gather(1, best)
    kept[1][rows] = torch.where(kept[0][rows].isnan(), -1, places.gather(1, best))
