"""Files from public sources into a cache: resumed where they broke off, checked before they are used."""

import hashlib
import os
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path, PureWindowsPath
from typing import TypeVar

from tqdm import tqdm

from torchrank._progress import progress_bar
from torchrank.datasets.files import local_path

Content = TypeVar("Content")

_CHUNK = 2**16
_ATTEMPTS = 4
_TIMEOUT = 30.0  # seconds without an answer
_FINAL = (400, 401, 403, 404, 410, 451)  # answers that another attempt will not change


@dataclass(frozen=True)
class RemoteFile:
    """A file of a data set.

    Attributes:
        name: what it is called in the cache, with folders where it lies in some.
        url: where it comes from; addresses name a commit, so that what they hold does not change.
        sha256: of its bytes; None where only what the file holds is checked, after it was read.

    Raises:
        ValueError: a name that leads out of the cache.
    """

    name: str
    url: str
    sha256: str | None = None

    def __post_init__(self) -> None:
        path = PureWindowsPath(self.name)  # knows the separators and drives of all systems
        if path.anchor or ".." in path.parts or not path.name:
            raise ValueError(
                f"name={self.name!r} of the file at {self.url} leads out of the cache; expected one such as 'apa/A.rda'"
            )


def cache_folder() -> Path:
    """The folder named by ``TORCHRANK_CACHE``, else ``torchrank`` in the user's cache folder."""
    named = os.environ.get("TORCHRANK_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "torchrank"


def obtain(
    file: RemoteFile,
    folder: str | Path | None = None,
    *,
    download: bool = True,
    progress: bool = True,
    wait: Callable[[float], None] = time.sleep,
) -> Path:
    """The path of a file that is there and whole, downloaded if need be; arguments and errors as for :func:`load`."""
    load(file, lambda path: None, folder, download=download, progress=progress, wait=wait)
    return _folder(folder) / file.name


def load(
    file: RemoteFile,
    read: Callable[[Path], Content],
    folder: str | Path | None = None,
    *,
    download: bool = True,
    progress: bool = True,
    wait: Callable[[float], None] = time.sleep,
) -> Content:
    """What ``read`` makes of a file that is there and whole, downloaded if need be.

    A download that breaks off goes on where it stopped, in this call or the next. A file with another checksum, or one
    that ``read`` refuses, is fetched anew and replaced, twice at most; what was there stays until the new one is right.

    Args:
        file: what is wanted.
        read: makes something of a path, or raises ``ValueError`` where the file is not the one it should be.
        folder: where it lies or shall lie; None means :func:`cache_folder`. A copy put there by hand is used.
        download: whether it may be fetched.
        progress: show a progress bar.
        wait: what to do for so many seconds before the next attempt.

    Raises:
        FileNotFoundError: it is not there and may not, or cannot, be fetched; the message says what to do by hand.
        ValueError: it is another file than expected, also after it was fetched anew.
    """
    path = _folder(folder) / file.name
    by_hand = f"get {file.url} by other means and put it at {path}"
    if path.is_file():
        try:
            return _checked(file, path, read)
        except ValueError as error:
            if not download:
                message = (
                    f"{path} is not the file it should be: {error}; delete it and allow the download, or {by_hand}"
                )
                raise ValueError(message) from error
    elif not download:
        raise FileNotFoundError(f"{path} is not there and download=False; {by_hand}")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    reason: ValueError | None = None
    for _ in range(2):
        _fetch(file.url, part, by_hand, progress, wait)
        try:
            content = _checked(file, part, read)
        except ValueError as error:
            reason = error
            part.unlink()
        else:
            part.replace(path)
            return content
    raise ValueError(
        f"{file.url} holds another file than expected: {reason}. It may have been changed, or something on the way, "
        f"such as a login page, answered in its place; nothing of it was kept. Try again later, or {by_hand}"
    ) from reason


def _folder(folder: str | Path | None) -> Path:
    return cache_folder() if folder is None else local_path(folder, "folder").expanduser()


def _checked(file: RemoteFile, path: Path, read: Callable[[Path], Content]) -> Content:
    """What ``read`` makes of the file at ``path``; ``ValueError`` if its checksum differs, or from ``read``."""
    found = None if file.sha256 is None else _sha256(path)
    if found != file.sha256:
        raise ValueError(f"its SHA-256 is {found}, not {file.sha256}")
    return read(path)


def _fetch(url: str, part: Path, by_hand: str, progress: bool, wait: Callable[[float], None]) -> None:
    """Fill ``part``, going on where it ends; several attempts, fewer after a final answer or without a network."""
    reason: object = None
    for attempt in range(_ATTEMPTS):
        if attempt:
            if progress:
                tqdm.write(f"{url}: {reason}; trying again in {2**attempt} s", file=sys.stderr)
            wait(2.0**attempt)
        try:
            return _append(url, part, progress)
        except urllib.error.HTTPError as error:
            reason = error
            if error.code == 416:  # nothing after the part's end: it belongs to another file
                part.unlink(missing_ok=True)
            elif error.code in _FINAL:
                break
        except urllib.error.URLError as error:  # no connection
            reason = error.reason
            if attempt and isinstance(reason, socket.gaierror):  # names are still not resolved: not online
                break
        except (OSError, HTTPException) as error:  # a timeout, an answer cut off
            reason = error
    raise FileNotFoundError(f"{url} cannot be fetched ({reason}); {by_hand}")


def _append(url: str, part: Path, progress: bool) -> None:
    """One attempt.

    Raises:
        OSError: the answer ended before its announced length, or announced one that is no number.
    """
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(
        url, headers={"User-Agent": "torchrank"} | ({"Range": f"bytes={have}-"} if have else {})
    )
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
        if have and answer.status != 206:  # the server starts from the beginning
            have = 0
        length = answer.headers.get("Content-Length")
        if length is not None and not (length.isascii() and length.isdigit()):
            raise OSError(f"it announces a Content-Length of {length!r}; expected a number of bytes")
        total = None if length is None else have + int(length)
        got = have + _copy(answer, part, "ab" if have else "wb", have, total, progress)
    if total is not None and got != total:
        raise OSError(f"{got} of {total} bytes arrived")


def _copy(answer: HTTPResponse, part: Path, mode: str, have: int, total: int | None, progress: bool) -> int:
    got = 0
    title = part.name.removesuffix(".part")
    with (
        part.open(mode) as file,
        progress_bar(title, "B", total=total, initial=have, unit_scale=True, progress=progress) as bar,
    ):
        while chunk := answer.read(_CHUNK):
            file.write(chunk)
            got += len(chunk)
            bar.update(len(chunk))
    return got


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
