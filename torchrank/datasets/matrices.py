"""Tables with a column for each item become scores."""

from typing import Any

import numpy as np

from torchrank.datasets.names import is_absent
from torchrank.rankings.arrays import as_array, to_numpy
from torchrank.rankings.convert import from_positions
from torchrank.rankings.validate import as_scores

_LARGE = 2**27  # scores, 1 GiB in float64
_SPARSE = 20  # scores for each that is known


def scores_of(table: Any, form: str, items: Any, marks: tuple[Any, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Scores of a table of scores or positions, and names of its columns; ``marks`` mean not ranked.

    Raises:
        ValueError, TypeError: as :func:`torchrank.datasets.ranking_data`.
    """
    numbers = without_gaps(table, marks)
    if form == "scores":
        scores = _in_float64(to_numpy(as_scores(without(numbers, marks), "table")[0]))
    else:
        scores = from_positions(numbers, unranked=[mark for mark in marks if not isinstance(mark, str)])
    n = scores.shape[1]
    names = tuple(map(str, range(n) if items is None else items))
    if len(names) != n:
        raise ValueError(f"items has {len(names)} names; the table ranks {n} items")
    return scores, names


def without_gaps(table: Any, marks: tuple[Any, ...] = ()) -> np.ndarray:
    """A table as an array, NaN in place of None, empty text and marks that are text.

    Raises:
        TypeError: other text.
    """
    array = as_array(table, "table")
    if array.dtype.kind not in "OTU" or array.ndim != 2:
        return array
    cells = np.array(table, dtype=object)  # in an array of text, numbers would be text too
    entries = cells.ravel().tolist()
    for place, entry in enumerate(entries):
        if is_absent(entry) or (isinstance(entry, str) and entry in marks):
            entries[place] = np.nan
        elif isinstance(entry, str):
            row, column = divmod(place, cells.shape[1])
            raise TypeError(
                f"table has {entry!r} at row {row}, column {column}; expected numbers (form='orders' takes names, "
                "unranked= marks that mean not ranked)"
            )
    cells[...] = np.array(entries, dtype=object).reshape(cells.shape)
    return cells


def without(numbers: np.ndarray, marks: tuple[Any, ...]) -> np.ndarray:
    """A copy with NaN in place of marks that are numbers; integers too large for float64 stay, as objects."""
    values = [mark for mark in marks if not isinstance(mark, str)]
    if not values:
        return numbers
    numbers = np.asarray(numbers)
    exact = numbers.dtype.kind == "O" or is_large(numbers)
    copy = numbers.astype(object if exact else np.float64)
    for value in values:
        copy[numbers == value] = np.nan
    return copy


def _in_float64(scores: np.ndarray) -> np.ndarray:
    """A copy in float64, or integers as they are where some are too large for that."""
    return scores.copy() if is_large(scores) else scores.astype(np.float64)


def is_large(numbers: np.ndarray) -> bool:
    """Whether these are integers that float64 would round."""
    return numbers.dtype.kind in "iu" and bool((np.abs(numbers.astype(np.float64)) >= 2**53).any())


def refuse_nearly_empty(m: int, n: int, known: int, remedy: str) -> None:
    """Raise ``ValueError`` where scores of m rankings of n items would be large and nearly all of them NaN."""
    if m * n > max(_LARGE, _SPARSE * known):
        raise ValueError(
            f"{m} rankings of {n} items are a matrix of {m * n} scores ({8 * m * n / 2**30:.3g} GiB), of which only "
            f"{known} are known; {remedy}"
        )
