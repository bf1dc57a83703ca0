"""Sums of pair signs weighted by differences of mid-ranks, as products of explicit features in blocks of item pairs."""

import torch
from torch import Tensor

from torchrank.ops.reference.pair_counts import pair_blocks, signs


def weighted_signs(
    x: Tensor,  # (b, m, n) dense ranks, -1 = unranked
    y: Tensor,  # (b, m2, n)
    workspace: int,  # bytes
) -> Tensor:
    """Sum ``sign(x_i - x_j) (u_i - u_j)`` over pairs i < j ranked in both, u being the centred mid-ranks of y.

    Returns:
        ``(b, m, m2)`` int64.
    """
    u = centred_mid_ranks(y).to(torch.float64)
    ranked = y >= 0
    total = torch.zeros((x.shape[0], x.shape[1], y.shape[1]), dtype=torch.float64, device=x.device)
    rows = 2 * x.shape[0] * (x.shape[1] + y.shape[1])  # float64 features take twice the room of float32
    for i, j in pair_blocks(x.shape[2], rows, workspace, x.device):
        differences = (u[..., i] - u[..., j]) * (ranked[..., i] & ranked[..., j])
        total += signs(x, i, j).to(torch.float64) @ differences.mT
    return total.to(torch.int64)


def centred_mid_ranks(ranks: Tensor) -> Tensor:
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
