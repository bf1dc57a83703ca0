"""The one way in and the one way out: whatever numbers come in become a tensor, without a change that nobody sees."""

import math
import numbers
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from torchrank.rankings.forms import reader_of, refuse_long_table
from torchrank.rankings.names import check_same_items, columns_of, index_of, names_in_series

Matrix: TypeAlias = Any  # within: what came in decides what goes out, as torchrank.typing says to callers


class Origin(NamedTuple):
    """Where numbers came from, which decides what results look like."""

    numpy: bool  # from an array, a list or a data frame, and not from a tensor
    rows: Any = None  # names of the rankings, and of those of Y: of a data frame or a data set
    rows_y: Any = None
    items: Any = None  # names of the columns
    frame: bool = False  # whether it was a data frame that had them, so that results have names too

    @classmethod
    def of(cls, *inputs: Any) -> "Origin":
        """That of several inputs: one tensor among them makes the result one."""
        return cls(not any(isinstance(x, Tensor) for x in inputs))

    def joint(self, other: "Origin", name: str = "X", its: str = "Y") -> "Origin":
        """That of both; ``other`` is the second side of a matrix.

        Raises:
            ValueError: the items of both have names, and these are not the same.
        """
        check_same_items(self.items, other.items, name, its)
        items = self.items if self.items is not None else other.items
        return Origin(self.numpy and other.numpy, self.rows, other.rows, items, self.frame or other.frame)

    @property
    def default_dtype(self) -> torch.dtype:
        """The dtype of real results of integers."""
        return torch.float64 if self.numpy else torch.get_default_dtype()

    def wrap(self, result: Tensor) -> Matrix:
        """A result as the caller's kind of array."""
        return to_numpy(result) if self.numpy else result

    def named(self, result: Tensor, *axes: str) -> Matrix:
        """A result as the caller's kind of array; where a data frame came in, as a series or a frame with its names.

        ``axes`` say whose names those of each dimension are: "rows", "rows_y" or "items".
        """
        names = [getattr(self, axis) for axis in axes]
        if not (self.numpy and self.frame) or result.ndim != len(axes) or all(name is None for name in names):
            return self.wrap(result)
        import pandas  # which made the data frame

        if len(axes) == 1:
            return pandas.Series(to_numpy(result), index=names[0])
        return pandas.DataFrame(to_numpy(result), index=names[0], columns=names[1])

    def gram(self, result: Tensor, *, symmetric: bool) -> Matrix:
        """A matrix between rows and those of Y, or, if ``symmetric``, the same rows; see :meth:`named`."""
        return self.named(result, "rows", "rows" if symmetric else "rows_y")

    def of_rows(self, rows: Any) -> "Origin":
        """That of some rows, by a slice or indices."""
        return self if self.rows is None else self._replace(rows=self.rows[rows])

    def of_data_set(self, data: Any) -> "Origin":
        """That of the scores of a data set, with its names."""
        return self._replace(rows=np.array(data.rankers, dtype=object) if data.rankers else None, items=data.items)


_NUMBERS = "real numbers or bool"
_EXACT = 2**53  # integers up to here are exact in float64


