# pyright: reportIncompatibleMethodOverride=false
# Derivatives take one argument for each input or output of forward, as torch documents, not the base class's *args.
"""Derivatives of agreement with hard rankings in all modes of torch but forward mode within forward mode.

The op gives slopes beside the sums, so that a backward pass alone visits no pair again. Where more is asked of it, such
as derivatives of it, the gradient is a function of its own.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import torch
from torch import Tensor

from torchrank.ops.reference.agreement import Terms, block_sums, blocks_of
from torchrank.ops.reference.block_derivatives import GRAPH_SHARE, curvature, pull_back, tangent
from torchrank.rankings.derivatives import known_signature, once, once_compiled, refuse_nested_forward

OPS = torch.ops.torchrank
THIS = "this loss is"


@known_signature
class Agreement(torch.autograd.Function):
    """The op ``agreement``."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        x: Tensor, weights: Tensor | None, window: Tensor, ranks: Tensor, noise: str, scheme: str, workspace: int,
        slopes: bool, window_slopes: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """What the op gives."""
        return OPS.agreement(x, ranks, weights, window, noise, scheme, workspace, slopes, window_slopes)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Keep what derivatives need."""
        x, weights, window, ranks, *ctx.settings, _, _ = inputs
        ctx.set_materialize_grads(False)  # slopes have none: they are for here, and nobody gets them
        ctx.save_for_backward(x, weights, window, ranks, *output[1:])
        ctx.save_for_forward(x, weights, window, ranks, *output[1:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, *slopes: None) -> tuple[Tensor | None, ...]:
        """The gradient."""
        if gradient is None:
            return (None,) * 9
        x, weights, window, ranks, of_x, of_window = ctx.saved_tensors
        wanted_of_x, of_weights, wanted_of_window, *_ = ctx.needs_input_grad
        known = of_x.shape[2] > 0 or not wanted_of_x, of_window.shape[1] > 0 or not wanted_of_window
        if not torch.is_grad_enabled() and all(known) and not of_weights:
            for_x, for_window = _from_slopes(gradient, of_x, of_window)
            return for_x, None, for_window, *(None,) * 6
        for_x, for_weights, for_window = AgreementGradient.apply(
            gradient, x, weights, window, ranks, *ctx.settings, of_weights
        )
        return for_x, for_weights if of_weights else None, for_window, *(None,) * 6

    @staticmethod
    def jvp(
        ctx: Any, x: Tensor | None, weights: Tensor | None, window: Tensor | None, *settings: None
    ) -> tuple[Tensor | None, ...]:
        """The derivative in a direction."""
        refuse_nested_forward()
        *point, ranks, of_x, of_window = ctx.saved_tensors
        parts, at = _parts(point, ranks, *ctx.settings)
        moved = tangent(parts, at, _direction(point, (x, weights, window)))
        return moved, torch.zeros_like(of_x), torch.zeros_like(of_window)


@known_signature
class AgreementGradient(torch.autograd.Function):
    """The gradient of the op in scores, weights (of no elements where it is not wanted) and windows."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        gradient: Tensor, x: Tensor, weights: Tensor | None, window: Tensor, ranks: Tensor, noise: str, scheme: str,
        workspace: int, of_weights: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """The gradient, from that of the sums."""
        _, of_x, of_window = OPS.agreement(x, ranks, weights, window, noise, scheme, workspace, True, True)
        for_x, for_window = _from_slopes(gradient, of_x, of_window)
        if weights is None or not of_weights:
            return for_x, x.new_zeros(len(x), 0), for_window  # type: ignore[return-value]
        for_weights = OPS.agreement_of_weights(gradient, x, ranks, weights, window, noise, scheme, workspace)
        return for_x, for_weights, for_window  # type: ignore[return-value]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Keep what derivatives need."""
        *tensors, ctx.noise, ctx.scheme, ctx.workspace, ctx.of_weights = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, x: Tensor, weights: Tensor, window: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient."""
        gradient, *point, ranks = ctx.saved_tensors
        parts, at = _parts(point, ranks, ctx.noise, ctx.scheme, ctx.workspace)
        towards = _direction(point, (x, weights if ctx.of_weights else None, window))
        for_point = _spread(point, curvature(parts, gradient, at, towards))
        return tangent(parts, at, towards), *for_point, *(None,) * 5

    @staticmethod
    def jvp(
        ctx: Any, gradient: Tensor | None, x: Tensor | None, weights: Tensor | None, window: Tensor | None,
        *settings: None,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """The derivative in a direction."""
        refuse_nested_forward()
        given, *point, ranks = ctx.saved_tensors
        parts, at = _parts(point, ranks, ctx.noise, ctx.scheme, ctx.workspace)
        moved = curvature(parts, given, at, _direction(point, (x, weights, window)))
        if gradient is not None:
            moved = tuple(a + b for a, b in zip(moved, pull_back(parts, at, gradient), strict=True))
        for_x, for_weights, for_window = _spread(point, moved)
        if for_weights is None or not ctx.of_weights:
            for_weights = for_x.new_zeros(len(for_x), 0)  # type: ignore[union-attr]
        return for_x, for_weights, for_window  # type: ignore[return-value]


def _from_slopes(gradient: Tensor, of_x: Tensor, of_window: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of scores and windows from those of the sums, of which the first two depend on them.

    None where there are no slopes.
    """
    for_x = for_window = None
    if of_x.shape[2] > 0:
        first, second = gradient[:, 0, None].to(of_x.dtype), gradient[:, 1, None].to(of_x.dtype)
        for_x = torch.addcmul(of_x[:, 0] * first, of_x[:, 1], second)
    if of_window.shape[1] > 0:
        for_window = (of_window * gradient[:, :2]).sum(1)
    return for_x, for_window


