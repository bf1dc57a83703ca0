"""What a matrix on disk is: its blocks, and in a file of JSON shape, arguments and a digest of the input."""

import json
from pathlib import Path
from typing import Any, Protocol


class Part(Protocol):
    """A block of a matrix."""

    @property
    def rows(self) -> slice:
        """Its rows."""
        ...

    @property
    def columns(self) -> slice:
        """Its columns."""
        ...

    @property
    def mirrored(self) -> bool:
        """Whether the transposed block holds the same numbers and is no block of its own."""
        ...


def shape_of(part: Part) -> tuple[int, int]:
    """Rows and columns of a block."""
    return part.rows.stop - part.rows.start, part.columns.stop - part.columns.start


def read_plan(path: Path) -> dict[str, Any] | None:
    """The plan in a file, None if there is no file.

    Raises:
        ValueError: something else.
    """
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{path} is damaged ({error}); remove {path.parent} to begin anew, or give another name"
        ) from error


def differences(there: dict[str, Any], wanted: dict[str, Any], within: str = "") -> str:
    """What differs between two plans, with both values, arguments one by one."""
    found = []
    for key in sorted(there.keys() | wanted.keys()):
        its, ours = there.get(key), wanted.get(key)
        if isinstance(its, dict) and isinstance(ours, dict) and its != ours:
            found.append(differences(its, ours, f"{within}{key}: "))
        elif its != ours:
            values = " (X, Y)" if key == "input" else f" {its!r} and not {ours!r}"  # of input there are digests
            found.append(f"{within}{key}{values}")
    return ", ".join(found)


_FREE = {  # what somebody may call with otherwise, and have the same matrix
    "block": "block={}",
    "workspace": "workspace={}",
    "threads": "after torch.set_num_threads({})",
}


def to_agree(there: dict[str, Any], wanted: dict[str, Any]) -> str:
    """How to go on with what is there, where nothing but the way of computing differs; else nothing."""
    keys = [key for key in wanted if there.get(key) != wanted[key]]
    if there.keys() != wanted.keys() or not set(keys) <= _FREE.keys():
        return ""
    return f"call with {', '.join(_FREE[key].format(there[key]) for key in keys)} to have it, or "
