# pyright: reportIncompatibleMethodOverride=false
# Derivatives take one argument for each input or output of forward, as torch documents, not the base class's *args.
"""The ops of Kendall kernels over weighted pairs of items: sums that are linear in the weights, and their adjoint.

Each is the derivative of the other, so derivatives of every order and mode are calls of these two.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchrank._progress import progress_bar
from torchrank.ops.memory import explaining_memory
from torchrank.ops.reference.pair_counts import pair_blocks, signs
from torchrank.ops.registration import implement, vmap_by_calls
from torchrank.rankings.derivatives import in_graph, refuse_nested_forward

_BYTES = 48  # of a row and a pair: its sign in int32, float32 and float64, and what comes of it

torch.library.define(
    "torchrank::weighted_pairs",
    "(Tensor x, Tensor? y, Tensor weights, int workspace, bool progress) -> (Tensor, Tensor, Tensor)",
)
torch.library.define(
    "torchrank::weighted_pairs_backward",
    "(Tensor product, Tensor norms_x, Tensor norms_y, Tensor x, Tensor? y, Tensor weights, int workspace) -> Tensor",
)


class WeightedPairs(NamedTuple):
    """Sums of products of pair signs, each times the weight of the pair, float64."""

    product: Tensor  # (b, m, m2) of sign(x_i - x_j) sign(y_i - y_j)
    norms_x: Tensor  # (b, m) of sign(x_i - x_j)^2
    norms_y: Tensor  # (b, m2), or (b, 0) without y


def weighted_pairs(
    x: Tensor, y: Tensor | None, weights: Tensor, workspace: int, progress: bool = False
) -> WeightedPairs:
    """Weighted sums over pairs i < j, differentiable in the weights.

    Args:
        x: ``(b, m, n)`` int32 dense ranks of complete rankings.
        y: ``(b, m2, n)``, or None for ``x`` itself (symmetric bit for bit).
        weights: ``(n, n)`` float64, symmetric. Pairs of weight 0 cost nothing, except in the gradient.
        workspace: bytes to use at most beside inputs and outputs.
        progress: show a progress bar.
    """
    call = torch.ops.torchrank.weighted_pairs if in_graph(weights) else _Sums.apply
    return WeightedPairs(*call(x, y, weights, workspace, progress))


@explaining_memory
def _sums(
    x: Tensor, y: Tensor | None, weights: Tensor, workspace: int, progress: bool
) -> tuple[Tensor, Tensor, Tensor]:
    product, norms_x, norms_y = _fake_sums(x, y, weights, workspace, progress)
    for part in (product, norms_x, norms_y):
        part.zero_()
    i, j = weights.triu(1).nonzero(as_tuple=True)
    step = max(1, workspace // (_BYTES * max(1, _rows(x, y))))
    starts = range(0, len(i), step)
    for start in progress_bar("weighted_pairs", "block", starts, progress=progress):
        first, second = i[start : start + step], j[start : start + step]
        w = weights[first, second]
        sx = signs(x, first, second).to(torch.float64)
        sy = sx if y is None else signs(y, first, second).to(torch.float64)
        product += (sx * w) @ sy.mT
        norms_x += sx.square() @ w
        if y is not None:
            norms_y += sy.square() @ w
    if y is None:
        product = product.tril() + product.tril(-1).mT  # matrix products are not symmetric to the last bit
    return product, norms_x, norms_y


@torch.library.register_fake("torchrank::weighted_pairs")
def _fake_sums(
    x: Tensor, y: Tensor | None, weights: Tensor, workspace: int, progress: bool
) -> tuple[Tensor, Tensor, Tensor]:
    (b, m, _), m2 = x.shape, (x if y is None else y).shape[1]
    return weights.new_empty(b, m, m2), weights.new_empty(b, m), weights.new_empty(b, 0 if y is None else m2)


def _sums_backward(
    product: Tensor, norms_x: Tensor, norms_y: Tensor, x: Tensor, y: Tensor | None, weights: Tensor, workspace: int
) -> Tensor:
    gradient = torch.zeros_like(weights)
    for i, j in pair_blocks(x.shape[2], 2 * _rows(x, y), workspace, x.device):  # twice the width of float32 signs
        sx = signs(x, i, j).to(torch.float64)
        sy = sx if y is None else signs(y, i, j).to(torch.float64)
        of_pair = ((product @ sy) * sx + norms_x[..., None] * sx.square()).sum(dim=(0, 1))
        if y is not None:
            of_pair += (norms_y[..., None] * sy.square()).sum(dim=(0, 1))
        gradient[i, j] = of_pair / 2  # half for each of w_ij and w_ji, so that a step keeps weights symmetric
        gradient[j, i] = of_pair / 2
    return gradient


@torch.library.register_fake("torchrank::weighted_pairs_backward")
def _fake_backward(
    product: Tensor, norms_x: Tensor, norms_y: Tensor, x: Tensor, y: Tensor | None, weights: Tensor, workspace: int
) -> Tensor:
    return torch.empty_like(weights)


implement("weighted_pairs", "default", _sums)
implement("weighted_pairs_backward", "default", _sums_backward)


for _op in ("weighted_pairs", "weighted_pairs_backward"):
    vmap_by_calls(_op)


class _Sums(torch.autograd.Function):
    """The sums, linear in the weights, with derivatives of every order."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        x: Tensor, y: Tensor | None, weights: Tensor, workspace: int, progress: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        return torch.ops.torchrank.weighted_pairs(x, y, weights, workspace, progress)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _remember(ctx, inputs, output)
        ctx.save_for_forward(*inputs[:3])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, _Adjoint.apply(*gradients, *ctx.saved_tensors, ctx.workspace), None, None

    @staticmethod
    def jvp(ctx: Any, for_x: None, for_y: None, tangent: Tensor, *settings: None) -> tuple[Tensor, ...]:
        refuse_nested_forward()
        x, y, _ = ctx.saved_tensors
        return _Sums.apply(x, y, _symmetric(tangent), ctx.workspace, False)


