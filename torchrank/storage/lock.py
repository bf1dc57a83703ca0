"""One process at a time in a folder."""

import errno
from pathlib import Path

from filelock import FileLock, Timeout

from torchrank._warnings import warn
from torchrank.storage.files import explained

NAME = "lock"  # of the file in the folder
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


class FolderLock:
    """A lock of a folder, which is made where it is not there.

    The system holds it, on this machine and, where the disk can do that, for other machines too: it is free again as
    soon as its process ends, however that ends.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = FileLock(folder / NAME, timeout=0)
        self._taken = False

    def take(self) -> bool:
        """Whether nobody else has it. A disk without locks gives it to everybody, with a warning."""
        while not self._taken:
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire()
            except FileNotFoundError:  # whoever finished has just removed the folder
                continue
            except Timeout:
                return False
            except (NotImplementedError, OSError) as error:
                if isinstance(error, OSError) and error.errno not in _NO_LOCKS:
                    raise explained(error, self._folder) from error
                warn(
                    f"{self._folder} is on a disk without locks ({error}): two calls that write the same matrix at the "
                    "same time would not be noticed"
                )
            self._taken = True
        return True

    def release(self) -> None:
        """Let others have it, if it was taken, and remove the folder if nothing else is in it."""
        if self._taken and [path.name for path in self._folder.glob("*")] == [NAME]:
            self.remove()
        self._taken = False
        self._lock.release(force=True)

    def remove(self) -> None:
        """Remove the file, and the folder if nothing else is in it; another process that has come since keeps both."""
        self._taken = False
        self._lock.release(force=True)
        try:
            (self._folder / NAME).unlink(missing_ok=True)
            self._folder.rmdir()
        except OSError:
            return
