"""CPU engine of Plackett-Luce fits: sums over the choices that lists of items consist of, compiled.

A list makes its choices from the first place on. At each one an item is chosen among those at this place and all later
ones and, where unlisted items are on offer too, among those; their worths come in as the tail of the list.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles, spans

_LEAST_WORK = 2**15  # places of a span, which are worth a thread
_MOST_SPANS = 8  # whose sums are added in their order, so that the number of threads changes no bit
_MOST_SUMS = 2**20  # numbers that the sums of all spans may hold beside one another


class Lists(NamedTuple):
    """Lists of items, best first, and what they count."""

    starts: np.ndarray  # (u + 1,) where each list starts
    items: np.ndarray  # (N,)
    made: np.ndarray  # (u,) choices that each list makes
    weights: np.ndarray  # (u,)


class Sums(NamedTuple):
    """Of each item, list and place; T is the worth on offer at a choice, w the list's weight."""

    rates: np.ndarray  # (n,) sum of w / T over the choices that list the item and still offer it
    squares: np.ndarray  # (n,) sum of w / T^2 over them
    until: np.ndarray  # (N,) sum of w / T^2 over the choices of the list up to the item at the place
    rest: np.ndarray  # (2, u) sums of w / T and w / T^2 over all choices of the list
    log_total: float  # sum of w log T


def sums(lists: Lists, tail: np.ndarray, worths: np.ndarray) -> Sums:
    """Sums over all choices; ``tail`` (u,) is the worth of the unlisted items that each list offers."""
    u, n = len(lists.weights), len(worths)
    until, rest = np.empty(len(lists.items)), np.empty((2, u))

    def work(first: int, last: int) -> tuple[np.ndarray, float]:
        found = np.zeros((2, n))
        return found, _sums(first, last, lists, tail, worths, found, until, rest)

    parts = _on_spans(lists, 2 * n, work)
    rates, squares = sum((part for part, _ in parts), start=np.zeros((2, n)))
    return Sums(rates, squares, until, rest, sum(log for _, log in parts))


