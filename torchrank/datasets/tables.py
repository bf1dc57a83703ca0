"""Arrays, data frames, orders of names, long tables and columns of ballots become a data set."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from torchrank._docs import shares_arguments
from torchrank.datasets.data import RankingData, features_of, weights_of
from torchrank.datasets.frames import are_names, check_columns, known_in, names_in, numbers_of, scores_in
from torchrank.datasets.layouts import ARGUMENTS, Long, layout_of, refuse_beside_scores
from torchrank.datasets.long_tables import LongTable, from_long
from torchrank.datasets.matrices import scores_of
from torchrank.datasets.order_tables import scores_of_orders
from torchrank.datasets.ranking_strings import from_ranking_strings, unmarked
from torchrank.rankings.arrays import refuse_masks
from torchrank.rankings.forms import reader_of, refuse_long_table
from torchrank.rankings.names import check_same_rows, refuse_one_name
from torchrank.rankings.validate import as_marks
from torchrank.typing import Gaps, TableForm


@shares_arguments(ARGUMENTS)
def ranking_data(
    table: Any,
    *,
    form: TableForm | None = None,
    items: Sequence[Any] | None = None,
    unranked: float | str | Sequence[float | str] | None = None,
    weights: str | Sequence[float] | np.ndarray | None = None,
    rankers: str | Sequence[str] | None = None,
    features: Sequence[str] | np.ndarray | None = None,
    user: str | None = None,
    item: str | None = None,
    score: str | None = None,
    time: str | None = None,
    ballot: str | None = None,
    gaps: Gaps = "raise",
    sparse: bool = False,
    **about: Any,
) -> RankingData:
    """Rankings from an array, a list of lists or a data frame; NaN, None, pandas.NA and empty text are unranked.

    Scores become float64. Integers beyond 2^53, which that would round, stay integers; beside gaps, which integers
    cannot have, they are numbered in their order.

    Args:
        table: for "scores" and "positions" ``(m, n)``, a column an item; for "orders" ``(m, L)``, a column a place; a
            data frame with a row for each score, or with a column of ballots.
        form: "scores" (larger = preferred), "positions" (1 = best), or "orders" (names of items, most preferred first).
            Nothing guesses: 1, 2, 3 is legal in all three. Integers in orders are names too, in the order of numbers:
            so items counted from 1 are "1", "2", ... With ``items`` they are indices of these, from 0 on.
        items: names of the items. In a data frame of scores or positions these are the columns that are items, by
            default all not named below; elsewhere by default those found, sorted.
        unranked: {unranked}
        weights: ``(m,)``, how often each row was observed, or the data frame's column that says so; None means once.
        rankers: names of the rows, or the data frame's column of them; by default its index, unless that counts rows.
        features: ``(m, d)``, what is known about the rankers, or names of the data frame's columns that say so.
        user: {user}
        item: {item}
        score: {score}
        time: {time}
        ballot: {ballot}
        gaps: {gaps}
        sparse: {sparse}
        **about: the other attributes of :class:`RankingData`.

    Raises:
        ValueError: ``form`` unknown, or beside ``ballot``; negative weights, columns that do not exist, shapes that do
            not fit, an item ranked twice, a ballot in an order, what the converters and :func:`from_ranking_strings`
            refuse. Of long tables: a user's second score of an item, a row without user, item or time, an item that
            ``items`` lacks, integers from 2^53 on that a data frame has made floats, where they collide; weights,
            rankers or features beside them; and scores that would take more than 1 GiB for next to nothing but NaN.
        TypeError: none of ``form``, ``user`` and ``ballot``; values that are not numbers, masked arrays; names and
            numbers among the items of orders or in a column of long tables, numbers and dates among times.

    Example:
        >>> ranking_data([["tea", "milk"], ["milk", None]], form="orders").scores.tolist()
        [[1.0, 2.0], [1.0, nan]]
    """
    layout, marks = layout_of(form, ballot, Long(user, item, score, time), gaps, sparse), as_marks(unranked)
    refuse_masks(table, "table")
    refuse_one_name(items, "items")
    if isinstance(table, Mapping):
        raise TypeError(
            f"table is a {type(table).__name__}; pass pandas.DataFrame(it), which makes a column of each entry, or "
            "pandas.DataFrame.from_dict(it, orient='index'), which makes a row"
        )
    if isinstance(table, (str, PathLike)):
        raise TypeError(f"table is {str(table)!r}{reader_of(table)}")
    if not hasattr(table, "iloc"):
        columns = {"user": user, "ballot": ballot, "weights": weights, "rankers": rankers, "features": features}
        for name, value in columns.items():
            named = value is not None if name in ("user", "ballot") else isinstance(value, str)
            if named or (name == "features" and are_names(value)):
                raise ValueError(f"{name}={value!r} names columns; table is {type(table).__name__}, not a data frame")
        return _data(table, layout, items, marks, gaps, weights, rankers, features, **about)
    if not hasattr(table, "columns"):
        raise TypeError(
            f"table is a {type(table).__name__}, one column of a data frame; expected a data frame "
            "(from_ranking_strings takes a column of strings such as L2>L1>L3)"
        )
    if layout == "long":
        refuse_beside_scores(weights=weights, rankers=rankers, features=features)
        long = _long_table(table, Long(user, item, score, time), marks)
        return from_long(long, form or "scores", items, sparse=sparse, **about)
    for name, value in (("weights", weights), ("rankers", rankers), ("features", features)):
        check_same_rows(table.index, value, name)
    taken, known = known_in(table, weights, rankers, features)
    about = known | about
    if layout == "ballots":
        check_columns(table, [ballot])
        return from_ranking_strings(unmarked(table[ballot].tolist(), marks), items=items, **about)
    rest = [name for name in table.columns if name not in taken]
    if layout == "orders":
        return _data(names_in(table, rest), layout, items, marks, gaps, **about)
    if items is None:
        refuse_long_table(table, "table")
    rest = rest if items is None else list(items)
    check_columns(table, rest)
    return _data(numbers_of(table, rest), layout, rest, marks, gaps, **about)


def _data(
    table: Any,
    form: str,
    items: Any,
    marks: tuple[Any, ...],
    gaps: str,
    weights: Any = None,
    rankers: Any = None,
    features: Any = None,
    **about: Any,
) -> RankingData:
    """A data set of rows that are rankings."""
    orders = form == "orders"
    scores, names = scores_of_orders(table, items, marks, gaps) if orders else scores_of(table, form, items, marks)
    return RankingData(
        scores,
        names,
        weights_of(weights, len(scores), rankers),
        rankers=tuple(map(str, () if rankers is None else rankers)),
        features=features_of(features),
        **about,
    )


def _long_table(frame: Any, columns: Long, marks: tuple[Any, ...]) -> LongTable:
    check_columns(frame, [name for name in columns if name is not None])
    return LongTable(
        frame[columns.user].tolist(),
        frame[columns.item].tolist(),
        scores_in(frame, columns.score, marks),
        None if columns.time is None else frame[columns.time].tolist(),
        lambda row: f"table, row {row}",
    )
