"""Files that are there whole or not at all, and say so."""

import errno
import glob
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_AGAIN = "call again with resume=True"  # after a full disk
_TRAILER = 8  # bytes behind the data: their number, and a checksum, four each


def write_whole(path: Path, write: Callable[[Any], None], again: str = _AGAIN) -> None:
    """Write a file aside, flush it to disk, and rename it: whoever looks finds all of it, or what was there before.

    Raises:
        OSError: it cannot be written; where the disk is full the message says what is left, and ``again`` what to do.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(aside, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
        sync_folder(path.parent)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise explained(error, path, again) from error


def remove_asides(path: Path) -> None:
    """Remove what killed processes left of writing a file whole, where none is at it now."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.[0-9]*"):
        if not _is_running(left.name.rpartition(".")[2]):
            left.unlink(missing_ok=True)


def _is_running(process: str) -> bool:
    """Whether another process of this machine has this number."""
    if os.name == "nt":  # where files that are open stay, and a signal would end the process
        return False
    try:
        os.kill(int(process), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except PermissionError:  # it is somebody else's
        return True
    return int(process) != os.getpid()


def explained(error: OSError, path: Path, again: str = _AGAIN) -> OSError:
    """What to say where there was no room for ``path``; other errors with its name, not that of a file aside."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return error if error.filename is None else OSError(error.errno, error.strerror, str(path))
    why = "files may not grow as large as" if error.errno == errno.EFBIG else "no space left to write"
    return OSError(
        error.errno,
        f"{why} {path}; what is finished stays: make room and {again}",
    )


def sync_all(path: Path) -> None:
    """Flush a file to disk, or a folder with all that is in it, the innermost first."""
    if path.is_dir():
        for part in path.iterdir():
            sync_all(part)
        sync_folder(path)
        return
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Flush what a folder holds, so that a renamed file has its name after a power failure too."""
    if os.name == "nt":  # which has no folders to open
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_block(path: Path, values: np.ndarray) -> None:
    """Write an array in C order with a checksum behind it, of its name too; see :func:`write_whole`."""
    data = np.ascontiguousarray(values)

    def write(file: Any) -> None:
        file.write(data.data)
        file.write(_trailer(data, path))

    write_whole(path, write)


def write_array(path: Path, values: np.ndarray) -> None:
    """Write an array as ``numpy.save`` does, which does not say that a disk is full; see :func:`write_whole`."""
    header = np.lib.format.header_data_from_array_1_0(values)

    def write(file: Any) -> None:
        np.lib.format.write_array_header_1_0(file, header)
        file.write(np.ascontiguousarray(values).data)

    write_whole(path, write)


def read_block(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray | None:
    """The array in a file, None if there is no such file, or not the whole of it, or something else."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(content) != int(np.prod(shape)) * dtype.itemsize + _TRAILER:
        return None
    values = np.frombuffer(content, dtype, count=int(np.prod(shape))).reshape(shape)
    return values if content[-_TRAILER:] == _trailer(values, path) else None


def _trailer(values: np.ndarray, path: Path) -> bytes:
    checksum = zlib.crc32(values.data, zlib.crc32(path.name.encode()))  # a block in the place of another is found too
    return (values.nbytes & 0xFFFFFFFF).to_bytes(4, "little") + checksum.to_bytes(4, "little")
