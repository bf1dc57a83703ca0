"""CPU engine of expected ranks, for uniform noise: pairs of items in loops that compile to vector instructions."""

import numpy as np
import torch
from torch import Tensor

from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles, spans

_TILE_PAIRS = 8_000_000  # some milliseconds, less than what a second thread costs


def soft_ranks(x: Tensor, window: Tensor, counted: Tensor) -> Tensor:
    """See :func:`torchrank.ops.reference.soft_ranks.soft_ranks`; float64."""
    ranks = torch.zeros(x.shape, dtype=torch.float64)
    _run(_forward, x, window, counted, ranks)
    return ranks


def soft_ranks_backward(gradient: Tensor, x: Tensor, window: Tensor, counted: Tensor) -> tuple[Tensor, Tensor]:
    """See :func:`torchrank.ops.reference.soft_ranks.soft_ranks_backward`; float64."""
    for_x = torch.zeros(x.shape, dtype=torch.float64)
    for_window = torch.zeros(len(x), dtype=torch.float64)
    _run(_backward, x, window, counted, gradient.to(torch.float64), for_x, for_window)
    return for_x.masked_fill_(x.isinf(), 0), for_window  # infinity does not move


def _run(kernel, x: Tensor, window: Tensor, counted: Tensor, *others: Tensor) -> None:
    arrays = [t.contiguous().numpy() for t in (x.to(torch.float64), window.to(torch.float64), counted, *others)]
    step = max(1, _TILE_PAIRS // max(1, x.shape[1] ** 2))
    run_tiles([*spans(len(x), step)], lambda span: kernel(*(array[slice(*span)] for array in arrays)))


@njit(nogil=True, cache=True)
def _forward(x, window, counted, ranks):
    item, scores, found = np.empty(x.shape[1], np.int64), np.empty(x.shape[1]), np.empty(x.shape[1])
    for row in range(x.shape[0]):
        known, complete = _gather(x[row], counted[row], window[row], item, scores)
        found[:known] = 0.0 if complete else np.nan
        for k in range(known if complete else 0):
            found[k] += _signs(np.uint64(k), scores[k], scores, min(1 / window[row], 1.7976931348623157e308), found)
        for k in range(known):
            ranks[row, item[k]] = found[k]


@njit(nogil=True, cache=True)
def _backward(x, window, counted, gradient, for_x, for_window):
    n = x.shape[1]
    item, scores, weights, found = np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n)
    for row in range(x.shape[0]):
        known, complete = _gather(x[row], counted[row], window[row], item, scores)
        found[:known] = 0.0 if complete else np.nan
        inverse = min(1 / window[row], 1.7976931348623157e308)
        moved = 0.0 if complete else np.nan
        for k in range(known):
            weights[k] = gradient[row, item[k]]
        for k in range(known if complete else 0):
            slope, moves = _slopes(np.uint64(k), scores[k], weights[k], scores, weights, inverse, found)
            found[k] += slope
            moved += moves
        for k in range(known):
            for_x[row, item[k]] = found[k] * inverse
        for_window[row] = -moved * inverse


@njit(nogil=True, cache=True)
def _gather(x, counted, window, item, scores):
    """Scores that count, infinite ones as numbers more than a window beyond all others; and whether none is NaN."""
    known, largest, complete = 0, 0.0, True
    for j in range(x.size):
        if counted[j]:
            item[known], scores[known] = j, x[j]
            complete &= not np.isnan(x[j])
            if np.isfinite(x[j]):
                largest = max(largest, abs(x[j]))
            known += 1
    beyond = min(2 * largest + 2 * window, 1.7976931348623157e308)
    for k in range(known):
        scores[k] = min(max(scores[k], -beyond), beyond)
    return known, complete


# Unsigned places need no check for negative ones, which would keep the loops from vector instructions.
@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "reassoc", "contract"})
def _signs(stop, xk, x, inverse, found):
    """Half the expected signs over the places before, taken from theirs."""
    total = 0.0
    for j in range(np.uint64(0), stop):
        t = min(max((xk - x[j]) * inverse, -1.0), 1.0)
        half = t * (1 - abs(t) / 2)
        total += half
        found[j] -= half
    return total


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "reassoc", "contract"})
def _slopes(stop, xk, wk, x, weights, inverse, found):
    """Half the slopes over the places before, by weights, taken from theirs; and those times t."""
    total, moved = 0.0, 0.0
    for j in range(np.uint64(0), stop):
        t = min(max((xk - x[j]) * inverse, -1.0), 1.0)
        slope = (1 - abs(t)) * (wk - weights[j])
        total += slope
        moved += slope * t
        found[j] -= slope
    return total, moved
