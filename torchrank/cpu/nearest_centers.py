"""k-means of vectors on the CPU: the nearest centers from products with them, and sums of the points of each center."""

import numpy as np
import torch
from torch import Tensor

from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles, spans

_POINTS = 512  # of a stretch, whose costs stay in the first-level cache
_TILE_COSTS = 500_000  # some hundred microseconds
_TILE_NUMBERS = 2**18  # of features
_LEAST_COLUMNS = 16


def nearest_of_products(
    products: Tensor,
    first: int,
    norms: Tensor,
    tolerance: float,
    points: tuple[Tensor, Tensor, Tensor],
    found: tuple[Tensor, Tensor, Tensor, Tensor, Tensor],
) -> None:
    """Fill in the first of the cheapest centers, costs within ``tolerance`` being equal, and its cost; add to sums.

    Args:
        products: ``(s, c, r)`` float64 of centers and r points, number ``first`` and on.
        first: the number.
        norms: ``(s, c)`` squared norms of centers, infinite for those that nothing goes to.
        tolerance: within which costs, squared norm - 2 products + norms, are equal.
        points: squared norms ``(m,)`` and weights ``(m,)`` of all points, and labels ``(s, m)`` int64 that they had.
        found: labels ``(s, m)`` int64 and costs ``(s, m)``, of which those of the r points are filled in; and sums over
            points, to which theirs are added: weights by label ``(s, c)``, weights times costs ``(s,)``, and ``(s,)``
            int64 how many have another label than before.
    """
    own, weights, before = (part.numpy() for part in points)
    labels, cost = (part.numpy() for part in found[:2])
    arrays = (products.contiguous().numpy(), norms.numpy(), own, weights, before, labels, cost)
    s, c, r = products.shape
    tiles = [*spans(r, max(_POINTS, _TILE_COSTS // max(1, s * c)))]
    sums = np.zeros((len(tiles), s, c + 2))  # added up in their order, whatever the number of threads

    def work(tile: int) -> None:
        _nearest(tolerance, first, *tiles[tile], *arrays, sums[tile])

    run_tiles(range(len(tiles)), work)
    for of_tile in sums:
        for part, more in zip(
            found[2:], (of_tile[:, :c], of_tile[:, c], of_tile[:, c + 1].astype(np.int64)), strict=True
        ):
            part += torch.from_numpy(more)


def add_moved(features: Tensor, weights: Tensor, labels: Tensor, before: Tensor, sums: Tensor) -> None:
    """Add weighted points to the sums of the clusters that they came to, and take them from those that they left.

    Each number is added in the order of the points, whatever the number of threads.

    Args:
        features: ``(m, d)`` float64.
        weights: ``(m,)``.
        labels: ``(s, m)`` int64.
        before: the same of before; -1 for nowhere.
        sums: ``(s, c, d)``, to be changed.
    """
    (s, m), d = labels.shape, features.shape[1]
    arrays = [part.numpy() for part in (features.contiguous(), weights.contiguous(), labels, before, sums)]
    columns = max(_LEAST_COLUMNS, _TILE_NUMBERS // max(1, m))

    def work(tile: tuple[int, tuple[int, int]]) -> None:
        _add_moved(*tile[1], tile[0], *arrays)

    run_tiles([(start, span) for start in range(s) for span in spans(d, columns)], work)


@njit(nogil=True, cache=True)
def _nearest(tolerance, first, start, stop, products, norms, own, weights, before, labels, cost, sums):
    n_starts, n_centers, _ = products.shape
    second = np.empty(_POINTS)
    for s in range(n_starts):
        for at in range(start, stop, _POINTS):
            n = min(_POINTS, stop - at)
            part = slice(first + at, first + at + n)
            nearest, least, of_part = labels[s, part], cost[s, part], products[s, :, at : at + n]
            nearest[:], least[:], second[:n] = 0, np.inf, np.inf
            for c in range(0, n_centers, 2):
                other = min(c + 1, n_centers - 1)
                norm = norms[s, other] if other > c else np.inf
                _compare(c, norms[s, c], norm, of_part[c], of_part[other], nearest, least, second[:n])
            if _add_own(own[part], least, second[:n], tolerance):  # the first of several that are equal
                for j in range(n):
                    if not second[j] > tolerance:
                        limit, c = norms[s, nearest[j]] - 2 * of_part[nearest[j], j] + tolerance, 0
                        while norms[s, c] - 2 * of_part[c, j] > limit:
                            c += 1
                        nearest[j], least[j] = c, max(own[first + at + j] + norms[s, c] - 2 * of_part[c, j], 0.0)
            _add_sums(weights[part], before[s, part], nearest, least, sums[s])


@njit(nogil=True, cache=True)
def _add_sums(weights, before, nearest, least, sums):
    total, moved = 0.0, 0
    for j in range(nearest.size):
        sums[nearest[j]] += weights[j]
        total += weights[j] * least[j]
        moved += nearest[j] != before[j]
    sums[-2] += total
    sums[-1] += moved


@njit(nogil=True, cache=True)
def _compare(c, norm0, norm1, products0, products1, nearest, least, second):
    """Costs at centers c and c + 1, less the points' own, beside the least and the second of those before them."""
    for j in range(nearest.size):  # two at a time, so that what is known is read half as often
        value0, value1 = norm0 - 2 * products0[j], norm1 - 2 * products1[j]
        first, then, near = least[j], second[j], nearest[j]
        lower = value0 < first
        larger = first if lower else value0
        then = larger if larger < then else then
        near = c if lower else near
        first = value0 if lower else first
        lower = value1 < first
        larger = first if lower else value1
        second[j] = larger if larger < then else then
        nearest[j] = c + 1 if lower else near
        least[j] = value1 if lower else first


@njit(nogil=True, cache=True)
def _add_own(own, least, second, tolerance):
    """Make costs of what is least, and of the second how much it is above; how many are not above the tolerance."""
    close = 0
    for j in range(own.size):
        above = second[j] - least[j]
        close += not above > tolerance  # NaN where both are infinite
        second[j] = above
        least[j] = max(own[j] + least[j], 0.0)
    return close


@njit(nogil=True, cache=True)
def _add_moved(start, stop, s, features, weights, labels, before, sums):
    for i in range(labels.shape[1]):
        now, then = labels[s, i], before[s, i]
        if now == then:
            continue
        w = weights[i]
        for k in range(start, stop):
            sums[s, now, k] += w * features[i, k]
        if then >= 0:
            for k in range(start, stop):
                sums[s, then, k] -= w * features[i, k]
