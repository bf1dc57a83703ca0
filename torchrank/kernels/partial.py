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

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from torchrank.ops.pair_counts import pair_counts
from torchrank.ops.reference.weighted_signs import centred_mid_ranks
from torchrank.ops.weighted_signs import weighted_signs

KINDS = ("interleaving", "topk")


class PartialRankings(NamedTuple):
    """Everything the formula needs of each row; ``(b, m, n)`` float64 beside the ranks, ``(b, m)`` without items."""

    ranks: Tensor  # int32, -1 = unranked
    n: int  # number of items, those that no row ranks and that have no column included
    mask: Tensor  # 1 for ranked items
    above: Tensor  # u: ranked items below an item minus those above
    against: Tensor  # r: expected sign of an item against an unranked one; 0 for unranked items
    interleaved: Tensor  # 1 / (k + 1) for interleaving rows, 0 for top-k rows
    some_interleaved: bool  # whether not all rows are top-k
    self_kernel: Tensor  # K(R, R), times n(n-1)/2


def partial_rankings(ranks: Tensor, strict: Tensor, kinds: list[str], n: int) -> PartialRankings:
    """Prepare dense ranks ``(b, m, columns)`` out of n items, with strict pairs ``(b, m)`` and the kind of each row."""
    top_k = torch.tensor([kind == "topk" for kind in kinds], dtype=torch.bool, device=ranks.device)
    mask = (ranks >= 0).to(torch.float64)
    above = centred_mid_ranks(ranks).to(torch.float64)
    ranked = mask.sum(dim=-1)
    interleaved = torch.where(top_k, 0.0, 1 / (ranked + 1))
    against = torch.where(top_k[:, None], mask, above * interleaved[..., None])
    self_kernel = strict + (n - ranked) * against.square().sum(dim=-1)
    return PartialRankings(ranks, n, mask, above, against, interleaved, "interleaving" in kinds, self_kernel)


def expected_signs_product(
    x: PartialRankings, y: PartialRankings | None, method: str, workspace: int, progress: bool
) -> Tensor:
    """Sum of E E' over pairs of items, n(n-1)/2 times the kernel: ``(b, m, m2)`` float64, symmetric without ``y``."""
    other = x if y is None else y
    total = pair_counts(x.ranks, None if y is None else y.ranks, False, method, workspace, progress)[0].to(
        torch.float64
    )
    ranked_x, ranked_y = x.mask.sum(dim=-1)[..., :, None], other.mask.sum(dim=-1)[..., None, :]
    in_neither = x.n - ranked_x - ranked_y + x.mask @ other.mask.mT
    total += in_neither * (x.against @ other.against.mT)
    half = _half(x, other, workspace)
    only_x = x.against.sum(dim=-1)[..., :, None] - x.against @ other.mask.mT
    if y is None:
        total += half + half.mT - only_x * only_x.mT
        total = total.tril(-1) + total.tril(-1).mT  # matrix products are not symmetric to the last bit
        return total + torch.diag_embed(x.self_kernel)
    only_y = y.against.sum(dim=-1)[..., None, :] - x.mask @ y.against.mT
    return total + half + _half(y, x, workspace).mT - only_x * only_y


def _half(x: PartialRankings, y: PartialRankings, workspace: int) -> Tensor:
    """Sum over C of r' a: the items of I below i minus those above, less the same count within C, times r'.

    Within C the counts add up to nothing where r' is the same for all items, which it is in top-k rows.
    """
    inside_i = x.above @ y.against.mT
    if not y.some_interleaved:
        return inside_i
    return inside_i - weighted_signs(x.ranks, y.ranks, workspace) * y.interleaved[..., None, :]


def kinds_of_rows(kind: str | Sequence[str] | None, default: str, rows: int, name: str) -> list[str]:
    """The kind of each of ``rows`` rows, from one word for all or one for each.

    Raises:
        ValueError: an unknown word, or a number of words that is not the number of rows.
    """
    words = [default if kind is None else kind] * rows if kind is None or isinstance(kind, str) else list(kind)
    if len(words) != rows:
        raise ValueError(f"{name} has {len(words)} words; expected one for each of {rows} rankings")
    for row, word in enumerate(words):
        if word not in KINDS:
            raise ValueError(f"{name} has {word!r} for row {row}; choose one of {', '.join(map(repr, KINDS))}")
    return words
