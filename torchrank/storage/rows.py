"""Rows of blocks of a matrix in a file, each of which is safe once it is whole, flushed and marked."""

import zlib
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from torchrank.storage.files import write_whole
from torchrank.storage.forms import MatrixFile


class RowMarks:
    """Marks of the rows of a matrix that are on disk, in a folder: a file for each, with a checksum of each block.

    A row is flushed on another thread, while the next one is filled.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._thread: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a row is being flushed."""
        return self._last is not None and not self._last.done()

    def holds(self, matrix: MatrixFile, places: list[tuple[slice, slice]]) -> bool:
        """Whether a row, the blocks at these places, was flushed and is what it was then."""
        try:
            mark = self._path(places[0][0]).read_bytes()
        except FileNotFoundError:
            return False
        return mark == _mark(checksum(matrix[place]) for place in places)

    def add(self, matrix: MatrixFile, rows: slice, checksums: list[int], needless: Iterable[Path]) -> None:
        """Flush a row that is whole, mark it, and remove the files that it needs no longer, when the last one is done.

        Raises:
            OSError: what went wrong with the last one.
        """
        self.wait()
        self._thread = self._thread or ThreadPoolExecutor(1)
        self._last = self._thread.submit(self._add, matrix, rows, checksums, needless)

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

    def _add(self, matrix: MatrixFile, rows: slice, checksums: list[int], needless: Iterable[Path]) -> None:
        matrix.flush(rows)
        write_whole(self._path(rows), lambda file: file.write(_mark(checksums)))
        for path in needless:
            path.unlink(missing_ok=True)

    def _path(self, rows: slice) -> Path:
        return self._folder / f"{rows.start}.row"


def checksum(values: np.ndarray) -> int:
    """Of the bytes of a block."""
    data: Any = np.ascontiguousarray(values).data
    return zlib.crc32(data)


def _mark(checksums: Iterable[int]) -> bytes:
    return b"".join(found.to_bytes(4, "little") for found in checksums)
