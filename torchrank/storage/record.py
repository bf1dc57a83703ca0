"""By what finished files are known again: a file beside them."""

import hashlib
import json
from pathlib import Path
from typing import Any

from torchrank.storage.files import remove_asides, write_whole
from torchrank.storage.plan import differences, to_agree


class Record:
    """The plan of some files, and once they are finished their sizes and times.

    Args:
        path: of the record.
        files: what it speaks of, files or folders.
    """

    def __init__(self, path: Path, *files: Path) -> None:
        self.path, self.files = path, files

    def holds(self, plan: dict[str, Any]) -> bool:
        """Whether the files are those of this plan, as they were when they were finished."""
        try:
            return self._read() == {"plan": plan, "files": self._stamps()}
        except (OSError, ValueError):  # of a file that is not there, or no record
            return False

    def is_foreign(self) -> bool:
        """Whether somebody else's file has its name."""
        try:
            return self._read().keys() != {"plan", "files"}
        except FileNotFoundError:
            return False
        except (OSError, ValueError, AttributeError):
            return True

    def begin(self, plan: dict[str, Any]) -> None:
        """Say of what the files will be, before they are written one after the other."""
        self._write({"plan": plan, "files": {}})

    def write(self, plan: dict[str, Any]) -> None:
        """Say that the files are there, and remove what a killed process left of saying so."""
        self._write({"plan": plan, "files": self._stamps()})
        remove_asides(self.path)

    def objection(self, plan: dict[str, Any]) -> str | None:
        """Which of the files that are there is not taken for one of a plan, why, and what to do; None if there is none.

        Those of a plan that was begun are taken.
        """
        there = [path for path in self.files if path.exists()]
        if not there:
            return None
        try:
            record = self._read()
            its, stamps = record["plan"], record["files"]
            differ, agree = differences(its, plan), to_agree(its, plan)
            changed = [path for path in there if stamps and stamps.get(path.name) != stamp(path)]
        except (OSError, ValueError, TypeError, LookupError, AttributeError):
            what = "it is" if len(there) == 1 else "they are"
            return f"{_named(there)}, and no {self.path.name} that says what {what}; {_remedy(there)}"
        if differ:
            return f"{_named(there)}, of another matrix, which differs in {differ}; {agree}{_remedy(there)}"
        if not changed:
            return None
        return changed_since(changed[0], _remedy(there))

    def _read(self) -> Any:
        return json.loads(self.path.read_text(encoding="utf-8"))

    def _write(self, content: dict[str, Any]) -> None:
        text = json.dumps(content, indent=1, sort_keys=True).encode()
        write_whole(self.path, lambda file: file.write(text))

    def _stamps(self) -> dict[str, Any]:
        return {path.name: stamp(path) for path in self.files}


def changed_since(path: Path, remedy: str = "remove it, or give another name") -> str:
    """What to say of a file that is not as it was when it was finished."""
    found = "is not as it was when it was finished: it was changed, copied or touched"
    return f"{path} is there already, and {found}; {remedy}"


def _named(there: list[Path]) -> str:
    names = " and ".join([str(there[0]), *(path.name for path in there[1:])])
    return f"{names} {'is' if len(there) == 1 else 'are'} there already"


def _remedy(there: list[Path]) -> str:
    return f"remove {'it' if len(there) == 1 else 'both'}, or give another name"


def stamp(path: Path) -> dict[str, Any]:
    """Size and time of a file, or of all files of a folder."""
    if not path.is_dir():
        stat = path.stat()
        return {"bytes": stat.st_size, "nanoseconds": stat.st_mtime_ns}
    found = hashlib.sha256()
    files = sorted(part for part in path.rglob("*") if part.is_file())
    for part in files:
        stat = part.stat()
        found.update(f"{part.relative_to(path).as_posix()} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return {"files": len(files), "digest": found.hexdigest()}
