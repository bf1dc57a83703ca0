"""Expected ranks of scores with jitters, row by row, in plain torch."""

from typing import NamedTuple

import torch
from torch import Tensor

from torchrank.ops.reference.agreement import blocks_of, places
from torchrank.ops.reference.smoothed import PairBlock
from torchrank.ops.reference.smoothed_derivatives import differences, sides
from torchrank.rankings.noises import NOISES, expected_signs


class Among(NamedTuple):
    """Which items are ranked, and by what noise."""

    counted: Tensor  # (r, n) bool
    noise: str


def block_ranks(among: Among, block: PairBlock, x: Tensor, window: Tensor) -> Tensor:
    """What the pairs of a block add to the ranks ``(r, n)`` of scores ``(r, n)``: half their expected signs."""
    first, second = sides(among.counted, block)
    difference = differences(torch.where(among.counted, x, 0), block)
    g = expected_signs(difference, window[:, None, None].to(x.dtype), among.noise)
    half = torch.where(first & second, g / 2, 0)
    i, j = places(x, block, x.shape[-1])
    ranks = torch.zeros_like(x).index_add(-1, i[0], half.sum(-2))
    return ranks.index_add(-1, j.flatten(), -half.flatten(-2))


def soft_ranks(x: Tensor, window: Tensor, among: Among, workspace: int) -> Tensor:
    """Ranks less (k + 1) / 2 of k items that count, ``(r, n)``; those of others have no meaning."""
    return sum((block_ranks(among, block, x, window) for block in blocks_of(x, workspace)), torch.zeros_like(x))


def soft_ranks_backward(
    gradient: Tensor, x: Tensor, window: Tensor, among: Among, workspace: int
) -> tuple[Tensor, Tensor]:
    """Gradients of scores and windows from that of the ranks."""
    noise = NOISES[among.noise]
    width = window[:, None, None].to(x.dtype).clamp(torch.finfo(x.dtype).tiny, torch.finfo(x.dtype).max)
    counted = torch.where(among.counted, x, 0)
    for_x, for_window = torch.zeros_like(x), torch.zeros_like(window)
    for block in blocks_of(x, workspace):
        both = torch.logical_and(*sides(among.counted, block))
        s = (differences(counted, block) / width).clamp(-noise.reach, noise.reach)
        first, second = sides(gradient, block)
        by_difference = torch.where(both, (first - second) * noise.slope(s) / (2 * width), 0)
        for_window -= (by_difference * s).sum((-2, -1), dtype=torch.float64)
        i, j = places(x, block, x.shape[-1])
        for_x.index_add_(-1, i[0], by_difference.sum(-2)).index_add_(-1, j.flatten(), -by_difference.flatten(-2))
    return for_x.masked_fill_(x.isinf(), 0), for_window  # infinity does not move
