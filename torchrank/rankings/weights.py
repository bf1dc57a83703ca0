"""Weights of rankings in a unit in which sums neither overflow nor vanish."""

from torch import Tensor

from torchrank.rankings.powers import exponent_of, power_of_two

_LARGEST = 1022  # of the exponents of float64


def in_own_unit(
    weights: Tensor,  # (..., m) float64, at least 0
) -> tuple[Tensor, Tensor]:
    """Weights as numbers of the order of 1, and the unit ``(...)`` that multiplies them back.

    Learners work with these, so that the scale of weights cannot matter. The unit is a power of two: dividing by it is
    exact, whole weights stay exact multiples of each other, and weights times a power of two give the same bits.
    """
    exponent = exponent_of(weights.amax(dim=-1)).clamp(-_LARGEST, _LARGEST)
    return weights * power_of_two(-exponent)[..., None], power_of_two(exponent)
