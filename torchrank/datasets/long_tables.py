"""Tables with a row for each score, such as ``user, item, rating``, become triples, and these a matrix."""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from torchrank.datasets.data import RankingData
from torchrank.datasets.matrices import is_large, refuse_nearly_empty, scores_of
from torchrank.datasets.names import factorize, is_absent
from torchrank.datasets.numbers import as_number
from torchrank.rankings.sparse import SparseRankings

_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|([-+])(\d\d):?(\d\d))?")


class Triples(NamedTuple):
    """Scores of few items out of many: which ranker gave which item which score."""

    rows: np.ndarray  # (q,) int64, numbers of rankers
    columns: np.ndarray  # (q,) int64, numbers of items
    scores: np.ndarray  # (q,) float64, or integers, or objects where integers beyond 2^53 stand beside other numbers
    rankers: tuple[str, ...]  # in the order found
    items: tuple[str, ...]  # sorted, or as given


class LongTable(NamedTuple):
    """Columns of equal length of a table with a row for each score."""

    users: Sequence[Any]
    items: Sequence[Any]
    scores: np.ndarray  # numbers, NaN = not ranked
    times: Sequence[Any] | None  # of which the latest counts
    at: Callable[[int], str]  # where a row stands, for messages


def from_long(table: LongTable, form: str, items: Sequence[Any] | None, *, sparse: bool, **about: Any) -> RankingData:
    """Rankings, one a user, of a long table of scores or positions; arguments and errors as of :func:`triples_of`.

    ``sparse`` ones compare pairwise, unless a function is told otherwise.
    """
    triples = triples_of(table, items)
    if sparse:
        values = triples.scores
        if form == "positions":  # of a matrix with one column, so that they are checked and turned round likewise
            values = scores_of(np.stack([values, np.ones(len(values))], 1), form, None, ())[0][:, 0]
        shape = (len(triples.rankers), len(triples.items))
        rankings = SparseRankings.from_triples(triples.rows, triples.columns, values, shape=shape)
        return RankingData(rankings, triples.items, np.ones(len(rankings)), rankers=triples.rankers, **about)
    scores, names = scores_of(dense(triples), form, triples.items, ())
    return RankingData(scores, names, np.ones(len(scores)), rankers=triples.rankers, **about)


def triples_of(table: LongTable, items: Sequence[Any] | None) -> Triples:
    """The scores of a long table by the numbers of rankers and items, each pair once, in linear time.

    Args:
        table: its columns.
        items: names of the items; None means those found, sorted.

    Raises:
        ValueError: an item scored twice by a ranker, where no times tell which score counts; an empty user, item or
            time; an item that ``items`` lacks; times that are neither numbers nor dates.
        TypeError: names and numbers in one column.
    """
    at = table.at
    users = factorize(table.users, "user", lambda _, row: ValueError(f"{at(row)} names no user"))
    found = factorize(table.items, "item", lambda _, row: ValueError(f"{at(row)} names no item"))
    known = found.chosen(items, lambda name, row: ValueError(f"{at(row)} scores the item {name!r}, which items lacks"))
    pairs = users.codes * len(known.names) + known.codes
    kept = _each_once(table, pairs)
    kept = kept[~np.asarray(table.scores[kept] != table.scores[kept], dtype=bool)]
    return Triples(users.codes[kept], known.codes[kept], table.scores[kept], tuple(map(str, users.names)), known.names)


def dense(triples: Triples) -> np.ndarray:
    """Triples as a matrix ``(rankers, items)``, NaN where there is none; of objects where integers are too large.

    Raises:
        ValueError: it would take more than 1 GiB, and nearly all of it for NaN.
    """
    m, n = len(triples.rankers), len(triples.items)
    refuse_nearly_empty(m, n, len(triples.scores), "pass sparse=True")
    exact = triples.scores.dtype.kind == "O" or is_large(triples.scores)
    matrix = np.full((m, n), np.nan, dtype=object if exact else np.float64)
    matrix[triples.rows, triples.columns] = triples.scores
    return matrix


def _each_once(table: LongTable, pairs: np.ndarray) -> np.ndarray:
    """Numbers of rows, in their order, of which each pair of user and item has one: the latest."""
    times = np.zeros(len(pairs), dtype=np.int64) if table.times is None else _in_order(table.times, table.at)
    order = np.lexsort((times, pairs))
    pairs, times, scores = pairs[order], times[order], table.scores[order]
    again = pairs[1:] == pairs[:-1]
    ends = np.append(~again, True)[: len(order)]
    latest = times == times[ends][np.cumsum(ends) - ends]
    undecided = again & latest[:-1]
    if table.times is not None:
        one, other = scores[:-1], scores[1:]
        undecided &= np.asarray((one != other) & ((one == one) | (other == other)), dtype=bool)
    if undecided.any():
        place = int(undecided.argmax())
        first, second = sorted((int(order[place]), int(order[place + 1])))
        when, remedy = "", ", or name a column that tells which is the latest, time="
        if table.times is not None:
            when, remedy = " at one time", ""
        raise ValueError(
            f"{table.at(first)} and {table.at(second)} both score the item {table.items[first]!r} for the user "
            f"{table.users[first]!r}{when}; keep one of them{remedy}"
        )
    return np.sort(order[ends])


def _in_order(times: Sequence[Any], at: Callable[[int], str]) -> np.ndarray:
    """Times as their places in order, int64: numbers, dates, or text that is a number or a date as ISO 8601 has it."""
    entries = [_moment(entry, row, at) if isinstance(entry, str) else entry for row, entry in enumerate(times)]
    for row, entry in enumerate(entries):
        if is_absent(entry):
            raise ValueError(f"{at(row)} has no time")
    if len({isinstance(entry, (int, float)) for entry in entries}) > 1:
        raise TypeError("time has numbers and dates; expected one or the other")
    places = {entry: place for place, entry in enumerate(sorted(set(entries)))}
    return np.fromiter((places[entry] for entry in entries), np.int64, len(entries))


def _moment(text: str, row: int, at: Callable[[int], str]) -> Any:
    if not text:
        return text
    try:
        if _DATE.fullmatch(text):
            return np.datetime64(text, "us")
        if found := _MOMENT.fullmatch(text):  # without an offset it is taken as universal time
            time, sign, hours, minutes = found.groups()
            ahead = int(f"{sign}1") * (60 * int(hours) + int(minutes)) if sign else 0
            return np.datetime64(time, "us") - np.timedelta64(ahead, "m")
        return int(text) if text.lstrip("+-").isdecimal() else as_number(text)
    except ValueError:
        expected = "a number, or a date such as 2024-05-31 18:30:00"
        raise ValueError(f"{at(row)} has the time {text!r}; expected {expected}") from None
