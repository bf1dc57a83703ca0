# pyright: reportIncompatibleMethodOverride=false
# Derivatives take one argument for each input or output of forward, as torch documents, not the base class's *args.
"""Derivatives of the smoothed Kendall kernel in all modes of torch but forward mode within forward mode."""

from typing import Any, NoReturn

import torch
from torch import Tensor

from torchrank.ops.reference.smoothed_derivatives import Point, curvature, tangent
from torchrank.rankings.derivatives import known_signature, once, refuse_nested_forward

OPS = torch.ops.torchrank


@known_signature
class SmoothedGram(torch.autograd.Function):
    """The op ``smoothed_gram``; its first gradient is an op too, with bounded workspace."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        x: Tensor, y: Tensor | None, window: Tensor, noise: str, method: str, workspace: int, progress: bool
    ) -> Tensor:
        """What the op gives."""
        return OPS.smoothed_gram(x, y, window, noise, method, workspace, progress)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep what derivatives need."""
        remember(ctx, inputs, output)
        ctx.save_for_forward(*inputs[:3])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient."""
        x, y, window = ctx.saved_tensors
        for_x, for_y, for_window = SmoothedGradient.apply(gradient, x, y, window, *ctx.settings)
        return for_x, None if y is None else for_y, for_window, None, None, None, None

    @staticmethod
    def jvp(ctx: Any, x: Tensor | None, y: Tensor | None, window: Tensor | None, *settings: None) -> Tensor:
        """The derivative in a direction."""
        refuse_nested_forward()
        at = Point(*ctx.saved_tensors)
        return tangent(at, _direction(at, x, y, window), ctx.settings[0], ctx.settings[2])


@known_signature
class SmoothedGradient(torch.autograd.Function):
    """The op ``smoothed_gram_backward``."""

    generate_vmap_rule = True

    @staticmethod
    def forward(*inputs: Any) -> tuple[Tensor, Tensor, Tensor]:
        """What the op gives."""
        return OPS.smoothed_gram_backward(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Keep what derivatives need."""
        *tensors, ctx.noise, ctx.method, ctx.workspace = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, x: Tensor, y: Tensor, window: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient."""
        gradient, *point = ctx.saved_tensors
        at = Point(*point)
        towards = _direction(at, x, y, window)
        for_x, for_y, for_window = curvature(gradient, at, towards, ctx.noise, ctx.workspace)
        for_gradient = tangent(at, towards, ctx.noise, ctx.workspace)
        return for_gradient, for_x, None if at.y is None else for_y, for_window, None, None, None

    @staticmethod
    def jvp(
        ctx: Any, gradient: Tensor | None, x: Tensor | None, y: Tensor | None, window: Tensor | None, *settings: None
    ) -> tuple[Tensor | None, ...]:
        """The derivative in a direction."""
        refuse_nested_forward()
        given, *point = ctx.saved_tensors
        at = Point(*point)
        moved = curvature(given, at, _direction(at, x, y, window), ctx.noise, ctx.workspace)
        if gradient is None:
            return tuple(moved)
        linear = SmoothedGradient.apply(gradient, *point, ctx.noise, ctx.method, ctx.workspace)
        return tuple(a + b for a, b in zip(linear, moved, strict=True))


def _direction(at: Point, x: Tensor | None, y: Tensor | None, window: Tensor | None) -> Point:
    """A direction from the parts that are known, 0 in the others."""
    return Point(
        torch.zeros_like(at.x) if x is None else x,
        None if at.y is None else torch.zeros_like(at.y) if y is None else y,
        torch.zeros_like(at.window) if window is None else window,
    )


def remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Keep what the gradient needs."""
    x, y, window, *ctx.settings, _ = inputs
    ctx.save_for_backward(x, y, window)


def _compiled_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    x, y, window = ctx.saved_tensors
    for_x, for_y, for_window = OPS.smoothed_gram_backward(gradient, x, y, window, *ctx.settings)
    return for_x, None if y is None else for_y, for_window, None, None, None, None


def _refuse_second_order(ctx: Any, *gradients: Tensor) -> NoReturn:
    raise RuntimeError(once("the smoothed kernel is"))


# For graphs that torch.compile makes, which take no forward mode.
torch.library.register_autograd("torchrank::smoothed_gram", _compiled_backward, setup_context=remember)
torch.library.register_autograd("torchrank::smoothed_gram_backward", _refuse_second_order)
