"""What a fit has reached, in one file, so that a fit that was ended goes on from there."""

import io
import os
from pathlib import Path
from typing import Any

import torch

from torchrank._version import __version__
from torchrank.processes import Group, rank_of, refuse_different, together
from torchrank.storage.files import write_whole

_FORMAT = 1


class Checkpoint:
    """A file with the state of a fit, written aside, flushed to disk and renamed: it is whole at any time.

    Args:
        path: of the file; None keeps nothing.
        plan: what is fitted to what, in numbers, words and None.
        group: processes that fit together, of which the first writes.

    Raises:
        TypeError: what is no name of a file.
        FileNotFoundError: its folder is not there.
    """

    def __init__(self, path: Any, plan: dict[str, Any], group: Group = None) -> None:
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"checkpoint is {type(path).__name__}; expected the name of a file, or None")
        self.path, self.group = None if path is None else Path(path), group
        if self.path is not None and not self.path.parent.is_dir():  # rather than after the first pass
            raise FileNotFoundError(f"checkpoint={str(path)!r}: the folder {self.path.parent} is not there; make it")
        self.plan = {"torchrank": __version__, "format": _FORMAT, **plan}

    def load(self, generator: torch.Generator | None) -> dict[str, Any] | None:
        """The state that was saved last, None if there is none; the generator is brought to where it was then.

        Raises:
            ValueError: the file has another fit, or no fit; or processes of the group find different ones.
        """
        with together(self.group):
            found = None if self.path is None else self._read(self.path)
        refuse_different({"checkpoint": None if found is None else found["n_saved"]}, self.group)
        self.n_saved = 0 if found is None else found["n_saved"]
        if found is None:
            return None
        if generator is not None:
            generator.set_state(found["generator"])
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
                source = torch.default_generator if generator is None else generator
                whole = {"plan": self.plan, "state": state, "n_saved": self.n_saved, "generator": source.get_state()}
                torch.save(whole, buffer)
                write_whole(self.path, lambda file: file.write(buffer.getbuffer()))

    def _read(self, path: Path) -> dict[str, Any] | None:
        if not path.exists():
            return None
        content = path.read_bytes()
        try:
            found = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        except Exception as error:  # whatever the bytes make of it
            raise ValueError(f"{path} is no checkpoint of a fit ({error}); remove it, or give another name") from error
        there = found.get("plan", {}) if isinstance(found, dict) else {}
        different = sorted(key for key in there.keys() | self.plan.keys() if there.get(key) != self.plan.get(key))
        if different:
            raise ValueError(
                f"{path} is the checkpoint of another fit, which differs in "
                + ", ".join(f"{key}: {there.get(key)!r} and not {self.plan.get(key)!r}" for key in different)
                + "; remove the file, or give another name"
            )
        return found
