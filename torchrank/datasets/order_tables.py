"""Tables with a column for each place become scores."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from torchrank.datasets.names import NOTHING, each_once, is_absent, sorted_names, whole
from torchrank.rankings.convert import from_orders
from torchrank.rankings.forms import refuse_unordered

GAPS = ("raise", "close")


def scores_of_orders(table: Any, items: Any, marks: tuple[Any, ...], gaps: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Scores of orders of indices or of names, and names of the items; ``marks`` mean that nothing stands there.

    Raises:
        ValueError, TypeError: as :func:`torchrank.datasets.ranking_data`.
    """
    table = table.tolist() if hasattr(table, "tolist") else table
    refuse_unordered(table, "table", "a list of items, the most preferred first")
    for number, row in enumerate(table):
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise TypeError(
                f"table has {row!r} as row {number}; expected a list of items, the most preferred first "
                "(from_ranking_strings takes strings such as L2>L1>L3)"
            )
    texts = {str(mark) for mark in marks}
    rows = [
        _listed(number, row.tolist() if hasattr(row, "tolist") else list(row), texts, gaps)
        for number, row in enumerate(table)
    ]
    words = any(isinstance(entry, str) for row in rows for entry in row)
    if items is not None:
        items = each_once(items)
        if not words:
            return from_orders(rows, len(items)), items
    for number, row in enumerate(rows):
        _check_names(number, row, words, items)
    if items is None:
        found = {name for row in rows for name in row}
        items = sorted_names(found) if words else sorted(found)
    index = {name: position for position, name in enumerate(items)}
    for number, row in enumerate(rows):
        for name in row:
            if name not in index:
                raise ValueError(f"table has {name!r} in row {number}; items are {', '.join(index)}")
    return from_orders(_padded(rows, index), len(index)), tuple(map(str, index))


def _listed(number: int, row: list[Any], marks: set[str], gaps: str) -> list[Any]:
    """The entries of an order without gaps, which are None, NaN, empty text, marks, and -1 among numbers."""
    row = [whole(entry) for entry in row]
    absent = [is_absent(entry) or (bool(marks) and str(entry) in marks) for entry in row]
    if all(gone or isinstance(entry, int) for entry, gone in zip(row, absent, strict=True)):
        absent = [gone or entry == -1 for entry, gone in zip(row, absent, strict=True)]
    length = absent.index(True) if True in absent else len(row)
    late = [entry for entry, gone in zip(row[length:], absent[length:], strict=True) if not gone]
    if late and gaps == "raise":
        raise ValueError(
            f"table has {late[0]!r} in row {number} after a gap; an order has gaps only at its end (gaps='close' "
            "closes them, and what follows moves up)"
        )
    return row[:length] + late


def _check_names(number: int, row: list[Any], words: bool, items: Sequence[Any] | None) -> None:
    """Raise where an order lists names and numbers, an item twice, a number that is no item's, or a whole ballot."""
    for entry in row:
        if isinstance(entry, str) != words:
            raise TypeError(
                f"table has {entry!r} in row {number} among {'names' if words else 'numbers'}; an order lists names or "
                "indices, not both"
            )
        if words and ">" in entry and (items is None or entry not in items):
            raise ValueError(
                f"table has {entry!r} in row {number}, a whole ballot where the name of an item was expected; ballot= "
                "names a column of such strings, from_ranking_strings takes a list of them, and a name with > in it is "
                "taken where items= lists it"
            )
        if words and entry in NOTHING and (items is None or entry not in items):
            raise ValueError(
                f"table has {entry!r} in row {number}, which programs write where there is nothing: pass "
                f"unranked={entry!r}, or items= with all names if it is one"
            )
        if not words and (type(entry) is not int or entry < 0):
            raise (ValueError if type(entry) is int else TypeError)(
                f"table has {entry!r} in row {number}; expected names, or numbers of items: integers from 0 on, and -1 "
                "where the order has ended"
            )
    if len(set(row)) < len(row):
        twice = next(entry for entry in row if row.count(entry) > 1)
        raise ValueError(f"table lists {twice!r} twice in row {number}; each item can be placed once")


def _padded(rows: list[list[Any]], index: dict[Any, int]) -> np.ndarray:
    """Orders of names as orders of indices, padded with -1."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    orders = np.full((len(rows), int(lengths.max(initial=0))), -1, dtype=np.int64)
    listed = np.arange(orders.shape[1]) < lengths[:, None]
    orders[listed] = [index[name] for row in rows for name in row]
    return orders
