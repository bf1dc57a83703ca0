"""Rankings as centers: Kemeny's, Borda's and Copeland's, for many weightings of the same rankings at once."""

from typing import get_args

import torch
from torch import Tensor

from torchrank.aggregation import kemeny_of_preferences
from torchrank.aggregation.preferences import ROUNDING
from torchrank.aggregation.ties import merge_close
from torchrank.rankings.orders import total_scores
from torchrank.rankings.pairs import item_pairs
from torchrank.typing import Center

CENTERS = get_args(Center)


def centers_of_margins(
    sums: Tensor,  # (..., n(n-1)/2) float64 weighted sums of pair signs
    totals: Tensor,  # (...) sums of the weights
    n: int,
    method: str,
) -> Tensor:
    """Total rankings ``(..., n)`` central to rankings that are known by their majorities, int64 from 0 to n - 1.

    Kemeny's is optimal; Borda's and Copeland's are approximations of it, in O(n^2). Items that a rule ties are ranked
    by index, the smaller one first, since a center has to be a total ranking.
    """
    margins = sums.new_zeros((*sums.shape[:-1], n, n))
    i, j = item_pairs(n, sums.device)
    margins[..., i, j], margins[..., j, i] = sums, -sums
    tolerance = ROUNDING * totals
    if method == "kemeny":
        scores = kemeny_of_preferences(margins.clamp(min=0), totals).scores
    elif method == "borda":
        votes = margins.sum(-1) / totals.clamp(min=torch.finfo(totals.dtype).tiny)[..., None] / 2
        scores = merge_close(votes, ROUNDING * n)
    else:
        beats = margins > tolerance[..., None, None]
        scores = (beats.sum(-1) - beats.sum(-2)).to(torch.float64)
    return total_scores(scores, torch.int64) - 1


def improved(new: Tensor, previous: Tensor | None, sums: Tensor) -> tuple[Tensor, Tensor]:
    """Of two centers by pair signs ``(..., p)``, the one with the higher agreement; and where that is the new one.

    Borda's and Copeland's centers may be worse than what was there before; keeping the better one makes every step of
    an iteration lower its objective.
    """
    if previous is None:
        return new, torch.ones(new.shape[:-1], dtype=torch.bool, device=new.device)
    better = (new * sums).sum(-1) > (previous * sums).sum(-1)
    return torch.where(better[..., None], new, previous), better
