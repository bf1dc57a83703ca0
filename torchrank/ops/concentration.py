"""The op that checks a concentration parameter by value, so that compiled graphs keep the check."""

from typing import Any

import torch
from torch import Tensor


@torch.library.custom_op("torchrank::checked_concentration", mutates_args=())
def checked_concentration(lam: Tensor) -> Tensor:
    """A copy of ``lam``; ``ValueError`` where it is negative or NaN."""
    if not bool((lam >= 0).all()):
        wrong = lam[~(lam >= 0)].flatten()[0].item()
        raise ValueError(f"lam={wrong!r} is out of range; a Mallows kernel needs lam >= 0")
    return lam.clone()


@checked_concentration.register_fake
def _(lam: Tensor) -> Tensor:
    return torch.empty_like(lam)


def _backward(ctx: Any, gradient: Tensor) -> Tensor:
    return gradient


checked_concentration.register_autograd(_backward)
