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

from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor

from torchrank.ops.pair_counts import pair_counts
from torchrank.ops.reference.weighted_signs import centred_mid_ranks
from torchrank.ops.weighted_signs import weighted_signs

KINDS = ("interleaving", "topk")
Kind: TypeAlias = Any  # one of KINDS, or nested sequences or an array of them, (..., m); None for the default


class RowKinds(NamedTuple):
    """Which of :data:`KINDS` every ranking is."""

    top: Tensor  # (..., m) bool, True for "topk"
    some_interleaved: bool  # known without a look at values, which would wait for a GPU


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


def partial_rankings(ranks: Tensor, strict: Tensor, kinds: RowKinds, n: int) -> PartialRankings:
    """Prepare dense ranks ``(b, m, columns)`` out of n items, with strict pairs and the kinds of rows, ``(b, m)``."""
    mask = (ranks >= 0).to(torch.float64)
    above = centred_mid_ranks(ranks).to(torch.float64)
    ranked = mask.sum(dim=-1)
    interleaved = torch.where(kinds.top, 0.0, 1 / (ranked + 1))
    against = torch.where(kinds.top[..., None], mask, above * interleaved[..., None])
    self_kernel = strict + (n - ranked) * against.square().sum(dim=-1)
    return PartialRankings(ranks, n, mask, above, against, interleaved, kinds.some_interleaved, self_kernel)


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


def kinds_of_rows(kind: Kind, default: str, rows: int, name: str, device: torch.device) -> RowKinds:
    """The kind of each of ``rows`` rows, from one word for all or one for each, with any batch dimensions before.

    Raises:
        ValueError: an unknown word, or numbers of words that do not fit.
    """
    flags, shape = _flags(default if kind is None else kind, name, ())
    if not shape:
        return RowKinds(torch.full((rows,), flags[0], device=device), not flags[0])
    if shape[-1] != rows:
        raise ValueError(f"{name} has {shape[-1]} words; expected one for each of {rows} rankings")
    return RowKinds(torch.tensor(flags, dtype=torch.bool, device=device).reshape(shape), not all(flags))


def _flags(words: Any, name: str, place: tuple[int, ...]) -> tuple[list[bool], tuple[int, ...]]:
    """Whether each word is "topk", in one list, and the shape that the words came in."""
    words = words.tolist() if hasattr(words, "tolist") else words
    if not isinstance(words, (list, tuple)):
        if words not in KINDS:
            where = "" if not place else f" for row {place[0] if len(place) == 1 else place}"
            raise ValueError(f"{name} has {words!r}{where}; choose one of {', '.join(map(repr, KINDS))}")
        return [words == "topk"], ()
    parts = [_flags(part, name, (*place, k)) for k, part in enumerate(words)]
    shapes = [shape for _, shape in parts] or [()]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError(f"{name} has rows of different lengths; expected one word for each ranking of every batch")
    return [flag for flags, _ in parts for flag in flags], (len(parts), *shapes[0])
