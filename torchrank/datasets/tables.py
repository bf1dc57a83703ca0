"""Tables, orders and comparisons become a data set."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from torchrank.datasets.data import RankingData
from torchrank.rankings.convert import from_orders, from_positions
from torchrank.rankings.validate import as_scores, check_choice, to_numpy

FORMS = ("scores", "positions", "orders")


def ranking_data(
    table: Any,
    *,
    form: str,
    items: Sequence[str] | None = None,
    weights: Sequence[float] | np.ndarray | None = None,
    **about: Any,
) -> RankingData:
    """Rankings from an array, a list of lists or a data frame.

    Args:
        table: for "scores" and "positions" ``(m, n)``, a column an item; for "orders" ``(m, L)``, a column a place.
        form: "scores" (larger = preferred), "positions" (1 = best), or "orders" (item indices from 0 on, or names of
            ``items``; most preferred first). Nothing guesses: 1, 2, 3 is legal in all three.
        items: names of the items; by default the data frame's columns, or for orders of names the names found, sorted.
        weights: ``(m,)``, how often each row was observed; None means once.
        **about: the other attributes of :class:`RankingData`.

    Raises:
        ValueError: ``form`` unknown, negative weights, shapes that do not fit, what the converters refuse.
        TypeError: values that are not numbers; for orders also names that are not text.
    """
    check_choice(form, "form", FORMS)
    if form == "orders":
        scores, names = _from_named_orders(table, items)
    else:
        columns = getattr(table, "columns", None)
        values = as_scores(np.asarray(table), "table")[0]
        scores = to_numpy(values).astype(np.float64) if form == "scores" else from_positions(np.asarray(table))
        n = scores.shape[1]
        names = tuple(map(str, items if items is not None else columns if columns is not None else range(n)))
    if len(names) != scores.shape[1]:
        raise ValueError(f"items has {len(names)} names; the table ranks {scores.shape[1]} items")
    is_frame = hasattr(table, "columns")
    rankers = about.pop("rankers", tuple(map(str, table.index)) if is_frame else ())
    return RankingData(scores, names, _weights(weights, len(scores)), rankers, **about)


def _from_named_orders(table: Any, items: Sequence[str] | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Scores of orders of indices or of names; empty text, None and NaN in an order of names end it."""
    rows = [list(row) for row in (table.to_numpy() if hasattr(table, "to_numpy") else table)]
    if not any(isinstance(entry, str) for row in rows for entry in row):
        scores = from_orders(
            np.asarray(table) if hasattr(table, "to_numpy") else rows, None if items is None else len(items)
        )
        return scores, tuple(map(str, range(scores.shape[1]) if items is None else items))
    listed = [[entry for entry in row if not _absent(entry)] for row in rows]
    for number, row in enumerate(listed):
        for entry in row:
            if not isinstance(entry, str):
                raise TypeError(
                    f"table has {entry!r} in row {number} among names; an order lists names or indices, not both"
                )
    names = tuple(sorted({name for row in listed for name in row}) if items is None else items)
    index = {name: position for position, name in enumerate(names)}
    for number, row in enumerate(listed):
        for name in row:
            if name not in index:
                raise ValueError(f"table has {name!r} in row {number}; items are {', '.join(names)}")
    return from_orders([[index[name] for name in row] for row in listed], len(names)), names


def _absent(entry: Any) -> bool:
    return entry is None or entry == "" or entry != entry


def _weights(weights: Sequence[float] | np.ndarray | None, m: int) -> np.ndarray:
    if weights is None:
        return np.ones(m)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (m,):
        raise ValueError(f"weights has shape {values.shape}; expected ({m},), one for each ranking")
    if not (values >= 0).all() or np.isinf(values).any():
        raise ValueError("weights has negative, infinite or NaN values; they say how often each ranking was observed")
    return values


def from_comparisons(
    pairs: Iterable[tuple[Any, Any]], *, items: Sequence[Any] | None = None, weights: Sequence[float] | None = None
) -> RankingData:
    """Rankings of two items each, from a list of (winner, loser); equal pairs are counted in ``weights``.

    Args:
        pairs: names or indices, the winner first.
        items: names of the columns; by default those found, sorted.
        weights: how often each comparison was observed; None means once.

    Returns:
        A row for each different pair, with score 2 for the winner, 1 for the loser and NaN for the others.

    Raises:
        ValueError: an item compared with itself, one that ``items`` lacks, entries that are not pairs, bad weights.
    """
    won = [tuple(pair) for pair in pairs]
    for number, pair in enumerate(won):
        if len(pair) != 2 or pair[0] == pair[1]:
            raise ValueError(f"pairs has {pair!r} at {number}; expected (winner, loser), two different items")
    names = tuple(sorted({name for pair in won for name in pair}) if items is None else items)
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
    return RankingData(scores, tuple(map(str, names)), np.array(list(counts.values())))
