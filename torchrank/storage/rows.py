"""Rows of blocks of a matrix in a file, each of which is safe once it is whole, flushed and marked."""

import zlib
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from torchrank.storage.files import write_whole
from torchrank.storage.forms import NumpyFile


class RowMarks:
    """Marks of the rows of a matrix that are on disk, in a folder: a file for each, with a checksum of the row.

    A row is flushed on another thread, while the next one is filled.
    """

    def __init__(self, folder: Path, form: NumpyFile) -> None:
        self._folder, self._form = folder, form
        self._thread: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a row is being flushed."""
        return self._last is not None and not self._last.done()

    def holds(self, matrix: np.ndarray, rows: slice) -> bool:
        """Whether a row was flushed and is what it was then."""
        try:
            return self._path(rows).read_bytes() == _mark(matrix[rows])
        except FileNotFoundError:
            return False

    def add(self, matrix: np.ndarray, rows: slice, needless: Iterable[Path]) -> None:
        """Flush a row that is whole, mark it, and remove the files that it needs no longer, when the last one is done.

        Raises:
            OSError: what went wrong with the last one.
        """
        self.wait()
        self._thread = self._thread or ThreadPoolExecutor(1)
        self._last = self._thread.submit(self._add, matrix, rows, needless)

    def wait(self) -> None:
        """Until no row is being flushed.

        Raises:
            OSError: it cannot be.
        """
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def close(self) -> None:
        """End the thread, when the row that is being flushed is."""
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None

    def _add(self, matrix: np.ndarray, rows: slice, needless: Iterable[Path]) -> None:
        self._form.flush(matrix, rows)
        mark = _mark(matrix[rows])
        write_whole(self._path(rows), lambda file: file.write(mark))
        for path in needless:
            path.unlink(missing_ok=True)

    def _path(self, rows: slice) -> Path:
        return self._folder / f"{rows.start}.row"


def _mark(values: np.ndarray) -> bytes:
    data: Any = values.data
    return zlib.crc32(data).to_bytes(4, "little") + values.nbytes.to_bytes(8, "little")
