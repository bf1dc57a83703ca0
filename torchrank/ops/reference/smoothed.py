"""The smoothed Kendall kernel as products of explicit features, in blocks of item pairs; and its gradient.

Pairs are enumerated by distance around a circle, (i, i + d mod n) for d = 1, 2, ..., n // 2: the features of one
distance come from two contiguous stretches of a doubled row, and blocks have no gaps. For even n the last distance has
n / 2 pairs. The gradient makes every block of features again instead of keeping n(n-1)/2 of them for each row.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchrank.rankings.noises import NOISES


class PairBlock(NamedTuple):
    """The pairs (i, i + d mod n) with ``start <= i < stop`` and ``first <= d < last``."""

    first: int
    last: int
    start: int
    stop: int

    @property
    def pairs(self) -> int:
        """How many pairs of items these are."""
        return (self.last - self.first) * (self.stop - self.start)


class TorchRows:
    """One side of a tile of the Gram matrix, ``(b, r, n)`` scores, whose features exist for one block at a time.

    For any device and noise, and scores up to infinity. :meth:`pull_back` sums up ``gradient``, ``(b, r, n + n // 2)``
    with respect to the doubled scores, and ``window_gradient``, a float64 number.
    """

    def __init__(self, scores: Tensor, window: float, noise: str) -> None:
        n = scores.shape[-1]
        self.circle = torch.cat([scores, scores[..., : n // 2]], dim=-1)
        self.gradient = torch.zeros_like(self.circle)
        self.window_gradient = torch.zeros((), dtype=torch.float64, device=scores.device)
        self.window = max(window, torch.finfo(scores.dtype).tiny)  # a smaller one would be 0 in float32
        self.noise = NOISES[noise]

    def features(self, block: PairBlock) -> Tensor:
        """``(b, r, block.pairs)`` expected signs, valid until the next call."""
        return self.noise.value(self._scaled(block)).flatten(-2)

    def pull_back(self, block: PairBlock, weights: Tensor) -> None:
        """Add the gradient of the sum of ``weights * features(block)``."""
        s = self._scaled(block)
        by_difference = weights.view(s.shape) * self.noise.slope(s)
        self.window_gradient -= (by_difference * s).sum(dtype=torch.float64) / self.window
        by_difference /= self.window
        self.gradient[..., block.start : block.stop] += by_difference.sum(-2)
        for k, d in enumerate(range(block.first, block.last)):
            self.gradient[..., block.start + d : block.stop + d] -= by_difference[..., k, :]

    def _scaled(self, block: PairBlock) -> Tensor:
        """Differences in windows, ``(b, r, distances, items)``, cut where the features are constant."""
        left = self.circle[..., None, block.start : block.stop]
        shifted = self.circle.unfold(-1, block.stop - block.start, 1)
        right = shifted[..., block.first + block.start : block.last + block.start, :]
        difference = (left - right).masked_fill_(left == right, 0)  # two equal infinities are a tie
        return difference.div_(self.window).clamp_(-self.noise.reach, self.noise.reach)


MakeRows = Callable[[Tensor], TorchRows]  # from (b, r, n) scores


def smoothed_gram(x: Tensor, y: Tensor | None, make: MakeRows, workspace: int, advance: Callable[[int], Any]) -> Tensor:
    """Mean product of the expected signs over all pairs of items, ``(b, m, m2)`` in the dtype of ``x``.

    Args:
        x: ``(b, m, n)`` float32 or float64 scores.
        y: ``(b, m2, n)``, or None for ``x`` itself (symmetric bit for bit).
        make: makes the sides of a tile.
        workspace: bytes to use at most beside inputs and result.
        advance: told the number of products of two features after every block.
    """
    other = x if y is None else y
    n = x.shape[-1]
    result = torch.empty(x.shape[0], x.shape[1], other.shape[1], dtype=x.dtype, device=x.device)
    for tile in _tiles(x, other, workspace, symmetric=y is None):
        rows = make(x[tile.batches, tile.rows])
        columns = rows if tile.diagonal else make(other[tile.batches, tile.columns])
        total = torch.zeros(tile.shape, dtype=torch.float64, device=x.device)
        for block in blocks(n, tile.block_pairs):
            fx = rows.features(block)
            fy = fx if tile.diagonal else columns.features(block)
            for strip in tile.strips():
                met = slice(0, strip.stop if tile.diagonal else fy.shape[1])
                total[:, strip, met] += _products(fx[:, strip], fy[:, met])
            advance(total.numel() * block.pairs)
        total /= n * (n - 1) // 2
        if tile.diagonal:
            total = total.tril() + total.tril(-1).mT
        result[tile.batches, tile.rows, tile.columns] = total
        if y is None and not tile.diagonal:
            result[tile.batches, tile.columns, tile.rows] = total.mT
    return result


def smoothed_gram_backward(
    gradient: Tensor, x: Tensor, y: Tensor | None, make: MakeRows, workspace: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients for ``x``, ``y`` (no elements for None) and the window, from that of the Gram matrix ``(b, m, m2)``."""
    other = x if y is None else y
    n = x.shape[-1]
    scaled = gradient / (n * (n - 1) // 2)
    if y is None:
        scaled = scaled + scaled.mT  # x stands on both sides; every product then counts once
    for_x, for_y = torch.zeros_like(x), torch.zeros_like(x[:0] if y is None else y)
    for_window = torch.zeros((), dtype=torch.float64, device=x.device)
    for tile in _tiles(x, other, workspace, symmetric=False):
        rows, columns = make(x[tile.batches, tile.rows]), make(other[tile.batches, tile.columns])
        weights = scaled[tile.batches, tile.rows, tile.columns]
        for block in blocks(n, tile.block_pairs):
            rows.pull_back(block, weights @ columns.features(block))
            if y is not None:
                columns.pull_back(block, weights.mT @ rows.features(block))
        for_x[tile.batches, tile.rows] += _scores_gradient(rows.gradient, n)
        for_window += rows.window_gradient
        if y is not None:
            for_y[tile.batches, tile.columns] += _scores_gradient(columns.gradient, n)
            for_window += columns.window_gradient
    return for_x, for_y, for_window


def blocks(n: int, pairs: int) -> Iterator[PairBlock]:
    """Cut the n(n-1)/2 pairs of n items into blocks of at most ``pairs``."""
    items, distances = min(n, pairs), max(1, pairs // n)
    whole = (n - 1) // 2 + 1  # distances below have n pairs
    for first in range(1, whole, distances):
        for start in range(0, n, items):
            yield PairBlock(first, min(first + distances, whole), start, min(start + items, n))
    if n % 2 == 0:
        for start in range(0, n // 2, items):
            yield PairBlock(n // 2, n // 2 + 1, start, min(start + items, n // 2))


class _Tile(NamedTuple):
    """A part of the Gram matrix whose sums and blocks of features fit the workspace."""

    batches: slice
    rows: slice
    columns: slice
    diagonal: bool  # rows and columns are the same, and only the half below the diagonal is wanted
    block_pairs: int

    @property
    def shape(self) -> tuple[int, int, int]:
        batches, rows, columns = (part.stop - part.start for part in self[:3])
        return batches, rows, columns

    def strips(self) -> Iterator[slice]:
        """Cut the rows, on the diagonal into strips that need not meet the columns after them."""
        rows = self.shape[1]
        return _slices(rows, _STRIP if self.diagonal else max(1, rows))


_STRETCH = 4096  # products that are added up in float32
_STRIP = 256  # rows of a product beside the diagonal: enough for the speed of a large product
_CACHE = 2**24  # bytes of features of a block: few enough to stay near a CPU, and long enough products


def _tiles(x: Tensor, y: Tensor, workspace: int, *, symmetric: bool) -> Iterator[_Tile]:
    (b, m, n), m2, size = x.shape, y.shape[1], x.element_size()
    # Doubled rows and their gradients take at most a quarter of the workspace, sums and products another one.
    side = max(1, min(workspace // (24 * n * size), math.isqrt(workspace // 64)))
    together = max(1, side // max(1, m, m2))
    for batches in _slices(b, together):
        for rows in _slices(m, side):
            for columns in _slices(m2, side):
                if symmetric and columns.start > rows.start:
                    continue
                diagonal = symmetric and columns == rows
                tile = _Tile(batches, rows, columns, diagonal, 0)
                count, r, c = tile.shape
                row_bytes = size * count * (r if diagonal else r + c)
                pairs = workspace // (8 * row_bytes)  # the features, and three temporaries of their size
                if x.device.type == "cpu":
                    pairs = min(pairs, max(1024, _CACHE // row_bytes))
                yield tile._replace(block_pairs=max(1, pairs))


def _slices(size: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, size)) for start in range(0, size, step))


def _products(x: Tensor, y: Tensor) -> Tensor:
    """``x @ y.mT`` of features ``(b, r, pairs)``, whose long sums are rounded to float32 in short stretches only."""
    if x.dtype == torch.float64 or x.shape[-1] <= _STRETCH:
        return x @ y.mT
    whole = x.shape[-1] // _STRETCH * _STRETCH
    left, right = (side[..., :whole].unflatten(-1, (-1, _STRETCH)).transpose(-3, -2) for side in (x, y))
    return (left @ right.mT).sum(-3, dtype=torch.float64) + x[..., whole:] @ y[..., whole:].mT


def _scores_gradient(doubled: Tensor, n: int) -> Tensor:
    """Gradient of the scores from that of the doubled scores."""
    gradient = doubled[..., :n].clone()
    gradient[..., : n // 2] += doubled[..., n:]
    return gradient
