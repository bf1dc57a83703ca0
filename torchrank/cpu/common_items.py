"""CPU engine for rankings of few items each: rows make a table in which the others look up the items that both rank."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles, spans

SIGNS = ("items", "score", "strict_x", "strict_y", "strict_xy")
EXPECTED = ("items", "score", "u", "v", "uv", "v_signed", "u_signed")
_SWAPPED = {"strict_x": "strict_y", "u": "v", "v_signed": "u_signed"}
_SWAPPED |= {other: name for name, other in _SWAPPED.items()}
_TILE_ITEMS = 10_000_000  # look-ups in a tile: some 20 ms
_SHORT = 24  # up to so many common items all pairs of them are compared, which is faster than a tree of counters


class Lists(NamedTuple):
    """Rows of items, the most preferred first; ``(N,)`` for what belongs to a place in a row."""

    starts: np.ndarray  # (m + 1,) int64
    items: np.ndarray  # int32
    ranks: np.ndarray  # int32 dense ranks within the row
    mid: np.ndarray  # int64, items of the row below minus those above

    def part(self, rows: slice) -> "Lists":
        """Some of the rows; memory is shared."""
        return self._replace(starts=self.starts[rows.start : rows.stop + 1])

    @property
    def places(self) -> int:
        """How many there are."""
        return int(self.starts[-1] - self.starts[0])


def sums_over_common(x: Lists, y: Lists | None, columns: int, names: tuple[str, ...]) -> dict[str, Tensor]:
    """What :data:`SIGNS` or :data:`EXPECTED` names, of all pairs of rows: ``(m, m2)`` int64 each.

    ``columns`` is a bound of item indices. The names are those of :class:`torchrank.ops.quantities.Counts` and
    :class:`torchrank.ops.expected_signs.CommonSums`.
    """
    m, m2 = len(x.starts) - 1, (len(x.starts) if y is None else len(y.starts)) - 1
    if y is not None and m * y.places > m2 * x.places:  # the shorter rows are looked up
        swapped = sums_over_common(y, x, columns, names)
        return {name: swapped[_SWAPPED.get(name, name)].mT for name in names}
    other = x if y is None else y
    out = np.zeros((len(names), m, m2), np.int64)  # zeros take no memory until written; most pairs share nothing
    longest = int(np.diff(x.starts).max(initial=0))

    def compare(rows: tuple[int, int]) -> None:
        _compare(*x, *other, *rows, y is None, columns, longest, out)

    run_tiles([*spans(m, max(1, _TILE_ITEMS // max(1, other.places)))], compare)
    return dict(zip(names, torch.from_numpy(out), strict=True))


@njit(nogil=True, cache=True)
def _compare(
    starts_x, items_x, ranks_x, mid_x, starts_y, items_y, ranks_y, mid_y, first, last, lower, columns, longest, out
):
    """Rows [first, last) of x meet those of y; with ``lower`` they are the same, and both halves are written."""
    table = np.zeros(columns, np.int32)  # 1 + place in the row, 0 for items that it does not rank
    in_x, in_y = np.empty(longest + 1, np.int64), np.empty(longest + 1, np.int64)
    a, b = np.empty(longest, np.int32), np.empty(longest, np.int32)
    u, v = np.empty(longest, np.int64), np.empty(longest, np.int64)
    scratch = np.zeros(longest + 1, np.int64), np.zeros(longest, np.int64)
    expected = out.shape[0] == 7
    sums = np.zeros(out.shape[0], np.int64)
    for row in range(first, last):
        start, end = starts_x[row], starts_x[row + 1]
        for place in range(start, end):
            table[items_x[place]] = place - start + 1
        for other in range(row + 1 if lower else out.shape[2]):
            c = 0
            for place in range(starts_y[other], starts_y[other + 1]):
                found = table[items_y[place]]
                in_x[c], in_y[c] = start + found - 1, place
                c += found > 0
            if c == 0:
                continue
            for k in range(c):
                a[k], b[k] = ranks_x[in_x[k]], ranks_y[in_y[k]]
                u[k], v[k] = mid_x[in_x[k]], mid_y[in_y[k]]
            if c <= _SHORT:
                score, strict_x, strict_y, both, v_signed, u_signed = _by_pairs(a[:c], b[:c], u, v)
            else:
                score, strict_x, strict_y, both, v_signed, u_signed = _by_tree(a[:c], b[:c], u, v, *scratch)
            sums[0], sums[1] = c, score
            if expected:
                sums[2] = sums[3] = sums[4] = 0
                for k in range(c):
                    sums[2] += u[k]
                    sums[3] += v[k]
                    sums[4] += u[k] * v[k]
                sums[5], sums[6] = v_signed, u_signed
            else:
                sums[2], sums[3], sums[4] = strict_x, strict_y, both
            for k in range(sums.size):
                out[k, row, other] = sums[k]
            if lower and other < row:
                for k in range(sums.size):
                    out[k, other, row] = sums[k]
                out[2, other, row], out[3, other, row] = sums[3], sums[2]
                if expected:
                    out[5, other, row], out[6, other, row] = sums[6], sums[5]
        for place in range(start, end):
            table[items_x[place]] = 0


@njit(nogil=True, cache=True)
def _by_pairs(a, b, u, v):
    """Sums over pairs of common items, which come in falling order of b."""
    score = strict_x = strict_y = both = v_signed = u_signed = 0
    for i in range(1, a.size):
        for j in range(i):
            sign_x, sign_y = (a[j] > a[i]) - np.int64(a[j] < a[i]), np.int64(b[j] > b[i])
            score += sign_x * sign_y
            strict_x += sign_x * sign_x
            strict_y += sign_y
            both += sign_x * sign_x * sign_y
            v_signed += sign_x * (v[j] - v[i])
            u_signed += sign_y * (u[j] - u[i])
    return score, strict_x, strict_y, both, v_signed, u_signed


@njit(nogil=True, cache=True)
def _by_tree(a, b, u, v, tree, equal):
    """The same with a tree of counters over the ranks in x, of the items that b puts strictly above."""
    c = a.size
    score = strict_y = both = v_signed = u_signed = tied = 0
    levels = a.max() + 1
    tree[: levels + 1] = 0
    equal[:levels] = 0
    last = 0
    while last < c:
        first = last
        while last < c and b[last] == b[first]:
            below = _count_below(tree, a[last])
            above = first - below - equal[a[last]]
            score += above - below
            both += above + below
            last += 1
        strict_y += first * (last - first)
        for k in range(first, last):
            u_signed += u[k] * (c - last - first)
            equal[a[k]] += 1
            place = a[k] + 1
            while place <= levels:
                tree[place] += 1
                place += place & -place
    for k in range(c):
        v_signed += v[k] * (2 * _count_below(tree, a[k]) + equal[a[k]] - c)
    for level in range(levels):
        tied += equal[level] * (equal[level] - 1) // 2
    return score, c * (c - 1) // 2 - tied, strict_y, both, v_signed, u_signed


@njit(nogil=True, cache=True)
def _count_below(tree, rank):
    """How many of the entered items have a lower rank."""
    count = 0
    place = rank
    while place > 0:
        count += tree[place]
        place -= place & -place
    return count
