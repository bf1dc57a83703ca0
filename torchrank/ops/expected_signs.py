r"""Convolution Kendall kernels between partial rankings of any kinds and lengths.

A partial ranking R stands for all total rankings that agree with it, and the kernel of two partial rankings is the
mean Kendall kernel over all pairs of those (Jiao and Vert, IEEE TPAMI 40(7), 2018, equation 7). As the kernel is
bilinear in pair signs, only their expectations count:

.. math:: \binom{n}{2} K(R, R') = \sum_{i < j} E_{ij} E'_{ij}

With I the items that R ranks, E_ij is the sign of i against j when both are in I, r_i when only i is, -r_j when only
j is, and 0 otherwise. What R says of the others decides r: when they may be interleaved anywhere,
:math:`r_i = u_i / (k + 1)` with k ranked items and u_i those below i minus those above; when all are below the ranked
ones (top-k), :math:`r_i = 1`. For sets C of items ranked in both, I only and J only,

.. math:: \sum_{i<j} E E' = S(C) + \sum_C r'_i a_i + \sum_C r_i b_i
          + |(I \cup J)^c| \sum_C r_i r'_i - \sum_{I \setminus J} r_i \sum_{J \setminus I} r'_j

with S(C) the concordance score on C and a_i the items of I outside C below i minus those above; b_i the same in R'.
This one formula serves every mixture of kinds; the paper's algorithms 3 and 4 have those of two equal ones.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from torchrank.ops.pair_counts import pair_counts
from torchrank.ops.weighted_signs import weighted_signs
from torchrank.rankings.orders import centered_mid_ranks

ITEM_BYTES = 38  # for each item of a row, on either side: one is held while the other is being made
PAIR_BYTES = 100  # for each pair of rows in a tile


class RowKinds(NamedTuple):
    """Whether every ranking is "topk" or "interleaving"."""

    top: Tensor  # (..., m) bool, True for "topk"
    some_interleaved: bool  # known without a look at values, which would wait for a GPU


class PartialRankings(NamedTuple):
    """Everything the formula needs of each row; ``(b, m, n)`` float64 beside the ranks, ``(b, m)`` without items."""

    ranks: Tensor  # int32, -1 = unranked
    n: int  # number of items, those that no row ranks and that have no column included
    mask: Tensor  # 1 for ranked items
    above: Tensor  # u: ranked items below an item minus those above
    kinds: RowKinds
    scale: Tensor  # 1 / (k + 1), of which u is a multiple to give r in interleaving rows
    against: Tensor  # sum of r over the ranked items: k in top-k rows, and 0 in interleaving ones, as u adds up to 0
    self_kernel: Tensor  # K(R, R), times n(n-1)/2


def partial_rankings(ranks: Tensor, strict: Tensor, kinds: RowKinds, n: int) -> PartialRankings:
    """Prepare dense ranks ``(b, m, columns)`` out of n items, with strict pairs and the kinds of rows, ``(b, m)``."""
    mask = (ranks >= 0).to(torch.float64)
    above = centered_mid_ranks(ranks).to(torch.float64)
    ranked = mask.sum(dim=-1)
    scale = 1 / (ranked + 1)
    squares = torch.where(kinds.top, ranked, above.square().sum(dim=-1) * scale.square())
    against = torch.where(kinds.top, ranked, 0)
    return PartialRankings(ranks, n, mask, above, kinds, scale, against, strict + (n - ranked) * squares)


def expected_signs_product(
    x: PartialRankings, y: PartialRankings | None, method: str, workspace: int, progress: bool
) -> Tensor:
    """Sum of E E' over pairs of items, n(n-1)/2 times the kernel: ``(b, m, m2)`` float64, symmetric without ``y``."""
    other = x if y is None else y
    total = pair_counts(x.ranks, None if y is None else y.ranks, False, method, workspace, progress)[0]
    sums = _common_sums(x, other)
    ranked_x, ranked_y = x.mask.sum(dim=-1)[..., :, None], other.mask.sum(dim=-1)[..., None, :]
    in_neither = x.n - ranked_x - ranked_y + sums.items
    only_x, only_y = x.against[..., :, None] - sums.r, other.against[..., None, :] - sums.s
    total = total + in_neither * sums.rs - only_x * only_y
    half_x = _outside(sums.us, x, other, workspace)
    if y is not None:
        return total + half_x + _outside(sums.vr.mT, y, x, workspace).mT
    total += half_x + half_x.mT
    total = total.tril(-1) + total.tril(-1).mT  # rounding is not symmetric to the last bit
    return total + torch.diag_embed(x.self_kernel)


class _CommonSums(NamedTuple):
    """Sums over the items C that both rows rank, ``(b, m, m2)``; r and u are of x, s and v the same of y."""

    items: Tensor
    r: Tensor
    s: Tensor
    us: Tensor
    vr: Tensor
    rs: Tensor


def _common_sums(x: PartialRankings, y: PartialRankings) -> _CommonSums:
    """As products of integers, which are exact: r is 1 in top-k rows and a multiple of u in interleaving ones."""
    symmetric = x is y
    items = x.mask @ y.mask.mT
    u = x.above @ y.mask.mT
    v = u.mT if symmetric else x.mask @ y.above.mT
    uv = x.above @ y.above.mT if x.kinds.some_interleaved or y.kinds.some_interleaved else u  # else not looked at
    top_x, top_y = x.kinds.top[..., :, None], y.kinds.top[..., None, :]
    scale_x, scale_y = x.scale[..., :, None], y.scale[..., None, :]
    s = torch.where(top_y, items, v * scale_y)
    us = torch.where(top_y, u, uv * scale_y)
    r = s.mT if symmetric else torch.where(top_x, items, u * scale_x)
    vr = us.mT if symmetric else torch.where(top_x, v, uv * scale_x)
    return _CommonSums(items, r, s, us, vr, torch.where(top_x, s, us * scale_x))


def _outside(us: Tensor, x: PartialRankings, y: PartialRankings, workspace: int) -> Tensor:
    """Sum over C of r' a: the items of I below i minus those above, less the same count within C, times r'.

    Within C the counts add up to nothing where r' is the same for all items, which it is in top-k rows.
    """
    if not y.kinds.some_interleaved:
        return us
    within = weighted_signs(x.ranks, y.ranks, workspace) * y.scale[..., None, :]
    return us - within.masked_fill_(y.kinds.top[..., None, :], 0)
