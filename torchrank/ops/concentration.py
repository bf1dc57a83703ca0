"""The op that checks a concentration parameter by value, so that compiled graphs keep the check."""

import torch
from torch import Tensor

torch.library.define("torchrank::check_concentration", "(Tensor lam) -> Tensor")


def checked_concentration(lam: Tensor) -> Tensor:
    """``lam`` with its gradient; ``ValueError`` where it is negative, infinite or NaN."""
    return lam * torch.ops.torchrank.check_concentration(lam.detach())


@torch.library.impl("torchrank::check_concentration", "default")
def _check(lam: Tensor) -> Tensor:
    """Ones, by which ``lam`` is multiplied: a graph that needs ``lam`` can't drop the check, nor differentiate it."""
    legal = (lam >= 0) & lam.isfinite()
    if not bool(legal.all()):
        wrong = lam[~legal].flatten()[0].item()
        raise ValueError(f"lam={wrong!r} is out of range; a Mallows kernel needs a finite lam >= 0")
    return torch.ones_like(lam)


@torch.library.register_fake("torchrank::check_concentration")
def _fake(lam: Tensor) -> Tensor:
    return torch.empty_like(lam)
