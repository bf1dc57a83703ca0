"""Arrays, data frames, orders of names and comparisons become a data set."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from torchrank.datasets.data import RankingData
from torchrank.rankings.arrays import as_array, as_tensor, refuse_masks, to_numpy
from torchrank.rankings.convert import from_orders, from_positions
from torchrank.rankings.validate import as_scores, check_choice, check_number

FORMS = ("scores", "positions", "orders")


def ranking_data(
    table: Any,
    *,
    form: str,
    items: Sequence[str] | None = None,
    unranked: float | str | None = None,
    weights: str | Sequence[float] | np.ndarray | None = None,
    rankers: str | Sequence[str] | None = None,
    features: Sequence[str] | np.ndarray | None = None,
    **about: Any,
) -> RankingData:
    """Rankings from an array, a list of lists or a data frame; NaN, None, NA and empty text are unranked.

    Scores become float64. Integers beyond 2^53, which that would round, stay integers; beside gaps, which integers
    cannot have, they are numbered in their order.

    Args:
        table: for "scores" and "positions" ``(m, n)``, a column an item; for "orders" ``(m, L)``, a column a place.
        form: "scores" (larger = preferred), "positions" (1 = best), or "orders" (item indices from 0 on, or names of
            ``items``; most preferred first). Nothing guesses: 1, 2, 3 is legal in all three.
        items: names of the items. In a data frame of scores or positions these are the columns that are items, by
            default all not named below; for orders of names by default those found, sorted.
        unranked: another entry that means not ranked, such as 0 in positions or "-" in orders.
        weights: ``(m,)``, how often each row was observed, or the data frame's column that says so; None means once.
        rankers: names of the rows, or the data frame's column of them; by default its index, unless that counts rows.
        features: ``(m, d)``, what is known about the rankers, or names of the data frame's columns that say so.
        **about: the other attributes of :class:`RankingData`.

    Raises:
        ValueError: ``form`` unknown, negative weights, columns that do not exist, shapes that do not fit, an item
            ranked twice, what the converters refuse.
        TypeError: values that are not numbers, masked arrays; for orders names and numbers in one table.

    Example:
        >>> ranking_data([["tea", "milk"], ["milk", None]], form="orders").scores.tolist()
        [[1.0, 2.0], [1.0, nan]]
    """
    check_choice(form, "form", FORMS)
    refuse_masks(table, "table")
    if hasattr(table, "iloc"):
        if not hasattr(table, "columns"):
            raise TypeError(
                f"table is a {type(table).__name__}, one column of a data frame; expected a data frame "
                "(from_ranking_strings takes a column of strings such as L2>L1>L3)"
            )
        return ranking_data(
            form=form,
            unranked=unranked,
            **_parts_of_frame(table, form, items, weights, rankers, features) | about,
        )
    for name, value in (("weights", weights), ("rankers", rankers), ("features", features)):
        if isinstance(value, str) or (name == "features" and _are_names(value)):
            raise ValueError(f"{name}={value!r} names columns; table is {type(table).__name__}, not a data frame")
    scores, names = _orders(table, items, unranked) if form == "orders" else _matrix(table, form, items, unranked)
    return RankingData(
        scores,
        names,
        _weights(weights, len(scores)),
        rankers=tuple(map(str, () if rankers is None else rankers)),
        features=None if features is None else to_numpy(as_tensor(features, "features")[0]).astype(np.float64),
        **about,
    )


def _parts_of_frame(frame: Any, form: str, items: Any, weights: Any, rankers: Any, features: Any) -> dict[str, Any]:
    """The arguments of :func:`ranking_data` with arrays in place of a data frame and names of its columns."""
    named = _are_names(features)
    taken = [name for name in (weights, rankers) if isinstance(name, str)] + (list(features) if named else [])
    _check_columns(frame, taken)
    if isinstance(rankers, str):
        rankers = frame[rankers].tolist()
    elif rankers is None and frame.index.tolist() != list(range(len(frame))):
        rankers = frame.index.tolist()
    rest = [name for name in frame.columns if name not in taken]
    if form != "orders":
        rest = items = rest if items is None else list(items)
        _check_columns(frame, rest)
    return {
        "table": frame[rest].astype(object).where(frame[rest].notna(), None).to_numpy()
        if form == "orders"
        else _numbers(frame, rest),
        "items": items,
        "weights": _numbers(frame, [weights])[:, 0] if isinstance(weights, str) else weights,
        "rankers": rankers,
        "features": _numbers(frame, list(features)) if named else features,
        "feature_names": tuple(features) if named else (),
    }


def _are_names(features: Any) -> bool:
    return features is not None and len(features) > 0 and all(isinstance(name, str) for name in features)


def _check_columns(frame: Any, names: Sequence[Any]) -> None:
    columns = list(frame.columns)
    for name in names:
        if columns.count(name) != 1:
            raise ValueError(f"table has {columns.count(name)} columns {name!r}; its columns are {columns}")


def _numbers(frame: Any, names: Sequence[Any]) -> np.ndarray:
    for name in names:
        if frame[name].dtype.kind not in "biuf":
            raise TypeError(
                f"table has values of dtype {frame[name].dtype} in column {name!r}; expected numbers (weights=, "
                "rankers= and features= name the columns that are not items, or items= those that are)"
            )
    return as_array(frame[names], "table")


def _matrix(table: Any, form: str, items: Any, unranked: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    """Scores of a table with a column for each item."""
    numbers = _without_gaps(table)
    if form == "scores":
        if unranked is not None:
            check_number(unranked, "unranked")
            numbers = _without(numbers, unranked)
        scores = _in_float64(to_numpy(as_scores(numbers, "table")[0]))
    else:
        scores = from_positions(numbers, unranked=unranked)
    n = scores.shape[1]
    names = tuple(map(str, range(n) if items is None else items))
    if len(names) != n:
        raise ValueError(f"items has {len(names)} names; the table ranks {n} items")
    return scores, names


def _without_gaps(table: Any) -> np.ndarray:
    """A table as an array, NaN in place of None and empty text; ``TypeError`` for other text."""
    array = as_array(table, "table")
    if array.dtype.kind not in "OTU" or array.ndim != 2:
        return array
    cells = np.array(table, dtype=object)  # in an array of text, numbers would be text too
    for row, column in np.ndindex(*cells.shape):
        if is_absent(cells[row, column]):
            cells[row, column] = np.nan
        elif isinstance(cells[row, column], str):
            raise TypeError(
                f"table has {str(cells[row, column])!r} at row {row}, column {column}; expected numbers "
                "(form='orders' takes names)"
            )
    return cells


def _without(numbers: np.ndarray, unranked: float) -> np.ndarray:
    """A copy with NaN in place of a number; integers too large for float64 stay as they are, as objects."""
    numbers = np.asarray(numbers)
    exact = numbers.dtype.kind == "O" or _is_large(numbers)
    copy = numbers.astype(object if exact else np.float64)
    copy[numbers == unranked] = np.nan
    return copy


def _in_float64(scores: np.ndarray) -> np.ndarray:
    """A copy in float64, or integers as they are where some are too large for that."""
    return scores.copy() if _is_large(scores) else scores.astype(np.float64)


def _is_large(numbers: np.ndarray) -> bool:
    return numbers.dtype.kind in "iu" and bool((np.abs(numbers.astype(np.float64)) >= 2**53).any())


def _orders(table: Any, items: Any, unranked: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    """Scores of orders of indices or of names."""
    table = table.tolist() if hasattr(table, "tolist") else table
    for number, row in enumerate(table):
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise TypeError(
                f"table has {row!r} as row {number}; expected a list of items, the most preferred first "
                "(from_ranking_strings takes strings such as L2>L1>L3)"
            )
    rows = [_listed(number, list(row), unranked) for number, row in enumerate(table)]
    if not any(isinstance(entry, str) for row in rows for entry in row):
        scores = from_orders(rows, None if items is None else len(items))
        return scores, tuple(map(str, range(scores.shape[1]) if items is None else items))
    for number, row in enumerate(rows):
        for entry in row:
            if not isinstance(entry, str):
                raise TypeError(
                    f"table has {entry!r} in row {number} among names; an order lists names or indices, not both"
                )
        if len(set(row)) < len(row):
            twice = next(entry for entry in row if row.count(entry) > 1)
            raise ValueError(f"table lists {twice!r} twice in row {number}; each item can be placed once")
    names = sorted_names({name for row in rows for name in row}) if items is None else tuple(items)
    index = {name: position for position, name in enumerate(names)}
    for number, row in enumerate(rows):
        for name in row:
            if name not in index:
                raise ValueError(f"table has {name!r} in row {number}; items are {', '.join(names)}")
    return from_orders([[index[name] for name in row] for row in rows], len(names)), names


def _listed(number: int, row: list[Any], unranked: Any) -> list[Any]:
    """The entries of an order up to its end, where None, NaN, empty text or ``unranked`` follow; whole floats as int.

    A data frame makes a column of floats out of indices and gaps.
    """
    absent = [is_absent(entry) or (unranked is not None and str(entry) == str(unranked)) for entry in row]
    length = absent.index(True) if True in absent else len(row)
    late = [entry for entry, gone in zip(row[length:], absent[length:], strict=True) if not gone]
    if late:
        raise ValueError(f"table has {late[0]!r} in row {number} after a gap; an order has gaps only at its end")
    whole = all(type(entry) in (int, float) and float(entry).is_integer() for entry in row[:length])
    return [int(entry) for entry in row[:length]] if whole else row[:length]


def is_absent(entry: Any) -> bool:
    """Whether an entry of a table of names is empty: None, NaN, what pandas calls NA, or empty text."""
    return entry is None or type(entry).__name__ in ("NAType", "NaTType") or entry == "" or entry != entry


def sorted_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names in alphabetical order, but numbers within them in that of numbers: L2 before L10."""
    return tuple(sorted(sorted(names), key=lambda name: [_part(part) for part in re.split(r"(\d+)", name)]))


