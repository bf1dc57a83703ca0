"""Agreement of long rows with hard rankings, for the CPU: exact, in O(n log n), in float64.

Scores are cut into cells as wide as the window, as :mod:`torchrank.cpu.smoothed_sweep` says, so that nothing larger
than 1 is subtracted whatever their range. With u the coordinate in the cell, item i after j in the order of the scores,
and t their difference in windows, the expected sign of the pair is 1 - z^2, and its slope 2 z, where z = max(1 - t, 0):

* 1 - u_i + u_j in one cell;
* u_j - u_i with j in the cell before and u_j > u_i;
* otherwise 0.

Squares of it need z, z^2, z^3 and z^4 alone, whose sums over the items before i are made of moments of u. For products
with signs of the hard ranking, moments are kept in Fenwick trees over the hard ranks. Slopes that come from items after
i are those of the same pass from the other end, with 1 - u for u.
"""

import numpy as np

from torchrank.cpu.compiled import njit
from torchrank.cpu.smoothed_sweep import cut


def sweep(
    scores: np.ndarray, hard: np.ndarray, a: np.ndarray, b: np.ndarray, windows: np.ndarray, *results: np.ndarray
) -> None:
    """Fill sums ``(r, 4)``, slopes in the scores ``(r, 2, n)`` and in the window ``(r, 2)``; both may be empty.

    ``scores`` (r, n) are NaN where the item does not count; a pair weighs ``a_i b_j + b_i a_j``.
    """
    order = np.argsort(scores, axis=-1).astype(np.int32)  # NaN last
    local, cell = np.empty(order.shape), np.empty_like(order)
    by_cell = (len(order), order.shape[1] + 2)
    start, neighbor = np.empty(by_cell, np.int32), np.empty(by_cell, np.bool_)
    cut(scores, windows, order, local, cell, start, neighbor)
    _rows(scores, hard, a, b, windows, order, local, cell, neighbor, *results)


@njit(nogil=True, cache=True)
def _rows(scores, hard, all_a, all_b, windows, order, local, cell, neighbor, sums, of_x, of_window):
    n, of_scores, moves = scores.shape[1], of_x.shape[2] > 0, of_window.shape[1] > 0
    slopes = of_scores or moves
    for row in range(scores.shape[0]):
        known = 0
        for place in range(n):
            known += hard[row, place] >= 0
        if known < 2:
            continue
        item, u = order[row, :known], local[row, :known]
        rank, step, a, b = np.empty(known, np.int64), np.empty(known, np.int64), np.empty(known), np.empty(known)
        for k in range(known):
            rank[k], a[k], b[k] = hard[row, item[k]], all_a[row, item[k]], all_b[row, item[k]]
            step[k] = _FAR
            if k > 0:
                c = cell[row, k]
                step[k] = _SAME if c == cell[row, k - 1] else _NEXT if neighbor[row, c] else _FAR
        sums[row, 2], sums[row, 3] = _strict(rank, a, b)
        signed, squared = np.zeros(known), np.zeros(known)
        sums[row, 0], moved = _signed_products(u, step, rank, a, b, signed, slopes)
        sums[row, 1], square_moved = _squares(u, step, a, b, squared, slopes)
        inverse = min(1 / windows[row], 1.7976931348623157e308)
        if of_scores:
            for k in range(known):
                of_x[row, 0, item[k]], of_x[row, 1, item[k]] = 2 * signed[k] * inverse, 4 * squared[k] * inverse
        if moves:
            of_window[row, 0], of_window[row, 1] = -2 * moved * inverse, -4 * square_moved * inverse


_SAME, _NEXT, _FAR = 0, 1, 2  # an item's cell is that of the item before it, the next one, or beyond


@njit(nogil=True, cache=True)
def _strict(rank, a, b):
    """Weights of the pairs of different rank, and of all pairs, as sums of what is not negative."""
    strict, total, sum_a, sum_b = 0.0, 0.0, 0.0, 0.0
    of_a, of_b = np.zeros(rank.max() + 1), np.zeros(rank.max() + 1)
    for i in range(rank.size):
        total += a[i] * sum_b + b[i] * sum_a
        sum_a += a[i]
        sum_b += b[i]
        of_a[rank[i]] += a[i]
        of_b[rank[i]] += b[i]
    sum_a, sum_b = 0.0, 0.0
    for r in range(of_a.size):
        strict += of_a[r] * sum_b + of_b[r] * sum_a
        sum_a += of_a[r]
        sum_b += of_b[r]
    return strict, total


@njit(nogil=True, cache=True)
def _from_above(u, step):
    """Coordinates and steps from the other end."""
    back, back_step = np.empty_like(u), np.empty_like(step)
    n = u.size
    for k in range(n):
        back[k] = 1 - u[n - 1 - k]
        back_step[k] = _FAR if k == 0 else step[n - k]
    return back, back_step


@njit(nogil=True, cache=True)
def _squares(u, step, a, b, slopes, wanted):
    """Sum of (1 - z^2)^2, and of its slope in -log window; fills what z - z^3 makes for each item."""
    square, moved = 0.0, 0.0
    for own, moment in ((a, b), (b, a)):
        value, moves = _squares_pass(u, step, own, moment, slopes, 1.0)
        square, moved = square + value, moved + moves
    if wanted:
        back, back_step = _from_above(u, step)
        for own, moment in ((a[::-1].copy(), b[::-1].copy()), (b[::-1].copy(), a[::-1].copy())):
            _squares_pass(back, back_step, own, moment, slopes[::-1], -1.0)
    return square, moved


