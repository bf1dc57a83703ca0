"""What a finished matrix is on disk: a file for NumPy, or a folder for zarr."""

import mmap
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np


class Layout(NamedTuple):
    """What a matrix looks like."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    block: int  # rows and columns of a block, but for the last ones


class Form(Protocol):
    """How a matrix is kept when it is finished."""

    by_rows: bool  # whether rows are together on disk, so that some of them can be flushed, and found again

    def check(self) -> None:
        """Raise ``ImportError`` where a package is missing, before anything is computed."""
        ...

    def make(self, path: Path, layout: Layout) -> Any:
        """A matrix to be filled with ``matrix[rows, columns] = values``; the caller flushes ``path``."""
        ...

    def load(self, path: Path) -> Any:
        """The matrix, to be read from the disk."""
        ...


class NumpyFile:
    """A file in the format of ``numpy.save``."""

    by_rows = True

    def check(self) -> None:
        """There is nothing to miss."""

    def make(self, path: Path, layout: Layout) -> "MatrixFile":
        """See :class:`Form`."""
        if min(layout.shape):
            mapped = np.lib.format.open_memmap(path, "w+", layout.dtype, layout.shape)
        else:  # nothing of which can be mapped
            mapped = np.empty(layout.shape, layout.dtype)
            np.save(path, mapped)
        return MatrixFile(path, mapped)

    def load(self, path: Path) -> np.ndarray:
        """The file, mapped into memory."""
        return np.load(path, mmap_mode="r")

    def reopen(self, path: Path, layout: Layout) -> "MatrixFile | None":
        """A matrix that was made before, to be filled; None where there is none of this layout."""
        try:
            mapped = np.load(path, mmap_mode="r+")
            matrix = MatrixFile(path, mapped)  # of a file that was cut NumPy makes a whole one
        except (OSError, ValueError, EOFError):
            return None
        return matrix if (mapped.shape, mapped.dtype) == (layout.shape, layout.dtype) else None


class MatrixFile:
    """A matrix in a file for NumPy, to be filled: read through its mapping, and written by calls.

    To write a page of a mapping for the first time takes several times as long as a call does that brings the bytes.
    Where there is no such call, on Windows, the mapping is written.
    """

    def __init__(self, path: Path, mapped: np.ndarray) -> None:
        _reserve(path)
        self._mapped: Any = mapped
        self._file: Any = path.open("rb+", buffering=0) if hasattr(os, "pwrite") else None  # closed with the object

    def __getitem__(self, place: tuple[slice, slice]) -> np.ndarray:
        return np.ascontiguousarray(self._mapped[place])

    def __setitem__(self, place: tuple[slice, slice], values: np.ndarray) -> None:
        if self._file is None:
            self._mapped[place] = values
            return
        rows, columns = place
        whole: Any = np.ascontiguousarray(values)
        data = memoryview(whole).cast("B")
        size = data.nbytes // len(values)
        start = self._mapped.offset + columns.start * self._mapped.itemsize
        for k, row in enumerate(range(rows.start, rows.stop)):
            _write_at(self._file.fileno(), data[k * size : (k + 1) * size], start + row * self._mapped.strides[0])

    def flush(self, rows: slice) -> None:
        """Flush some rows to disk, and nothing else that is not there yet."""
        first, last = (self._mapped.offset + row * self._mapped.strides[0] for row in (rows.start, rows.stop))
        first -= first % mmap.ALLOCATIONGRANULARITY
        self._mapped.base.flush(first, last - first)

    def flush_all(self) -> None:
        """Flush what was written through the mapping, which flushing the file does not do on every system."""
        if isinstance(self._mapped, np.memmap):
            self._mapped.flush()


class ZarrFolder:
    """A zarr array, version 3 of the format: a chunk a block, compressed, each with a checksum that reading tests."""

    by_rows = False

    def check(self) -> None:
        """See :class:`Form`.

        Raises:
            ImportError: zarr is not installed, or one that writes older formats only.
        """
        remedy = "pip install 'zarr>=3.1', which needs Python 3.11 or newer; or give a name that ends in .npy"
        try:
            import zarr
        except ImportError as error:
            raise ImportError(f"a matrix in a .zarr folder needs the package zarr: {remedy}") from error
        if int(zarr.__version__.split(".")[0]) < 3:
            raise ImportError(f"a matrix in a .zarr folder needs zarr 3, and this is {zarr.__version__}: {remedy}")

    def make(self, path: Path, layout: Layout) -> Any:
        """See :class:`Form`."""
        import zarr
        from zarr.codecs import Crc32cCodec, ZstdCodec

        create: Any = zarr.create_array
        return create(
            store=str(path),
            shape=layout.shape,
            chunks=tuple(max(1, min(layout.block, size)) for size in layout.shape),
            dtype=layout.dtype,
            compressors=[ZstdCodec(level=1), Crc32cCodec()],
            fill_value=float("nan"),  # of a chunk that is gone
            config={"write_empty_chunks": True},  # chunks of -0.0 would come back as 0.0
        )

    def load(self, path: Path) -> Any:
        """The array, opened to read."""
        import zarr

        return zarr.open_array(str(path), mode="r")


FORMS: dict[str, Form] = {".npy": NumpyFile(), ".zarr": ZarrFolder()}  # by the end of the name


def form_of(path: Path) -> Form:
    """The form that the end of a name asks for.

    Raises:
        ValueError: another end.
    """
    if path.suffix not in FORMS:
        raise ValueError(
            f"out={str(path)!r} does not end in {' or '.join(FORMS)}; expected the name of a file for NumPy, or of a "
            "folder for zarr"
        )
    return FORMS[path.suffix]


def remove(path: Path) -> None:
    """Take a file or a folder away, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write_at(descriptor: int, data: memoryview, start: int) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], start + done)


def _reserve(path: Path) -> None:
    """Take the room on disk: a mapped file that finds none while it is written ends the process."""
    if hasattr(os, "posix_fallocate"):
        with open(path, "rb+") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
