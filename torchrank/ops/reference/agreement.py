"""How far scores with jitters agree with hard rankings, row by row: sums over pairs of items, in plain torch.

With g the expected sign of a difference of two scores x, s the sign in the hard ranking and w a weight, both 0 where
one of the two items is not ranked, a row has four sums over its pairs: w g s, w g^2, w s^2 and w. The first two have
slopes in the scores and the window. :func:`block_sums` says it once, for derivatives of every order;
:func:`sums_and_slopes` is the fast way, for any device and noise.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from torchrank.ops.reference.smoothed import PairBlock, blocks
from torchrank.ops.reference.smoothed_derivatives import differences, sides
from torchrank.rankings.noises import NOISES, expected_signs

SCHEMES = ("product", "sum", "pairs")  # of weights of items (r, n), or of pairs (r, n, n)
_PAIR_BYTES = 8 * 16  # of a row and a pair: float64, and temporaries of its size


class Terms(NamedTuple):
    """What pairs are summed up by, beside what sums may be differentiated in."""

    ranks: Tensor  # (r, n) int32, -1 = does not count
    noise: str
    scheme: str


def block_sums(x: Tensor, weights: Tensor | None, window: Tensor, terms: Terms, block: PairBlock) -> Tensor:
    """The four sums over the pairs of a block, ``(r, 4)`` float64, of scores ``(r, n)`` and windows ``(r,)``."""
    signs, both = _hard(terms.ranks, block)
    counted = torch.where(terms.ranks >= 0, x, 0)  # what does not count may be NaN
    g = expected_signs(differences(counted, block), window[:, None, None].to(x.dtype), terms.noise)
    w = pair_weights(weights, terms.scheme, both, block)
    parts = (w * g * signs, w * g * g, w * signs.abs(), w)
    return torch.stack([part.sum((-2, -1), dtype=torch.float64) for part in parts], dim=-1)


def pair_weights(weights: Tensor | None, scheme: str, both: Tensor, block: PairBlock) -> Tensor:
    """Weights of the pairs of a block, ``(r, distances, items)``; 0 where not both count."""
    if weights is None:
        return both.to(torch.float64)
    if scheme == "pairs":
        i, j = places(both, block, weights.shape[-1])
        w = (weights[:, i, j] + weights[:, j, i]) / 2
    else:
        first, second = sides(weights, block)
        w = first * second if scheme == "product" else first + second
    return torch.where(both, w, 0)


def places(like: Tensor, block: PairBlock, n: int) -> tuple[Tensor, Tensor]:
    """First and second items of a block's pairs, ``(distances, items)``."""
    i = torch.arange(block.start, block.stop, device=like.device)
    d = torch.arange(block.first, block.last, device=like.device)[:, None]
    return i.expand(len(d), -1), (i + d) % n


def sums_and_slopes(
    x: Tensor, weights: Tensor | None, window: Tensor, terms: Terms, workspace: int, slopes: bool, window_slopes: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Sums ``(r, 4)``, slopes of the first two in the scores ``(r, 2, n)`` and in the window ``(r, 2)``.

    Slopes that are not wanted are empty, ``(r, 2, 0)`` and ``(r, 0)``.
    """
    rows, n = x.shape
    noise = NOISES[terms.noise]
    tiny, huge = torch.finfo(x.dtype).tiny, torch.finfo(x.dtype).max
    width = window[:, None, None].to(x.dtype).clamp(tiny, huge)
    counted = torch.where(terms.ranks >= 0, x, 0)
    sums = torch.zeros(rows, 4, dtype=torch.float64, device=x.device)
    doubled = torch.zeros(2, rows, n + n // 2 if slopes else 0, dtype=x.dtype, device=x.device)
    of_window = torch.zeros(rows, 2 if window_slopes else 0, dtype=torch.float64, device=x.device)
    for block in blocks_of(x, workspace):
        hard, both = _hard(terms.ranks, block)
        w = pair_weights(weights, terms.scheme, both, block).to(x.dtype)
        s = (differences(counted, block) / width).clamp(-noise.reach, noise.reach)
        g, signed = noise.value(s), w * hard
        for k, part in enumerate((signed * g, w * g * g, signed * hard, w)):
            sums[:, k] += part.sum((-2, -1), dtype=torch.float64)
        if not (slopes or window_slopes):
            continue
        steep = noise.slope(s) / width
        for k, by_difference in enumerate((signed * steep, 2 * w * g * steep)):
            if window_slopes:
                of_window[:, k] -= (by_difference * s).sum((-2, -1), dtype=torch.float64)
            if slopes:
                doubled[k, :, block.start : block.stop] += by_difference.sum(-2)
                for at, d in enumerate(range(block.first, block.last)):
                    doubled[k, :, block.start + d : block.stop + d] -= by_difference[:, at]
    if not slopes:
        return sums, x.new_zeros(rows, 2, 0), of_window
    doubled[..., : n // 2] += doubled[..., n:]
    of_x = doubled[..., :n].transpose(0, 1).masked_fill(x.isinf()[:, None], 0)  # infinity does not move
    return sums, of_x.contiguous(), of_window


def weights_gradient(
    gradient: Tensor, x: Tensor, weights: Tensor, window: Tensor, terms: Terms, workspace: int
) -> Tensor:
    """Gradient of the weights from that of the sums, ``(r, 4)``."""
    n = x.shape[-1]
    of_agreement, of_square, of_strict, of_total = (gradient[:, k, None, None] for k in range(4))
    counted = torch.where(terms.ranks >= 0, x, 0)
    result = torch.zeros_like(weights)
    doubled = weights.new_zeros(len(x), n + n // 2)
    for block in blocks_of(x, workspace):
        hard, both = _hard(terms.ranks, block)
        g = expected_signs(differences(counted, block), window[:, None, None].to(x.dtype), terms.noise)
        of_pair = of_agreement * g * hard + of_square * g * g + of_strict * hard.abs() + of_total
        of_pair = torch.where(both, of_pair, 0).to(weights.dtype)
        if terms.scheme == "pairs":
            i, j = places(both, block, n)
            result[:, i, j] += of_pair / 2
            result[:, j, i] += of_pair / 2
            continue
        first, second = sides(weights, block) if terms.scheme == "product" else (1, 1)
        doubled[:, block.start : block.stop] += (of_pair * second).sum(-2)
        for at, d in enumerate(range(block.first, block.last)):
            doubled[:, block.start + d : block.stop + d] += (of_pair * first)[:, at]
    if terms.scheme == "pairs":
        return result
    doubled[:, : n // 2] += doubled[:, n:]
    return doubled[:, :n].contiguous()


def blocks_of(x: Tensor, workspace: int) -> list[PairBlock]:
    """Blocks of pairs whose numbers fit the workspace, for rows ``(r, n)``."""
    return list(blocks(x.shape[-1], max(1, workspace // (_PAIR_BYTES * max(1, len(x))))))


def _hard(ranks: Tensor, block: PairBlock) -> tuple[Tensor, Tensor]:
    """Signs in the hard rankings, 0 where not both items count, and whether they do."""
    first, second = sides(ranks, block)
    both = (first >= 0) & (second >= 0)
    return torch.where(both, (first - second).sign(), 0).to(torch.float64), both
