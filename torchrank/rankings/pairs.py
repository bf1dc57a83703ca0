"""Pairs of items i < j: their signs, the feature vectors in which the Kendall kernel is a product, and their number."""

from typing import TypeVar

import torch
from torch import Tensor

Number = TypeVar("Number", int, Tensor)


def n_pairs(n: Number) -> Number:
    """Pairs of n items."""
    return n * (n - 1) // 2


def pair_dtype(n: int) -> torch.dtype:
    """The narrowest dtype that holds n(n-1)/2."""
    return torch.int32 if n <= 65_536 else torch.int64


def item_pairs(n: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """First and second items of all pairs, in the order of ``torch.triu_indices(n, n, 1)``."""
    i, j = torch.triu_indices(n, n, 1, device=device)
    return i, j


def pair_signs(ranks: Tensor) -> Tensor:
    """Signs of all pairs of dense ranks ``(..., n)``, ``(..., n(n-1)/2)`` float64; 0 where tied or unranked."""
    i, j = item_pairs(ranks.shape[-1], ranks.device)
    first, second = ranks[..., i], ranks[..., j]
    both = (first >= 0) & (second >= 0)
    return torch.where(both, (first - second).sign(), 0).to(torch.float64)


def ranks_of_signs(signs: Tensor, n: int) -> Tensor:
    """Dense ranks ``(..., n)`` int64 of total rankings by their pair signs ``(..., n(n-1)/2)``."""
    i, j = item_pairs(n, signs.device)
    above = signs.new_zeros((*signs.shape[:-1], n))
    above.index_add_(-1, i, signs).index_add_(-1, j, -signs)
    return ((above + n - 1) / 2).round().long()


def discordant_with_centers(signs: Tensor, centers: Tensor) -> Tensor:
    """Discordant pairs ``(..., c, m)`` between rankings ``(m, p)`` and total rankings ``(..., c, p)``, all as signs."""
    return (signs.abs().sum(-1) - centers @ signs.mT) / 2
