"""CPU engine of agreement with hard rankings: exact sums over pairs of items and their slopes, in float64.

For uniform noise and weights of items. A pair weighs ``a_i b_j + b_i a_j``: for sums of weights a is the weight and b
is 1, for products b is half of a. Items of short rows are brought into the order of the hard ranking, in which signs
are known, and meet all items below in loops that compile to vector instructions; long rows are swept,
:mod:`torchrank.cpu.agreement_sweep`, unless all scores are next to one another.
"""

import numpy as np
import torch
from torch import Tensor

from torchrank.cpu.agreement_sweep import sweep
from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles, spans

SWEEP_FROM = (
    3000  # items; the sweep is faster from 1,500 on without AVX-512, with it from 9,000 (`benchmarks.run losses`)
)
_NARROW = 2.0**-7  # windows; the sweep is exact to 1e-16 of a sign, of which squares of small ones are too little
_TILE_PAIRS = 8_000_000  # some milliseconds, less than what a second thread costs


def sums_and_slopes(
    x: Tensor, ranks: Tensor, weights: Tensor | None, window: Tensor, scheme: str, slopes: bool, window_slopes: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """See :func:`torchrank.ops.reference.agreement.sums_and_slopes`; slopes are float64."""
    rows, n = x.shape
    sums = torch.empty(rows, 4, dtype=torch.float64)
    of_x = torch.empty(rows, 2, n if slopes else 0, dtype=torch.float64)
    of_window = torch.empty(rows, 2 if window_slopes else 0, dtype=torch.float64)
    scores = x.to(torch.float64)
    a = scores.new_zeros(rows, 0) if weights is None else weights.to(torch.float64).contiguous()
    b = torch.ones_like(a) if scheme == "sum" else a / 2
    inputs = [t.contiguous().numpy() for t in (scores, ranks, a, b, window.to(torch.float64))]
    arrays = [*inputs, *(result.numpy() for result in (sums, of_x, of_window))]
    fill = _rows if n < SWEEP_FROM else _long_rows

    def work(span: tuple[int, int]) -> None:
        fill(*(array[slice(*span)] for array in arrays))

    run_tiles([*spans(rows, max(1, _TILE_PAIRS // max(1, n * n)))], work)
    return sums, of_x, of_window


def _long_rows(
    scores: np.ndarray, ranks: np.ndarray, a: np.ndarray, b: np.ndarray, windows: np.ndarray, *results: np.ndarray
) -> None:
    """The same as :func:`_rows`, by sweeps."""
    counted = np.where(ranks < 0, np.nan, scores)
    for result in results:
        result[:] = 0
    narrow = _spread(counted) < _NARROW * windows
    if a.shape[1] == 0:
        a, b = np.ones_like(scores), np.full_like(scores, 0.5)
    for row, together in enumerate(narrow.tolist()):
        part = [array[row : row + 1] for array in (counted, ranks, a, b, windows, *results)]
        (_rows if together else sweep)(*part)
        if np.isnan(scores[row, ranks[row] >= 0]).any():
            for result in results:
                result[row] = np.nan
    if results[1].shape[2]:
        results[1].transpose(0, 2, 1)[np.isinf(counted)] = 0  # infinity does not move


def _spread(scores: np.ndarray) -> np.ndarray:
    """Largest difference of finite scores in each row."""
    finite = np.isfinite(scores)
    highest = np.where(finite, scores, -np.inf).max(axis=-1)
    return highest - np.where(finite, scores, np.inf).min(axis=-1)  # -inf where none is finite


@njit(nogil=True, cache=True)
def _rows(x, ranks, all_a, all_b, windows, sums, of_x, of_window):
    """Fill the results of all rows; no weights are those of no columns, no slopes in windows are wanted in none."""
    n, weighted, moves = x.shape[1], all_a.shape[1] > 0, of_window.shape[1] > 0
    item, low, counts = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n + 1, np.int64)
    scores, signed, squared, unused = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    a, b, sum_a, sum_b = np.empty(n), np.empty(n), np.empty(n + 1), np.empty(n + 1)
    apart, tied = np.empty(4), np.empty(4)  # sums over pairs that the hard ranking orders, and over those that it ties
    for row in range(x.shape[0]):
        known = _in_order(ranks[row], item, low, counts)
        kind = _finite(x[row], item[:known], windows[row], scores)
        if kind == _UNKNOWN:
            sums[row], of_x[row], of_window[row] = np.nan, np.nan, np.nan
            continue
        inverse = min(1 / windows[row], 1.7976931348623157e308)
        signed[:], squared[:], apart[:], tied[:], sums[row] = 0, 0, 0, 0, 0
        if weighted:
            sum_a[0], sum_b[0] = 0.0, 0.0
            for k in range(known):
                a[k], b[k] = all_a[row, item[k]], all_b[row, item[k]]
                sum_a[k + 1], sum_b[k + 1] = sum_a[k] + a[k], sum_b[k] + b[k]
            for k in range(known):
                sums[row, 2] += a[k] * sum_b[low[k]] + b[k] * sum_a[low[k]]
                sums[row, 3] += a[k] * sum_b[k] + b[k] * sum_a[k]
            if moves:  # a word that the compiler knows lets it leave out what takes a sixth of the time
                _weighted_row(low[:known], scores, inverse, a, b, signed, squared, unused, apart, tied, True)
            else:
                _weighted_row(low[:known], scores, inverse, a, b, signed, squared, unused, apart, tied, False)
        else:
            sums[row, 2], sums[row, 3] = low[:known].sum(), known * (known - 1) / 2
            if moves:
                _plain_row(low[:known], scores, inverse, signed, squared, unused, apart, tied, True)
            else:
                _plain_row(low[:known], scores, inverse, signed, squared, unused, apart, tied, False)
        sums[row, 0], sums[row, 1] = apart[0], apart[1] + tied[1]
        if of_x.shape[2]:
            if known < n or kind != _FINITE:  # else all are written
                of_x[row] = 0
            for k in range(known):
                if kind == _FINITE or np.isfinite(x[row, item[k]]):  # infinity does not move
                    of_x[row, 0, item[k]], of_x[row, 1, item[k]] = 2 * signed[k] * inverse, 4 * squared[k] * inverse
        if moves:
            of_window[row, 0], of_window[row, 1] = -2 * apart[2] * inverse, -4 * (apart[3] + tied[3]) * inverse


@njit(nogil=True, cache=True)
def _in_order(ranks, item, low, start):
    """Items that count, the least preferred first, and for each where those tied with it start; how many they are."""
    start[:] = 0
    for rank in ranks:
        if rank >= 0:
            start[rank + 1] += 1
    known = 0
    for r in range(1, start.size):
        known += start[r]
        start[r] = known
    for j in range(ranks.size):
        if ranks[j] >= 0:
            item[start[ranks[j]]] = j
            start[ranks[j]] += 1
    for k in range(known):
        low[k] = low[k - 1] if k > 0 and ranks[item[k]] == ranks[item[k - 1]] else k
    return known


@njit(nogil=True, cache=True)
def _finite(x, item, window, out):
    """Scores by place, infinite ones as numbers more than a window beyond all others; and what there is among them."""
    largest, unknown, infinite = 0.0, 0, 0
    for k in range(item.size):  # without branches
        value = x[item[k]]
        size = abs(value)
        out[k] = value
        unknown += value != value
        infinite += size == np.inf
        largest = size if largest < size < np.inf else largest
    if unknown:
        return _UNKNOWN
    if not infinite:
        return _FINITE
    beyond = min(2 * largest + 2 * window, 1.7976931348623157e308)
    for k in range(item.size):
        out[k] = min(max(out[k], -beyond), beyond)
    return _INFINITE


_UNKNOWN, _FINITE, _INFINITE = 0, 1, 2  # of scores: some are NaN, all are finite, some are infinite


# Unsigned places need no check for negative ones, which would keep the loops from vector instructions. No difference is
# NaN; one that overflows is cut like any other. What has the loops is inlined: a call counts references to all arrays.
@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "reassoc", "contract"})
def _plain_row(low, x, inverse, signed, squared, unused, apart, tied, moves):
    """Fill the sums over pairs of one row, each item with those before it, two items at a time.

    ``low`` says where the items tied with each in the hard ranking start. ``apart`` and ``tied`` get sums of the
    expected sign g and of g^2 and, if the window ``moves``, of z t and g z t, where t is the difference in windows, cut
    to [-1, 1], and z = 1 - |t|, half the slope of g. Those of z and g z over the pairs of an item, which are taken away
    where it is the later one, go to ``signed`` and ``squared``; ``unused`` gets those of z over tied pairs.
    """
    for k in range(0, low.size - 1, 2):
        first, second = low[k], low[k + 1]
        _plain_two(np.uint64(first), k, x, inverse, signed, squared, apart, moves)
        if first < k:
            _plain(np.uint64(first), np.uint64(k), k, x, inverse, unused, squared, tied, moves)
        _plain(np.uint64(first), np.uint64(second), k + 1, x, inverse, signed, squared, apart, moves)
        if second < k + 1:
            _plain(np.uint64(second), np.uint64(k + 1), k + 1, x, inverse, unused, squared, tied, moves)
    if low.size % 2:
        k = low.size - 1
        _plain(np.uint64(0), np.uint64(low[k]), k, x, inverse, signed, squared, apart, moves)
        _plain(np.uint64(low[k]), np.uint64(k), k, x, inverse, unused, squared, tied, moves)


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "reassoc", "contract"})
def _weighted_row(low, x, inverse, a, b, signed, squared, unused, apart, tied, moves):
    """The same with weights."""
    for k in range(low.size):
        start, stop = np.uint64(low[k]), np.uint64(k)
        _weighted(np.uint64(0), start, k, x, inverse, a, b, signed, squared, apart, moves)
        _weighted(start, stop, k, x, inverse, a, b, unused, squared, tied, moves)


