"""What independent jitters of the scores make of the sign of a difference, for each distribution of the jitters."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class Noise(NamedTuple):
    """What independent jitters make of the sign of a difference t, as functions of s = t / window."""

    reach: float  # beyond -reach <= s <= reach the value is -1 or 1 and the slope 0, in float64 too
    value: Callable[[Tensor], Tensor]  # expected sign
    slope: Callable[[Tensor], Tensor]  # its derivative with respect to s


NOISES = {
    "uniform": Noise(1.0, lambda s: s * (2 - s.abs()), lambda s: 2 - 2 * s.abs()),
    "gaussian": Noise(100.0, lambda s: torch.erf(s / 2), lambda s: torch.exp(-s * s / 4) / math.sqrt(math.pi)),
}


def expected_signs(difference: Tensor, window: Tensor, noise: str) -> Tensor:
    """The expected sign of scores that differ by ``difference``, with derivatives of every order.

    Far apart it is constant: dividing an infinite difference would make the gradient of the window NaN.
    """
    reach, value, _ = NOISES[noise]
    far = difference.abs() >= reach * window
    s = torch.where(far, 0, difference) / window
    return torch.where(far, difference.sign(), value(s))


def passing(above: Tensor, window: Tensor, noise: str) -> Tensor:
    """Probability that a score with its jitter passes a bar which it is ``above``; derivatives of every order.

    The jitter of one score is half of what a difference has: uniform over a window, or normal with that deviation.
    """
    if noise == "uniform":
        inside = above.abs() < window / 2
        return torch.where(inside, 0.5 + torch.where(inside, above, 0) / window, (above > 0).to(above.dtype))
    return (1 + expected_signs(above, window / math.sqrt(2), noise)) / 2


def passing_slope(above: Tensor, window: Tensor, noise: str) -> Tensor:
    """The derivative of :func:`passing` in ``above``."""
    if noise == "uniform":
        return (above.abs() < window / 2).to(above.dtype) / window
    width = window / math.sqrt(2)
    return NOISES[noise].slope(above / width) / (2 * width)
