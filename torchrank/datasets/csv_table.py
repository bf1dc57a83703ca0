"""Text tables: a header and rows of fields, of which columns are asked for by name."""

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from torchrank.rankings.validate import check_choice

_EMPTY = ("", "na", "nan")


@dataclass(frozen=True)
class CsvTable:
    """Fields of a file as text."""

    file: str
    header: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]  # where each row ends in the file, from 1 on
    decimal: str = "."

    def text(self, names: Sequence[str]) -> list[list[str]]:
        """The fields of some columns, row by row.

        Raises:
            ValueError: a column that does not exist.
        """
        for name in names:
            if name not in self.header:
                only = " as its only one; delimiter= says what separates them" if len(self.header) == 1 else ""
                raise ValueError(
                    f"{self.file} has no column {name!r}; it has {', '.join(map(repr, self.header))}{only}"
                )
        columns = [self.header.index(name) for name in names]
        return [[row[column].strip() for column in columns] for row in self.rows]

    def numbers(self, names: Sequence[str], *, empty: str = "", remedy: str = "") -> np.ndarray:
        """The fields of some columns as float64, NaN for empty ones, NA, NaN and the text ``empty``.

        Integers that float64 would round stay integers; then all numbers are objects.

        Raises:
            ValueError: a field that is not a number; line and column are named, and then ``remedy``.
        """
        values = np.full((len(self.rows), len(names)), np.nan)
        large: dict[tuple[int, int], int] = {}
        for row, fields in enumerate(self.text(names)):
            for column, field in enumerate(fields):
                if field.lower() not in _EMPTY and field != empty:
                    number = self._number(field, row, names[column], remedy)
                    values[row, column] = number
                    if abs(number) >= 2**53 and field.lstrip("+-").isdecimal():
                        large[row, column] = int(field)
        if large:
            values = values.astype(object)
            for place, number in large.items():
                values[place] = number
        return values

    def _number(self, field: str, row: int, name: str, remedy: str) -> float:
        try:
            return float(field.replace(self.decimal, "."))
        except ValueError:
            where = f"{self.file}, line {self.lines[row]}, column {name!r}"
            if _is_number(field.replace(",", ".")):
                remedy = "; decimal=',' reads commas in numbers"
            raise ValueError(f"{where} has a field that is not a number: {field!r}{remedy}") from None


def read_csv(
    path: str | Path,
    *,
    delimiter: str = ",",
    decimal: str = ".",
    encoding: str = "utf-8-sig",
    header: bool | None = True,
    ragged: bool = False,
) -> CsvTable:
    """Read a text table, gzipped if its name ends in ``.gz``.

    Empty lines are skipped, and columns that have neither a name nor any fields, which delimiters at the end of every
    line make.

    Args:
        path: of the file.
        delimiter: what stands between fields.
        decimal: what stands before the fraction of a number, "." or ",".
        encoding: of the file; "utf-8-sig" is UTF-8 with or without a byte-order mark.
        header: whether the first line names the columns; without one they are called 0, 1, ... None means yes, unless
            it holds only numbers, which is refused.
        ragged: whether rows may be shorter than others; empty fields are added at their ends.

    Raises:
        ValueError: no rows, rows of different lengths, columns of the same name, an undecided header, another encoding.
    """
    check_choice(decimal, "decimal", (".", ","))
    path = Path(path)
    lines = _lines(path, delimiter, encoding)
    if not lines:
        raise ValueError(f"{path.name} is empty")
    first = tuple(field.strip() for field in lines[0][1])
    if header is None and all(_is_number(field.replace(decimal, ".")) for field in first):
        raise ValueError(
            f"{path.name} starts with numbers: {delimiter.join(first)!r}; pass header=False if this is a row of data, "
            "header=True if it names the columns"
        )
    if header is False:
        names = tuple(map(str, range(max(len(row) for _, row in lines) if ragged else len(first))))
    else:
        names, lines = first, lines[1:]
    if not lines:
        raise ValueError(f"{path.name} has a header and no rows: {delimiter.join(names)!r}")
    rows = [row + [""] * (len(names) - len(row)) if ragged else row for _, row in lines]
    for (line, _), row in zip(lines, rows, strict=True):
        if len(row) != len(names):
            raise ValueError(f"{path.name}, line {line} has {len(row)} fields; the first has {len(names)}")
    kept = [column for column, name in enumerate(names) if name or any(row[column].strip() for row in rows)]
    names, rows = tuple(names[column] for column in kept), [[row[column] for column in kept] for row in rows]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"{path.name} has {names.count(twice[0])} columns called {twice[0]!r}")
    return CsvTable(path.name, names, rows, [line for line, _ in lines], decimal)


def _lines(path: Path, delimiter: str, encoding: str) -> list[tuple[int, list[str]]]:
    """Rows of fields, each with the number of its last line; without those that hold nothing but blanks."""
    try:
        with (
            gzip.open(path, "rt", encoding=encoding, newline="")
            if path.suffix == ".gz"
            else path.open(encoding=encoding, newline="") as file
        ):
            reader = csv.reader(file, delimiter=delimiter)
            return [(reader.line_num, row) for row in reader if "".join(row).strip() or len(row) > 1]
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path.name} is not in {encoding} ({error}); pass its encoding=, often 'cp1252' or "
            "'utf-16' from spreadsheets"
        ) from error


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
