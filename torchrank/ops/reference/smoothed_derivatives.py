"""Derivatives of the smoothed Kendall kernel beyond the gradient: in directions, and of the gradient.

They are explicit formulas in plain torch, block by block of item pairs, which torch differentiates further. With
features f(x), the derivative of f(x) f(y)^T in a direction is f'(x) f(y)^T + f(x) f'(y)^T; and since second derivatives
are symmetric, that of the gradient of <g, G> in a direction is the gradient of <g, derivative of G in that direction>.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from torchrank.ops.reference.smoothed import PairBlock, blocks
from torchrank.rankings.derivatives import in_transform
from torchrank.rankings.noises import NOISES

_FEATURE_BYTES = 8 * 16  # of a row and a pair: float64, and temporaries of its size


class Point(NamedTuple):
    """What the kernel depends on, or a direction in which it moves."""

    x: Tensor  # (b, m, n)
    y: Tensor | None  # (b, m2, n); None means x
    window: Tensor  # ()

    def doubles(self) -> "Point":
        """The same in float64."""
        return Point(*(None if part is None else part.double() for part in self))  # type: ignore[arg-type]


def tangent(at: Point, towards: Point, noise: str, workspace: int) -> Tensor:
    """Derivative of the Gram matrix in a direction, ``(b, m, m2)`` in the dtype of ``at.x``."""
    point, direction = at.doubles(), towards.doubles()
    total = sum(_tangent(point, direction, noise, block) for block in _blocks(at, workspace))
    return torch.as_tensor(total, device=at.x.device).to(at.x.dtype)


def curvature(gradient: Tensor, at: Point, towards: Point, noise: str, workspace: int) -> Point:
    """Derivative in a direction of the gradient that ``gradient`` ``(b, m, m2)`` makes of ``at``."""
    point, direction = at.doubles(), towards.doubles()
    present = [part for part in point if part is not None]
    sums = [torch.zeros_like(part) for part in present]
    for block in _blocks(at, workspace):
        moved = _moved(gradient.double(), direction, noise, block)
        pull_back = torch.func.vjp(moved, *present)[1]
        sums = [a + b for a, b in zip(sums, pull_back(point.x.new_ones(())), strict=True)]
    for_x, *for_y, for_window = sums
    for_y = for_y[0].to(at.x.dtype) if for_y else at.x.new_empty((0, *at.x.shape[1:]))
    return Point(for_x.to(at.x.dtype), for_y, for_window.to(at.window.dtype))


def _moved(gradient: Tensor, direction: Point, noise: str, block: PairBlock) -> Callable[..., Tensor]:
    """<gradient, derivative in the direction> as a function of the point's parts."""

    def function(x: Tensor, *rest: Tensor) -> Tensor:
        y, window = rest if len(rest) == 2 else (None, rest[0])
        return (gradient * _tangent(Point(x, y, window), direction, noise, block)).sum()

    return function


def _tangent(at: Point, towards: Point, noise: str, block: PairBlock) -> Tensor:
    """The part of a block of pairs."""
    n = at.x.shape[-1]
    fx, dx = _features(at.x, at.window, towards.x, towards.window, noise, block)
    if at.y is None or towards.y is None:
        half = dx @ fx.mT
        return (half + half.mT) / (n * (n - 1) // 2)
    fy, dy = _features(at.y, at.window, towards.y, towards.window, noise, block)
    return (dx @ fy.mT + fx @ dy.mT) / (n * (n - 1) // 2)


def _features(
    scores: Tensor, window: Tensor, scores_move: Tensor, window_moves: Tensor, noise: str, block: PairBlock
) -> tuple[Tensor, Tensor]:
    """Expected signs ``(b, r, pairs)`` of a block, and their derivative in a direction."""
    reach, value, slope = NOISES[noise]
    difference = differences(scores, block)
    far = difference.abs() >= reach * window  # constant there; infinity would make the derivative NaN
    s = torch.where(far, 0, difference) / window
    signs = torch.where(far, difference.sign(), value(s))
    s_moves = (differences(scores_move, block) - s * window_moves) / window
    return signs.flatten(-2), torch.where(far, 0, slope(s) * s_moves).flatten(-2)


def differences(scores: Tensor, block: PairBlock) -> Tensor:
    """``(..., distances, items)`` of scores ``(..., n)``; 0 for two equal infinities."""
    left, right = sides(scores, block)
    return torch.where((left == right) & left.isinf(), 0, left - right)


def sides(values: Tensor, block: PairBlock) -> tuple[Tensor, Tensor]:
    """First and second of the pairs of a block, ``(..., 1, items)`` and ``(..., distances, items)``."""
    n = values.shape[-1]
    circle = torch.cat([values, values[..., : n // 2]], dim=-1)
    left = circle[..., None, block.start : block.stop]
    # Cut before it is unfolded: the gradient of a part of what is unfolded has the size of the whole.
    met = circle[..., block.first + block.start : block.last + block.stop - 1]
    return left, _parts(met, block.stop - block.start)


def _parts(values: Tensor, width: int) -> Tensor:
    """All parts of so many numbers in a row, ``(..., parts, width)``."""
    if not in_transform():
        return values.unfold(-1, width, 1)
    # Backwards through unfold, vmap of torch goes row by row, and warns of it. Rows that are one too long for what they
    # are cut from are shifted.
    n = values.shape[-1]
    parts = n - width + 1
    copies = values[..., None, :].expand(*values.shape[:-1], parts + 1, n).flatten(-2)
    return copies[..., : parts * (n + 1)].unflatten(-1, (parts, n + 1))[..., :width]


def _blocks(at: Point, workspace: int) -> list[PairBlock]:
    rows = at.x.shape[:-1].numel() + (0 if at.y is None else at.y.shape[:-1].numel())
    return list(blocks(at.x.shape[-1], max(1, workspace // (_FEATURE_BYTES * max(1, rows)))))
