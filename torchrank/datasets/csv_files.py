"""Rankings and comparisons in CSV files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchrank.datasets.csv_table import read_csv
from torchrank.datasets.data import RankingData
from torchrank.datasets.tables import FORMS, from_comparisons, ranking_data
from torchrank.rankings.validate import check_choice

_NOT_A_NUMBER = (
    "; unranked= takes one that means not ranked, weights=, rankers= and features= name the columns that are not items"
)


def read_rankings(
    path: str | Path,
    *,
    form: str,
    items: Sequence[str] | None = None,
    unranked: float | str | None = None,
    weights: str | None = None,
    rankers: str | None = None,
    features: Sequence[str] = (),
    delimiter: str = ",",
    decimal: str = ".",
    encoding: str = "utf-8-sig",
    header: bool | None = None,
    **about: Any,
) -> RankingData:
    r"""Read a CSV file of rankings, one a row; gzipped if its name ends in ``.gz``.

    Empty fields are unranked, and in numbers also NA and NaN.

    Args:
        path: of the file.
        form: what the fields say, see :func:`ranking_data`. "scores" and "positions": a column an item. "orders": a
            column a place; fields are names of items, numbers too, so it does not matter whether they count from 0 or
            1; rows may be shorter than others.
        items: "scores" and "positions": the columns that are items; by default all not named below. "orders": names of
            the items; by default those found, sorted.
        unranked: another field that means not ranked, such as 0, -1 or "-".
        weights: the column that says how often each row was observed; by default each was once.
        rankers: the column of rankers' names; by default they have none.
        features: columns of numbers known about the rankers.
        delimiter: what stands between fields, such as ";" or tab.
        decimal: what stands before the fraction of a number, "." or ",".
        encoding: of the file, such as "cp1252" or "utf-16"; by default UTF-8 with or without a byte-order mark.
        header: whether the first line names the columns; without one they are called "0", "1", ... None means yes,
            unless it holds only numbers, which is refused.
        **about: title (by default the file's name), license, citation and other attributes of :class:`RankingData`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: ``form`` unknown, columns that do not exist or have no name, no rows, rows of different lengths,
            fields that are not numbers, another encoding, what :func:`ranking_data` refuses; the line is named.
        TypeError: ``weights`` or ``rankers`` that are no name of a column, ``features`` or ``items`` that is a text.

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
    check_choice(form, "form", FORMS)
    for name, value in (("weights", weights), ("rankers", rankers)):
        if not isinstance(value, str | None):
            raise TypeError(f"{name} is {type(value).__name__}; expected the name of a column of the file")
    for name, value in (("items", items), ("features", features)):
        if isinstance(value, str):
            raise TypeError(f"{name}={value!r} is a text; expected a list of names, {name}=[{value!r}]")
    table = read_csv(
        path, delimiter=delimiter, decimal=decimal, encoding=encoding, header=header, ragged=form == "orders"
    )
    known = [name for name in (weights, rankers, *features) if name is not None]
    table.text(known)
    rest = [name for name in table.header if name not in known]
    if "" in rest and (items is None or form == "orders"):
        raise ValueError(
            f"{table.file} has a column without a name, as data frames write their index; rankers='' takes it as names "
            "of the rows, or give it a name in the file"
        )
    if form == "orders":
        values, names = table.text(rest), items
    else:
        names = rest if items is None else list(items)
        if len(names) < 2:
            raise ValueError(
                f"{table.file} has {len(names)} columns of items: {', '.join(map(repr, names))}; ranking needs at "
                f"least 2 (fields were separated at {delimiter!r}; delimiter= changes that)"
            )
        values = table.numbers(names, empty=unranked if isinstance(unranked, str) else "", remedy=_NOT_A_NUMBER)
        unranked = None if isinstance(unranked, str) else unranked
    return ranking_data(
        values,
        form=form,
        items=names,
        unranked=unranked,
        weights=None if weights is None else table.numbers([weights])[:, 0],
        rankers=() if rankers is None else [row[0] for row in table.text([rankers])],
        features=table.numbers(features) if features else None,
        **{"title": table.file, "feature_names": tuple(features)} | about,
    )


def read_comparisons(
    path: str | Path,
    *,
    winner: str,
    loser: str,
    items: Sequence[str] | None = None,
    weights: str | None = None,
    delimiter: str = ",",
    decimal: str = ".",
    encoding: str = "utf-8-sig",
    header: bool | None = None,
    **about: Any,
) -> RankingData:
    """Read a CSV file of comparisons, one a row: who won and who lost.

    Args:
        path: of the file, gzipped if its name ends in ``.gz``.
        winner: the column of the preferred items.
        loser: the column of the others.
        items: names of the items; by default those found, sorted.
        weights: the column that says how often each comparison was observed; by default once.
        delimiter: as for :func:`read_rankings`, and the next three.
        decimal: of the weights.
        encoding: of the file.
        header: whether the first line names the columns.
        **about: as for :func:`read_rankings`.

    Returns:
        As :func:`from_comparisons`: a row for each different pair, observations of equal ones added in ``weights``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: columns that do not exist, an item compared with itself, an empty field, what else
            :func:`from_comparisons` refuses.
    """
    table = read_csv(path, delimiter=delimiter, decimal=decimal, encoding=encoding, header=header)
    return from_comparisons(
        table.text([winner, loser]),
        items=items,
        weights=None if weights is None else table.numbers([weights])[:, 0],
        **{"title": table.file} | about,
    )
