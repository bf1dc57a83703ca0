"""What the fetch functions read: files at public addresses that name a commit, checked by digests of their numbers."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from torchrank.datasets.download import RemoteFile, load


class Table(NamedTuple):
    """What a file holds: numbers, and the names of their rows and columns where it has them."""

    values: np.ndarray
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """A file of a public repository.

    Attributes:
        name: what it is called in the cache.
        repository: owner and name on GitHub.
        commit: the version, in which the file cannot change.
        path: of the file in the repository.
        digest: of the numbers read from it, see :func:`digest`.
        dtype: in which they are compared; float32 where the digest was taken of numbers rounded to it.
    """

    name: str
    repository: str
    commit: str
    path: str
    digest: str
    dtype: str = "<f8"


@dataclass(frozen=True)
class Place:
    """Where files lie or shall lie, and whether they may be fetched; the arguments that all fetch functions share."""

    folder: str | Path | None
    download: bool
    progress: bool

    def get(self, source: Source, read: Callable[[Path], Table]) -> Table:
        """What ``read`` makes of the file of a source.

        Raises:
            FileNotFoundError, ValueError: as :func:`torchrank.datasets.download.load`; also where the numbers read
                have another digest than those that were published.
        """

        def checked(path: Path) -> Table:
            table = read(path)
            found = digest(table.values, source.dtype)
            if found != source.digest:
                raise ValueError(f"the SHA-256 of its numbers is {found}, not {source.digest}")
            return table

        file = RemoteFile(source.name, address(source.repository, source.commit, source.path))
        return load(file, checked, self.folder, download=self.download, progress=self.progress)


def address(repository: str, commit: str, path: str) -> str:
    """Where a file of a public repository can be fetched."""
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"


def digest(values: np.ndarray, dtype: str = "<f8") -> str:
    """SHA-256 of the shape and the numbers of a matrix, after rounding to ``dtype``; 0 and -0 count as the same.

    Unlike one of a file's bytes it does not depend on line endings, compression or how numbers are written.
    """
    numbers = np.ascontiguousarray(np.asarray(values, dtype=dtype) + 0.0, dtype=dtype)
    return hashlib.sha256(repr(numbers.shape).encode() + numbers.tobytes()).hexdigest()


def characters(names: tuple[str, ...]) -> np.ndarray:
    """Names as numbers, of which a digest can be taken: the UTF-8 bytes, one name a line."""
    return np.frombuffer("\n".join(names).encode(), dtype=np.uint8)
