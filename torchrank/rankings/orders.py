"""From scores to orders and back, for code that has checked its rankings; ties go to the item of smaller index."""

import torch
from torch import Tensor


def best_first(scores: Tensor) -> Tensor:
    """Items ``(..., n)`` int64 by falling scores without NaN, the one of smaller index first where they are equal."""
    return scores.argsort(dim=-1, descending=True, stable=True)


def scores_of_order(
    order: Tensor,  # (..., n) items, most preferred first
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """Scores n, n - 1, ..., 1 of a total ranking."""
    n = order.shape[-1]
    falling = torch.arange(n, 0, -1, device=order.device).to(dtype).expand(order.shape)
    return torch.empty(order.shape, dtype=dtype, device=order.device).scatter(
        -1, order, falling
    )  # not in place, for vmap


def total_scores(scores: Tensor, dtype: torch.dtype = torch.float64) -> Tensor:
    """The total ranking in the order of scores without NaN, as scores from n to 1."""
    return scores_of_order(best_first(scores), dtype)


def centered_mid_ranks(ranks: Tensor) -> Tensor:
    """Number of items below each item minus the number above, among the ranked ones of its row; 0 for unranked.

    This is ``2 m - k - 1`` with the mid-rank m among k ranked items, 1 for the least preferred; ``(..., n)`` int64.
    """
    group = (ranks + 1).to(torch.int64)  # group 0 holds the unranked
    sizes = torch.zeros((*ranks.shape[:-1], ranks.shape[-1] + 1), dtype=torch.int64, device=ranks.device)
    sizes = sizes.scatter_add(-1, group, torch.ones_like(group))  # not in place, for vmap
    sizes[..., 0] = 0
    up_to = sizes.cumsum(dim=-1)
    below_minus_above = 2 * up_to - sizes - up_to[..., -1:]
    return below_minus_above.gather(-1, group).masked_fill_(ranks < 0, 0)
