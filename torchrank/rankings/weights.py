"""Weights of rankings in a unit in which sums neither overflow nor vanish."""

import torch
from torch import Tensor

_BIAS, _FRACTION_BITS, _LARGEST = 1023, 52, 1022  # of float64


def in_own_unit(
    weights: Tensor,  # (..., m) float64, at least 0
) -> tuple[Tensor, Tensor]:
    """Weights as numbers of the order of 1, and the unit ``(...)`` that multiplies them back.

    Learners work with these, so that the scale of weights cannot matter. The unit is a power of two: dividing by it is
    exact, whole weights stay exact multiples of each other, and weights times a power of two give the same bits.
    """
    exponent = torch.frexp(weights.amax(dim=-1)).exponent.long().clamp(-_LARGEST, _LARGEST)
    return weights * power_of_two(-exponent)[..., None], power_of_two(exponent)


def power_of_two(exponent: Tensor) -> Tensor:
    """2^exponent in float64, by its bits: ``exp2`` need not be exact."""
    return ((exponent + _BIAS) << _FRACTION_BITS).view(torch.float64)
