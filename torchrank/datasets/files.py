"""Text out of files on this machine: gzipped or not, whole or cut off."""

import codecs
import gzip
import re
import zlib
from pathlib import Path
from typing import Any, NamedTuple

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)  # a drive of Windows has one letter
_CHUNK = 2**20
_GZIPPED = b"\x1f\x8b"  # how such data begin


class Text(NamedTuple):
    """What a file holds."""

    file: str  # its name
    content: str
    cut: bool  # whether its compressed data, or its last character, ended too early; read only where that is asked for


def local_path(path: Any, name: str = "path") -> Path:
    """The path of a file or folder on this machine.

    Raises:
        ValueError: an address such as ``https://...``.
        TypeError: something that is no path.
    """
    try:
        local = Path(path)
    except TypeError:
        reader = "; torchrank.datasets.ranking_data takes data frames" if hasattr(path, "iloc") else ""
        raise TypeError(
            f"{name} is {type(path).__name__}; expected where a file lies, a text or a Path{reader}"
        ) from None
    if _ADDRESS.match(str(path)):
        raise ValueError(
            f"{name}={str(path)!r} is an address; expected a file on this machine. Download it first, for example with "
            "urllib.request.urlretrieve; published sets come by name, from fetch_apa, fetch_sushi, fetch_label_ranking "
            "and the other fetch_ functions of torchrank.datasets"
        )
    return local


def kind_of(path: Path) -> str:
    """The end of a file's name in small letters, such as ".soc", without the ".gz" of gzipped ones."""
    return (Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix).lower()


def read_text(path: Any, encoding: str, *, remedy: str, lenient: bool = False) -> Text:
    """The text of a file, gzipped if its name ends in ``.gz``, line ends as they are.

    Args:
        path: of the file.
        encoding: of the text.
        remedy: what to do about another encoding, for the message.
        lenient: read what there is of compressed data, or of a last character, that was cut off.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: an address in place of a path, another encoding or an unknown one, data that are not gzipped
            although the name says so, or that were cut off.
    """
    path = local_path(path)
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise ValueError(f"encoding={encoding!r} is unknown; expected one such as 'utf-8' or 'cp1252'") from None
    data, cut = _unzipped(path) if path.suffix.lower() == ".gz" else (path.read_bytes(), False)
    if cut and not lenient:
        raise ValueError(
            f"{path.name} was cut off: its compressed data end too early; get it again, or pass lenient=True to read "
            "what there is"
        )
    try:
        content = decoder.decode(data, final=not lenient)
    except UnicodeDecodeError as error:
        if data.startswith(_GZIPPED):
            raise ValueError(f"{path.name} is gzipped; give it a name that ends in .gz") from None
        raise ValueError(f"{path.name} is not in {encoding} ({error}); {remedy}") from error
    return Text(path.name, content, cut or bool(decoder.getstate()[0]))


def _unzipped(path: Path) -> tuple[bytes, bool]:
    """What a gzipped file holds, and whether it is cut off."""
    parts: list[bytes] = []
    try:
        with gzip.open(path) as file:
            while part := file.read1(_CHUNK):
                parts.append(part)
    except EOFError:
        return b"".join(parts), True
    except (zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path.name} is not gzipped, as its name says, or damaged ({error}); rename it, or get it again"
        ) from None
    return b"".join(parts), False
