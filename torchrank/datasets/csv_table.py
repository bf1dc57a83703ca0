"""Text tables: a header and rows of fields, of which columns are asked for by name."""

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_EMPTY = ("", "na", "nan")


@dataclass(frozen=True)
class CsvTable:
    """Fields of a file as text."""

    file: str
    header: tuple[str, ...]
    rows: list[list[str]]
    first_line: int  # number of the first row, as messages count

    def text(self, names: Sequence[str]) -> list[list[str]]:
        """The fields of some columns, row by row.

        Raises:
            ValueError: a column that does not exist.
        """
        for name in names:
            if name not in self.header:
                raise ValueError(f"{self.file} has no column {name!r}; it has {', '.join(map(repr, self.header))}")
        columns = [self.header.index(name) for name in names]
        return [[row[column].strip() for column in columns] for row in self.rows]

    def numbers(self, names: Sequence[str], *, empty: str = "") -> np.ndarray:
        """The fields of some columns as float64, NaN for empty ones, NA, NaN and the text ``empty``.

        Raises:
            ValueError: a field that is not a number; row and column are named.
        """
        values = np.full((len(self.rows), len(names)), np.nan)
        for row, fields in enumerate(self.text(names)):
            for column, field in enumerate(fields):
                if field.lower() not in _EMPTY and field != empty:
                    values[row, column] = self._number(field, row, names[column])
        return values

    def _number(self, field: str, row: int, name: str) -> float:
        try:
            return float(field)
        except ValueError:
            where = f"{self.file}, row {row + self.first_line}, column {name!r}"
            raise ValueError(f"{where} has a field that is not a number: {field!r}") from None


def read_csv(path: str | Path, *, delimiter: str = ",", header: bool | None = True, ragged: bool = False) -> CsvTable:
    """Read a text table, gzipped if its name ends in ``.gz``; empty lines are skipped.

    Args:
        path: of the file.
        delimiter: what stands between fields.
        header: whether the first line names the columns; without one they are called 0, 1, ... None means yes, unless
            it holds only numbers, which is refused.
        ragged: whether rows may be shorter than others; empty fields are added at their ends.

    Raises:
        ValueError: rows of different lengths, columns of the same name, an undecided header.
    """
    path = Path(path)
    with (
        gzip.open(path, "rt", encoding="utf-8-sig", newline="")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8-sig", newline="") as file
    ):
        lines = [row for row in csv.reader(file, delimiter=delimiter) if row]
    if not lines:
        return CsvTable(path.name, (), [], 2)
    first = tuple(field.strip() for field in lines[0])
    if header is None and all(_is_number(field) for field in first):
        raise ValueError(
            f"{path.name} starts with numbers: {delimiter.join(first)!r}; pass header=False if this is a row of data, "
            "header=True if it names the columns"
        )
    if header is False:
        width = max(map(len, lines)) if ragged else len(first)
        names, rows, start = tuple(map(str, range(width))), lines, 1
    else:
        names, rows, start = first, lines[1:], 2
    if ragged:
        rows = [row + [""] * (len(names) - len(row)) for row in rows]
    for number, row in enumerate(rows, start=start):
        if len(row) != len(names):
            raise ValueError(f"{path.name}, row {number} has {len(row)} fields; the first has {len(names)}")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"{path.name} has {names.count(twice[0])} columns called {twice[0]!r}")
    return CsvTable(path.name, names, rows, start)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
