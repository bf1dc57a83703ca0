"""Rankings and comparisons in CSV files."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchrank._docs import shares_arguments
from torchrank.datasets.comparisons import counted
from torchrank.datasets.csv_table import CsvTable, read_csv
from torchrank.datasets.data import RankingData, features_of
from torchrank.datasets.layouts import ARGUMENTS, Long, layout_of, refuse_beside_scores
from torchrank.datasets.long_tables import LongTable, from_long
from torchrank.datasets.matrices import without
from torchrank.datasets.numbers import without_fractions
from torchrank.datasets.ranking_strings import from_ranking_strings, unmarked
from torchrank.datasets.tables import ranking_data
from torchrank.rankings.validate import as_marks
from torchrank.typing import Gaps, TableForm

_NOT_A_NUMBER = (
    "; unranked= takes one that means not ranked, weights=, rankers= and features= name the columns that are not items"
)
_PREFLIB = re.compile(r"\.(soc|soi|toc|toi)(\.gz)?$")
_NOT_KNOWN = "NA"  # how R writes that there is nothing


@shares_arguments(ARGUMENTS)
def read_rankings(
    path: str | Path,
    *,
    form: TableForm | None = None,
    items: Sequence[str] | None = None,
    unranked: float | str | Sequence[float | str] | None = None,
    weights: str | None = None,
    rankers: str | None = None,
    features: Sequence[str] = (),
    user: str | None = None,
    item: str | None = None,
    score: str | None = None,
    time: str | None = None,
    ballot: str | None = None,
    gaps: Gaps = "raise",
    sparse: bool = False,
    delimiter: str = ",",
    decimal: str = ".",
    encoding: str = "utf-8-sig",
    header: bool | None = None,
    lenient: bool = False,
    **about: Any,
) -> RankingData:
    r"""Read a CSV file: of rankings, one a row, of scores, one a row, or of ballots such as ``A>B=C``.

    Empty fields and NA are unranked, and in numbers also NaN.

    Args:
        path: {path}
        form: what the fields say, see :func:`ranking_data`. "scores" and "positions": a column an item. "orders": a
            column a place; fields are names of items, numbers too, so it does not matter whether they count from 0 or
            1; rows may be shorter than others.
        items: "scores" and "positions": the columns that are items; by default all not named below. Else names of the
            items; by default those found, sorted. An item that is called NA is one where this lists it.
        unranked: {unranked}
        weights: the column that says how often each row was observed; by default each was once.
        rankers: the column of rankers' names; by default they have none.
        features: columns of numbers known about the rankers.
        user: {user}
        item: {item}
        score: {score}
        time: {time}
        ballot: {ballot}
        gaps: {gaps}
        sparse: {sparse}
        delimiter: {delimiter}
        decimal: {decimal}
        encoding: {encoding}
        header: {header}
        lenient: {lenient}
        **about: title (by default the file's name), license, citation and other attributes of :class:`RankingData`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: ``form`` unknown, columns that do not exist or have no name, no rows, rows of different lengths,
            fields that are not numbers or too long, another encoding, one column that another delimiter seems to
            divide, a file that was cut off or one of PrefLib, an address in place of a path, what
            :func:`ranking_data` refuses; the line is named.
        TypeError: none of ``form``, ``user`` and ``ballot``; ``weights`` or ``rankers`` that are no name of a column,
            ``features`` or ``items`` that is a text.

    Warns:
        UserWarning: with ``lenient``, rows that were left out, and how many.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "places.csv"
        >>> _ = path.write_text("who,age,soup,salad,bread\nann,31,1,3,2\nbob,48,2,,1\n")
        >>> data = read_rankings(path, form="positions", rankers="who", features=["age"])
        >>> data
        RankingData('places.csv': 2 rankings of 3 items, 1 feature)
        >>> data.scores.tolist()
        [[3.0, 1.0, 2.0], [2.0, nan, 3.0]]
    """
    if _PREFLIB.search(str(path)) and Path(path).is_file():
        raise ValueError(f"{path} has the name of a file of PrefLib, which torchrank.datasets.read_preflib reads")
    long = Long(user, item, score, time)
    layout, marks = layout_of(form, ballot, long, gaps, sparse), as_marks(unranked)
    _check_words({"weights": weights, "rankers": rankers, "ballot": ballot, **long._asdict()}, items, features)
    table = read_csv(
        path,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        header=header,
        ragged=layout == "orders",
        lenient=lenient,
    )
    about = {"title": table.file} | about
    if layout == "long":
        refuse_beside_scores(weights=weights, rankers=rankers, features=features)
        return from_long(_long_table(table, long, items, marks), form or "scores", items, sparse=sparse, **about)
    about = {
        "weights": None if weights is None else table.numbers([weights])[:, 0],
        "rankers": () if rankers is None else tuple(table.column(rankers)),
        "features": features_of(table.numbers(features) if features else None),
        "feature_names": tuple(features),
    } | about
    if not _is_name(_NOT_KNOWN, items):
        marks = (*marks, _NOT_KNOWN)
    if layout == "ballots":
        return from_ranking_strings(unmarked(table.column(str(ballot)), marks), items=items, **about)
    names = _columns_of_items(table, layout, items, {weights, rankers, *features}, delimiter)
    if layout == "orders":
        fields = table.text(names)
        whole = iter(_whole([field for row in fields for field in row], items, table, marks))
        fields = [[next(whole) for _ in row] for row in fields]
        return ranking_data(fields, form=form, items=items, unranked=marks, gaps=gaps, **about)
    return ranking_data(_numbers(table, names, marks), form=form, items=names, unranked=marks, **about)


def _columns_of_items(
    table: CsvTable, layout: str, items: Sequence[str] | None, known: set[str | None], delimiter: str
) -> list[str]:
    """Names of the columns that hold rankings, those not ``known`` or for scores and positions ``items``.

    Raises:
        ValueError: one without a name, or fewer than two items.
    """
    rest = [name for name in table.header if name not in known]
    if "" in rest and (items is None or layout == "orders"):
        raise ValueError(
            f"{table.file} has a column without a name, as data frames write their index; rankers='' takes it as names "
            "of the rows, or give it a name in the file"
        )
    if layout == "orders":
        return rest
    names = rest if items is None else list(items)
    if len(names) < 2:
        raise ValueError(
            f"{table.file} has {len(names)} columns of items: {', '.join(map(repr, names))}; ranking needs at "
            f"least 2 (fields were separated at {delimiter!r}; delimiter= changes that)"
        )
    return names


def _check_words(columns: dict[str, Any], items: Any, features: Any) -> None:
    """Raise ``TypeError`` unless columns are texts, and items and features lists of texts."""
    for name, value in columns.items():
        if not isinstance(value, str | None):
            raise TypeError(f"{name} is {type(value).__name__}; expected the name of a column of the file")
    for name, value in (("items", items), ("features", features)):
        if isinstance(value, str):
            raise TypeError(f"{name}={value!r} is a text; expected a list of names, {name}=[{value!r}]")


def _numbers(table: CsvTable, names: Sequence[str], marks: tuple[Any, ...]) -> Any:
    """Columns of numbers, NaN in place of marks that are texts."""
    return table.numbers(names, empty=[mark for mark in marks if isinstance(mark, str)], remedy=_NOT_A_NUMBER)


def _is_name(text: str, items: Sequence[Any] | None) -> bool:
    return items is not None and text in map(str, items)


def _names(table: CsvTable, name: str, items: Sequence[Any] | None = None) -> list[str]:
    """The names in a column; ``ValueError`` where there is none, and for R's NA unless ``items`` has it."""
    names = table.column(name)
    for nothing in ("", _NOT_KNOWN):
        if nothing in names and not _is_name(nothing, items):
            what = f"says {nothing}, which is what R writes for nothing" if nothing else "is empty"
            remedy = "drop the row, or list 'NA' in items= if it is the name of an item" if nothing else "drop the row"
            raise ValueError(
                f"{table.at(names.index(nothing))}, column {name!r} {what}, where a name has to be; {remedy}"
            )
    return _whole(names, items, table)


def _whole(names: list[str], items: Sequence[Any] | None, table: CsvTable, marks: tuple[Any, ...] = ()) -> list[str]:
    """Whole numbers without fractions, unless ``items`` has some with them."""
    if items is not None and any(str(item).endswith(f"{table.decimal}0") for item in items):
        return names
    return without_fractions(names, [_NOT_KNOWN, *(mark for mark in marks if isinstance(mark, str))], table.decimal)


def _long_table(table: CsvTable, columns: Long, items: Sequence[Any] | None, marks: tuple[Any, ...]) -> LongTable:
    return LongTable(
        _names(table, str(columns.user)),
        _names(table, str(columns.item), items),
        without(_numbers(table, [columns.score], marks), marks)[:, 0],
        None if columns.time is None else [text.replace(table.decimal, ".") for text in table.column(columns.time)],
        table.at,
    )


@shares_arguments(ARGUMENTS)
def read_comparisons(
    path: str | Path,
    *,
    winner: str,
    loser: str,
    outcome: str | None = None,
    items: Sequence[str] | None = None,
    weights: str | None = None,
    sparse: bool = False,
    delimiter: str = ",",
    decimal: str = ".",
    encoding: str = "utf-8-sig",
    header: bool | None = None,
    lenient: bool = False,
    **about: Any,
) -> RankingData:
    """Read a CSV file of comparisons, one a row: who won and who lost.

    Args:
        path: {path}
        winner: the column of the preferred items.
        loser: the column of the others.
        outcome: the column that says "tie" or "draw" where neither won, and "win" where the winner did; by default
            there were no ties.
        items: names of the items; by default those found, sorted. An item that is called NA is one where this lists it.
        weights: the column that says how often each comparison was observed; by default once.
        sparse: {sparse}
        delimiter: {delimiter}
        decimal: {decimal}
        encoding: {encoding}
        header: {header}
        lenient: {lenient}
        **about: as for :func:`read_rankings`.

    Returns:
        As :func:`from_comparisons`: a row for each different pair, observations of equal ones added in ``weights``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: columns that do not exist, an item compared with itself, an empty field, what else
            :func:`from_comparisons` refuses, and what :func:`read_rankings` refuses of files.
    """
    table = read_csv(path, delimiter=delimiter, decimal=decimal, encoding=encoding, header=header, lenient=lenient)
    times = None if weights is None else table.numbers([weights])[:, 0]
    outcomes = None if outcome is None else table.column(outcome)
    about = {"title": table.file} | about
    won, lost = _names(table, winner, items), _names(table, loser, items)
    both = _whole(won + lost, items, table)  # as numbers in both columns, or names
    won, lost = both[: len(won)], both[len(won) :]
    return counted(won, lost, outcomes, items, times, sparse=sparse, **about)
