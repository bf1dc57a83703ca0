"""Columns of data frames."""

from collections import Counter
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from torchrank.datasets.data import features_of
from torchrank.datasets.matrices import without, without_gaps
from torchrank.datasets.names import is_absent
from torchrank.rankings.arrays import as_array
from torchrank.rankings.names import refuse_one_name


def are_names(features: Any) -> bool:
    """Whether features are names of columns, and not numbers."""
    return features is not None and len(features) > 0 and all(isinstance(name, str) for name in features)


def check_columns(frame: Any, names: Sequence[Any]) -> None:
    """Raise ``ValueError`` unless each of these names is that of one column."""
    counts = Counter(frame.columns)
    for name in names:
        if counts[name] != 1:
            found = f"{counts[name]} columns called" if counts[name] else "no column"
            raise ValueError(f"table has {found} {name!r}; its columns are {list(frame.columns)}")


def numbers_of(frame: Any, names: Sequence[Any]) -> np.ndarray:
    """Columns of numbers as an array; ``TypeError`` naming one that holds something else."""
    for name in names:
        if frame[name].dtype.kind not in "biuf" and not _has_numbers(frame[name]):
            raise TypeError(
                f"table has values of dtype {frame[name].dtype} in column {name!r}; expected numbers (weights=, "
                "rankers= and features= name the columns that are not items, or items= those that are)"
            )
    return as_array(frame[names], "table")


def _has_numbers(column: Any) -> bool:
    """Whether a column of objects has real numbers alone, and gaps."""
    return column.dtype.kind == "O" and all(isinstance(value, Real) or is_absent(value) for value in column)


def scores_in(frame: Any, name: str, marks: tuple[Any, ...]) -> np.ndarray:
    """A column of numbers, NaN where there is none, or a mark."""
    return without(without_gaps(numbers_of(frame, [name]), marks), marks)[:, 0]


def names_in(frame: Any, names: Sequence[Any]) -> np.ndarray:
    """Columns of names or numbers as objects, None where there is none."""
    return frame[names].astype(object).where(frame[names].notna(), None).to_numpy()


def known_in(frame: Any, weights: Any, rankers: Any, features: Any) -> tuple[list[str], dict[str, Any]]:
    """Names of the columns that are no items, and what is in them: weights, rankers and features."""
    refuse_one_name(features, "features")
    named = are_names(features)
    taken = [name for name in (weights, rankers) if isinstance(name, str)] + (list(features) if named else [])
    check_columns(frame, taken)
    if isinstance(rankers, str):
        rankers = frame[rankers].tolist()
    elif rankers is None and frame.index.tolist() != list(range(len(frame))):
        rankers = frame.index.tolist()
    return taken, {
        "weights": numbers_of(frame, [weights])[:, 0] if isinstance(weights, str) else weights,
        "rankers": tuple(map(str, () if rankers is None else rankers)),
        "features": features_of(numbers_of(frame, list(features)) if named else features),
        "feature_names": tuple(features) if named else (),
    }
