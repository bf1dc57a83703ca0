"""CPU engine of RankTree: growing with given central rankings or with one for every node, routing, pruning."""

import numpy as np

from torchrank.cpu.compiled import njit


@njit(nogil=True, cache=True)
def grow(
    X,  # (N, d)
    by_feature,  # (d, N) rows in the order of each feature; changed: every node's rows become neighbors
    distance,  # (N, K) of each row to each central ranking
    min_leaf,
    lookahead,  # where no split pays, take one that tells distances apart by so much; 0 for never
    nodes,  # Nodes, filled; the cluster of a node is the central ranking with the least sum of distances
    leaf,  # (N,) filled: the leaf of each row
):
    """Split until no split pays; returns the number of nodes.

    A split takes the least sum of distances, each side to its own best central ranking (equation 18). The two sides
    need K + K trials, made for all thresholds of a feature by one cumulative sum. Children come after their parents.
    """
    N, K = distance.shape
    feature, threshold, children, cluster = nodes
    first, last = np.zeros(feature.size, np.int64), np.zeros(feature.size, np.int64)
    last[0] = N
    total, left, goes_left, moved = np.empty(K), np.empty(K), np.zeros(N, np.bool_), np.empty(N, by_feature.dtype)
    n_nodes, node = 1, 0
    while node < n_nodes:
        begin, end = first[node], last[node]
        total[:] = 0.0
        for i in range(begin, end):
            for k in range(K):
                total[k] += distance[by_feature[0, i], k]
        cluster[node] = total.argmin()
        f, place = _best_split(X, by_feature[:, begin:end], distance, min_leaf, total, left)
        if f < 0 and lookahead > 0 and end - begin >= 2 * min_leaf:
            f, place = _telling_split(X, by_feature[:, begin:end], distance, min_leaf, total, left, lookahead)
        feature[node] = f
        if f < 0:
            for i in range(begin, end):
                leaf[by_feature[0, i]] = node
        else:
            threshold[node] = _divide(X, by_feature[:, begin:end], f, place, goes_left, moved)
            _branch(node, n_nodes, begin + place, children, first, last)
            n_nodes += 2
        node += 1
    return n_nodes


@njit(nogil=True, cache=True)
def _branch(node, n_nodes, middle, children, first, last):
    """Give a node the next two as children: its rows up to ``middle``, and those from there on."""
    for side in range(2):
        children[node, side] = n_nodes + side
    first[n_nodes], last[n_nodes] = first[node], middle
    first[n_nodes + 1], last[n_nodes + 1] = middle, last[node]


@njit(nogil=True, cache=True)
def _best_split(X, by_feature, distance, min_leaf, total, left):
    """The feature and the number of rows on the left of the best split, or (-1, 0) if none pays."""
    d, n = by_feature.shape
    K = total.size
    whole = total.min()
    best, best_feature, best_place = whole - 1e-9 * (1.0 + whole), -1, 0
    for f in range(d):
        left[:] = 0.0
        for i in range(n - min_leaf):
            row = by_feature[f, i]
            near, far = np.inf, np.inf
            for k in range(K):
                left[k] += distance[row, k]
                near = min(near, left[k])
                far = min(far, total[k] - left[k])
            if near + far < best and i + 1 >= min_leaf and X[row, f] < X[by_feature[f, i + 1], f]:
                best, best_feature, best_place = near + far, f, i + 1
    return best_feature, best_place


@njit(nogil=True, cache=True)
def _telling_split(X, by_feature, distance, min_leaf, total, left, lookahead):
    """The split that explains most of the variance of distances, if it is beyond chance; or (-1, 0).

    Both sides of a split may like the same ranking best although further splits would part them, as in a ring around a
    disc. ``lookahead`` is the least ratio of explained to mean remaining variance, in degrees of freedom.
    """
    d, n = by_feature.shape
    K = total.size
    mean, scatter = total / n, 0.0
    for i in range(n):
        for k in range(K):
            scatter += (distance[by_feature[0, i], k] - mean[k]) ** 2
    best, best_feature, best_place = lookahead * scatter / (n + lookahead), -1, 0
    for f in range(d):
        left[:] = 0.0
        for i in range(n - min_leaf):
            row = by_feature[f, i]
            explained = 0.0
            for k in range(K):
                left[k] += distance[row, k] - mean[k]
                explained += left[k] * left[k]
            explained *= n / ((i + 1.0) * (n - i - 1.0))
            if explained > best and i + 1 >= min_leaf and X[row, f] < X[by_feature[f, i + 1], f]:
                best, best_feature, best_place = explained, f, i + 1
    return best_feature, best_place


