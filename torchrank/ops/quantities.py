"""From pair counts to the numbers that users ask for: the one place where counts meet arithmetic, widened first."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchrank.rankings.pairs import n_pairs


class Quantity(NamedTuple):
    """What is wanted of every pair of rows."""

    name: str  # "a", "b": a Kendall kernel; "distance" d; "mallows": e^(-lam d); "counts": five numbers of pairs
    tie_penalty: float = 0.25
    normalize: bool = False  # the distance as a share of the pairs of items
    min_common: int = 0  # where fewer items are ranked by both, the result is ``fill_value``
    fill_value: float = math.nan
    shrink: float = 0.0  # a kernel times c / (c + shrink), with c such items

    @property
    def needs_strict(self) -> bool:
        """Whether pairs ordered strictly by both rankings have to be counted."""
        return self.name == "counts" or (self.name in ("distance", "mallows") and self.tie_penalty != 0.25)

    @property
    def needs_ties(self) -> bool:
        """Whether pairs ordered strictly by one of both rankings have to be counted."""
        return self.name != "a"

    @property
    def transposed(self) -> tuple[int, ...]:
        """For each result which one it is when the two rankings change places."""
        return (0, 1, 3, 2, 4) if self.name == "counts" else (0,)


class Counts(NamedTuple):
    """Pair counts of all row pairs of a tile, as numbers that broadcast to ``(b, m, m2)``, of any width.

    With s_ij the sign of x_i - x_j and t_ij that of y_i - y_j over pairs i < j that both rows rank, or with expected
    signs in their place:
    """

    score: Tensor  # sum of s t: concordant - discordant, (b, m, m2)
    strict_x: Tensor  # sum of s^2, (b, m, 1) for complete rankings
    strict_y: Tensor  # sum of t^2, (b, 1, m2) for complete rankings
    strict_xy: Tensor  # sum of s^2 t^2: concordant + discordant; no elements unless asked for
    common: Tensor | int  # number of items that both rank, n for complete rankings


class _Wide:
    """Some of the counts, each in float64 or int64 when asked for: int32 holds them, but not twice their sums."""

    def __init__(self, counts: Counts, where: tuple[slice, slice, slice], dtype: torch.dtype) -> None:
        self._counts, self._where, self._dtype = counts, where, dtype

    def __getattr__(self, name: str) -> Any:
        part = getattr(self._counts, name)
        if isinstance(part, int):
            return part
        cut = (slice(None) if size == 1 else s for size, s in zip(part.shape, self._where, strict=True))
        return part[tuple(cut)].to(self._dtype, copy=True)


def values(counts: Counts, where: tuple[slice, slice, slice], quantity: Quantity, lam: Tensor | None) -> list[Tensor]:
    """``quantity`` of a part of a tile, float64, or int64 for numbers of pairs; ``lam`` is ``(b,)``."""
    if quantity.name == "counts":
        return _classes(_Wide(counts, where, torch.int64))
    c = _Wide(counts, where, torch.float64)
    result = _kernel(c, quantity) if quantity.name in ("a", "b") else _distance(c, quantity)
    if lam is not None:
        result.mul_(-lam[where[0], None, None]).exp_()
    if quantity.min_common:
        result.masked_fill_(c.common < quantity.min_common, quantity.fill_value)
    return [result]


def _kernel(c: _Wide, quantity: Quantity) -> Tensor:
    # The root of the product, not the product of roots: then equal counts give exactly 1.
    scale = n_pairs(c.common) if quantity.name == "a" else _root(c.strict_x * c.strict_y)
    kernel = c.score.div_(_at_least_1(scale))  # where the scale is 0, so is the score
    if quantity.shrink:
        common = c.common
        kernel.mul_(common).div_(common + quantity.shrink)
    return kernel


def _distance(c: _Wide, quantity: Quantity) -> Tensor:
    if quantity.tie_penalty == 0.25:  # n_d + t / 4 needs no joint ties: they cancel
        # Both norms first: their sum rounds to the same whichever of the two rankings comes first.
        distance = (c.strict_x + c.strict_y).add_(c.score, alpha=-2).clamp_(min=0).div_(4)
    else:
        both = c.strict_xy
        one_sided = (both * -2).add_(c.strict_x).add_(c.strict_y)
        distance = both.sub_(c.score).div_(2).add_(one_sided, alpha=quantity.tie_penalty)
    if quantity.normalize:
        distance.div_(_at_least_1(n_pairs(c.common)))
    return distance


def _classes(c: _Wide) -> list[Tensor]:
    """Concordant, discordant, tied in x only, tied in y only, tied in both."""
    both, score, strict_x = c.strict_xy, c.score, c.strict_x
    concordant, discordant = (both + score).bitwise_right_shift_(1), (both - score).bitwise_right_shift_(1)
    tied_x = c.strict_y - both
    return [concordant, discordant, tied_x, strict_x - both, n_pairs(c.common) - strict_x - tied_x]


def _at_least_1(scale: Tensor | int) -> Tensor | float:
    return max(float(scale), 1.0) if isinstance(scale, int) else scale.clamp_(min=1)


def _root(squared: Tensor) -> Tensor:
    """Square root in place; on the CPU by NumPy, since torch wakes its threads for as few as 2,048 roots."""
    if squared.device.type != "cpu":
        return squared.sqrt_()
    np.sqrt(squared.numpy(), out=squared.numpy())
    return squared