def as_tensor(
    values: Any, name: str, expected: str = _NUMBERS, *, ordinal: bool = False, apart: bool = False
) -> tuple[Tensor, Origin]:
    """Numbers in any container as a tensor, and where they came from.

    Integers stay the integers they are: those of lists, data frames and arrays of objects too, in which NumPy would
    round them to float64. Values missing in a data frame are NaN.

    Args:
        values: a tensor, a list of tensors of one shape, or what NumPy makes an array of.
        name: what to call them in messages.
        expected: what should have come, for messages.
        ordinal: whether nothing but order counts. Then what no dtype of torch holds, such as large integers beside NaN,
            is numbered in its order; else it is rounded to float64.
        apart: whether differences in rows count alone, so that large integers beside NaN lose a common part of theirs
            where float64 would round them.

    Raises:
        TypeError: complex, quantized, sparse, nested or masked values, words, dates, or other objects.
        ValueError: rows of different lengths; with ``apart``, integers whose differences float64 would round.
    """
    if isinstance(values, (list, tuple)) and len(values) and all(isinstance(part, Tensor) for part in values):
        values = _stacked(values, name)
    if not isinstance(values, Tensor):
        if isinstance(values, (Mapping, Set, Iterator)):
            raise TypeError(f"{name} is a {type(values).__name__}; expected {expected}{reader_of(values)}")
        refuse_long_table(values, name)
        array = as_array(values, name, expected)
        try:
            tensor = from_array(array, name, expected, ordinal=ordinal, apart=apart)
        except TypeError as error:
            raise TypeError(f"{error}{reader_of(values)}") from None
        columns = columns_of(values)
        framed = columns is not None
        items = columns if framed else names_in_series(values, name)
        return tensor, Origin(True, index_of(values) if framed else None, None, items, framed)
    if isinstance(values, torch.masked.MaskedTensor):
        raise TypeError(f"{name} is a masked tensor, whose mask would be lost; pass {name}.to_tensor(torch.nan)")
    if values.is_complex() or values.is_quantized:
        raise TypeError(f"{name} has dtype {values.dtype}; expected {expected}")
    if values.is_nested:
        raise TypeError(f"{name} is a nested tensor; pass {name}.to_padded_tensor(torch.nan)")
    if values.layout != torch.strided:
        raise TypeError(f"{name} has layout {values.layout}; pass a dense tensor, {name}.to_dense()")
    return values, Origin(numpy=False)


def is_data_set(X: object) -> bool:
    """Whether this is a data set of rankings, :class:`torchrank.datasets.RankingData`, whose scores count."""
    return hasattr(X, "scores") and hasattr(X, "weights") and not hasattr(X, "__array__")  # unlike a data frame


def _stacked(parts: Any, name: str) -> Tensor:
    shapes = [tuple(part.shape) for part in parts]
    if len(set(shapes)) > 1:
        raise ValueError(f"{name} is a list of tensors of shapes {shapes}; expected one shape")
    kinds = {(part.dtype, part.device, part.layout) for part in parts}
    if len(kinds) > 1:
        kinds = sorted(f"{dtype} on {device}" for dtype, device, _ in kinds)
        raise TypeError(f"{name} is a list of tensors of different kinds, {', '.join(kinds)}; expected one")
    return torch.stack([*parts])


def as_array(values: Any, name: str, expected: str = _NUMBERS) -> Any:
    """``values`` as an array of whatever dtype, integers unrounded; ``ValueError`` if rows have different lengths."""
    refuse_masks(values, name)
    if hasattr(values, "precedes"):
        raise TypeError(
            f"{name} are partial orders, which only fit_mallows and the module MallowsMixture take; expected {expected}"
        )
    if is_sparse_matrix(values):
        raise TypeError(
            f"{name} is a sparse matrix of SciPy; pass {name}.toarray(), in which what is not stored is 0, and put NaN "
            "there if it is unranked"
        )
    try:
        array = np.asarray(values)
        if array.dtype == np.float64 and not isinstance(values, (np.ndarray, np.generic)) and _may_be_rounded(array):
            exact = values.astype(object) if hasattr(values, "astype") else values  # a data frame, column by column
            return np.asarray(exact, dtype=object)
        return array
    except ValueError as error:
        raise ValueError(f"{name} does not hold {expected} ({error})") from None


def is_sparse_matrix(X: object) -> bool:
    """Whether this is a matrix of ``scipy.sparse`` or a sparse tensor."""
    if isinstance(X, Tensor):
        return X.layout != torch.strided and not X.is_nested
    return hasattr(X, "nnz") and hasattr(X, "tocoo")


