"""One process at a time in a folder."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path
from weakref import WeakSet

from torchrank._warnings import warn
from torchrank.storage.files import explained

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

NAME = "lock"  # of the file in the folder
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
_TAKEN_ELSEWHERE = {errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK}


class FolderLock:
    """A lock of a folder, which is made where it is not there.

    The system holds it, on this machine and, where the disk can do that, for other machines too: it is free again as
    soon as its process ends, however that ends.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: int | None = None  # open while the lock is held, or tried for
        self._taken = False
        _LOCKS.add(self)

    def take(self) -> bool:
        """Whether nobody else has it. A disk without locks gives it to everybody, with a warning."""
        while not self._taken:
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                file = self._file = os.open(self._folder / NAME, os.O_RDWR | os.O_CREAT, 0o644)
            except FileNotFoundError:  # whoever finished has just removed the folder
                continue
            except OSError as error:
                raise explained(error, self._folder) from error
            try:
                lock(file)
            except OSError as error:
                if error.errno in _TAKEN_ELSEWHERE:
                    self.let_go()
                    return False
                if error.errno not in _NO_LOCKS:
                    self.let_go()
                    raise explained(error, self._folder) from error
                warn(
                    f"{self._folder} is on a disk without locks ({error}): two calls that write the same matrix at the "
                    "same time would not be noticed"
                )
            self._taken = self._is_there(file)  # or removed before it was locked
            if not self._taken:
                self.let_go()
        return True

    def _is_there(self, file: int) -> bool:
        """Whether an open file is that of the folder."""
        try:
            return os.path.samestat(os.stat(self._folder / NAME), os.fstat(file))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Let others have it, if it was taken, and remove the folder if nothing else is in it."""
        if self._taken and [path.name for path in self._folder.glob("*")] == [NAME]:
            self.remove()
        self.let_go()

    def remove(self) -> None:
        """Remove the file, and the folder if nothing else is in it; another process that has come since keeps both."""
        self.let_go()
        try:
            (self._folder / NAME).unlink(missing_ok=True)
            self._folder.rmdir()
        except OSError:
            return

    def let_go(self, *, forked: bool = False) -> None:
        """Close the file, and free the lock but for a ``forked`` process, which has it of its parent."""
        self._taken, file, self._file = False, self._file, None
        if file is not None:
            with contextlib.suppress(OSError):  # one that was not locked
                if not forked:  # one forked at this moment may have the file open still
                    unlock(file)
            os.close(file)

    def __del__(self) -> None:
        self.let_go()


_LOCKS: WeakSet[FolderLock] = WeakSet()


def lock(file: int) -> None:
    """Lock an open file for this process without waiting; ``OSError`` where another one holds it."""
    if sys.platform == "win32":
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def unlock(file: int) -> None:
    """Free the lock, whichever processes have the file open."""
    if sys.platform == "win32":
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_UN)


def _forget_in_child() -> None:
    """A forked process closes what it has of its parent's locks, which would outlive the parent otherwise."""
    for held in list(_LOCKS):
        held.let_go(forked=True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
