"""The op that checks weights by value, so that compiled graphs keep the check."""

from typing import Any

import torch
from torch import Tensor

_TOLERANCE = 1e-6  # of the sum: weights may come from float32

torch.library.define("torchrank::simplex_weights", "(Tensor weights) -> Tensor")


def simplex_weights(weights: Tensor) -> Tensor:
    """A copy of ``weights`` ``(p,)``, gradient included; ``ValueError`` unless they are at least 0 and add up to 1."""
    return torch.ops.torchrank.simplex_weights(weights)


@torch.library.impl("torchrank::simplex_weights", "default")
def _check(weights: Tensor) -> Tensor:
    if not bool((weights >= 0).all()):
        part = int((~(weights >= 0)).nonzero()[0])
        raise ValueError(f"weights[{part}]={weights[part].item()!r} is out of range; weights must be at least 0")
    total = float(weights.sum(dtype=torch.float64))
    if abs(total - 1) > _TOLERANCE:
        raise ValueError(f"weights add up to {total!r}; they must add up to 1: pass weights / weights.sum()")
    return weights.clone()


@torch.library.register_fake("torchrank::simplex_weights")
def _fake(weights: Tensor) -> Tensor:
    return torch.empty_like(weights)


def _backward(ctx: Any, gradient: Tensor) -> Tensor:
    return gradient


torch.library.register_autograd("torchrank::simplex_weights", _backward)
