"""Text tables: a header and rows of fields, of which columns are asked for by name."""

import csv
import io
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from torchrank._warnings import warn
from torchrank.datasets.files import Text, read_text
from torchrank.rankings.validate import check_choice

_EMPTY = ("", "na", "nan")
_DELIMITERS = (",", ";", "\t", "|")
_Line = tuple[int, list[str]]  # where a row ends in the file, from 1 on, and its fields


@dataclass(frozen=True)
class CsvTable:
    """Fields of a file as text."""

    file: str
    header: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]  # where each row ends in the file, from 1 on
    decimal: str = "."
    index: dict[str, int] = field(init=False, default_factory=dict)  # which column has a name

    def __post_init__(self) -> None:
        self.index.update((name, column) for column, name in enumerate(self.header))

    def at(self, row: int) -> str:
        """Where a row stands, for messages."""
        return f"{self.file}, line {self.lines[row]}"

    def text(self, names: Sequence[str]) -> list[list[str]]:
        """The fields of some columns, row by row.

        Raises:
            ValueError: a column that does not exist.
        """
        columns = [self._place(name) for name in names]
        return [[row[column].strip() for column in columns] for row in self.rows]

    def column(self, name: str) -> list[str]:
        """The fields of one column; ``ValueError`` if there is none of that name."""
        column = self._place(name)
        return [row[column].strip() for row in self.rows]

    def _place(self, name: str) -> int:
        if name not in self.index:
            only = " as its only one; delimiter= says what separates them" if len(self.header) == 1 else ""
            raise ValueError(f"{self.file} has no column {name!r}; it has {', '.join(map(repr, self.header))}{only}")
        return self.index[name]

    def numbers(self, names: Sequence[str], *, empty: Collection[str] = (), remedy: str = "") -> np.ndarray:
        """The fields of some columns as float64, NaN for empty ones, NA, NaN and the texts ``empty``.

        Integers that float64 would round stay integers; then all numbers are objects.

        Raises:
            ValueError: a field that is not a number; line and column are named, and then ``remedy``.
        """
        texts = self.text(names)
        values = np.full((len(self.rows), len(names)), np.nan)
        for row, fields in enumerate(texts):
            values[row] = self._row(row, fields, names, empty, remedy)
        with np.errstate(invalid="ignore"):
            large = np.argwhere(np.abs(values) >= 2**53).tolist()
        whole = [(row, column) for row, column in large if texts[row][column].lstrip("+-").isdecimal()]
        if whole:
            values = values.astype(object)
            for row, column in whole:
                values[row, column] = int(texts[row][column])
        return values

    def _row(
        self, row: int, texts: list[str], names: Sequence[str], empty: Collection[str], remedy: str
    ) -> list[float]:
        if not empty and self.decimal == ".":
            try:
                return [float(text) for text in texts]
            except ValueError:  # some are empty
                pass
        return [
            np.nan if text in empty or text.lower() in _EMPTY else self._number(text, row, name, remedy)
            for text, name in zip(texts, names, strict=True)
        ]

    def _number(self, text: str, row: int, name: str, remedy: str) -> float:
        try:
            return float(text.replace(self.decimal, "."))
        except ValueError:
            if _is_number(text.replace(",", ".")):
                remedy = "; decimal=',' reads commas in numbers"
            raise ValueError(
                f"{self.at(row)}, column {name!r} has a field that is not a number: {text!r}{remedy}"
            ) from None


def read_csv(
    path: str | Path,
    *,
    delimiter: str = ",",
    decimal: str = ".",
    encoding: str = "utf-8-sig",
    header: bool | None = True,
    ragged: bool = False,
    lenient: bool = False,
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
        lenient: leave out rows at the end that are not whole, and warn of how many there are.

    Raises:
        ValueError: no rows, rows of different lengths, columns of the same name, an undecided header, another encoding,
            a file cut off, an address, one column that another delimiter seems to divide, a field too long for Python.
    """
    check_choice(decimal, "decimal", (".", ","))
    if not isinstance(delimiter, str) or len(delimiter) != 1:
        raise ValueError(f"delimiter={delimiter!r}; expected one character")
    remedy = "pass its encoding=, often 'cp1252' or 'utf-16' from spreadsheets"
    text = read_text(path, encoding, remedy=remedy, lenient=lenient)
    lines = _lines(text, delimiter)
    if not lines:
        raise ValueError(f"{text.file} is empty")
    _refuse_other_delimiters(text.file, lines, delimiter, header)
    first = tuple(name.strip() for name in lines[0][1])
    if header is None and all(_is_number(name.replace(decimal, ".")) for name in first):
        raise ValueError(
            f"{text.file} starts with numbers: {delimiter.join(first)!r}; pass header=False if this is a row of data, "
            "header=True if it names the columns"
        )
    if header is False:
        names = tuple(map(str, range(max(len(row) for _, row in lines) if ragged else len(first))))
    else:
        names, lines = first, lines[1:]
    if lenient:
        lines = _whole(text, lines, 0 if ragged else len(names))
    if not lines:
        raise ValueError(f"{text.file} has a header and no rows: {delimiter.join(names)!r}")
    rows = [row + [""] * (len(names) - len(row)) if ragged else row for _, row in lines]
    for (line, _), row in zip(lines, rows, strict=True):
        if len(row) != len(names):
            cut = "; lenient=True leaves out rows cut off at the end of a file" if row is rows[-1] else ""
            raise ValueError(f"{text.file}, line {line} has {len(row)} fields; the first has {len(names)}{cut}")
    kept = [column for column, name in enumerate(names) if name or any(row[column].strip() for row in rows)]
    if len(kept) < len(names):
        names, rows = tuple(names[column] for column in kept), [[row[column] for column in kept] for row in rows]
    name, times = Counter(names).most_common(1)[0] if names else ("", 0)
    if times > 1:
        raise ValueError(f"{text.file} has {times} columns called {name!r}")
    return CsvTable(text.file, names, rows, [line for line, _ in lines], decimal)


def _lines(text: Text, delimiter: str) -> list[_Line]:
    """Rows of fields, each with the number of its last line; without those that hold nothing but blanks."""
    reader = csv.reader(io.StringIO(text.content, newline=""), delimiter=delimiter)
    try:
        return [(reader.line_num, row) for row in reader if len(row) > 1 or (row and row[0].strip())]
    except csv.Error as error:
        raise ValueError(
            f"{text.file}, line {reader.line_num}: {error}; a quotation mark that is never closed makes fields long, "
            f"and csv.field_size_limit({len(text.content)}) before this call allows them"
        ) from None


def _refuse_other_delimiters(file: str, lines: list[_Line], delimiter: str, header: bool | None) -> None:
    """Raise where lines have one field, and something in it that separates fields in other files."""
    looked_at = lines if header is False else lines[:1]
    if any(len(row) > 1 for _, row in looked_at):
        return
    for line, (field_of_all,) in looked_at:
        for other in _DELIMITERS:
            if other != delimiter and other in field_of_all:
                raise ValueError(
                    f"{file}, line {line} is one field, {_short(field_of_all)!r}; are fields separated at {other!r}? "
                    f"Then pass delimiter={other!r}"
                )


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _whole(text: Text, lines: list[_Line], n: int) -> list[_Line]:
    """Lines without those at the end that have fewer than n fields, or are the last of what was cut off; warns."""
    end = len(lines) - (1 if text.cut and lines else 0)
    while end and len(lines[end - 1][1]) < n:
        end -= 1
    if text.cut or end < len(lines):
        warn(f"{text.file} was cut off: {end} rows are whole, and {len(lines) - end} at its end were left out")
    return lines[:end]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
