"""Dense ranks: the one form that rankings have behind the border."""

import torch
from torch import Tensor

_BLOCK_BYTES = 256 * 2**20


def dense_ranks(
    scores: Tensor,  # (..., n) scores, larger = preferred, NaN = unranked
) -> tuple[Tensor, Tensor]:
    """Rank the items of every row and count the pairs that it orders strictly.

    Ranks are dense: 0 for the least preferred items, equal for tied ones, no number left out. Rows are sorted in
    blocks, so that the sort's own workspace stays below 256 MiB whatever the number of rows.

    Returns:
        ranks: ``(..., n)`` int32 in ``[0, n)``, ``-1`` for unranked items.
        strict: ``(...,)`` int64, the number of pairs of ranked items with different scores.
    """
    n = scores.shape[-1]
    rows = scores.detach().reshape(-1, n)
    ranks = torch.empty(rows.shape, dtype=torch.int32, device=scores.device)
    strict = torch.empty(rows.shape[0], dtype=torch.int64, device=scores.device)
    step = max(1, _BLOCK_BYTES // (64 * max(1, n)))
    for start in range(0, rows.shape[0], step):
        _rank_rows(rows[start : start + step], ranks[start : start + step], strict[start : start + step])
    return ranks.view(scores.shape), strict.view(scores.shape[:-1])


def _rank_rows(rows: Tensor, ranks: Tensor, strict: Tensor) -> None:
    """Fill ``ranks`` (r, n) and ``strict`` (r,) for the score rows ``rows`` (r, n)."""
    values, item = rows.sort(dim=-1)  # NaN sorts last
    starts_group = torch.ones_like(values, dtype=torch.bool)
    torch.ne(values[:, 1:], values[:, :-1], out=starts_group[:, 1:])
    rank = starts_group.cumsum(dim=-1, dtype=torch.int32).sub_(1)
    # An item is strictly above the items before its tie group: as many as the group's first position.
    position = torch.arange(values.shape[-1], dtype=torch.int64, device=values.device)
    below = torch.where(starts_group, position, 0).cummax(dim=-1).values
    if values.is_floating_point():
        unranked = values.isnan()
        rank.masked_fill_(unranked, -1)
        below.masked_fill_(unranked, 0)
    torch.sum(below, dim=-1, out=strict)
    ranks.scatter_(-1, item, rank)


def sortable(scores: Tensor) -> Tensor:
    """The same order in float32, float64 or int64, which every engine sorts.

    Narrow floats are exact in float32 and integers in int64, where uint64 keeps its order by flipping the top bit.
    """
    if scores.dtype == torch.uint64:
        return scores.view(torch.int64) ^ torch.iinfo(torch.int64).min
    if not scores.is_floating_point():
        return scores.to(torch.int64)
    return scores if scores.element_size() >= 4 else scores.to(torch.float32)