def refuse_masks(values: Any, name: str) -> None:
    """Raise ``TypeError`` for masked arrays, also in lists: NumPy would forget their masks."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask would be lost; pass {name}.astype(float).filled(np.nan)")
    if isinstance(values, Sequence) and not isinstance(values, str):
        for part in values:
            if isinstance(part, Sequence) and not isinstance(part, str):
                refuse_masks(part, name)
            elif isinstance(part, np.ma.MaskedArray):
                raise TypeError(
                    f"{name} has a masked array in it, whose mask would be lost; "
                    "fill it in, .astype(float).filled(np.nan)"
                )


def _may_be_rounded(array: np.ndarray) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(np.any(np.abs(array) >= _EXACT))


def from_array(
    array: np.ndarray, name: str, expected: str = _NUMBERS, *, ordinal: bool = False, apart: bool = False
) -> Tensor:
    """A real array of any layout and byte order as a tensor, sharing memory where torch can; see :func:`as_tensor`."""
    if array.dtype.kind == "O":
        array = _from_objects(array, name, expected, ordinal=ordinal, apart=apart)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {array.dtype}; expected {expected}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind in "iu":
        array = array.view(f"{array.dtype.kind}{array.dtype.itemsize}")  # torch does not know C's long long by its name
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = _numbered(array.ravel().tolist(), array.shape) if ordinal else array.astype(np.float64)
    if not array.flags.writeable or any(stride < 0 or stride % array.itemsize for stride in array.strides):
        array = array.copy()  # torch shares memory only with writable arrays that run forwards in whole items
    return torch.from_numpy(array)


def _from_objects(array: np.ndarray, name: str, expected: str, *, ordinal: bool, apart: bool) -> np.ndarray:
    """Objects that are numbers, or missing in a data frame, as an array of a dtype that torch has."""
    objects = array.ravel().tolist()
    for place, value in enumerate(objects):
        if type(value).__name__ == "NAType":  # of pandas, which need not be installed
            objects[place] = np.nan
        elif not isinstance(value, (numbers.Real, np.bool_)):
            where = tuple(int(i) for i in np.unravel_index(place, array.shape))
            raise TypeError(f"{name} has dtype object, with {value!r} at {where}; expected {expected}")
    if all(isinstance(value, (numbers.Integral, np.bool_)) for value in objects):
        low, high = min(objects, default=0), max(objects, default=0)
        for dtype in (np.int64, np.uint64):
            if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
                return np.array([int(value) for value in objects], dtype).reshape(array.shape)
    if ordinal and any(abs(int(value)) >= _EXACT for value in objects if isinstance(value, numbers.Integral)):
        return _numbered(objects, array.shape)
    if apart and array.ndim:
        objects = _apart(objects, array.shape, name)
    return np.array([_as_float(value) for value in objects]).reshape(array.shape)


TOO_FAR_APART = (
    "has integers in row {row} that float64 does not hold, nor their differences from the least; where differences of "
    "scores count, that would merge some: divide them, or pass floating-point numbers"
)


def _apart(objects: list[Any], shape: tuple[int, ...], name: str) -> list[Any]:
    """Numbers by rows, less the least of a row where float64 would round its integers."""
    found = []
    for start in range(0, len(objects), max(1, shape[-1])):
        row = objects[start : start + shape[-1]]
        if not all(map(_is_exact, row)):
            known = [value for value in row if value == value]
            whole = all(isinstance(value, numbers.Integral) for value in known)
            least = min(int(value) for value in known) if whole else 0
            row = [int(value) - least if isinstance(value, numbers.Integral) else value for value in row]
            if not all(map(_is_exact, row)):
                place = np.unravel_index(start // shape[-1], shape[:-1]) if len(shape) > 1 else (0,)
                where = ", ".join(str(int(i)) for i in place)
                raise ValueError(f"{name} {TOO_FAR_APART.format(row=where)}")
        found += row
    return found


def _is_exact(value: Any) -> bool:
    """Whether float64 holds a number, if it is an integer."""
    return not isinstance(value, numbers.Integral) or _as_float(value) == int(value)


def _as_float(value: Any) -> float:
    """A real number in float64; infinite where it is an integer beyond the largest."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _numbered(values: list[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of any precision by their places in order, which is kept exactly; NaN stays NaN."""
    places = {value: place for place, value in enumerate(sorted({value for value in values if value == value}))}
    return np.array([places.get(value, np.nan) for value in values]).reshape(shape)


def to_numpy(result: Tensor) -> np.ndarray:
    """A result as a NumPy array, gradients dropped."""
    return result.detach().cpu().numpy()
