"""The nearest centers of k-means on the CPU, from products of points and centers, in one pass over these."""

import numpy as np
from torch import Tensor

from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles, spans

_POINTS = 512  # of a stretch, whose costs stay in the first-level cache
_TILE_COSTS = 500_000  # half a millisecond


def nearest_of_products(
    products: Tensor, first: int, own: Tensor, norms: Tensor, tolerance: float, found: tuple[Tensor, Tensor]
) -> None:
    """Fill in the first of the cheapest centers, costs within ``tolerance`` being equal, and its cost.

    Args:
        products: ``(s, c, r)`` float64 of centers and r points, number ``first`` and on.
        first: the number.
        own: ``(m,)`` squared norms of all points.
        norms: ``(s, c)`` those of the centers, infinite for those that nothing goes to.
        tolerance: within which costs, own - 2 products + norms, cut at 0, are equal.
        found: labels ``(s, m)`` int64 and costs ``(s, m)``, of which those of the points are filled in.
    """
    arrays = [part.numpy() for part in (own, products.contiguous(), norms, *found)]
    s, c, r = products.shape

    def work(points: tuple[int, int]) -> None:
        _nearest(tolerance, first, *points, *arrays)

    run_tiles([*spans(r, max(_POINTS, _TILE_COSTS // max(1, s * c)))], work)


@njit(nogil=True, cache=True)
def _nearest(tolerance, first, start, stop, own, products, norms, labels, cost):
    n_starts, n_centers, _ = products.shape
    costs, limit = np.empty((n_centers, _POINTS)), np.empty(_POINTS)
    for s in range(n_starts):
        for at in range(start, stop, _POINTS):
            n = min(_POINTS, stop - at)
            limit[:n] = np.inf
            for c in range(n_centers):
                norm = norms[s, c]
                for j in range(n):
                    value = max(own[first + at + j] - 2 * products[s, c, at + j] + norm, 0.0)
                    costs[c, j] = value
                    limit[j] = min(limit[j], value)
            last = n_centers - 1
            for j in range(n):
                limit[j] += tolerance
                labels[s, first + at + j], cost[s, first + at + j] = last, costs[last, j]
            for c in range(last - 1, -1, -1):
                for j in range(n):
                    near = costs[c, j] <= limit[j]
                    labels[s, first + at + j] = c if near else labels[s, first + at + j]
                    cost[s, first + at + j] = costs[c, j] if near else cost[s, first + at + j]
