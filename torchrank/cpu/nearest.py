"""The k best of many numbers a row, kept while blocks of them come by: heaps whose first entry is the worst kept."""

import numpy as np

from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles, spans

_ROWS = 64  # of a tile


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

    def work(rows: tuple[int, int]) -> None:
        _rows(values, first_row, first_column, order, heap, columns, own, *rows)

    run_tiles([*spans(values.shape[0], _ROWS)], work)


def keep_best_of_columns(
    values: np.ndarray, first_row: int, first_column: int, order: int, kept: tuple[np.ndarray, np.ndarray]
) -> None:
    """The same for the transposed block: columns of ``values`` are rows of ``kept``, in contiguous stretches."""
    heap, columns = kept

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
    k = heap.shape[1]
    for r in range(start, stop):
        row = first_row + r
        kept, places = heap[row], columns[row]
        full = places[0] >= 0
        worst = _key(kept[0], order)
        for c in range(values.shape[1]):
            value = values[r, c]
            key = _key(value, order)
            if full and not key >= worst:  # most of them; NaN too
                continue
            column = first_column + c
            if value != value or (own and column == row) or (full and key == worst and column > places[0]):
                continue
            _replace_worst(kept, places, value, column, order, k)
            full = places[0] >= 0
            worst = _key(kept[0], order)


@njit(nogil=True, cache=True)
def _columns(values, first_row, first_column, order, heap, columns, start, stop):
    k = heap.shape[1]
    full = np.empty(stop - start, np.bool_)
    worst = np.empty(stop - start, values.dtype)
    for c in range(start, stop):
        row = first_column + c
        full[c - start] = columns[row, 0] >= 0
        worst[c - start] = _key(heap[row, 0], order)
    for r in range(values.shape[0]):
        column = first_row + r
        for c in range(start, stop):
            value = values[r, c]
            key = _key(value, order)
            if full[c - start] and not key >= worst[c - start]:
                continue
            row = first_column + c
            if value != value or (full[c - start] and key == worst[c - start] and column > columns[row, 0]):
                continue
            _replace_worst(heap[row], columns[row], value, column, order, k)
            full[c - start] = columns[row, 0] >= 0
            worst[c - start] = _key(heap[row, 0], order)


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
