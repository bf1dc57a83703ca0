"""The k best of many numbers a row, kept while blocks of them come by: heaps whose first entry is the worst kept."""

# The first parameter of an intrinsic, the typing context, is not passed by its callers.
# pyright: reportCallIssue=false

import numpy as np

from torchrank.cpu.at_least import at_least64, at_least64_each, first_bit
from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles, spans

_ROWS = 64  # of a tile
_u = np.uint64


def keep_best(
    values: np.ndarray, first_row: int, first_column: int, order: int, kept: tuple[np.ndarray, np.ndarray], own: bool
) -> None:
    """Let the rows of a block ``(r, c)`` into the heaps; NaN never, and with ``own`` no row itself.

    ``order`` says which numbers are best: 0 the largest, 1 the smallest, 2 the largest absolute ones.
    ``kept`` are values ``(m, k)``, NaN where there are none yet, and columns ``(m, k)`` int64. Rows of the block are
    rows ``first_row`` and on of these. Which entries are kept does not depend on the order in which they come: of equal
    ones those of the first columns.
    """
    heap, columns = kept
    values = np.ascontiguousarray(values)  # vectors of 64 are read from them

    def work(rows: tuple[int, int]) -> None:
        _rows(values, first_row, first_column, order, heap, columns, own, *rows)

    run_tiles([*spans(values.shape[0], _ROWS)], work)


def keep_best_of_columns(
    values: np.ndarray, first_row: int, first_column: int, order: int, kept: tuple[np.ndarray, np.ndarray]
) -> None:
    """The same for the transposed block: columns of ``values`` are rows of ``kept``, in contiguous stretches."""
    heap, columns = kept
    values = np.ascontiguousarray(values)

    def work(part: tuple[int, int]) -> None:
        _columns(values, first_row, first_column, order, heap, columns, *part)

    run_tiles([*spans(values.shape[1], 8 * _ROWS)], work)


def sorted_best(kept: tuple[np.ndarray, np.ndarray], order: int) -> tuple[np.ndarray, np.ndarray]:
    """Heaps as rows, best first; places that stayed empty last, with NaN and column -1."""
    values, columns = kept
    keys = _keys(values, order)
    placed = np.lexsort((columns, -keys, np.isnan(values)), axis=1)
    return np.take_along_axis(values, placed, 1), np.take_along_axis(columns, placed, 1)


def _keys(values: np.ndarray, order: int) -> np.ndarray:
    return values if order == 0 else -values if order == 1 else np.abs(values)


@njit(nogil=True, cache=True)
def _key(value, order):
    if order == 0:
        return value
    return -value if order == 1 else abs(value)


@njit(nogil=True, cache=True)
def _rows(values, first_row, first_column, order, heap, columns, own, start, stop):
    for r in range(start, stop):
        row = first_row + r
        numbers, kept, places = values[r], heap[row], columns[row]
        worst = _worst(kept, places, order)
        for first in range(0, len(numbers), 64):
            bits = (
                _few_at_least(numbers, first, order, worst)
                if first + 64 > len(numbers)
                else at_least64(numbers, first, order, worst)
            )
            while bits:  # seldom
                c = first + first_bit(bits)
                bits &= bits - _u(1)
                if _key(numbers[c], order) >= worst and not (own and first_column + c == row):
                    _offer(kept, places, numbers[c], first_column + c, order)
                    worst = _worst(kept, places, order)


@njit(nogil=True, cache=True)
def _columns(values, first_row, first_column, order, heap, columns, start, stop):
    worst = np.empty(stop - start, values.dtype)
    for c in range(start, stop):
        worst[c - start] = _worst(heap[first_column + c], columns[first_column + c], order)
    for r in range(values.shape[0]):
        numbers = values[r, start:stop]
        for first in range(0, len(numbers), 64):
            bits = (
                _few_at_least_each(numbers, first, order, worst)
                if first + 64 > len(numbers)
                else at_least64_each(numbers, first, order, worst, first)
            )
            while bits:
                c = first + first_bit(bits)
                bits &= bits - _u(1)
                row = first_column + start + c
                _offer(heap[row], columns[row], numbers[c], first_row + r, order)
                worst[c] = _worst(heap[row], columns[row], order)


@njit(nogil=True, cache=True)
def _few_at_least(values, start, order, bound):
    """As ``at_least64``, of the last numbers, fewer than 64."""
    bits = _u(0)
    for k in range(len(values) - start):
        bits |= _u(_key(values[start + k], order) >= bound) << _u(k)
    return bits


@njit(nogil=True, cache=True)
def _few_at_least_each(values, start, order, bounds):
    """The same with a bound for each."""
    bits = _u(0)
    for k in range(len(values) - start):
        bits |= _u(_key(values[start + k], order) >= bounds[start + k]) << _u(k)
    return bits


@njit(nogil=True, cache=True)
def _worst(kept, places, order):
    """What a number has to reach in order to be kept: anything where there are places left; NaN reaches nothing."""
    return _key(kept[0], order) if places[0] >= 0 else kept.dtype.type(-np.inf)


@njit(nogil=True, cache=True)
def _offer(kept, places, value, column, order):
    """Keep a number in the place of the worst one, unless they are equal and the worst one's column comes first."""
    if places[0] < 0 or _key(value, order) > _key(kept[0], order) or column < places[0]:
        _replace_worst(kept, places, value, column, order, len(kept))


@njit(nogil=True, cache=True)
def _worse(value, column, other, other_column, order):
    """Whether the first of two kept entries goes before the second; empty ones, of column -1, first of all."""
    if other_column < 0:
        return False
    if column < 0:
        return True
    key, its = _key(value, order), _key(other, order)
    return key < its or (key == its and column > other_column)


@njit(nogil=True, cache=True)
def _replace_worst(kept, places, value, column, order, k):
    """Put an entry in the place of the first one of the heap, and let it sink."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= k:
            break
        if child + 1 < k and _worse(kept[child + 1], places[child + 1], kept[child], places[child], order):
            child += 1
        if not _worse(kept[child], places[child], value, column, order):
            break
        kept[place], places[place] = kept[child], places[child]
        place = child
    kept[place], places[place] = value, column