def _parts(
    point: list[Any], ranks: Tensor, noise: str, scheme: str, workspace: int
) -> tuple[list[Callable[..., Tensor]], list[Tensor]]:
    """The sums of each block as functions of what is there of scores, weights and windows, and these."""
    terms = Terms(ranks, noise, scheme)
    blocks = blocks_of(point[0], workspace // GRAPH_SHARE)
    if point[1] is not None:
        return [partial(_block_sums, terms, block) for block in blocks], point
    return [partial(_unweighted, terms, block) for block in blocks], [point[0], point[2]]


def _block_sums(terms: Terms, block: Any, x: Tensor, weights: Tensor | None, window: Tensor) -> Tensor:
    return block_sums(x, weights, window, terms, block)


def _unweighted(terms: Terms, block: Any, x: Tensor, window: Tensor) -> Tensor:
    return block_sums(x, None, window, terms, block)


def _direction(point: list[Any], moves: tuple[Tensor | None, ...]) -> list[Tensor]:
    """A direction from the parts that are known, 0 in the others."""
    both = zip(point, moves, strict=True)
    return [torch.zeros_like(part) if move is None else move for part, move in both if part is not None]


def _spread(point: list[Any], values: tuple[Tensor, ...]) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Values for scores, weights and windows, None for weights that are not there."""
    return (values[0], None, values[1]) if point[1] is None else values  # type: ignore[return-value]


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, ranks, weights, window, *ctx.settings, _, _ = inputs
    ctx.save_for_backward(x, ranks, weights, window, *output[1:])


def _compiled_backward(ctx: Any, gradient: Tensor, *slopes: Tensor) -> tuple[Tensor | None, ...]:
    x, ranks, weights, window, of_x, of_window = ctx.saved_tensors
    inputs = (gradient, x, weights, window)  # slopes do not know that they depend on these
    for_x, for_window = (
        None if slope is None else once_compiled(slope, *inputs, what=THIS)
        for slope in _from_slopes(gradient, of_x, of_window)
    )
    for_weights = None
    if weights is not None and ctx.needs_input_grad[2]:
        for_weights = OPS.agreement_of_weights(gradient, x, ranks, weights, window, *ctx.settings)
    return for_x, None, for_weights, for_window, None, None, None, None, None


def _refuse_second_order(ctx: Any, *gradients: Tensor) -> NoReturn:
    raise RuntimeError(once(THIS))


# For graphs that torch.compile makes, which take no forward mode.
torch.library.register_autograd("torchrank::agreement", _compiled_backward, setup_context=_remember)
torch.library.register_autograd("torchrank::agreement_of_weights", _refuse_second_order)
