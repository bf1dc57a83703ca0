"""CPU engine of RankTree: growing with a central ranking of its own for every node."""

import numpy as np

from torchrank.cpu.compiled import njit
from torchrank.cpu.rank_tree import branch, divide


@njit(nogil=True, cache=True)
def grow_by_spread(
    X,  # (N, d)
    by_feature,  # (d, N) rows in the order of each feature; changed
    votes,  # (N, L) expected Borda votes
    ranks,  # (N, L) int32, -1 unranked
    min_leaf,
    distances,  # (G,) falling mean distances, as shares of all pairs, for the thetas
    thetas,  # (G,) rising, the last one is the cap
    feature,  # (nodes,) filled, as for grow, as are the next two
    threshold,
    children,
    order,  # (nodes, L) filled: the node's Borda ranking, most preferred first
    loss,  # (nodes,) filled: discordant pairs of the node's rows with its ranking
):
    """Split where the mean theta of the two sides, weighted by rows, is largest (equation 16); returns the nodes.

    Theta grows as rows agree. A node ends when its rows agree on all pairs or no split leaves ``min_leaf`` rows on both
    sides. Votes and pair preferences of both sides are updated from threshold to threshold. Rows that order no pair
    count among rows, but leave rankings and thetas as they are.
    """
    d, N = by_feature.shape
    L = ranks.shape[1]
    first, last = np.zeros(feature.size, np.int64), np.zeros(feature.size, np.int64)
    last[0] = N
    goes_left, moved = np.zeros(N, np.bool_), np.empty(N, by_feature.dtype)
    vote, prefer = np.empty((2, L)), np.empty((2, L, L))
    all_votes, all_prefer, side_order = np.empty(L), np.empty((L, L)), np.empty((2, L), np.int64)
    theta, teaches = np.empty(2), np.empty(N, np.bool_)
    for row in range(N):
        teaches[row] = ranks[row].max() > 0
    nodes, node = 1, 0
    while node < nodes:
        begin, end = first[node], last[node]
        all_votes[:] = 0.0
        all_prefer[:] = 0.0
        for i in range(begin, end):
            row = by_feature[0, i]
            if teaches[row]:
                _add(votes[row], ranks[row], 1.0, all_votes, all_prefer)
        order[node] = np.arange(L)
        _sort(all_votes, order[node])
        loss[node] = _discordant(all_prefer, order[node])
        feature[node] = -1
        best = -1.0
        place = 0
        for f in range(d if loss[node] > 0 and end - begin >= 2 * min_leaf else 0):
            vote[0], prefer[0] = 0.0, 0.0
            vote[1], prefer[1] = all_votes, all_prefer
            side_order[0], side_order[1] = order[node], order[node]
            changed = True
            for i in range(begin, end - min_leaf):
                row = by_feature[f, i]
                if teaches[row]:
                    _add(votes[row], ranks[row], 1.0, vote[0], prefer[0])
                    _add(votes[row], ranks[row], -1.0, vote[1], prefer[1])
                    changed = True
                n_left = i + 1 - begin
                if n_left < min_leaf or X[row, f] >= X[by_feature[f, i + 1], f]:
                    continue
                for side in range(2 if changed else 0):
                    _sort(vote[side], side_order[side])
                    theta[side] = _theta(prefer[side], side_order[side], distances, thetas)
                changed = False
                purity = n_left * theta[0] + (end - begin - n_left) * theta[1]
                if purity > best:
                    best, feature[node], place = purity, f, n_left
        if feature[node] >= 0:
            f = feature[node]
            threshold[node] = divide(X, by_feature[:, begin:end], f, place, goes_left, moved)
            branch(node, nodes, begin + place, children, first, last)
            nodes += 2
        node += 1
    return nodes


@njit(nogil=True, cache=True)
def _add(vote, rank, sign, votes, prefer):
    """Add a row, or take it away: its votes, and a 1 in ``prefer[a, b]`` where it prefers a to b."""
    L = rank.size
    for a in range(L):
        votes[a] += sign * vote[a]
        if rank[a] >= 0:
            for b in range(L):
                if 0 <= rank[b] < rank[a]:
                    prefer[a, b] += sign


@njit(nogil=True, cache=True)
def _sort(votes, order):
    """Sort labels by votes, most first, from an order that is nearly right; votes equal up to rounding are ties."""
    for i in range(1, order.size):
        label = order[i]
        j = i
        while j > 0:
            lead = votes[label] - votes[order[j - 1]]
            if lead < -1e-9 or (lead <= 1e-9 and order[j - 1] < label):
                break
            order[j] = order[j - 1]
            j -= 1
        order[j] = label


@njit(nogil=True, cache=True)
def _discordant(prefer, order):
    total = 0.0
    for i in range(order.size):
        for j in range(i + 1, order.size):
            total += prefer[order[j], order[i]]
    return total


@njit(nogil=True, cache=True)
def _theta(prefer, order, distances, thetas):
    """Mallows' concentration for the mean distance of the rows to an order, by a table."""
    pairs = prefer.sum()
    if pairs <= 0:
        return 0.0
    share = _discordant(prefer, order) / pairs
    low, high = 0, distances.size - 1  # distances fall
    if share <= distances[high]:
        return thetas[high]
    if share >= distances[low]:
        return thetas[low]
    while high - low > 1:
        middle = (low + high) // 2
        if distances[middle] > share:
            low = middle
        else:
            high = middle
    weight = (distances[low] - share) / (distances[low] - distances[high])
    return thetas[low] + weight * (thetas[high] - thetas[low])
