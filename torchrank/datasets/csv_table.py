"""Text tables: a header and rows of fields, of which columns are asked for by name."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from torchrank._warnings import warn
from torchrank.datasets.files import Text, read_text
from torchrank.datasets.numbers import as_number, whole_number
from torchrank.rankings.validate import check_choice

_EMPTY = ("", "na", "nan")
_DELIMITERS = (",", ";", "\t", "|")


class _Lines(NamedTuple):
    numbers: Sequence[int]  # where each row ends in the file, from 1 on
    rows: list[tuple[str, ...]]  # fields


@dataclass(frozen=True)
class CsvTable:
    """Fields of a file as text."""

    file: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    lines: Sequence[int]  # where each row ends in the file, from 1 on
    decimal: str = "."
    index: dict[str, int] = field(init=False, default_factory=dict)  # which column has a name

    def __post_init__(self) -> None:
        self.index.update((name, column) for column, name in enumerate(self.header))

    def at(self, row: int) -> str:
        """Where a row stands, for messages."""
        return f"{self.file}, line {self.lines[row]}"

    def text(self, names: Sequence[str]) -> list[list[str]]:
        """The fields of some columns, row by row; ``ValueError`` where there is no column of that name."""
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
        columns = [self._place(name) for name in names]
        texts = [row[column].strip() for row in self.rows for column in columns]
        values = self._floats(texts, names, {*_EMPTY, *empty}, remedy)
        with np.errstate(invalid="ignore"):
            large = np.flatnonzero(np.abs(values) >= 2**53).tolist()
        whole = {place: whole_number(texts[place]) for place in large}
        whole = {place: number for place, number in whole.items() if number is not None}
        if whole:
            values = values.astype(object)
            values[[*whole]] = [*whole.values()]
        return values.reshape(len(self.rows), len(names))

    def _floats(self, texts: list[str], names: Sequence[str], nothing: Collection[str], remedy: str) -> np.ndarray:
        try:
            if len(nothing) == len(_EMPTY) and self.decimal == ".":
                values = np.array(list(map(float, texts)))
                if not np.isinf(values).any() and not any("_" in text for text in texts):
                    return values
        except ValueError:
            pass  # some are empty, or no numbers
        try:
            return np.array(
                [np.nan if text in nothing or text.lower() in _EMPTY else self._number(text) for text in texts]
            )
        except ValueError:
            raise self._no_number(texts, names, nothing, remedy) from None

    def _number(self, text: str) -> float:
        """A number with the file's decimal mark; ``ValueError`` if it is none, or too large."""
        if self.decimal != "." and "." in text:  # between thousands
            raise ValueError(text)
        return as_number(text.replace(self.decimal, "."))

    def _no_number(self, texts: list[str], names: Sequence[str], nothing: Collection[str], remedy: str) -> ValueError:
        """What to say of the first field that is not a number."""
        for place, text in enumerate(texts):
            if text in nothing or text.lower() in _EMPTY or _is_number(text, self._number):
                continue
            if self.decimal == "." and "," in text and _is_number(text.replace(",", ".")):
                remedy = "; decimal=',' reads commas in numbers"
            elif self.decimal != "." and "." in text:
                remedy = f"; with decimal={self.decimal!r} numbers have no points: delete those between thousands"
            elif "_" not in text and _is_number(text):
                remedy = "; float64 holds numbers up to 1.8e308"
            row, column = divmod(place, len(names))
            return ValueError(
                f"{self.at(row)}, column {names[column]!r} has a field that is not a number: {text!r}{remedy}"
            )
        raise AssertionError("all fields are numbers")


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
    if not lines.rows:
        raise ValueError(f"{text.file} is empty")
    _refuse_other_delimiters(text.file, lines, delimiter, header)
    first = tuple(name.strip() for name in lines.rows[0])
    if header is None and all(_is_number(name.replace(decimal, ".")) for name in first):
        raise ValueError(
            f"{text.file} starts with numbers: {delimiter.join(first)!r}; pass header=False if this is a row of data, "
            "header=True if it names the columns"
        )
    if header is False:
        names = tuple(map(str, range(max(map(len, lines.rows)) if ragged else len(first))))
    else:
        names, lines = first, _Lines(lines.numbers[1:], lines.rows[1:])
    if lenient:
        lines = _whole(text, lines, 0 if ragged else len(names))
    if not lines.rows:
        raise ValueError(f"{text.file} has a header and no rows: {delimiter.join(names)!r}")
    return _named(text.file, names, lines, decimal, ragged)


