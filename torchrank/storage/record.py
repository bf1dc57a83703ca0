"""By what a finished matrix is known again: a file beside it."""

import glob
import hashlib
import json
from pathlib import Path
from typing import Any

from torchrank.storage.files import write_whole
from torchrank.storage.plan import differences, to_agree

_REMEDY = "remove it, or give another name"


class Record:
    """The plan of a finished matrix, and sizes and times of its files, in ``target`` + ".json"."""

    def __init__(self, target: Path) -> None:
        self.target, self.path = target, target.with_name(target.name + ".json")

    def holds(self, plan: dict[str, Any]) -> bool:
        """Whether the matrix is the one of this plan, as it was when it was finished."""
        try:
            return self._read() == self._of(plan)
        except (OSError, ValueError):  # of a file that is not there, or no record
            return False

    def is_foreign(self) -> bool:
        """Whether somebody else's file has its name."""
        try:
            return self._read().keys() != {"plan", "file"}
        except FileNotFoundError:
            return False
        except (OSError, ValueError, AttributeError):
            return True

    def write(self, plan: dict[str, Any]) -> None:
        """Say that the matrix is there, and remove what a killed process left of saying so."""
        text = json.dumps(self._of(plan), indent=1, sort_keys=True).encode()
        write_whole(self.path, lambda file: file.write(text))
        for left in self.path.parent.glob(f".{glob.escape(self.path.name)}.[0-9]*"):
            left.unlink(missing_ok=True)

    def objection(self, plan: dict[str, Any]) -> str:
        """Why the matrix is not taken for that of a plan, and what to do."""
        try:
            there = self._read()["plan"]
            found, agree = differences(there, plan), to_agree(there, plan)
        except (OSError, ValueError, TypeError, LookupError, AttributeError):
            return f"is there already, and no {self.path.name} that says what it is; {_REMEDY}"
        if found:
            return f"is there already, of another matrix, which differs in {found}; {agree}{_REMEDY}"
        return (
            f"is there already, and is not as it was when it was finished: it was changed, copied or touched; {_REMEDY}"
        )

    def _read(self) -> Any:
        return json.loads(self.path.read_text(encoding="utf-8"))

    def _of(self, plan: dict[str, Any]) -> dict[str, Any]:
        return {"plan": plan, "file": self._stamp()}

    def _stamp(self) -> dict[str, Any]:
        """Size and time of the file, or of all files of the folder."""
        if not self.target.is_dir():
            stat = self.target.stat()
            return {"bytes": stat.st_size, "nanoseconds": stat.st_mtime_ns}
        found = hashlib.sha256()
        files = sorted(path for path in self.target.rglob("*") if path.is_file())
        for path in files:
            stat = path.stat()
            name = path.relative_to(self.target).as_posix()
            found.update(f"{name} {stat.st_size} {stat.st_mtime_ns}\n".encode())
        return {"files": len(files), "digest": found.hexdigest()}
