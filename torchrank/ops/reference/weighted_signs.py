"""Sums of pair signs weighted by differences of mid-ranks, as products of explicit features in blocks of item pairs."""

import torch
from torch import Tensor

from torchrank.ops.reference.pair_counts import pair_blocks, signs
from torchrank.rankings.orders import centered_mid_ranks


def weighted_signs(
    x: Tensor,  # (b, m, n) dense ranks, -1 = unranked
    y: Tensor,  # (b, m2, n)
    workspace: int,  # bytes
) -> Tensor:
    """Sum ``sign(x_i - x_j) (u_i - u_j)`` over pairs i < j ranked in both, u being the centered mid-ranks of y.

    Returns:
        ``(b, m, m2)`` int64.
    """
    u = centered_mid_ranks(y).to(torch.float64)
    ranked = y >= 0
    total = torch.zeros((x.shape[0], x.shape[1], y.shape[1]), dtype=torch.float64, device=x.device)
    rows = 2 * x.shape[0] * (x.shape[1] + y.shape[1])  # float64 features take twice the room of float32
    for i, j in pair_blocks(x.shape[2], rows, workspace, x.device):
        differences = (u[..., i] - u[..., j]) * (ranked[..., i] & ranked[..., j])
        total += signs(x, i, j).to(torch.float64) @ differences.mT
    return total.to(torch.int64)
