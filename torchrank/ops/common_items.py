"""What each two rankings have in common: items that both rank, and pairs of those that one of them orders."""

import torch
from torch import Tensor

from torchrank.ops.engines import why_missing
from torchrank.ops.pair_counts import pair_counts
from torchrank.rankings.pairs import n_pairs

_EXACT_FLOAT32 = 2**24  # sums of so many ones are exact


def common_items(x: Tensor, y: Tensor) -> Tensor:
    """Number of items that both rank, ``(b, m, m2)`` int64, of dense ranks ``(b, m or m2, n)``, -1 = unranked."""
    dtype = torch.float32 if x.shape[-1] <= _EXACT_FLOAT32 else torch.float64
    return ((x >= 0).to(dtype) @ (y >= 0).to(dtype).mT).to(torch.int64)


def strict_among_common(x: Tensor, y: Tensor, common: Tensor, method: str, workspace: int) -> Tensor:
    """Number of pairs that x orders strictly, of items that both rank, ``(b, m, m2)``."""
    if x.device.type != "cpu" or method == "reference" or why_missing("cpu"):
        # A pair that y ranks is ordered strictly by y with its ties broken, so the pairs that x orders strictly among
        # those are the ones ordered strictly by x and the tie-broken y.
        return pair_counts(x, _break_ties(y), True, method, workspace, False)[1]
    from torchrank.cpu.tied_pairs import tied_pairs  # numba takes half a second to import

    return n_pairs(common) - tied_pairs(x, y)


def _break_ties(ranks: Tensor) -> Tensor:
    """The same rankings with ties broken by item index; unranked items stay so."""
    order = ranks.argsort(dim=-1, stable=True)
    positions = torch.arange(ranks.shape[-1], dtype=torch.int32, device=ranks.device).expand(ranks.shape)
    unranked = ranks < 0  # they sort first
    untied = torch.empty_like(ranks).scatter_(-1, order, positions) - unranked.sum(-1, keepdim=True, dtype=torch.int32)
    return untied.masked_fill_(unranked, -1)
