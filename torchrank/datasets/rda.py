"""Numbers and names out of R's data files (.rda, .RData), by the package rdata."""

import io
import lzma
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

_MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"RDX2\n", b"RDX3\n")  # gzip, bzip2, xz, not compressed


def import_rdata() -> ModuleType:
    """The package rdata.

    Raises:
        ImportError: it is not installed; the message says how to get it.
    """
    try:
        import rdata
    except ImportError as error:
        raise ImportError(
            "this data set is kept as an R data file; reading it needs the package rdata: pip install rdata"
        ) from error
    return rdata


def read_objects(path: Path) -> dict[str, Any]:
    """The R objects of a file by name, as rdata turns them into NumPy arrays, xarray arrays, data frames and dicts.

    Raises:
        ValueError: not an R data file, or not whole.
    """
    rdata = import_rdata()
    content = path.read_bytes()
    if not content.startswith(_MAGIC):
        raise ValueError(f"it is not an R data file; it starts with {content[:20]!r}")
    try:
        objects = rdata.read_rda(io.BytesIO(content), default_encoding="latin_1")
    except (NotImplementedError, EOFError, OSError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise ValueError(f"it is not a whole R data file ({error})") from error
    return {str(name): value for name, value in objects.items()}


def member(objects: Mapping[Any, Any], *keys: str) -> Any:
    """The object, or the member of a list in a list, with these names.

    Raises:
        ValueError: there is none.
    """
    value: Any = objects
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            raise ValueError(f"it holds no {'$'.join(keys)}")
        value = value[key]
    return value


def as_matrix(value: Any) -> np.ndarray:
    """float64 numbers of an R matrix or data frame, NaN for NA.

    Raises:
        ValueError: not a table of numbers.
    """
    if hasattr(value, "columns"):
        value = value.to_numpy(dtype=np.float64, na_value=np.nan)
    try:
        matrix = np.ma.filled(np.ma.asarray(getattr(value, "values", value), dtype=np.float64), np.nan)
    except TypeError as error:
        raise ValueError(f"it holds something else where a table of numbers was expected ({error})") from error
    if matrix.ndim != 2:
        raise ValueError(f"it holds numbers of shape {matrix.shape} where a table was expected")
    return matrix


def names_of(value: Any, axis: int) -> tuple[str, ...]:
    """Row (axis 0) or column (axis 1) names of an R matrix or data frame; none where it has none, or only 1, 2, ..."""
    if hasattr(value, "columns"):
        labels = value.columns if axis else value.index
    else:
        named = hasattr(value, "coords") and value.dims[axis] in value.coords
        labels = value.coords[value.dims[axis]] if named else ()
    names = as_strings(labels)
    return () if names == tuple(map(str, range(1, len(names) + 1))) else names


def as_strings(values: Any) -> tuple[str, ...]:
    """The entries of an R factor or vector as text without blanks around it; whole numbers without a point."""
    entries = np.atleast_1d(np.asarray(values))
    if np.issubdtype(entries.dtype, np.floating):
        return tuple(f"{entry:g}" for entry in entries)
    return tuple(str(entry).strip() for entry in entries)
