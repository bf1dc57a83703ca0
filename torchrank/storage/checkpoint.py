"""What a fit has reached, in one file, so that a fit that was ended goes on from there."""

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import torch

from torchrank._version import __version__
from torchrank.processes import Group, rank_of, refuse_different, together
from torchrank.storage.files import remove_asides, write_whole
from torchrank.storage.plan import differences

_FORMAT = 3
_DIGEST = 32  # bytes behind the state, a digest of it


class Checkpoint:
    """A file with the state of a fit, written aside, flushed to disk and renamed: it is whole at any time.

    A digest behind the state tells when the file was changed since.

    Args:
        path: of the file; None keeps nothing.
        plan: what is fitted to what, in numbers, words, None, and dictionaries of them.
        group: processes that fit together, of which the first writes.

    Raises:
        TypeError: what is no name of a file.
        FileNotFoundError: its folder is not there.
        IsADirectoryError: it is a folder.
        PermissionError: its folder may not be written to.
        ValueError: it is a device, or the like.
    """

    def __init__(self, path: Any, plan: dict[str, Any], group: Group = None) -> None:
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"checkpoint is {type(path).__name__}; expected the name of a file, or None")
        self.path = None if path is None else Path(os.path.realpath(path))  # a link stays one
        self.group = group
        if self.path is not None and not self.path.parent.is_dir():  # rather than after the first pass
            raise FileNotFoundError(f"checkpoint={str(path)!r}: the folder {self.path.parent} is not there; make it")
        if self.path is not None and self.path.is_dir():
            raise IsADirectoryError(f"checkpoint={str(path)!r} is a folder; give the name of a file in it")
        if self.path is not None and self.path.exists() and not self.path.is_file():
            raise ValueError(f"checkpoint={str(path)!r} is no regular file, but a device; give another name")
        if self.path is not None and not os.access(self.path.parent, os.W_OK):
            raise PermissionError(f"checkpoint={str(path)!r}: the folder {self.path.parent} may not be written to")
        self.plan = {"torchrank": __version__, "format": _FORMAT, **plan}

    def load(self, generator: torch.Generator | None, max_iter: int) -> dict[str, Any] | None:
        """The state that was saved last, None if there is none.

        The generator, torch's own for None, is brought to where it was then.

        Raises:
            ValueError: the file has another fit, one of more than ``max_iter`` iterations by its "trace", or no fit; or
                processes of the group find different ones.
        """
        with together(self.group):
            found = None if self.path is None else self._read(self.path)
        refuse_different({"checkpoint": None if found is None else found["n_saved"]}, self.group)
        self.n_saved = 0 if found is None else found["n_saved"]
        if found is None:
            return None
        reached = len(found["state"]["trace"])
        if reached > max_iter:
            raise ValueError(
                f"max_iter={max_iter} is less than the {reached} iterations after which {self.path} was saved; raise "
                "it, or give another name"
            )
        _source(generator).set_state(found["generator"])
        return found["state"]

    def save(self, state: dict[str, Any], generator: torch.Generator | None) -> None:
        """Keep a state of tensors, numbers, words, and lists and dictionaries of them.

        Raises:
            OSError: the disk is full; the last state stays.
        """
        if self.path is None:
            return
        self.n_saved += 1
        with together(self.group):
            if rank_of(self.group) == 0:
                buffer = io.BytesIO()
                whole = {"plan": self.plan, "state": state, "n_saved": self.n_saved}
                whole["generator"] = _source(generator).get_state()
                torch.save(whole, buffer)
                content = buffer.getvalue()
                whole_file = content + hashlib.sha256(content).digest()
                write_whole(self.path, lambda file: file.write(whole_file), again="call again with this checkpoint=")
                remove_asides(self.path)

    def _read(self, path: Path) -> dict[str, Any] | None:
        if not path.exists():
            return None
        content = path.read_bytes()
        state, digest = content[:-_DIGEST], content[-_DIGEST:]
        if hashlib.sha256(state).digest() != digest:
            raise ValueError(f"{path} is no checkpoint of a fit, or was changed since; remove it, or give another name")
        found = torch.load(io.BytesIO(state), map_location="cpu", weights_only=True)
        if found["plan"] != self.plan:
            raise ValueError(
                f"{path} is the checkpoint of another fit, which differs in {differences(found['plan'], self.plan)}; "
                "remove the file, or give another name"
            )
        return found


def _source(generator: torch.Generator | None) -> torch.Generator:
    return torch.default_generator if generator is None else generator
