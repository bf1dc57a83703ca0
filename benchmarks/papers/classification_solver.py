"""Sequential minimal optimization as LIBSVM does it, with faults of its bookkeeping that can be switched on.

Pairs are chosen by second-order information (Fan, Chen and Lin, 2005, JMLR 6:1889-1918), duals that seem to stay at a
bound are set aside, and everything about them is exchanged with what the last active position holds. Where a kernel
matrix is given, an entry must then be looked up by sample. ``fault="kernel"`` looks it up by position, which is what
``ksvm`` of the R package kernlab does with its default ``shrinking = TRUE`` (seen in 0.9-32); see
:mod:`benchmarks.papers.table2_solver` for what follows from that.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

FAULTS = ("none", "kernel", "bias")
_NONE, _KERNEL, _BIAS = range(len(FAULTS))
_TINY = 1e-12  # in place of a curvature that is not positive


class _State(NamedTuple):
    """What shrinking permutes, by position; ``sample`` says which sample a position holds."""

    sample: np.ndarray
    y: np.ndarray  # -1 or 1
    alpha: np.ndarray
    gradient: np.ndarray
    bounded: np.ndarray  # part of the gradient that comes from duals at C
    diagonal: np.ndarray
    Q: np.ndarray  # rows that were needed so far, cached in single precision
    filled: np.ndarray  # how many entries of each row


class Solution(NamedTuple):
    """Duals by sample, bias, dual objective (maximized), and number of steps and of swaps."""

    alpha: np.ndarray
    bias: float
    objective: float
    steps: int
    swaps: int


def solve(
    K: np.ndarray, y: np.ndarray, C: float, *, fault: str = "none", eps: float = 1e-3, most: int = 100_000
) -> Solution:
    """The two-class support vector machine on a kernel matrix, by pairs of second-order choice and with shrinking.

    Args:
        K: kernel matrix of the training samples, (m, m).
        y: classes 0 and 1, (m,). Samples are put in the order of their classes first.
        C: upper bound of the duals.
        fault: ``"kernel"``: shrinking swaps duals, labels, gradients and cached rows, but rows that are computed later
            read K at positions instead of samples; ``"bias"``: only the labels that the bias is computed with stay
            where they were.
        eps: largest violation of the optimality conditions at the end.
        most: number of steps after which it stops anyway; with a fault it may never end.
    """
    order = np.argsort(y, kind="stable")
    signs = np.where(y[order] > 0, 1.0, -1.0)
    ordered = np.ascontiguousarray(K[np.ix_(order, order)], dtype=np.float64)
    found, bias, objective, steps, swaps = _solve(ordered, signs, float(C), FAULTS.index(fault), eps, most)
    alpha = np.empty(len(y))
    alpha[order] = found
    return Solution(alpha, bias, objective, steps, swaps)


@njit(nogil=True, cache=True)
def _solve(K, y, C, fault, eps, most):
    m = len(y)
    state = _State(
        np.arange(m),
        y.copy(),
        np.zeros(m),
        np.full(m, -1.0),
        np.zeros(m),
        np.diag(K).copy(),
        np.empty((m, m), np.float32),
        np.zeros(m, np.int64),
    )
    active, countdown, swaps, steps, unshrunk = m, min(m, 1000) + 1, 0, 0, False
    while steps < most:
        countdown -= 1
        if countdown == 0:
            countdown = min(m, 1000)
            up, low = _violation(state, active, C)
            if not unshrunk and up + low <= 10 * eps:
                unshrunk = True
                _reconstruct(state, K, active, C, fault)
                active = m
            active, swapped = _shrink(state, active, up, low, C)
            swaps += swapped
        i, j = _pair(state, K, active, C, eps, fault)
        if i < 0:
            _reconstruct(state, K, active, C, fault)
            active = m
            i, j = _pair(state, K, active, C, eps, fault)
            if i < 0:
                break
            countdown = 1
        steps += 1
        _step(state, K, i, j, active, C, fault)
    if active < m:
        _reconstruct(state, K, active, C, fault)
    alpha = np.empty(m)
    alpha[state.sample] = state.alpha
    objective = -0.5 * np.sum(state.alpha * (state.gradient - 1))
    return alpha, _bias(state, y if fault == _BIAS else state.y, C), objective, steps, swaps


@njit(nogil=True, cache=True)
def _row(state, K, i, length, fault):
    """Row ``i`` of Q up to ``length``."""
    for j in range(state.filled[i], length):
        k = K[i, j] if fault == _KERNEL else K[state.sample[i], state.sample[j]]
        state.Q[i, j] = state.y[i] * state.y[j] * k
    state.filled[i] = max(state.filled[i], length)
    return state.Q[i]


@njit(nogil=True, cache=True)
def _swap(state, i, j):
    """Exchange two positions, ``i < j``, and both rows and columns of the cache."""
    for array in (state.y, state.alpha, state.gradient, state.bounded):
        array[i], array[j] = array[j], array[i]
    state.sample[i], state.sample[j] = state.sample[j], state.sample[i]
    state.diagonal[i], state.diagonal[j] = state.diagonal[j], state.diagonal[i]
    row = state.Q[i].copy()
    state.Q[i] = state.Q[j]
    state.Q[j] = row
    state.filled[i], state.filled[j] = state.filled[j], state.filled[i]
    for k in range(len(state.y)):
        if state.filled[k] > j:
            state.Q[k, i], state.Q[k, j] = state.Q[k, j], state.Q[k, i]
        elif state.filled[k] > i:  # holds one of the two only
            state.filled[k] = 0


@njit(nogil=True, cache=True)
def _can(state, t, C, sign):
    """Whether ``sign * y`` times the dual at ``t`` can grow."""
    return state.alpha[t] < C if sign * state.y[t] > 0 else state.alpha[t] > 0


@njit(nogil=True, cache=True)
def _violation(state, active, C):
    """Largest -y * gradient of duals that can go up, and y * gradient of those that can go down."""
    up, low = -np.inf, -np.inf
    for t in range(active):
        value = state.y[t] * state.gradient[t]
        if _can(state, t, C, 1):
            up = max(up, -value)
        if _can(state, t, C, -1):
            low = max(low, value)
    return up, low


@njit(nogil=True, cache=True)
def _pair(state, K, active, C, eps, fault):
    """The most violating dual and the partner with the largest gain; -1 where none violates by ``eps``."""
    i, up = -1, -np.inf
    for t in range(active):
        value = -state.y[t] * state.gradient[t]
        if _can(state, t, C, 1) and value >= up:
            i, up = t, value
    if i < 0:
        return -1, -1
    row = _row(state, K, i, active, fault)
    j, low, best = -1, -np.inf, -np.inf
    for t in range(active):
        if _can(state, t, C, -1):
            value = state.y[t] * state.gradient[t]
            low = max(low, value)
            if up + value > 0:
                curvature = state.diagonal[i] + state.diagonal[t] - 2 * state.y[i] * state.y[t] * row[t]
                gain = (up + value) ** 2 / (curvature if curvature > 0 else _TINY)
                if gain >= best:
                    j, best = t, gain
    return (-1, -1) if up + low < eps else (i, j)


@njit(nogil=True, cache=True)
def _step(state, K, i, j, active, C, fault):
    """Minimize along y_i e_i - y_j e_j within the box."""
    y, alpha = state.y, state.alpha
    row_i, row_j = _row(state, K, i, active, fault), _row(state, K, j, active, fault)
    curvature = state.diagonal[i] + state.diagonal[j] - 2 * y[i] * y[j] * row_i[j]
    length = (y[j] * state.gradient[j] - y[i] * state.gradient[i]) / (curvature if curvature > 0 else _TINY)
    room_i = C - alpha[i] if y[i] > 0 else alpha[i]
    room_j = alpha[j] if y[j] > 0 else C - alpha[j]
    length = min(length, room_i, room_j)
    old_i, old_j = alpha[i], alpha[j]
    alpha[i] = (C if y[i] > 0 else 0.0) if length == room_i else old_i + y[i] * length
    alpha[j] = (0.0 if y[j] > 0 else C) if length == room_j else old_j - y[j] * length
    for t in range(active):
        state.gradient[t] += row_i[t] * (alpha[i] - old_i) + row_j[t] * (alpha[j] - old_j)
    for t, old in ((i, old_i), (j, old_j)):
        if (old >= C) != (alpha[t] >= C):
            change = C if alpha[t] >= C else -C
            row = _row(state, K, t, len(y), fault)
            for k in range(len(y)):
                state.bounded[k] += change * row[k]


@njit(nogil=True, cache=True)
def _may_leave(state, t, up, low, C):
    """Whether a dual at a bound is pushed against it harder than any active pair pulls."""
    value = state.y[t] * state.gradient[t]
    if not _can(state, t, C, 1):
        return -value > up
    return value > low if not _can(state, t, C, -1) else False


@njit(nogil=True, cache=True)
def _shrink(state, active, up, low, C):
    """Move such duals behind the active ones; number of active duals and of swaps."""
    i, swaps = 0, 0
    while i < active:
        if _may_leave(state, i, up, low, C):
            active -= 1
            while active > i:
                if not _may_leave(state, active, up, low, C):
                    _swap(state, i, active)
                    swaps += 1
                    break
                active -= 1
        i += 1
    return active, swaps


@njit(nogil=True, cache=True)
def _reconstruct(state, K, active, C, fault):
    """Gradient of the duals that are not active, row by row in the cheaper of two directions."""
    m = len(state.y)
    if active == m:
        return
    free = [t for t in range(active) if 0 < state.alpha[t] < C]
    for t in range(active, m):
        state.gradient[t] = state.bounded[t] - 1
    if len(free) * m > 2 * active * (m - active):
        for t in range(active, m):
            row = _row(state, K, t, active, fault)
            for k in free:
                state.gradient[t] += state.alpha[k] * row[k]
    else:
        for k in free:
            row = _row(state, K, k, m, fault)
            for t in range(active, m):
                state.gradient[t] += state.alpha[k] * row[t]


@njit(nogil=True, cache=True)
def _bias(state, y, C):
    """Mean over free duals, else the middle of the interval that bounded ones leave."""
    total, free, high, low = 0.0, 0, np.inf, -np.inf
    for t in range(len(y)):
        value = -y[t] * state.gradient[t]
        if 0 < state.alpha[t] < C:
            total += value
            free += 1
        elif (state.alpha[t] >= C) == (y[t] > 0):
            high = min(high, value)
        else:
            low = max(low, value)
    return total / free if free else (high + low) / 2
