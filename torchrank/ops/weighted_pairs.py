"""The ops of Kendall kernels over weighted pairs of items: the check of the weights, the sums, and their gradient."""

from typing import Any, NamedTuple, NoReturn

import torch
from torch import Tensor

from torchrank.ops.reference.pair_counts import pair_blocks, signs

_BYTES = 48  # of a row and a pair: its sign in int32, float32 and float64, and what comes of it

# The check looks at values, so it lives in an op: graphs that torch.compile makes keep it.
torch.library.define("torchrank::pair_weights", "(Tensor pairs) -> Tensor")
torch.library.define(
    "torchrank::weighted_pairs", "(Tensor x, Tensor? y, Tensor weights, int workspace) -> (Tensor, Tensor, Tensor)"
)
torch.library.define(
    "torchrank::weighted_pairs_backward",
    "(Tensor product, Tensor norms_x, Tensor norms_y, Tensor x, Tensor? y, Tensor weights, int workspace) -> Tensor",
)


def pair_weights(pairs: Tensor) -> Tensor:
    """A copy of ``pairs`` ``(n, n)``, gradient included; ``ValueError`` unless they weight pairs of different items."""
    return torch.ops.torchrank.pair_weights(pairs)


@torch.library.impl("torchrank::pair_weights", "default")
def _check(pairs: Tensor) -> Tensor:
    for wrong, problem in (
        (~((pairs >= 0) & (pairs < torch.inf)), "weights must be finite and at least 0"),
        (torch.diag(pairs.diagonal() != 0), "an item is not compared with itself, so the diagonal must be 0"),
        (pairs != pairs.mT, "pairs must be symmetric"),
    ):
        if bool(wrong.any()):
            i, j = (int(k) for k in wrong.nonzero()[0])
            raise ValueError(f"pairs has {pairs[i, j].item()!r} at ({i}, {j}); {problem}")
    return pairs.clone()


@torch.library.register_fake("torchrank::pair_weights")
def _fake_check(pairs: Tensor) -> Tensor:
    return torch.empty_like(pairs)


torch.library.register_autograd("torchrank::pair_weights", lambda ctx, gradient: gradient)


class WeightedPairs(NamedTuple):
    """Sums of products of pair signs, each times the weight of the pair, float64."""

    product: Tensor  # (b, m, m2) of sign(x_i - x_j) sign(y_i - y_j)
    norms_x: Tensor  # (b, m) of sign(x_i - x_j)^2
    norms_y: Tensor  # (b, m2), or (b, 0) without y


def weighted_pairs(x: Tensor, y: Tensor | None, weights: Tensor, workspace: int) -> WeightedPairs:
    """Weighted sums over pairs i < j, differentiable once in the weights.

    Args:
        x: ``(b, m, n)`` int32 dense ranks of complete rankings.
        y: ``(b, m2, n)``, or None for ``x`` itself (symmetric bit for bit).
        weights: ``(n, n)`` float64, symmetric, at least 0. Pairs of weight 0 cost nothing, except in the gradient.
        workspace: bytes to use at most beside inputs and outputs.
    """
    return WeightedPairs(*torch.ops.torchrank.weighted_pairs(x, y, weights, workspace))


@torch.library.impl("torchrank::weighted_pairs", "default")
def _sums(x: Tensor, y: Tensor | None, weights: Tensor, workspace: int) -> tuple[Tensor, Tensor, Tensor]:
    product, norms_x, norms_y = _fake_sums(x, y, weights, workspace)
    for part in (product, norms_x, norms_y):
        part.zero_()
    i, j = weights.triu(1).nonzero(as_tuple=True)
    step = max(1, workspace // (_BYTES * max(1, _rows(x, y))))
    for start in range(0, len(i), step):
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
def _fake_sums(x: Tensor, y: Tensor | None, weights: Tensor, workspace: int) -> tuple[Tensor, Tensor, Tensor]:
    (b, m, _), m2 = x.shape, (x if y is None else y).shape[1]
    return weights.new_empty(b, m, m2), weights.new_empty(b, m), weights.new_empty(b, 0 if y is None else m2)


@torch.library.impl("torchrank::weighted_pairs_backward", "default")
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


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, y, weights, ctx.workspace = inputs
    ctx.save_for_backward(x, y, weights)


def _backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
    x, y, weights = ctx.saved_tensors
    gradient = torch.ops.torchrank.weighted_pairs_backward(*gradients, x, y, weights, ctx.workspace)
    return None, None, gradient, None


def _refuse_second_order(ctx: Any, *gradients: Tensor) -> NoReturn:
    raise RuntimeError("the kernel of weighted pairs is differentiable once; do not use create_graph=True")


torch.library.register_autograd("torchrank::weighted_pairs", _backward, setup_context=_remember)
torch.library.register_autograd("torchrank::weighted_pairs_backward", _refuse_second_order)


def _rows(x: Tensor, y: Tensor | None) -> int:
    return x.shape[:2].numel() + (0 if y is None else y.shape[:2].numel())