def _part(part: str) -> tuple[int, str]:
    return (int(part), "") if part.isdecimal() else (-1, part)


def _weights(weights: Any, m: int) -> np.ndarray:
    if weights is None:
        return np.ones(m)
    values = to_numpy(as_tensor(weights, "weights")[0]).astype(np.float64)
    if values.shape != (m,):
        raise ValueError(f"weights has shape {values.shape}; expected ({m},), one for each ranking")
    if not (values >= 0).all() or np.isinf(values).any():
        raise ValueError("weights has negative, infinite or NaN values; they say how often each ranking was observed")
    return values


def from_comparisons(
    pairs: Any,
    *,
    items: Sequence[Any] | None = None,
    weights: Sequence[float] | np.ndarray | None = None,
    **about: Any,
) -> RankingData:
    """Rankings of two items each, from a list of (winner, loser); equal pairs are counted in ``weights``.

    Args:
        pairs: names or indices, the winner first; a list of pairs, an array or data frame of two columns.
        items: names of the columns; by default those found, sorted.
        weights: how often each comparison was observed; None means once.
        **about: title, license, citation and notes of :class:`RankingData`.

    Returns:
        A row for each different pair, with score 2 for the winner, 1 for the loser and NaN for the others.

    Raises:
        ValueError: an item compared with itself, a winner or loser left empty, one that ``items`` lacks, entries that
            are not pairs, bad weights.
        TypeError: names among numbers.

    Example:
        >>> from_comparisons([("tea", "milk"), ("tea", "milk"), ("milk", "tea")]).weights.tolist()
        [2.0, 1.0]
    """
    refuse_masks(pairs, "pairs")
    rows = pairs.to_numpy() if hasattr(pairs, "iloc") else pairs
    won: list[tuple[Any, ...]] = [(row,) if isinstance(row, str) else tuple(row) for row in rows]
    for number, pair in enumerate(won):
        if len(pair) != 2 or pair[0] == pair[1] or any(map(is_absent, pair)):
            raise ValueError(f"pairs has {pair!r} at {number}; expected (winner, loser), two different items")
    found = {name for pair in won for name in pair}
    words = all(isinstance(name, str) for name in found)
    if not words and any(isinstance(name, str) for name in found):
        raise TypeError("pairs has names and numbers; expected one or the other")
    names = tuple(items) if items is not None else sorted_names(found) if words else tuple(sorted(found))
    index = {name: position for position, name in enumerate(names)}
    counts: dict[tuple[int, int], float] = {}
    for number, (pair, weight) in enumerate(zip(won, _weights(weights, len(won)), strict=True)):
        unknown = [name for name in pair if name not in index]
        if unknown:
            raise ValueError(f"pairs has {unknown[0]!r} at {number}, which items lacks")
        key = (index[pair[0]], index[pair[1]])
        counts[key] = counts.get(key, 0.0) + float(weight)
    scores = np.full((len(counts), len(names)), np.nan)
    for row, (winner, loser) in enumerate(counts):
        scores[row, winner], scores[row, loser] = 2.0, 1.0
    return RankingData(scores, tuple(map(str, names)), np.array(list(counts.values())), **about)
