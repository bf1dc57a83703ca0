"""Products of the pair signs of rankings with centers, and their sums by classes: four pairs of items at a time.

The signs of four pairs of an untied ranking are one of 16 codes. What a center's pairs add up to under each code is
looked up in a table made once, and how much weight had each code is added up, to be spread over the pairs once. Both
take a quarter of the steps of going through pairs, and none of the memory of keeping them.
"""

from collections.abc import Callable

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
    """What a pass over rankings of n items asks of c centers, ``centers`` (c, p) being numbers for their pairs."""

    def __init__(self, n: int, centers: np.ndarray) -> None:
        self.items = tuple(_padded(items) for items in np.triu_indices(n, 1))
        self.n_codes, self.centers = len(self.items[0]) // _AT_ONCE, centers

    def products(self, ranks: np.ndarray, untied: bool) -> np.ndarray:
        """``(r, c)`` products of the pair signs of rankings ``(r, n)`` with the centers."""
        found, table = np.empty((len(ranks), len(self.centers))), self._table(untied)

        def multiply(rows: slice) -> None:
            _products(_narrow(ranks[rows]), self.items, untied, table, found[rows])

        run_tiles([slice(*span) for span in spans(len(ranks), _SPAN)], multiply)
        return found

    def sums(self, ranks: np.ndarray, untied: bool, labels: np.ndarray, load: np.ndarray) -> np.ndarray:
        """``(c, p)`` sums of the pair signs of the rankings of each label, each times its ``load`` (r,)."""

        def tally(rows: slice, found: np.ndarray) -> None:
            _tally(_narrow(ranks[rows]), self.items, untied, labels[rows], load[rows], found)

        return self._summed(len(ranks), untied, tally)

    def weighted_sums(self, ranks: np.ndarray, untied: bool, shares: np.ndarray) -> np.ndarray:
        """``(c, p)`` sums of the pair signs of all rankings, each times its ``shares`` (r, c) at the centers."""

        def tally(rows: slice, found: np.ndarray) -> None:
            _tally_shares(_narrow(ranks[rows]), self.items, untied, shares[rows], found)

        return self._summed(len(ranks), untied, tally)

    def _summed(self, n_rows: int, untied: bool, tally: Callable[[slice, np.ndarray], None]) -> np.ndarray:
        """Weights of codes added up in parts of the rows, which depend on sizes alone, and spread over the pairs."""
        c, sides = len(self.centers), 1 if untied else 2
        parts = max(1, min(_MOST_PARTS, _MOST_BYTES // (8 * sides * self.n_codes * _CODES * c)))
        found = np.zeros((parts, sides, self.n_codes, _CODES, c))
        run_parts(n_rows, parts, lambda rows, part: tally(rows, found[part]))
        total = found.sum(0)
        above = total[0] if untied else total[0] - total[1]
        spread = np.einsum("kvc,vt->ckt", above, _values_of_bits(untied))
        return np.ascontiguousarray(spread.reshape(c, -1)[:, : self.centers.shape[1]])

    def _table(self, untied: bool) -> np.ndarray:
        """``(codes, 16, c)`` what the pairs of a code add up to at each center."""
        c, p = self.centers.shape
        padded = np.zeros((c, _AT_ONCE * self.n_codes))
        padded[:, :p] = self.centers
        table = np.einsum("ckt,vt->kvc", padded.reshape(c, -1, _AT_ONCE), _values_of_bits(untied))
        return np.ascontiguousarray(table)


def _values_of_bits(untied: bool) -> np.ndarray:
    """``(16, 4)`` what each bit of a code stands for: the sign of an untied pair, else whether the sign is that."""
    bits = (np.arange(_CODES)[:, None] >> np.arange(_AT_ONCE) & 1).astype(np.float64)
    return 2 * bits - 1 if untied else bits


def _padded(items: np.ndarray) -> np.ndarray:
    """Items with pairs of item 0 and itself behind, which no ranking orders, to a whole number of codes."""
    return np.concatenate([items, np.zeros(-len(items) % _AT_ONCE, np.int64)])


def _narrow(ranks: np.ndarray) -> np.ndarray:
    """Ranks item by item ``(n, r)``, in 16 bits where they fit, of which a processor compares more at once."""
    return np.ascontiguousarray(ranks.T, np.int16 if ranks.shape[1] < 2**15 else np.int32)


@njit(nogil=True, cache=True)
def _products(ranks, items, untied, table, found):
    n_codes, _, c = table.shape
    codes = np.empty((1 if untied else 2, n_codes, _LANES), np.uint8)
    found[:] = 0
    for start in range(0, ranks.shape[1], _LANES):
        lanes = min(_LANES, ranks.shape[1] - start)
        _encode(ranks, start, lanes, items, untied, codes)
        for k in range(n_codes):
            for lane in range(lanes):
                above = codes[0, k, lane]
                for j in range(c):
                    found[start + lane, j] += table[k, above, j]
                if not untied:
                    below = codes[1, k, lane]
                    for j in range(c):
                        found[start + lane, j] -= table[k, below, j]


@njit(nogil=True, cache=True)
def _tally(ranks, items, untied, labels, load, found):
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
def _tally_shares(ranks, items, untied, shares, found):
    sides, n_codes, _, c = found.shape
    codes = np.empty((sides, n_codes, _LANES), np.uint8)
    for start in range(0, ranks.shape[1], _LANES):
        lanes = min(_LANES, ranks.shape[1] - start)
        _encode(ranks, start, lanes, items, untied, codes)
        for side in range(sides):
            for k in range(n_codes):
                for lane in range(lanes):
                    code = codes[side, k, lane]
                    for j in range(c):
                        found[side, k, code, j] += shares[start + lane, j]


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
