"""What a case is: a public call, its inputs by size, and the sizes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Inputs = tuple[Tensor, ...]


class Case(NamedTuple):
    """One public call on inputs that grow; it gives a tensor by which devices are compared before they are timed."""

    name: str
    axis: str  # what the size counts
    sizes: Sequence[int]
    quick: int  # the one size of a rehearsal
    inputs: Callable[[int], Inputs]  # on the CPU
    call: Callable[..., Tensor]  # of the inputs on a device
    tolerance: float | None  # of the largest difference by the largest value; None where devices do different work


CASES: list[Case] = []


def case(
    name: str,
    axis: str,
    sizes: Sequence[int],
    inputs: Callable[[int], Inputs],
    *,
    quick: int = 12,
    tolerance: float | None = 1e-6,
) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Register a function of the inputs as a case; cases run in order of registration."""

    def register(call: Callable[..., Tensor]) -> Callable[..., Tensor]:
        CASES.append(Case(name, axis, sizes, quick, inputs, call, tolerance))
        return call

    return register


def scores(m: int, n: int, levels: int | None = None, unranked: float = 0.0) -> Tensor:
    """Random float32 scores, continuous or of a few levels, a share of them unranked."""
    generator = torch.Generator().manual_seed(m)
    X = torch.rand((m, n), generator=generator)
    if levels is not None:
        X = (levels * X).floor()
    if unranked:
        X[torch.rand((m, n), generator=generator) < unranked] = torch.nan
    return X


def seeded() -> torch.Generator:
    """Random numbers of the CPU whatever the device, so that fits begin alike on all of them."""
    return torch.Generator().manual_seed(0)
