"""Groups of items that majorities put one above the other."""

import heapq

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components


def components_in_order(
    excess: np.ndarray,  # (n, n) cost of placing i above j, 0 where i beats or ties j
) -> list[np.ndarray]:
    """Strongly connected groups of the graph of majorities, each above all that it beats; ascending items in each.

    Where majorities leave the order of groups open, the one with the smaller first item comes first. An optimal order
    of each group, one after the other, is an optimal order of all, since between groups no pair costs more than it has
    to.
    """
    beats = excess.T > 0
    count, label = connected_components(csr_array(beats), directed=True, connection="strong")
    between = np.zeros((count, count), dtype=bool)
    i, j = beats.nonzero()
    between[label[i], label[j]] = True
    np.fill_diagonal(between, False)
    members = [np.flatnonzero(label == group) for group in range(count)]
    above = between.sum(axis=0)
    ready = [(int(members[g][0]), g) for g in range(count) if above[g] == 0]
    heapq.heapify(ready)
    ordered = []
    while ready:
        _, group = heapq.heappop(ready)
        ordered.append(members[group])
        for below in np.flatnonzero(between[group]):
            above[below] -= 1
            if above[below] == 0:
                heapq.heappush(ready, (int(members[below][0]), int(below)))
    return ordered
