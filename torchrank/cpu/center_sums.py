"""Nearest centers of rankings known by sums of pair signs, and those sums: four pairs of items at a time.

The signs of four pairs of an untied ranking are one of 16 codes. What a center's pairs add up to under each code is
looked up in a table made once, and how much weight had each code is added up, to be spread over the pairs once. Both
take a quarter of the steps of going through pairs, and none of the memory of keeping them.
"""

import numpy as np

from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_parts, run_tiles, spans

_LANES = 64  # rankings of a tile: their codes and sums stay in the first cache
_AT_ONCE = 4  # pairs of a code
_CODES = 1 << _AT_ONCE
_SPAN = 16 * _LANES  # rankings that one call of compiled code takes
_MOST_PARTS = 16  # of the rankings, that are added up apart
_MOST_BYTES = 2**26  # of all tables of weights by code


class CenterSums:
    """What a pass over rankings of n items asks of c centers, ``centers`` (c, p) being their pair signs.

    The cost of a ranking at a center is ``own + offset - 2 lean (signs of the ranking) . (signs of the center)``.
    """

    def __init__(self, n: int, centers: np.ndarray) -> None:
        self.first, self.second = (_padded(items) for items in np.triu_indices(n, 1))
        self.n_codes, self.centers = len(self.first) // _AT_ONCE, centers

    def nearest(
        self,
        ranks: np.ndarray,
        untied: bool,
        own: np.ndarray,
        lean: np.ndarray,
        offset: np.ndarray,
        tolerance: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The first of the cheapest centers (r,) int64, costs within ``tolerance`` being equal, and its cost."""
        labels, costs = np.empty(len(ranks), np.int64), np.empty(len(ranks))
        table = self._table(untied)

        def search(rows: slice) -> None:
            _nearest(
                _narrow(ranks[rows]),
                (self.first, self.second),
                untied,
                (own[rows], lean[rows], offset, tolerance),
                table,
                (labels[rows], costs[rows]),
            )

        run_tiles([slice(*span) for span in spans(len(ranks), _SPAN)], search)
        return labels, costs

    def sums(self, ranks: np.ndarray, untied: bool, labels: np.ndarray, load: np.ndarray) -> np.ndarray:
        """``(c, p)`` sums of the pair signs of the rankings of each label, each times its ``load`` (r,)."""
        c, sides = len(self.centers), 1 if untied else 2
        size = sides * self.n_codes * _CODES * c
        parts = max(1, min(_MOST_PARTS, _MOST_BYTES // (8 * size)))
        found = np.zeros((parts, sides, self.n_codes, _CODES, c))

        def tally(rows: slice, part: int) -> None:
            _tally(_narrow(ranks[rows]), (self.first, self.second), untied, (labels[rows], load[rows]), found[part])

        run_parts(len(ranks), parts, tally)
        by_code = found.sum(0)  # (sides, codes, 16, c)
        bits = _bits()
        if untied:
            spread = np.einsum("kvc,vt->ckt", by_code[0], 2.0 * bits - 1)
        else:
            spread = np.einsum("kvc,vt->ckt", by_code[0] - by_code[1], bits.astype(np.float64))
        return spread.reshape(c, -1)[:, : self.centers.shape[1]]

    def _table(self, untied: bool) -> np.ndarray:
        """``(codes, 16, c)`` what the pairs of a code add up to at each center."""
        c, p = self.centers.shape
        padded = np.zeros((c, len(self.first)))
        padded[:, :p] = self.centers
        bits = 2.0 * _bits() - 1 if untied else _bits().astype(np.float64)
        return np.ascontiguousarray(np.einsum("ckt,vt->kvc", padded.reshape(c, -1, _AT_ONCE), bits))


def _bits() -> np.ndarray:
    """``(16, 4)`` the pairs that each code has."""
    return np.arange(_CODES)[:, None] >> np.arange(_AT_ONCE) & 1


def _padded(items: np.ndarray) -> np.ndarray:
    """Items with pairs of item 0 and itself behind, which no ranking orders, to a whole number of codes."""
    return np.concatenate([items, np.zeros(-len(items) % _AT_ONCE, np.int64)])


def _narrow(ranks: np.ndarray) -> np.ndarray:
    """Ranks item by item ``(n, r)``, in 16 bits where they fit, of which a processor compares more at once."""
    return np.ascontiguousarray(ranks.T, np.int16 if ranks.shape[1] < 2**15 else np.int32)


@njit(nogil=True, cache=True)
def _nearest(ranks, items, untied, costs_of, table, found):
    own, lean, offset, tolerance = costs_of
    labels, costs = found
    n_codes, _, c = table.shape
    codes = np.empty((1 if untied else 2, n_codes, _LANES), np.uint8)
    products = np.empty((_LANES, c))
    for start in range(0, ranks.shape[1], _LANES):
        lanes = min(_LANES, ranks.shape[1] - start)
        _encode(ranks, start, lanes, items, untied, codes)
        products[:] = 0
        for k in range(n_codes):
            for lane in range(lanes):
                above = codes[0, k, lane]
                for j in range(c):
                    products[lane, j] += table[k, above, j]
                if not untied:
                    below = codes[1, k, lane]
                    for j in range(c):
                        products[lane, j] -= table[k, below, j]
        for lane in range(lanes):
            row = start + lane
            least = np.inf
            for j in range(c):
                least = min(least, offset[j] - 2 * lean[row] * products[lane, j])
            for j in range(c):
                cost = offset[j] - 2 * lean[row] * products[lane, j]
                if cost <= least + tolerance:
                    labels[row] = j
                    costs[row] = max(own[row] + cost, 0.0)
                    break


@njit(nogil=True, cache=True)
def _tally(ranks, items, untied, of_rows, found):
    labels, load = of_rows
    sides, n_codes, _, _ = found.shape
    codes = np.empty((sides, n_codes, _LANES), np.uint8)
    for start in range(0, ranks.shape[1], _LANES):
        lanes = min(_LANES, ranks.shape[1] - start)
        _encode(ranks, start, lanes, items, untied, codes)
        for side in range(sides):
            for k in range(n_codes):
                for lane in range(lanes):
                    found[side, k, codes[side, k, lane], labels[start + lane]] += load[start + lane]


@njit(nogil=True, cache=True)
def _encode(ranks, start, lanes, items, untied, codes):
    """Which of the pairs of each code rankings prefer the first item in, and, where there are ties, the second."""
    first, second = items
    for k in range(codes.shape[1]):
        for t in range(_AT_ONCE):
            i, j = first[_AT_ONCE * k + t], second[_AT_ONCE * k + t]
            if t == 0:
                codes[:, k, :lanes] = 0
            if untied:
                for lane in range(lanes):
                    codes[0, k, lane] |= np.uint8(ranks[i, start + lane] > ranks[j, start + lane]) << np.uint8(t)
            else:
                for lane in range(lanes):
                    a, b = ranks[i, start + lane], ranks[j, start + lane]
                    codes[0, k, lane] |= np.uint8((a > b) & (b >= 0)) << np.uint8(t)
                    codes[1, k, lane] |= np.uint8((b > a) & (a >= 0)) << np.uint8(t)
