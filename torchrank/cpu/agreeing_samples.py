"""Sums over the total rankings that agree with partial orders of many items, from samples of repeated insertion.

Items enter in the order of a center, each at a place that the partial order allows, by the Mallows weights of those
places: the sampler AMP of Lu and Boutilier (JMLR 15, 2014). A sample's weight, the Mallows weight of the ranking
divided by the chance of drawing it, is the product over items of the sums of the weights of the places allowed.
"""

import numpy as np

from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_parts

_PARTS = 16  # tiles, whatever the number of threads, so that sums have the same bits


def sampled_sums(precedes: np.ndarray, orders: np.ndarray, lam: np.ndarray, n_samples: int, seed: int) -> np.ndarray:
    """Estimated sums of e^(-lam d) over agreeing rankings, d being the discordant pairs with a center.

    A partial order, wherever it stands, has the same random numbers for all centers.

    Args:
        precedes: ``(g, n, n)`` bool, whether a partial order prefers i to j, closed under transitivity.
        orders: ``(b, n)`` int64 items of the centers, best first.
        lam: ``(b,)`` concentrations, at least 0.
        n_samples: for each partial order and center.
        seed: of the random numbers.

    Returns:
        Their logarithm, mean and variance of d by these weights, and effective samples, ``(4, b, g)`` float64.
    """
    found = np.empty((4, len(orders), len(precedes)))
    shares, out = np.zeros((len(orders), len(precedes))), np.zeros((1, 1, 1))

    def work(rows: slice, _: int) -> None:
        _sums(precedes[rows], orders, lam, n_samples, np.uint64(seed), *found[:, :, rows], shares[:, rows], out)

    run_parts(len(precedes), _PARTS, work)
    return found


def sampled_preferences(
    precedes: np.ndarray, orders: np.ndarray, lam: np.ndarray, n_samples: int, seed: int, shares: np.ndarray
) -> np.ndarray:
    """Sums over partial orders of ``shares`` (b, g) times the chance that i comes before j, ``(b, n, n)``."""
    b, n = orders.shape
    parts = np.zeros((_PARTS, b, n, n))

    def work(rows: slice, part: int) -> None:
        unused = np.empty((4, b, rows.stop - rows.start))
        _sums(precedes[rows], orders, lam, n_samples, np.uint64(seed), *unused, shares[:, rows], parts[part])

    run_parts(len(precedes), _PARTS, work)
    return parts.sum(axis=0)


@njit(nogil=True, cache=True)
def _mixed(state):
    """The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@njit(nogil=True, cache=True)
def _insert(precedes, order, lam, state, place):
    """Draw a ranking into ``place`` (position of each item, 0 for the best); log-weight and discordant pairs of it."""
    log_weight, discordant = 0.0, 0
    for i in range(order.size):
        item = order[i]
        low, high = 0, i  # places allowed: as many of the items before stand above
        for k in range(i):
            other = order[k]
            if precedes[other, item]:
                low = max(low, place[other] + 1)
            elif precedes[item, other]:
                high = min(high, place[other])
        choices = high - low + 1
        state = state + np.uint64(0x9E3779B97F4A7C15)
        uniform = (_mixed(state) >> np.uint64(11)) * 2.0**-53
        if lam > 0:
            all_of_it = -np.expm1(-lam * choices)
            step = min(int(-np.log1p(-uniform * all_of_it) / lam), choices - 1)
            log_weight += np.log(all_of_it / -np.expm1(-lam)) - lam * (i - high)
        else:
            step = min(int(uniform * choices), choices - 1)
            log_weight += np.log(choices)
        mine = high - step
        for k in range(i):
            if place[order[k]] >= mine:
                place[order[k]] += 1
        place[item] = mine
        discordant += i - mine
    return log_weight, discordant, state


@njit(nogil=True, cache=True)
def _sums(precedes, orders, lam, n_samples, seed, log_sum, mean, variance, effective, shares, out):
    n = orders.shape[1]
    places = np.empty((n_samples, n), np.int64)
    weight, discordant = np.empty(n_samples), np.empty(n_samples)
    wants_pairs = out.shape[1] == n
    for row in range(precedes.shape[0]):
        start = _mixed(seed + np.uint64(1))
        for i in range(n):
            for j in range(n):
                if precedes[row, i, j]:
                    start = _mixed(start ^ np.uint64(i * n + j + 1))
        for b in range(lam.size):
            if wants_pairs and shares[b, row] == 0:
                continue
            state = start
            for s in range(n_samples):
                weight[s], discordant[s], state = _insert(precedes[row], orders[b], lam[b], state, places[s])
            largest = weight.max()
            weight[:] = np.exp(weight - largest)
            total = weight.sum()
            log_sum[b, row] = largest + np.log(total / n_samples)
            effective[b, row] = total * total / (weight * weight).sum()
            weight /= total
            mean[b, row] = (weight * discordant).sum()
            variance[b, row] = (weight * (discordant - mean[b, row]) ** 2).sum()
            if wants_pairs:
                for s in range(n_samples):
                    share = shares[b, row] * weight[s]
                    for i in range(n):
                        for j in range(n):
                            if places[s, i] < places[s, j]:
                                out[b, i, j] += share
