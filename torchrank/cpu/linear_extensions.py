"""Sums over the total rankings that agree with partial orders of few items, by dynamic programming.

A total ranking is built best first. A state is the set of items that are still to be placed, a bit mask, and only
states that a partial order can lead to are visited. Numbers of discordant pairs are integers, so powers of the weight
of one pair come from a table, relative to the least discordant ranking, and nothing underflows.
"""

import numpy as np

from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_parts

MOST_ITEMS = 20  # a table of 2^20 places for every tile: 4 MB
MOST_STATES = 2**14  # as many as 14 items have that are not ordered at all
_PARTS = 16  # tiles, whatever the number of threads, so that sums have the same bits


def few_states(before: np.ndarray) -> np.ndarray:
    """Which partial orders ``(g, n)`` lead to at most ``MOST_STATES`` states, ``(g,)`` bool; n at most ``MOST_ITEMS``.

    ``before[r, i]`` is the mask of the items that r prefers to item i.
    """
    g, n = before.shape
    few = np.ones(g, bool)
    if 2**n > MOST_STATES:
        run_parts(g, _PARTS, lambda rows, _: _count(before[rows], few[rows]))
    return few


def sums(before: np.ndarray, better: np.ndarray, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of e^(-lam d) over agreeing rankings, d being the discordant pairs with a center.

    Args:
        before: ``(g, n)`` int64 partial orders as :func:`few_states` has them.
        better: ``(b, n)`` int64 masks of the items that a center prefers to each item.
        lam: ``(b,)`` concentrations, at least 0.

    Returns:
        Their logarithm, and mean and variance of d by these weights; ``(b, g)`` float64.
    """
    log_sum, mean, variance = (np.empty((len(better), len(before))) for _ in range(3))

    def work(rows: slice, _: int) -> None:
        _sums(before[rows], better, lam, log_sum[:, rows], mean[:, rows], variance[:, rows])

    run_parts(len(before), _PARTS, work)
    return log_sum, mean, variance


def preferences(before: np.ndarray, better: np.ndarray, lam: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Sums over partial orders of ``shares`` (b, g) times the chance that i comes before j, ``(b, n, n)``."""
    b, n = better.shape
    parts = np.zeros((_PARTS, b, n, n))
    run_parts(
        len(before), _PARTS, lambda rows, part: _preferences(before[rows], better, lam, shares[:, rows], parts[part])
    )
    return parts.sum(axis=0)


@njit(nogil=True, cache=True)
def _bits(mask):
    """Number of bits of a mask of up to 20 items."""
    mask = mask - ((mask >> 1) & 0x55555)
    mask = (mask & 0x33333) + ((mask >> 2) & 0x33333)
    mask = (mask + (mask >> 4)) & 0xF0F0F
    return (mask + (mask >> 8) + (mask >> 16)) & 0x1F


@njit(nogil=True, cache=True)
def _reach(before, place, states):
    """Enter into ``states`` all that can be reached, the larger sets first, and their places plus 1 into ``place``.

    Returns how many there are; one more than ``states`` holds where it is too short.
    """
    n = before.size
    states[0] = (1 << n) - 1
    place[states[0]] = 1
    count, s = 1, 0
    while s < count:
        left = states[s]
        for c in range(n):
            if left >> c & 1 and before[c] & left == 0:
                rest = left ^ (1 << c)
                if place[rest] == 0:
                    if count == states.size:
                        return count + 1
                    states[count] = rest
                    count += 1
                    place[rest] = count
        s += 1
    return count


@njit(nogil=True, cache=True)
def _forget(place, states, count):
    for s in range(min(count, states.size)):
        place[states[s]] = 0


@njit(nogil=True, cache=True)
def _count(before, few):
    n = before.shape[1]
    place, states = np.zeros(1 << n, np.int32), np.empty(MOST_STATES, np.int64)
    for row in range(before.shape[0]):
        count = _reach(before[row], place, states)
        few[row] = count <= MOST_STATES
        _forget(place, states, count)


@njit(nogil=True, cache=True)
def _weigh(before, better, powers, place, states, count, least, weight, mean, square):
    """Of every state: least discordant pairs, weight relative to it, mean and mean square of the discordant pairs."""
    n = before.size
    last = count - 1  # nothing left
    least[last], weight[last], mean[last], square[last] = 0, 1.0, 0.0, 0.0
    for s in range(count - 2, -1, -1):
        left = states[s]
        fewest = n * n
        for c in range(n):
            if left >> c & 1 and before[c] & left == 0:
                fewest = min(fewest, _bits(left & better[c]) + least[place[left ^ (1 << c)] - 1])
        total = first = second = 0.0
        for c in range(n):
            if left >> c & 1 and before[c] & left == 0:
                t = place[left ^ (1 << c)] - 1
                cost = _bits(left & better[c])
                share = powers[cost + least[t] - fewest] * weight[t]
                total += share
                first += share * (cost + mean[t])
                second += share * (cost * (cost + 2 * mean[t]) + square[t])
        least[s], weight[s], mean[s], square[s] = fewest, total, first / total, second / total


@njit(nogil=True, cache=True)
def _scratch(n):
    size = min(1 << n, MOST_STATES)
    place, states, least = np.zeros(1 << n, np.int32), np.empty(size, np.int64), np.empty(size, np.int64)
    return place, states, least, np.empty(size), np.empty(size), np.empty(size)


@njit(nogil=True, cache=True)
def _sums(before, better, lam, log_sum, mean, variance):
    n = before.shape[1]
    place, states, least, weight, first, second = _scratch(n)
    for row in range(before.shape[0]):
        count = _reach(before[row], place, states)
        for b in range(lam.size):
            powers = np.exp(-lam[b] * np.arange(n * n))
            _weigh(before[row], better[b], powers, place, states, count, least, weight, first, second)
            log_sum[b, row] = np.log(weight[0]) - lam[b] * least[0]
            mean[b, row] = first[0]
            variance[b, row] = max(second[0] - first[0] * first[0], 0.0)
        _forget(place, states, count)


@njit(nogil=True, cache=True)
def _preferences(before, better, lam, shares, out):
    n = before.shape[1]
    place, states, least, weight, first, second = _scratch(n)
    chance = np.empty(states.size)
    for row in range(before.shape[0]):
        count = _reach(before[row], place, states)
        for b in range(lam.size):
            if shares[b, row] == 0:
                continue
            powers = np.exp(-lam[b] * np.arange(n * n))
            _weigh(before[row], better[b], powers, place, states, count, least, weight, first, second)
            chance[:count] = 0.0
            chance[0] = shares[b, row]
            for s in range(count - 1):
                left = states[s]
                for c in range(n):
                    if left >> c & 1 and before[row, c] & left == 0:
                        rest = left ^ (1 << c)
                        t = place[rest] - 1
                        power = powers[_bits(left & better[b, c]) + least[t] - least[s]]
                        flow = chance[s] * power * weight[t] / weight[s]
                        chance[t] += flow
                        for j in range(n):
                            if rest >> j & 1:
                                out[b, c, j] += flow
        _forget(place, states, count)