def product(
    lists: Lists,
    tail: np.ndarray,
    tail_x: np.ndarray,  # (u,) the sum of worth times x over the unlisted items
    worths: np.ndarray,
    x: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The information times ``x`` (n,), of listed items; and of each list the sums of w / T and w S / T^2 ``(2, u)``.

    S is the sum of worth times x over the items on offer.
    """
    rest = np.empty((2, len(lists.weights)))

    def work(first: int, last: int) -> np.ndarray:
        found = np.zeros(len(x))
        _product(first, last, lists, tail, tail_x, worths, x, found, rest)
        return found

    return sum(_on_spans(lists, len(x), work), start=np.zeros(len(x))), rest


def offered_together(lists: Lists, until: np.ndarray, n: int) -> np.ndarray:
    """Sum of w / T^2 over the choices that list two items and still offer both, ``(n, n)``; 0 on the diagonal."""

    def work(first: int, last: int) -> np.ndarray:
        found = np.zeros((n, n))
        _together(first, last, lists, until, found)
        return found

    together = sum(_on_spans(lists, n * n, work), start=np.zeros((n, n)))
    return together + together.T


def complement_sums(
    starts: np.ndarray,  # (s + 1,)
    members: np.ndarray,  # (N,) rising in each set
    values: np.ndarray,  # (q,)
) -> np.ndarray:
    """For each set of indices below q the sum of the values outside it, ``(s,)``.

    They are added up in a tree and never subtracted, so that what is small beside the members keeps its digits. The
    cost is that of the members, times the logarithm of q.
    """
    leaves = 1 << max(1, (len(values) - 1).bit_length())
    tree = np.zeros(2 * leaves)
    tree[leaves : leaves + len(values)] = values
    level = leaves
    while level > 1:
        below = tree[level : 2 * level]
        level //= 2
        tree[level : 2 * level] = below[::2] + below[1::2]
    result = np.empty(len(starts) - 1)
    run_tiles(
        [*spans(len(result), max(1, -(-len(result) // _MOST_SPANS)))],
        lambda span: _complement_sums(*span, starts, members, tree, leaves, result),
    )
    return result


def _on_spans(lists: Lists, width: int, work: Callable[[int, int], Any]) -> list[Any]:
    """Results of ``work`` for spans of lists that hold about as many places each, in their order."""
    places = int(lists.starts[-1])
    count = max(1, min(_MOST_SPANS, places // _LEAST_WORK, _MOST_SUMS // max(1, width)))
    ends = np.searchsorted(lists.starts, np.linspace(0, places, count + 1)[1:-1])
    ends = [0, *ends.tolist(), len(lists.weights)]
    results: list[Any] = [None] * count

    def fill(k: int) -> None:
        results[k] = work(ends[k], ends[k + 1])

    run_tiles(range(count), fill)
    return results


@njit(nogil=True, cache=True)
def _longest(first, last, starts):
    longest = 1
    for r in range(first, last):
        longest = max(longest, starts[r + 1] - starts[r])
    return longest


@njit(nogil=True, cache=True)
def _sums(first, last, lists, tail, worths, found, until, rest):
    suffix = np.empty(_longest(first, last, lists.starts))
    tiny = np.finfo(np.float64).tiny
    log_total = 0.0
    for r in range(first, last):
        start, end, weight = lists.starts[r], lists.starts[r + 1], lists.weights[r]
        total = tail[r]
        for p in range(end - 1, start - 1, -1):
            total += worths[lists.items[p]]
            suffix[p - start] = max(total, tiny)
        rate = square = 0.0
        for p in range(start, end):
            if p - start < lists.made[r]:
                share = weight / suffix[p - start]
                rate += share
                square += share / suffix[p - start]
                log_total += weight * np.log(suffix[p - start])
            item = lists.items[p]
            found[0, item] += rate
            found[1, item] += square
            until[p] = square
        rest[0, r], rest[1, r] = rate, square
    return log_total


@njit(nogil=True, cache=True)
def _product(first, last, lists, tail, tail_x, worths, x, found, rest):
    longest = _longest(first, last, lists.starts)
    suffix, suffix_x = np.empty(longest), np.empty(longest)
    tiny = np.finfo(np.float64).tiny
    for r in range(first, last):
        start, end, weight = lists.starts[r], lists.starts[r + 1], lists.weights[r]
        total, total_x = tail[r], tail_x[r]
        for p in range(end - 1, start - 1, -1):
            item = lists.items[p]
            total += worths[item]
            total_x += worths[item] * x[item]
            suffix[p - start], suffix_x[p - start] = max(total, tiny), total_x
        rate = mean = 0.0
        for p in range(start, end):
            if p - start < lists.made[r]:
                share = weight / suffix[p - start]
                rate += share
                mean += share * (suffix_x[p - start] / suffix[p - start])
            item = lists.items[p]
            found[item] += worths[item] * (x[item] * rate - mean)
        rest[0, r], rest[1, r] = rate, mean


@njit(nogil=True, cache=True)
def _together(first, last, lists, until, found):
    for r in range(first, last):
        start, end = lists.starts[r], lists.starts[r + 1]
        for p in range(start, end):
            row = found[lists.items[p]]
            for q in range(p + 1, end):  # both are on offer until the first of them is placed
                row[lists.items[q]] += until[p]


@njit(nogil=True, cache=True)
def _complement_sums(first, last, starts, members, tree, leaves, result):
    nodes = np.empty(_longest(first, last, starts), np.int64)
    for s in range(first, last):
        count = starts[s + 1] - starts[s]
        for k in range(count):
            nodes[k] = leaves + members[starts[s] + k]
        if count == 0:
            result[s] = tree[1]
            continue
        total = 0.0
        while nodes[0] > 1:  # from a level to the one above: siblings without a member below them are outside
            above = 0
            for k in range(count):
                node = nodes[k]
                if above > 0 and nodes[above - 1] == node // 2:
                    continue
                if node % 2 == 1 or k + 1 == count or nodes[k + 1] != node + 1:
                    total += tree[node ^ 1]
                nodes[above] = node // 2
                above += 1
            count = above
        result[s] = total
