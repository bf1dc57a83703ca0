"""CPU engine of completing partial rankings."""

import numpy as np

from torchrank.cpu.compiled import njit


@njit(nogil=True, cache=True)
def complete(ranks, around, orders):
    """Fill ``orders`` (m, L): partial ``ranks`` (m, L), the other labels put where they contradict ``around`` least.

    ``around`` (m, L) holds orders. Each unranked label goes to its own cheapest gap between ranked ones, the first of
    equals; labels in one gap keep the order of ``around``. That is the closest completion.
    """
    m, L = ranks.shape
    place, gap, ranked = np.empty(L, np.int64), np.empty(L, np.int64), np.empty(L, np.int64)
    for row in range(m):
        n_ranked = 0
        for i in range(L):
            place[around[row, i]] = i
        for label in np.argsort(-ranks[row]):
            if ranks[row, label] >= 0:
                ranked[n_ranked] = label
                gap[label] = n_ranked
                n_ranked += 1
        for label in range(L):
            if ranks[row, label] < 0:
                cost = 0  # of the first gap, less what all gaps cost
                least, gap[label] = 0, 0
                for i in range(n_ranked):
                    cost += 1 if place[ranked[i]] > place[label] else -1
                    if cost < least:
                        least, gap[label] = cost, i + 1
        filled = 0
        for g in range(n_ranked + 1):  # a gap's labels stand before the ranked one of the same number
            for i in range(L):
                label = around[row, i]
                if ranks[row, label] < 0 and gap[label] == g:
                    orders[row, filled] = label
                    filled += 1
            if g < n_ranked:
                orders[row, filled] = ranked[g]
                filled += 1
