"""Which reader takes what came in place of scores, for messages."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from io import IOBase
from os import PathLike
from typing import Any

import numpy as np

_READER = "torchrank.datasets.ranking_data"
_MOST_SEEN = 20  # entries that tell what the others are


def reader_of(values: Any) -> str:
    """What to do with values that are no matrix of numbers, as the end of a message; empty where nothing is known."""
    if isinstance(values, PathLike) or (isinstance(values, str) and not _is_ballot(values)):
        return "; files are read by torchrank.datasets.read_rankings(path)"
    if isinstance(values, IOBase):
        return "; it is an open file: torchrank.datasets.read_rankings(path) reads files"
    if isinstance(values, Mapping):
        if any(map(_is_ballot, values)):
            return "; ballots and their numbers are read by from_ranking_strings(list(it), weights=list(it.values()))"
        whole = "pandas.DataFrame.from_dict(it, orient='index')"
        rows = "" if any(isinstance(row, Mapping) for row in values.values()) else "list(it.values()) or "
        return f"; it is a dictionary: pass {rows}{whole}"
    if isinstance(values, Set):
        return "; it is a set, which has no order: pass a list"
    if isinstance(values, Iterator):
        return "; it is an iterator, which is read once: pass list(it)"
    columns = getattr(values, "columns", None) if hasattr(values, "iloc") else None
    if columns is not None and 3 <= len(columns) <= 4 and _is_long(values, columns):
        return f"; a table with a row for each score is read by {_READER}(table, user=, item=, score=)"
    first = _first(values)
    if any(isinstance(entry, Mapping) for entry in first):
        return "; it holds dictionaries: pandas.DataFrame(it) makes a row of each, NaN for items that it lacks"
    if any(isinstance(entry, Set) for entry in first):
        return (
            "; it holds sets, which have no order: pass lists of items, most preferred first, to torchrank.from_orders"
        )
    if any(_is_ballot(entry) for entry in first):
        return "; strings such as A>B=C are read by torchrank.datasets.from_ranking_strings(strings)"
    if _has_dates(values, first):
        return (
            "; they are dates or times: pass numbers, as (dates - dates.min()) / numpy.timedelta64(1, 's') gives them "
            "for arrays and columns of datetime64, NaN where there is none"
        )
    return ""


def refuse_unordered(rows: Any, name: str, expected: str) -> None:
    """Raise ``TypeError`` for rows, or a row, in a set or a dictionary, which has no order, or values that are lost."""
    if isinstance(rows, Mapping):
        raise TypeError(
            f"{name} is a {type(rows).__name__}, whose values would be lost; pass list({name}), and where they are "
            f"numbers of rankings weights=list({name}.values())"
        )
    if isinstance(rows, (set, frozenset)):
        raise TypeError(f"{name} is a {type(rows).__name__}, which has no order; pass a list")
    for number, row in enumerate(rows):
        if isinstance(row, (Set, Mapping)):
            raise TypeError(
                f"{name} has a {type(row).__name__} at {number}, whose order says nothing; expected {expected}"
            )


def refuse_long_table(table: Any, name: str) -> None:
    """Raise ``TypeError`` for a data frame whose columns are named as those of a table with a row for each score."""
    columns = getattr(table, "columns", None) if hasattr(table, "iloc") else None
    if columns is None or not 3 <= len(columns) <= 4:
        return
    words = {re.sub(r"[^a-z]", "", str(column).lower()).removesuffix("id") for column in columns}
    if words & _WHO and words & _WHAT and words & _HOW:
        raise TypeError(
            f"{name} has the columns {', '.join(map(str, columns))}: a table with a row for each score, which "
            f"{_READER}(table, user=, item=, score=) reads; if these are items, pass {name}.to_numpy()"
        )


_WHO = {"user", "rater", "reviewer", "customer", "userno", "usr"}
_WHAT = {"item", "movie", "product", "book", "artist", "song", "track", "business"}
_HOW = {"rating", "score", "stars", "value", "preference"}


def _is_long(table: Any, columns: Any) -> bool:
    """Whether some columns of a table are words, of which one comes again, and one of the others is of numbers."""
    kinds = [table.iloc[:, place].dtype for place in range(len(columns))]
    words = [place for place, kind in enumerate(kinds) if getattr(kind, "kind", "O") not in "biufcmM"]
    numbers = len(kinds) - len(words)
    return bool(words) and numbers > 0 and any(table.iloc[:, place].duplicated().any() for place in words)


def _first(values: Any) -> list[Any]:
    """The first entries of a list, an array or a table, one dimension down."""
    if hasattr(values, "iloc"):
        values = values.iloc[:_MOST_SEEN].to_numpy()
    if isinstance(values, np.ndarray):
        return values.ravel()[:_MOST_SEEN].tolist() if values.dtype.kind in "OUT" else []
    if not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
        return [values]
    entries: list[Any] = []
    for row in values[:_MOST_SEEN]:
        entries += list(row[:_MOST_SEEN]) if isinstance(row, (list, tuple)) else [row]
    return entries


def _is_ballot(entry: Any) -> bool:
    return isinstance(entry, str) and re.search(r"\S\s*>\s*\S", entry) is not None


def _has_dates(values: Any, first: list[Any]) -> bool:
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if hasattr(values, "dtypes") and hasattr(values, "columns"):
        kind = next((dtype.kind for dtype in values.dtypes if getattr(dtype, "kind", "") in "mM"), "")
    return kind in ("m", "M") or any(hasattr(entry, "isoformat") or isinstance(entry, np.datetime64) for entry in first)
