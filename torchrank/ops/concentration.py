"""The op that checks a concentration parameter by value, so that compiled graphs keep the check."""

from typing import Any

import torch
from torch import Tensor


torch.library.define("torchrank::checked_concentration", "(Tensor lam) -> Tensor")


def checked_concentration(lam: Tensor) -> Tensor:
    """A copy of ``lam``, gradient included; ``ValueError`` where it is negative or NaN."""
    return torch.ops.torchrank.checked_concentration(lam)


@torch.library.impl("torchrank::checked_concentration", "default")
def _check(lam: Tensor) -> Tensor:
    if not bool((lam >= 0).all()):
        wrong = lam[~(lam >= 0)].flatten()[0].item()
        raise ValueError(f"lam={wrong!r} is out of range; a Mallows kernel needs lam >= 0")
    return lam.clone()


@torch.library.register_fake("torchrank::checked_concentration")
def _fake(lam: Tensor) -> Tensor:
    return torch.empty_like(lam)


def _backward(ctx: Any, gradient: Tensor) -> Tensor:
    return gradient


torch.library.register_autograd("torchrank::checked_concentration", _backward)