@njit(nogil=True, cache=True)
def _divide(X, by_feature, f, place, goes_left, moved):
    """Put the first ``place`` rows in the order of feature ``f`` first in all orders; returns the threshold between."""
    d, n = by_feature.shape
    below, above = X[by_feature[f, place - 1], f], X[by_feature[f, place], f]
    for i in range(n):
        goes_left[by_feature[f, i]] = i < place
    for g in range(d):
        rows, kept, later = by_feature[g], 0, 0
        for i in range(n):
            row = rows[i]
            if goes_left[row]:
                rows[kept] = row
                kept += 1
            else:
                moved[later] = row
                later += 1
        rows[kept:] = moved[:later]
    middle = below + (above - below) / 2
    return middle if middle < above else below


@njit(nogil=True, cache=True)
def prune(X, distance, nodes):
    """Turn splits that other rows do not confirm into leaves: those whose (17) is negative on them, leaves first.

    ``X`` (N, d) and ``distance`` (N, K) are those of the other rows. A split that none of them reaches stays.
    """
    feature, threshold, children, cluster = nodes
    n_nodes = feature.size
    as_leaf, as_tree = np.zeros(n_nodes), np.zeros(n_nodes)
    for n in range(len(X)):
        node = 0
        while True:
            as_leaf[node] += distance[n, cluster[node]]
            if feature[node] < 0:
                break
            node = children[node, 0 if X[n, feature[node]] <= threshold[node] else 1]
    for node in range(n_nodes - 1, -1, -1):
        as_tree[node] = as_leaf[node]
        if feature[node] >= 0:
            below = as_tree[children[node, 0]] + as_tree[children[node, 1]]
            if as_leaf[node] < below:
                feature[node] = -1
            else:
                as_tree[node] = below


@njit(nogil=True, cache=True)
def leaves_of(X, nodes):
    """The leaf that each row falls into, int64."""
    feature, threshold, children, _ = nodes
    leaf = np.empty(len(X), np.int64)
    for n in range(len(X)):
        node = 0
        while feature[node] >= 0:
            node = children[node, 0 if X[n, feature[node]] <= threshold[node] else 1]
        leaf[n] = node
    return leaf


@njit(nogil=True, cache=True)
def grow_by_spread(
    X,  # (N, d)
    by_feature,  # (d, N) rows in the order of each feature; changed
    votes,  # (N, L) expected Borda votes
    ranks,  # (N, L) int32, -1 unranked
    min_leaf,
    spread,  # Spread
    nodes,  # Nodes, filled but for clusters
    rankings,  # NodeRankings, filled
):
    """Split where the mean theta of the two sides, weighted by rows, is largest (equation 16); returns the nodes.

    Theta grows as rows agree. A node ends when its rows agree on all pairs or no split leaves ``min_leaf`` rows on both
    sides. Votes and pair preferences of both sides are updated from threshold to threshold. Rows that order no pair
    count among rows, but leave rankings and thetas as they are.
    """
    d, N = by_feature.shape
    L = ranks.shape[1]
    feature, threshold, children, _ = nodes
    order, loss = rankings
    first, last = np.zeros(feature.size, np.int64), np.zeros(feature.size, np.int64)
    last[0] = N
    goes_left, moved = np.zeros(N, np.bool_), np.empty(N, by_feature.dtype)
    vote, prefer = np.empty((2, L)), np.empty((2, L, L))
    all_votes, all_prefer, side_order = np.empty(L), np.empty((L, L)), np.empty((2, L), np.int64)
    theta, teaches = np.empty(2), np.empty(N, np.bool_)
    for row in range(N):
        teaches[row] = ranks[row].max() > 0
    n_nodes, node = 1, 0
    while node < n_nodes:
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
                    theta[side] = _theta(prefer[side], side_order[side], spread)
                changed = False
                purity = n_left * theta[0] + (end - begin - n_left) * theta[1]
                if purity > best:
                    best, feature[node], place = purity, f, n_left
        if feature[node] >= 0:
            f = feature[node]
            threshold[node] = _divide(X, by_feature[:, begin:end], f, place, goes_left, moved)
            _branch(node, n_nodes, begin + place, children, first, last)
            n_nodes += 2
        node += 1
    return n_nodes


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
def _theta(prefer, order, spread):
    """Mallows' concentration for the mean distance of the rows to an order, by a table."""
    distances, thetas = spread
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
