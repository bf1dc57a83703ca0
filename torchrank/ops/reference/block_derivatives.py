"""Derivatives of a sum of functions, one for each block of item pairs, so that no graph is larger than a block.

Each is plain torch, which differentiates it further. Forward mode is made of two backward ones, since torch nests no
forward mode in another.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

GRAPH_SHARE = 10  # part of a workspace that a block of pairs may fill, so that its graphs fit the whole

Parts: TypeAlias = Iterable[Callable[..., Tensor]]  # functions of the same tensors


def pull_back(parts: Parts, at: Sequence[Tensor], gradient: Tensor) -> tuple[Tensor, ...]:
    """Gradients of what the sum depends on, from that of the sum."""
    return _total(torch.func.vjp(part, *at)[1](gradient) for part in parts)


def tangent(parts: Parts, at: Sequence[Tensor], towards: Sequence[Tensor]) -> Tensor:
    """The derivative of the sum in a direction."""
    return _total((_tangent(part, at, towards),) for part in parts)[0]


def curvature(parts: Parts, gradient: Tensor, at: Sequence[Tensor], towards: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The derivative in a direction of the gradients that ``gradient`` makes."""

    def moved(part: Callable[..., Tensor]) -> Callable[..., Tensor]:
        return lambda *point: (gradient * _tangent(part, point, towards)).sum()

    return _total(torch.func.vjp(moved(part), *at)[1](gradient.new_ones(())) for part in parts)


def _tangent(part: Callable[..., Tensor], at: Sequence[Tensor], towards: Sequence[Tensor]) -> Tensor:
    value, back = torch.func.vjp(part, *at)[:2]
    return torch.func.vjp(back, torch.zeros_like(value))[1](tuple(towards))[0]


def _total(terms: Iterable[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    sums: tuple[Tensor, ...] = ()
    for term in terms:
        sums = tuple(a + b for a, b in zip(sums, term, strict=True)) if sums else term
    return sums
