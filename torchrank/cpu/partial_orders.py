"""Convolution kernel of short lists out of many items: each list makes a table in which the others look up theirs."""

import numpy as np
import torch
from torch import Tensor

from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles, spans

_TILE_ITEMS = 10_000_000  # look-ups in a tile: some 50 ms
_MIRROR_ROWS = 512


def partial_orders(x: Tensor, x_top: Tensor, y: Tensor | None, y_top: Tensor, columns: int, n: int) -> Tensor:
    """Sum of products of expected signs over all pairs of items, n(n-1)/2 times the kernel.

    Args:
        x: ``(m, L)`` int64 items below ``columns``, most preferred first, padded with -1.
        x_top: ``(m,)`` bool, whether a list stands above all other items.
        y: ``(m2, L2)``, or None for ``x``: then only the lower triangle is computed, and mirrored.
        y_top: ``(m2,)``.
        columns: number of different items listed.
        n: number of items.

    Returns:
        ``(m, m2)`` float64.
    """
    lists_x, top_x = x.contiguous().numpy(), x_top.numpy()
    lists_y, top_y = (lists_x, top_x) if y is None else (y.contiguous().numpy(), y_top.numpy())
    total = torch.zeros((len(lists_x), len(lists_y)), dtype=torch.float64)
    out = total.numpy()
    step = max(1, _TILE_ITEMS // max(1, lists_y.size))

    def compare(rows: slice) -> None:
        _compare(lists_x[rows], top_x[rows], lists_y, top_y, columns, n, rows.start if y is None else -1, out[rows])

    run_tiles([slice(*span) for span in spans(len(lists_x), step)], compare)
    if y is None:
        _mirror(total)
    return total


def _mirror(total: Tensor) -> None:
    """Copy the lower triangle to the upper one in place: a copy of the matrix would be as large as all of it."""
    for rows in (slice(*span) for span in spans(len(total), _MIRROR_ROWS)):
        total[: rows.start, rows] = total[rows, : rows.start].mT
        corner = total[rows, rows]
        corner.copy_(corner.tril() + corner.tril(-1).mT)


@njit(nogil=True, cache=True)
def _compare(lists_x, top_x, lists_y, top_y, columns, n, first, out):
    """With ``first`` >= 0 the rows are ``first`` and following of ``lists_y``, and the upper triangle is left out."""
    place = np.zeros(columns, np.int32)  # 1 + position in the list, 0 for items that it leaves out
    shortest = min(lists_x.shape[1], lists_y.shape[1])
    in_x, in_y, tree = np.empty(shortest, np.int64), np.empty(shortest, np.int64), np.empty(shortest + 1, np.int64)
    for row in range(lists_x.shape[0]):
        k = _fill_places(lists_x[row], place, 1)
        for other in range(first + row + 1 if first >= 0 else lists_y.shape[0]):
            common = k2 = 0
            for position in range(lists_y.shape[1]):
                item = lists_y[other, position]
                if item < 0:
                    break
                k2 += 1
                if place[item]:
                    in_x[common], in_y[common] = k + 1 - place[item], position  # rank in x, 1 for the least preferred
                    common += 1
            for c in range(common):
                in_y[c] = k2 - in_y[c]
            out[row, other] = _product(in_x[:common], in_y[:common], k, k2, top_x[row], top_y[other], n, tree)
        _fill_places(lists_x[row], place, 0)


@njit(nogil=True, cache=True)
def _fill_places(items, place, used):
    """Enter a list's positions into the table, or clear them; returns the list's length."""
    length = 0
    for position in range(items.size):
        if items[position] < 0:
            break
        place[items[position]] = (position + 1) * used
        length += 1
    return length


@njit(nogil=True, cache=True)
def _product(rank_x, rank_y, k, k2, top_x, top_y, n, tree):
    """The formula of ``torchrank.kernels.partial`` for two lists; common items come most preferred in y first."""
    c = rank_x.size
    score = against_x = against_y = both = half_x = half_y = 0.0
    if c:
        tree[: c + 1] = 0
        by_x = np.argsort(rank_x)  # least preferred in x first
        place_x = np.empty(c, np.int64)
        place_x[by_x] = np.arange(1, c + 1)
        for i in range(c):
            # Items entered before are preferred in y: concordant where they are preferred in x too.
            less_preferred = 0
            position = place_x[i]
            while position > 0:
                less_preferred += tree[position]
                position -= position & -position
            score += i - 2 * less_preferred
            position = place_x[i]
            while position <= c:
                tree[position] += 1
                position += position & -position
            u, v = 2 * rank_x[i] - k - 1, 2 * rank_y[i] - k2 - 1
            r, s = 1.0 if top_x else u / (k + 1), 1.0 if top_y else v / (k2 + 1)
            against_x += r
            against_y += s
            both += r * s
            half_x += s * (u - (2 * place_x[i] - c - 1))
            half_y += r * (v - (c - 1 - 2 * i))
    only_x = (k if top_x else 0.0) - against_x
    only_y = (k2 if top_y else 0.0) - against_y
    return score + half_x + half_y + (n - k - k2 + c) * both - only_x * only_y
