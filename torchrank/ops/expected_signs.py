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
PAIR_BYTES = 120  # for each pair of rows in a tile


class RowKinds(NamedTuple):
    """Whether every ranking is "topk" or "interleaving"."""

    top: Tensor  # (..., m) bool, True for "topk"
    some_interleaved: bool  # known without a look at values, which would wait for a GPU


class RowSums(NamedTuple):
    """What the formula needs of each row alone, ``(b, m)`` float64."""

    n: int  # number of items, those that no row ranks and that have no column included
    kinds: RowKinds
    ranked: Tensor  # k
    scale: Tensor  # 1 / (k + 1), of which u is a multiple to give r in interleaving rows
    against: Tensor  # sum of r over the ranked items: k in top-k rows, and 0 in interleaving ones, as u adds up to 0
    self_kernel: Tensor  # K(R, R), times n(n-1)/2

    def part(self, rows: slice) -> "RowSums":
        """Those of some rows."""
        kinds = self.kinds._replace(top=self.kinds.top[:, rows])
        return RowSums(self.n, kinds, *(part[:, rows] for part in self[2:]))


class CommonSums(NamedTuple):
    """Sums over the items C that both rows rank, ``(b, m, m2)``, integers of any dtype; u and v are those of x and y.

    The last three are not looked at where no row is "interleaving", and may be empty.
    """

    items: Tensor
    score: Tensor  # S(C)
    u: Tensor
    v: Tensor
    uv: Tensor
    v_signed: Tensor  # sum of sign(x_i - x_j) (v_i - v_j) over pairs in C
    u_signed: Tensor  # sum of sign(y_i - y_j) (u_i - u_j)


class PartialRankings(NamedTuple):
    """Everything the formula needs of each row; ``(b, m, n)`` float64 beside the ranks."""

    ranks: Tensor  # int32, -1 = unranked
    mask: Tensor  # 1 for ranked items
    above: Tensor  # u: ranked items below an item minus those above
    rows: RowSums


def row_sums(ranked: Tensor, squares: Tensor, strict: Tensor, kinds: RowKinds, n: int) -> RowSums:
    """Of rows that rank so many items with this sum of u^2, and order so many pairs of them strictly."""
    ranked = ranked.to(torch.float64)
    scale = 1 / (ranked + 1)
    squares = torch.where(kinds.top, ranked, squares * scale.square())
    against = torch.where(kinds.top, ranked, 0)
    return RowSums(n, kinds, ranked, scale, against, strict + (n - ranked) * squares)


def partial_rankings(ranks: Tensor, strict: Tensor, kinds: RowKinds, n: int) -> PartialRankings:
    """Prepare dense ranks ``(b, m, columns)`` out of n items, with strict pairs and the kinds of rows, ``(b, m)``."""
    mask = (ranks >= 0).to(torch.float64)
    above = centered_mid_ranks(ranks).to(torch.float64)
    rows = row_sums(mask.sum(dim=-1), above.square().sum(dim=-1), strict, kinds, n)
    return PartialRankings(ranks, mask, above, rows)


def common_sums(
    x: PartialRankings, y: PartialRankings | None, method: str, workspace: int, progress: bool
) -> CommonSums:
    """As products of integers, which are exact, and by counting signs."""
    other = x if y is None else y
    score = pair_counts(x.ranks, None if y is None else y.ranks, False, method, workspace, progress)[0]
    items = x.mask @ other.mask.mT
    u = x.above @ other.mask.mT
    v = u.mT if y is None else x.mask @ other.above.mT
    empty = items.new_empty(0)
    some_x, some_y = x.rows.kinds.some_interleaved, other.rows.kinds.some_interleaved
    uv = x.above @ other.above.mT if some_x or some_y else empty
    v_signed = weighted_signs(x.ranks, other.ranks, workspace) if some_y else empty
    if y is None:
        return CommonSums(items, score, u, v, uv, v_signed, v_signed.mT if some_y else empty)
    u_signed = weighted_signs(other.ranks, x.ranks, workspace).mT if some_x else empty
    return CommonSums(items, score, u, v, uv, v_signed, u_signed)


def expected_signs_product(x: RowSums, y: RowSums, sums: CommonSums) -> Tensor:
    """Sum of E E' over pairs of items, n(n-1)/2 times the kernel: ``(b, m, m2)`` float64.

    The sums are integers, and everything after them rounds to the same whichever of the two rankings comes first: a
    tile and its transpose, which other blocks or processes may compute, hold the same bits.
    """
    top_x, top_y = x.kinds.top[..., :, None], y.kinds.top[..., None, :]
    scale_x, scale_y = x.scale[..., :, None], y.scale[..., None, :]
    some_x, some_y = x.kinds.some_interleaved, y.kinds.some_interleaved
    items, u, v = (part.to(torch.float64) for part in (sums.items, sums.u, sums.v))
    # r is 1 in top-k rows and a multiple of u in interleaving ones; s is the same of y.
    s = torch.where(top_y, items, v * scale_y) if some_y else items
    us = torch.where(top_y, u, sums.uv * scale_y) if some_y else u
    r = torch.where(top_x, items, u * scale_x) if some_x else items
    vr = torch.where(top_x, v, sums.uv * scale_x) if some_x else v
    rs = s
    if some_x:
        both = sums.uv * (scale_x * scale_y)  # not one scale after the other, which rounds by their order
        rs = torch.where(top_x, s, torch.where(top_y, r, both) if some_y else r)
    in_neither = x.n - x.ranked[..., :, None] - y.ranked[..., None, :] + items
    total = sums.score + in_neither * rs - (x.against[..., :, None] - r) * (y.against[..., None, :] - s)
    half_x = us - _within(sums.v_signed, scale_y, top_y) if some_y else us
    half_y = vr - _within(sums.u_signed, scale_x, top_x) if some_x else vr
    return total + (half_x + half_y)  # the halves change places with the rankings


def _within(signed: Tensor, scale: Tensor, top: Tensor) -> Tensor:
    """Sum over C of r' times the items of C below i minus those above; 0 in top-k rows, where r' is the same for all.

    What is left of all items of I are those outside C.
    """
    return (signed * scale).masked_fill_(top, 0)