@njit(nogil=True, cache=True)
def _squares_pass(u, step, own, moment, slopes, sign):
    """The pairs of an item and one before it, weighted by ``own`` of the first and ``moment`` of the second."""
    powers, powers_before = np.zeros(5), np.zeros(5)
    entered, square, moved = 0.0, 0.0, 0.0
    first, before, gone = 0, 0, 0
    for k in range(u.size):
        if step[k] != 0:
            before, first = (first if step[k] == 1 else k), k
            gone = before
            for p in range(5):
                powers_before[p] = powers[p] if step[k] == 1 else 0.0
                powers[p] = 0.0
        while gone < first and u[gone] <= u[k]:
            _add_powers(powers_before, u[gone], -moment[gone])
            gone += 1
        z1, z2, z3, z4 = _of_sum(powers, 1 - u[k])
        if gone < first:
            b1, b2, b3, b4 = _of_sum(powers_before, -u[k])
            z1, z2, z3, z4 = z1 + b1, z2 + b2, z3 + b3, z4 + b4
        square += own[k] * (entered - 2 * z2 + z4)
        moved += own[k] * (z1 - z2 - z3 + z4)
        slopes[k] += sign * own[k] * (z1 - z3)
        _add_powers(powers, u[k], moment[k])
        entered += moment[k]
    return square, moved


@njit(nogil=True, cache=True)
def _of_sum(m, c):
    """Sums of (c + u)^p for p from 1 to 4, by the moments of u from 0 to 4."""
    c2 = c * c
    return (
        c * m[0] + m[1],
        c2 * m[0] + 2 * c * m[1] + m[2],
        c2 * c * m[0] + 3 * c2 * m[1] + 3 * c * m[2] + m[3],
        c2 * c2 * m[0] + 4 * c2 * c * m[1] + 6 * c2 * m[2] + 4 * c * m[3] + m[4],
    )


@njit(nogil=True, cache=True)
def _add_powers(moments, u, weight):
    for p in range(moments.size):
        moments[p] += weight
        weight *= u


@njit(nogil=True, cache=True)
def _signed_products(u, step, rank, a, b, slopes, wanted):
    """Sum of signs times 1 - z^2, and times z (1 - z); fills what z and signs make for each item."""
    agreement, moved = 0.0, 0.0
    for own, moment in ((a, b), (b, a)):
        value, moves = _trees_pass(u, step, rank, own, moment, slopes)
        agreement, moved = agreement + value, moved + moves
    if wanted:
        back, back_step = _from_above(u, step)
        for own, moment in ((a[::-1].copy(), b[::-1].copy()), (b[::-1].copy(), a[::-1].copy())):
            _trees_pass(back, back_step, rank[::-1].copy(), own, moment, slopes[::-1])
    return agreement, moved


@njit(nogil=True, cache=True)
def _trees_pass(u, step, rank, own, moment, slopes):
    size = rank.max() + 2
    here, there, every = np.zeros((size, 3)), np.zeros((size, 3)), np.zeros((size, 1))
    near, near_before, everything = np.zeros(3), np.zeros(3), np.zeros(1)
    agreement, moved = 0.0, 0.0
    first, before, gone = 0, 0, 0
    for k in range(u.size):
        if step[k] != 0:
            for j in range(before, first):
                _forget(there, rank[j])
            if step[k] == 1:
                here, there = there, here
                before = first
            else:
                for j in range(first, k):
                    _forget(here, rank[j])
                before = k
            gone, first = before, k
        while gone < first and u[gone] <= u[k]:
            _enter(there, rank[gone], u[gone], -moment[gone])
            gone += 1
        _signed(here, rank[k], near)
        _signed(there, rank[k], near_before)
        _signed(every, rank[k], everything)
        c, d = 1 - u[k], -u[k]
        z1 = c * near[0] + near[1] + d * near_before[0] + near_before[1]
        z2 = c * c * near[0] + 2 * c * near[1] + near[2]
        z2 += d * d * near_before[0] + 2 * d * near_before[1] + near_before[2]
        agreement += own[k] * (everything[0] - z2)
        moved += own[k] * (z1 - z2)
        slopes[k] += own[k] * z1
        _enter(here, rank[k], u[k], moment[k])
        _enter(every, rank[k], u[k], moment[k])
    return agreement, moved


@njit(nogil=True, cache=True)
def _enter(tree, rank, u, weight):
    """Add the moments of an item to a tree over ranks, whose nodes 1, 2, ... are of ranks 0, 1, ..."""
    k = rank + 1
    while k < tree.shape[0]:
        _add_powers(tree[k], u, weight)
        k += k & -k


@njit(nogil=True, cache=True)
def _forget(tree, rank):
    """Empty the nodes that an item has entered."""
    k = rank + 1
    while k < tree.shape[0]:
        tree[k] = 0.0
        k += k & -k


@njit(nogil=True, cache=True)
def _signed(tree, rank, out):
    """Moments of the items of lower rank less those of higher rank."""
    out[:] = 0.0
    for sign, first in ((1.0, rank), (1.0, rank + 1), (-1.0, tree.shape[0] - 1)):
        k = first
        while k > 0:
            for p in range(out.size):
                out[p] += sign * tree[k, p]
            k &= k - 1
