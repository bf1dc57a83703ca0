"""Rows that are read batch by batch, as often as a fit asks for them."""

from collections.abc import Iterator, Mapping, Set
from typing import Any, TypeAlias

import numpy as np
from torch.utils.data import DataLoader

from torchrank.rankings.arrays import is_data_set
from torchrank.rankings.prepared import Prepared
from torchrank.rankings.validate import check_count

ROWS = 65_536  # of a batch that is cut from an array


class Batches:
    """Rankings that are read batch by batch, as often as a fit needs them, and never held all at once.

    ``fit`` of :class:`torchrank.KernelKMeans`, :class:`torchrank.RankingKMeans`, :class:`torchrank.MallowsMixture` and
    :class:`torchrank.MMPL`, and :func:`torchrank.fit_plackett_luce` take it in place of all rankings. They take a
    ``torch.utils.data.DataLoader``, or another object of its own class that can be iterated over again and again,
    as it is.

    Args:
        source: what has the rows.

            * an array, a tensor, prepared rankings, a data frame, or an array on disk,
              ``numpy.load("X.npy", mmap_mode="r")`` or ``zarr.open_array("X.zarr", mode="r")``, of which batches are
              cut;
            * a tuple of two of the same length that belong together: rankings and their weights, or features and label
              rankings;
            * anything else that can be iterated over more than once, such as a list or a DataLoader. Each of its
              batches is what ``source`` could be, or a list or tuple of one or two such, as of a ``TensorDataset``.
        batch_size: rows that are cut at a time.

    Raises:
        TypeError: what cannot be read more than once, such as a generator.
        ValueError: a tuple of other than two, or of two of different lengths.

    Example:
        >>> [len(rows) for rows, _ in Batches(np.zeros((5, 3)), batch_size=2)]
        [2, 2, 1]
    """

    def __init__(self, source: Any, batch_size: int = ROWS) -> None:
        check_count(batch_size, "batch_size", least=1, unit="row")
        self.source, self.batch_size = source, int(batch_size)
        if isinstance(source, tuple):
            parts = _two(source, "source")
            lengths = [_length(part) for part in parts]
            if lengths[0] != lengths[1]:
                raise ValueError(f"source has parts of {lengths[0]} and {lengths[1]} rows; expected as many of both")
        elif not _has_rows(source):
            _check_again(source)

    def __repr__(self) -> str:
        return f"Batches({type(self.source).__name__}, batch_size={self.batch_size})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Raise ``TypeError``: whoever makes an array of it wants all rows at once."""
        raise TypeError(
            "X is Batches, which fits of k-means, mixtures, Plackett-Luce and MM-PL read batch by batch; this takes "
            "all rows at once: pass one matrix"
        )

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of rows and what belongs to them, or None."""
        if _has_rows(self.source) or isinstance(self.source, tuple):
            first, second = self.source if isinstance(self.source, tuple) else (self.source, None)
            for start in range(0, _length(first), self.batch_size):
                some = slice(start, start + self.batch_size)
                yield _cut(first, some), None if second is None else _cut(second, some)
            return
        for batch in self.source:
            if isinstance(batch, (list, tuple)):
                yield (batch[0], None) if len(batch) == 1 else _two(batch, "a batch")
            elif isinstance(batch, Mapping):
                raise TypeError("a batch is a dictionary; expected rows, or a list or tuple of one or two")
            else:
                yield batch, None


# What is taken in place of all rankings; what else is iterable, Batches has to say of it.
Batched: TypeAlias = Batches | DataLoader[Any]


def as_batches(X: Any) -> Batches | None:
    """What a fit reads batch by batch; None for rankings that it is given all at once.

    Raises:
        TypeError: a generator, which can be read once only.
        ValueError: a list of tables, which may be batches, and of which NumPy would make one array.
    """
    if isinstance(X, Batches):
        return X
    if isinstance(X, (list, tuple)) and X and all(map(_is_table, X)):
        raise ValueError(
            f"X is a {type(X).__name__} of tables, {len(X)} of them; pass torchrank.Batches of a list of them to "
            "have them read as batches, or one table (rankings, items)"
        )
    whole = _has_rows(X) or is_data_set(X) or isinstance(X, (list, tuple, str, bytes, Mapping, Set))
    return None if whole or not hasattr(X, "__iter__") else Batches(X)


def refuse_weights(weights: Any) -> None:
    """Raise ``ValueError`` for weights beside batches."""
    if weights is not None:
        raise ValueError("weights of rows in batches come with them; pass X=torchrank.Batches((X, weights))")


def refuse_without_batches(**arguments: Any) -> None:
    """Raise ``ValueError`` for arguments that are for batches alone."""
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(f"{name} is for rows that come in batches; pass X=torchrank.Batches(X, batch_size)")


def _has_rows(X: Any) -> bool:
    """Whether this is an array of rows, of whatever kind."""
    arrays = ("shape", "__array__", "__dataframe__", "nnz", "precedes")
    return not isinstance(X, Batches) and (isinstance(X, Prepared) or any(hasattr(X, name) for name in arrays))


def _is_table(X: Any) -> bool:
    """Whether this is a table of rows, or one with what belongs to it."""
    if isinstance(X, (list, tuple)):
        return 1 <= len(X) <= 2 and not isinstance(X[0], (list, tuple)) and _is_table(X[0])
    return _has_rows(X) and len(getattr(X, "shape", ())) == 2


def _check_again(source: Any) -> None:
    if not hasattr(source, "__iter__") or isinstance(source, (str, bytes, Mapping)):
        raise TypeError(f"source is {type(source).__name__}; expected rows, or what can be iterated over for batches")
    if iter(source) is source:
        raise TypeError(
            f"source is {type(source).__name__}, which can be read once only; fits read all rows many times: "
            "pass a list, a DataLoader, or an object whose __iter__ starts anew"
        )


def _two(parts: Any, what: str) -> tuple[Any, Any]:
    if len(parts) != 2:
        raise ValueError(f"{what} has {len(parts)} parts; expected rankings and weights, or features and rankings")
    return parts[0], parts[1]


def _length(rows: Any) -> int:
    """How many rows there are; arrays of zarr have no length."""
    return int(rows.shape[0]) if hasattr(rows, "shape") and len(rows.shape) else len(rows)


def _cut(rows: Any, some: slice) -> Any:
    return rows.iloc[some] if hasattr(rows, "iloc") else rows[some]