class _Adjoint(torch.autograd.Function):
    """The gradient for the weights, linear in the gradients of the sums."""

    generate_vmap_rule = True

    @staticmethod
    def forward(*inputs: Any) -> Tensor:
        return torch.ops.torchrank.weighted_pairs_backward(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _remember(ctx, inputs[3:], ())
        ctx.save_for_forward(*inputs[3:6])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, y, _ = ctx.saved_tensors
        return *_Sums.apply(x, y, _symmetric(gradient), ctx.workspace, False), None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        refuse_nested_forward()
        x, y, weights = ctx.saved_tensors
        sizes = torch.ops.torchrank.weighted_pairs(x, y, torch.zeros_like(weights), ctx.workspace, False)
        sums = (zero if t is None else t for t, zero in zip(tangents[:3], sizes, strict=True))
        return _Adjoint.apply(*sums, x, y, weights, ctx.workspace)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, y, weights, ctx.workspace = inputs[:4]
    ctx.save_for_backward(x, y, weights)


def _compiled_backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
    gradient = torch.ops.torchrank.weighted_pairs_backward(*gradients, *ctx.saved_tensors, ctx.workspace)
    return None, None, gradient, None, None


# For graphs that torch.compile makes, which take no forward mode.
torch.library.register_autograd("torchrank::weighted_pairs", _compiled_backward, setup_context=_remember)


def _symmetric(weights: Tensor) -> Tensor:
    """The gradient is symmetric, half for each of two equal weights; so is the direction of a derivative."""
    return (weights + weights.mT) / 2


def _rows(x: Tensor, y: Tensor | None) -> int:
    return x.shape[:2].numel() + (0 if y is None else y.shape[:2].numel())
