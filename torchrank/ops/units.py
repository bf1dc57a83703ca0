"""Scores and windows in a unit in which neither differences, nor their squares, nor slopes leave the range of floats.

Ratios of differences and windows are all that counts. A unit is a power of two, so that nothing is rounded by it.
"""

import math

import torch
from torch import Tensor

from torchrank.rankings.derivatives import in_transform
from torchrank.rankings.powers import exponent_of, power_of_two

_HEADROOM = 24  # bits that scores stay below the largest number: for differences, and sums of them
_LEAST, _MOST = -1022, 1022  # exponents of powers of two


def in_unit(
    x: Tensor, window: Tensor, counted: Tensor | None = None, *, scale_free: bool = False
) -> tuple[Tensor, Tensor]:
    """Scores ``(r, n)`` and windows ``(r,)``, each row in a unit of its own, its window where that can be.

    With ``scale_free`` the result has to be one that small scores can be multiplied in without a change, such as a
    cosine. Then a window is at most 2^60 times as wide as the scores are apart (2^30 in float32), and has no gradient
    beyond.
    """
    if _is_ordinary(x, window, counted):
        return x, window
    finite = x.detach().isfinite() if counted is None else counted & x.detach().isfinite()
    exponent = _exponent(window, x, _extent(x, finite))
    if scale_free:
        most = _spread_exponent(x.detach(), finite) + (60 if x.dtype == torch.float64 else 30)
        exponent = torch.minimum(exponent, most.clamp(min=_LEAST))
    x, window = _over(x, exponent[:, None]), window * power_of_two(-exponent)
    return x, window.clamp(max=1) if scale_free else window


def in_common_unit(x: Tensor, y: Tensor | None, window: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
    """Scores of both sides of a Gram matrix and the window ``()`` that they have in common, in one unit.

    As they are where the window is on another device, so that none is waited for.
    """
    sides = [side for side in (x, y) if side is not None]
    filled = [side for side in sides if side.numel()]
    if window.device != x.device or not filled:
        return x, y, window
    largest = torch.stack([_extent(side, side.detach().isfinite()).amax() for side in filled]).amax()
    exponent = _exponent(window, x, largest)
    x, *rest = (_over(side, exponent) for side in sides)
    return x, rest[0] if rest else None, window.to(torch.float64) * power_of_two(-exponent)


_ORDINARY = 2.0**30  # the square of a difference over a window is in the range of float32 even so


def _is_ordinary(x: Tensor, window: Tensor, counted: Tensor | None) -> bool:
    """Whether no unit is needed, where it can be asked for next to nothing: units take a quarter of a loss' time."""
    if torch.compiler.is_compiling() or x.device.type != "cpu" or x.numel() == 0 or in_transform():
        return False
    x, window = x.detach(), window.detach()
    if counted is None or bool(counted.all()):
        low, high = x.aminmax()
        spread = (x[:, 0] - x[:, -1]).abs()  # of two, which mostly tell as much, in half the time of looking at all
        if not bool((spread > 1 / _ORDINARY).all()):
            low, high = x.aminmax(dim=-1)
            spread = high - low
    else:
        low = torch.where(counted, x, torch.inf).amin(-1)
        high = torch.where(counted, x, -torch.inf).amax(-1)
        spread = high - low
    least, largest = window.aminmax()
    return bool(
        (low > -_ORDINARY).all()
        & (high < _ORDINARY).all()
        & (spread > 1 / _ORDINARY).all()
        & (least > 1 / _ORDINARY)
        & (largest < _ORDINARY)
    )


def _over(x: Tensor, exponent: Tensor) -> Tensor:
    """Scores over powers of two, in two steps where the dtype may not hold one of these."""
    if x.dtype == torch.float64:
        return x * power_of_two(-exponent)
    half = exponent // 2
    return x * power_of_two(-half).to(x.dtype) * power_of_two(half - exponent).to(x.dtype)


def _extent(x: Tensor, finite: Tensor) -> Tensor:
    """The exponent ``(...)`` of the largest finite number in each row."""
    return exponent_of(torch.where(finite, x.detach().abs(), 0).amax(-1))


def _exponent(window: Tensor, x: Tensor, extent: Tensor) -> Tensor:
    """That of the window, or a larger one where scores in this unit would be too large."""
    room = math.frexp(torch.finfo(x.dtype).max)[1] - _HEADROOM
    own = exponent_of(window)
    return torch.maximum(own, extent - room).clamp(_LEAST, _MOST)


def _spread_exponent(x: Tensor, finite: Tensor) -> Tensor:
    """The exponent of the largest difference of finite scores; a large one where there is none."""
    half = x / 2  # the difference of which is in range
    high, low = torch.where(finite, half, -torch.inf).amax(-1), torch.where(finite, half, torch.inf).amin(-1)
    spread = torch.where(high > low, high - low, 1)
    return torch.where(high > low, exponent_of(spread) + 1, _MOST)