@njit(inline="always")
def _plain(start, stop, k, x, inverse, signed, squared, found, moves):
    """Item k with those of ``range(start, stop)``."""
    s, q, ms, mq, zs, zq = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    xk = x[k]
    for j in range(start, stop):
        t = min(max((xk - x[j]) * inverse, -1.0), 1.0)
        z = 1 - abs(t)
        g = t + t * z
        gz = g * z
        s += g
        q += g * g
        if moves:
            ms += z * t
            mq += gz * t
        zs += z
        zq += gz
        signed[j] -= z
        squared[j] -= gz
    _add(s, q, ms, mq, found)
    signed[k], squared[k] = signed[k] + zs, squared[k] + zq


@njit(inline="always")
def _plain_two(stop, k, x, inverse, signed, squared, found, moves):
    """Items k and k + 1 with those of ``range(stop)``, whose slopes are read and written once."""
    s, q, ms, mq, zs0, zq0, zs1, zq1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    x0, x1 = x[k], x[k + 1]
    for j in range(np.uint64(0), stop):
        t0 = min(max((x0 - x[j]) * inverse, -1.0), 1.0)
        t1 = min(max((x1 - x[j]) * inverse, -1.0), 1.0)
        z0, z1 = 1 - abs(t0), 1 - abs(t1)
        g0, g1 = t0 + t0 * z0, t1 + t1 * z1
        gz0, gz1 = g0 * z0, g1 * z1
        s += g0 + g1
        q += g0 * g0 + g1 * g1
        if moves:
            ms += z0 * t0 + z1 * t1
            mq += gz0 * t0 + gz1 * t1
        zs0, zs1 = zs0 + z0, zs1 + z1
        zq0, zq1 = zq0 + gz0, zq1 + gz1
        signed[j] -= z0 + z1
        squared[j] -= gz0 + gz1
    _add(s, q, ms, mq, found)
    signed[k], squared[k] = signed[k] + zs0, squared[k] + zq0
    signed[k + 1], squared[k + 1] = signed[k + 1] + zs1, squared[k + 1] + zq1


@njit(inline="always")
def _weighted(start, stop, k, x, inverse, a, b, signed, squared, found, moves):
    """Item k with those of ``range(start, stop)``, each pair times its weight."""
    s, q, ms, mq, zs, zq = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    xk, ak, bk = x[k], a[k], b[k]
    for j in range(start, stop):
        t = min(max((xk - x[j]) * inverse, -1.0), 1.0)
        z = 1 - abs(t)
        g = t + t * z
        w = ak * b[j] + bk * a[j]
        wz, wg = w * z, w * g
        gz = wg * z
        s += wg
        q += wg * g
        if moves:
            ms += wz * t
            mq += gz * t
        zs += wz
        zq += gz
        signed[j] -= wz
        squared[j] -= gz
    _add(s, q, ms, mq, found)
    signed[k], squared[k] = signed[k] + zs, squared[k] + zq


@njit(inline="always")
def _add(s, q, ms, mq, found):
    found[0], found[1], found[2], found[3] = found[0] + s, found[1] + q, found[2] + ms, found[3] + mq