def _named(file: str, names: tuple[str, ...], lines: _Lines, decimal: str, ragged: bool) -> CsvTable:
    """Lines as a table, columns without name and content left out; ``ValueError`` where names or lengths do not fit."""
    rows = lines.rows
    if ragged:
        rows = [(*row, *[""] * (len(names) - len(row))) if len(row) < len(names) else row for row in rows]
    for number, row in enumerate(rows if {len(names)} != set(map(len, rows)) else ()):
        if len(row) != len(names):
            last = "; lenient=True leaves out what is not whole at the end of a file" if row is rows[-1] else ""
            raise ValueError(
                f"{file}, line {lines.numbers[number]} has {len(row)} fields; the first has {len(names)}{last}"
            )
    kept = [column for column, name in enumerate(names) if name or any(row[column].strip() for row in rows)]
    if len(kept) < len(names):
        names, rows = tuple(names[column] for column in kept), [tuple(row[column] for column in kept) for row in rows]
    name, times = Counter(names).most_common(1)[0] if names else ("", 0)
    if times > 1:
        raise ValueError(f"{file} has {times} columns called {name!r}")
    return CsvTable(file, names, rows, lines.numbers, decimal)


def _lines(text: Text, delimiter: str) -> _Lines:
    """Rows of fields, without those that hold nothing but blanks."""
    reader = csv.reader(io.StringIO(text.content, newline=""), delimiter=delimiter)
    try:
        rows = list(map(tuple, reader))  # unlike lists, nothing that Python's collector walks through again and again
    except csv.Error as error:
        raise ValueError(
            f"{text.file}, line {reader.line_num}: {error}; a quotation mark that is never closed makes fields long, "
            f"and csv.field_size_limit({len(text.content)}) before this call allows them"
        ) from None
    numbers: Sequence[int] = range(1, len(rows) + 1)
    if reader.line_num != len(rows):  # some rows have line ends in their fields
        reader = csv.reader(io.StringIO(text.content, newline=""), delimiter=delimiter)
        numbers = [reader.line_num for _ in reader]
    kept = [place for place, row in enumerate(rows) if len(row) > 1 or (row and row[0].strip())]
    if len(kept) < len(rows):
        return _Lines([numbers[place] for place in kept], [rows[place] for place in kept])
    return _Lines(numbers, rows)


def _refuse_other_delimiters(file: str, lines: _Lines, delimiter: str, header: bool | None) -> None:
    """Raise where lines have one field, and something in it that separates fields in other files."""
    looked_at = lines.rows if header is False else lines.rows[:1]
    if any(len(row) > 1 for row in looked_at):
        return
    below = [row[0] if len(row) == 1 else "" for row in lines.rows[1:]]
    suspects = [other for other in _DELIMITERS if all(other in content for content in below)]
    if header is not False and len(below) > 1 and suspects:  # of one row, it may as well be part of a name
        looked_at = lines.rows[:2]
    for line, (content,) in zip(lines.numbers, looked_at, strict=False):
        for other in _DELIMITERS:
            if other != delimiter and other in content:
                raise ValueError(
                    f"{file}, line {line} is one field, {_short(content)!r}; are fields separated at {other!r}? Then "
                    f"pass delimiter={other!r}"
                )


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _whole(text: Text, lines: _Lines, n: int) -> _Lines:
    """Lines without those at the end that have fewer than n fields, or are the last of what was cut off; warns."""
    m = len(lines.rows)
    end = max(m - text.cut, 0)
    while end and len(lines.rows[end - 1]) < n:
        end -= 1
    if text.cut or end < m:
        warn(f"{text.file} was cut off: {end} rows are whole, {m - end} at its end were left out")
    return _Lines(lines.numbers[:end], lines.rows[:end])


def _is_number(text: str, read: Callable[[str], float] = float) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True
