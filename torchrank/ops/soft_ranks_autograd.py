# pyright: reportIncompatibleMethodOverride=false
# Derivatives take one argument for each input or output of forward, as torch documents, not the base class's *args.
"""Derivatives of expected ranks in all modes of torch but forward mode within forward mode."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import torch
from torch import Tensor

from torchrank.ops.reference.agreement import blocks_of
from torchrank.ops.reference.block_derivatives import GRAPH_SHARE, curvature, pull_back, tangent
from torchrank.ops.reference.soft_ranks import Among, block_ranks
from torchrank.rankings.derivatives import known_signature, once, refuse_nested_forward

OPS = torch.ops.torchrank


@known_signature
class SoftRanks(torch.autograd.Function):
    """The op ``soft_ranks``."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, window: Tensor, counted: Tensor, noise: str, workspace: int) -> Tensor:
        """What the op gives."""
        return OPS.soft_ranks(x, counted, window, noise, workspace)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep what derivatives need."""
        *tensors, ctx.noise, ctx.workspace = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient."""
        for_x, for_window = SoftRanksGradient.apply(gradient, *ctx.saved_tensors, ctx.noise, ctx.workspace)
        return for_x, for_window, None, None, None

    @staticmethod
    def jvp(ctx: Any, x: Tensor | None, window: Tensor | None, *settings: None) -> Tensor:
        """The derivative in a direction."""
        refuse_nested_forward()
        parts, at = _parts(ctx.saved_tensors, ctx.noise, ctx.workspace)
        return tangent(parts, at, _direction(at, x, window))


@known_signature
class SoftRanksGradient(torch.autograd.Function):
    """The op ``soft_ranks_backward``."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        gradient: Tensor, x: Tensor, window: Tensor, counted: Tensor, noise: str, workspace: int
    ) -> tuple[Tensor, Tensor]:
        """What the op gives."""
        return OPS.soft_ranks_backward(gradient, x, counted, window, noise, workspace)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Keep what derivatives need."""
        *tensors, ctx.noise, ctx.workspace = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, x: Tensor, window: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient."""
        gradient, *point = ctx.saved_tensors
        parts, at = _parts(point, ctx.noise, ctx.workspace)
        towards = _direction(at, x, window)
        return tangent(parts, at, towards), *curvature(parts, gradient, at, towards), None, None, None

    @staticmethod
    def jvp(
        ctx: Any, gradient: Tensor | None, x: Tensor | None, window: Tensor | None, *settings: None
    ) -> tuple[Tensor, ...]:
        """The derivative in a direction."""
        refuse_nested_forward()
        given, *point = ctx.saved_tensors
        parts, at = _parts(point, ctx.noise, ctx.workspace)
        moved = curvature(parts, given, at, _direction(at, x, window))
        if gradient is None:
            return moved
        return tuple(a + b for a, b in zip(moved, pull_back(parts, at, gradient), strict=True))


def _parts(
    point: Sequence[Tensor], noise: str, workspace: int
) -> tuple[list[Callable[..., Tensor]], tuple[Tensor, Tensor]]:
    """What each block adds as a function of scores and windows, and these."""
    x, window, counted = point
    among = Among(counted, noise)
    return [partial(block_ranks, among, block) for block in blocks_of(x, workspace // GRAPH_SHARE)], (x, window)


def _direction(at: tuple[Tensor, Tensor], x: Tensor | None, window: Tensor | None) -> tuple[Tensor, Tensor]:
    return (
        torch.zeros_like(at[0]) if x is None else x,
        torch.zeros_like(at[1]) if window is None else window,
    )


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, counted, window, ctx.noise, ctx.workspace = inputs
    ctx.save_for_backward(x, counted, window)


def _compiled_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    x, counted, window = ctx.saved_tensors
    for_x, for_window = OPS.soft_ranks_backward(gradient, x, counted, window, ctx.noise, ctx.workspace)
    return for_x, None, for_window, None, None


def _refuse_second_order(ctx: Any, *gradients: Tensor) -> NoReturn:
    raise RuntimeError(once("soft ranks are"))


# For graphs that torch.compile makes, which take no forward mode.
torch.library.register_autograd("torchrank::soft_ranks", _compiled_backward, setup_context=_remember)
torch.library.register_autograd("torchrank::soft_ranks_backward", _refuse_second_order)
