"""Powers of two by the bits of float64, exact on every device and in graphs of ``torch.compile``.

``exp2`` and ``ldexp`` need not be exact, and the compiler for the CPU writes no code for ``frexp`` of float64.
"""

import torch
from torch import Tensor

_BIAS, _FRACTION_BITS, _EXPONENTS = 1023, 52, 0x7FF
_LIFT = 64  # bits, by which numbers below 2^-1022 become ordinary ones


def power_of_two(exponent: Tensor) -> Tensor:
    """2^exponent in float64, of integers from -1022 to 1023."""
    return ((exponent + _BIAS) << _FRACTION_BITS).view(torch.float64)


def exponent_of(values: Tensor) -> Tensor:
    """The k for which 2^(k-1) is the largest power of two up to a positive number, int64; 0 for 0, as of ``frexp``."""
    wide = values.detach().to(torch.float64)
    own = _biased(wide)
    lifted = torch.where(own == 0, _biased(wide * 2.0**_LIFT) - _LIFT, own)
    return torch.where(wide == 0, 0, lifted - (_BIAS - 1))


def unit_of(values: Tensor) -> Tensor:
    """The largest power of two up to each positive number, float64: to divide by it is exact."""
    return power_of_two((exponent_of(values) - 1).clamp(min=-1022))


def _biased(values: Tensor) -> Tensor:
    return (values.view(torch.int64) >> _FRACTION_BITS) & _EXPONENTS
