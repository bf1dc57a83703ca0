"""A folder with a plan and a file for each block of a matrix, and the matrix that they make in the end."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from torchrank.storage.files import explained, read_block, sync_all, sync_folder, write_block, write_whole
from torchrank.storage.forms import Layout, form_of, remove
from torchrank.storage.lock import NAME as LOCK
from torchrank.storage.lock import FolderLock
from torchrank.storage.plan import Part, differences, read_plan, shape_of, to_agree
from torchrank.storage.record import Record, changed_since, stamp
from torchrank.storage.rows import RowMarks, checksum

FORMAT = 4  # of the folder
_PLAN, _DONE = "plan.json", "matrix.done"
_OURS = ("*.block", ".*.block.*", "*.row", ".*.row.*", "matrix.*", ".matrix.*", _PLAN, f".{_PLAN}.*")  # in the folder


class BlockFolder:
    """Blocks of a matrix that is to become ``target``, a file or a folder, in the folder ``target`` + ".blocks".

    The plan says which matrix it is: its shape, blocks, arguments, and a digest of the input. A block is written to a
    file of its own, aside, flushed to disk and renamed, with a checksum: it is there whole or not at all. The process
    that made the folder fills the matrix with it at once, aside; blocks of other processes and of earlier runs are read
    when all are there. Then the matrix is flushed and renamed, and the folder goes.

    A process alone flushes each row of blocks of a file for NumPy as soon as it is whole, and marks it with a checksum.
    Where blocks come faster than the disk takes them, it leaves out the files of their own: they are safe with their
    row, and nothing is written twice. Of a matrix that a killed run left only marked rows are trusted.

    A folder is renamed as a file is, and everything in it is flushed before. Then there is a mark in the folder of
    blocks, with sizes and times, by which the target of a run that was killed there is told from one that somebody else
    made or changed. What is left in
    the end is the target and, in ``target`` + ".json", the plan with sizes and times of the target's files, by which a
    finished matrix is known again. Of several processes that want to write the same target one has the lock.

    Args:
        target: where the matrix is to be; the end of its name is a key of :data:`torchrank.storage.forms.FORMS`.
        plan: what it is, of which JSON can be made, with "shape", "dtype" and "block".
        parts: all its blocks, row by row.
        alone: whether this process writes all blocks.
        resume: whether to go on with what an earlier run left.
        create: whether to make the folder where there is none, and the matrix; of several processes that share it one
            does.

    Raises:
        FileExistsError: the target is there and is not this matrix, finished; it or blocks of an earlier run are there,
            without ``resume``; the folder has files that are no blocks.
        FileNotFoundError: no folder, without ``create``.
        RuntimeError: another process or thread is writing it.
        ValueError: those of another matrix; the message names what differs. A damaged plan. A name with another end.
        ImportError: a package is missing that writes the matrix.
    """

    def __init__(
        self,
        target: Path,
        plan: dict[str, Any],
        parts: Iterable[Part],
        *,
        alone: bool,
        resume: bool,
        create: bool = True,
    ) -> None:
        self._form: Any = form_of(target)
        self._form.check()
        target = Path(os.path.realpath(target))  # a link stays one
        self.target, self.folder = target, target.with_name(target.name + ".blocks")
        self._record = Record(target.with_name(target.name + ".json"), target)
        self._matrix: Any = None  # that is filled
        self._filled: dict[Path, int] = {}  # blocks that it has, and their checksums
        self._fills = create
        self._rows = [list(row) for _, row in groupby(parts, lambda part: part.rows.start)]  # that are not whole yet
        self._marks = RowMarks(self.folder) if self._form.by_rows else None
        self._marked: set[int] = set()  # rows of an earlier run, by their starts
        self._marks_rows = alone and self._marks is not None
        self._outstanding: set[Path] = set()  # blocks that are to be written
        self.plan = json.loads(json.dumps({"format": FORMAT, **plan}))
        self.shape, self.dtype = tuple(plan["shape"]), np.dtype(plan["dtype"])
        self._lock = FolderLock(self.folder)
        self._finished = resume and self._record.holds(self.plan)
        if self._finished:
            return
        if not create:
            if read_plan(self.folder / _PLAN) is None:
                raise FileNotFoundError(
                    f"{self.folder} is not there, though the first process has made it; processes of a group need a "
                    "folder on a disk that all of them see: give another name"
                )
            return
        if self.folder.exists() and not self.folder.is_dir():
            raise FileExistsError(f"{self.folder} is a file, and would be in the way; move it, or give another name")
        if self._record.is_foreign():
            raise FileExistsError(
                f"{self._record.path} is there already, and does not describe a matrix of this library; what describes "
                "this one will have its name: move it, or give another name"
            )
        self._take_lock()
        try:
            self._finished = resume and self._record.holds(self.plan)  # by the process that had the lock until now
            if not self._finished:
                self._begin(resume)
        except BaseException:
            self._lock.release()
            raise

    @property
    def done(self) -> bool:
        """Whether the matrix is there, and only what is left of the folder has to go."""
        return self._finished or (self.target.exists() and (self.folder / _DONE).exists())

    def missing(self, parts: Iterable[Any]) -> list[Any]:
        """The blocks that are not there whole; a damaged one is taken away."""
        self._marked = self._rows_there()
        found = []
        for part in parts:
            if part.rows.start in self._marked:
                continue
            path, shape = self._path(part), shape_of(part)
            if read_block(path, shape, self.dtype) is None:
                path.unlink(missing_ok=True)
                found.append(part)
        self._outstanding = {self._path(part) for part in found}
        return found

    def write(self, part: Part, values: np.ndarray, late: bool = False) -> None:
        """Put a block on disk; ``late`` is one that waited for another to be written.

        Raises:
            OSError: the disk is full; nothing that was there is lost.
        """
        values = values.astype(self.dtype, copy=False)
        path = self._path(part)
        if not (self._marks_rows and self._is_safe_soon(path, late)):
            write_block(path, values)
        if self._fills:
            self._fill(part, values)
        self._outstanding.discard(path)
        if self._marks_rows:
            self._complete_rows()

    def finish(self) -> None:
        """Make the matrix of all blocks, and remove the folder.

        Raises:
            OSError: the disk is full; the blocks stay.
            RuntimeError: a block is not there, or damaged.
        """
        if not self.done:
            self._join()
        if not self._finished:
            self._record.write(self.plan)
        if self.folder.exists() and self._lock.take():  # whoever else has it clears up
            self._clear()
            self._lock.remove()  # somebody's files stay
        sync_folder(self.target.parent)

    def close(self) -> None:
        """End what is being written, and let other processes go on."""
        if self._marks is not None:
            self._marks.close()
        self._lock.release()

    def read(self) -> Any:
        """The finished matrix, an array that reads it from the disk."""
        return self._form.load(self.target)

    def _take_lock(self) -> None:
        if not self._lock.take():
            raise RuntimeError(
                f"{self.target} is being written at this moment, by another process or thread; wait until that has "
                "ended, or give another name"
            )

    def _begin(self, resume: bool) -> None:
        """Write the plan, or agree with the one that is there."""
        there = read_plan(self.folder / _PLAN)
        if there is None:
            if self.target.exists():
                objection = self._record.objection(self.plan) if resume else None
                raise FileExistsError(objection or f"{self.target} is there already; remove it, or give another name")
            self._clear()  # of blocks of nobody knows what
            others = [path.name for path in self.folder.iterdir() if path.name != LOCK]
            if others:
                raise FileExistsError(
                    f"{self.folder} has {others[0]}, which is no block; blocks are written to a folder of this name: "
                    "move it, or give another name"
                )
            text = json.dumps(self.plan, indent=1, sort_keys=True).encode()
            write_whole(self.folder / _PLAN, lambda file: file.write(text))
            return
        if there != self.plan:
            raise ValueError(
                f"{self.folder} has blocks of another matrix, which differs in {differences(there, self.plan)}; "
                f"{to_agree(there, self.plan)}remove the folder, or give another name"
            )
        if not resume:
            raise FileExistsError(
                f"{self.folder} has blocks of an earlier run; pass resume=True to go on with them, or remove the folder"
            )
        if self.target.exists() and not (self.folder / _DONE).exists():
            raise FileExistsError(f"{self.target} is there already, beside unfinished blocks; remove one of them")
        if self.target.exists() and (self.folder / _DONE).read_text() != json.dumps(stamp(self.target)):
            raise FileExistsError(changed_since(self.target))

    def _join(self) -> None:
        self._outstanding = set()
        self._complete_rows()
        if self._marks is not None:
            self._marks.wait()
        with self._making() as aside:
            if self._marks is not None:
                self._matrix.flush_all()
            sync_all(aside)
        self._matrix = None
        stamped = json.dumps(stamp(aside)).encode()  # which the rename does not change
        write_whole(self.folder / _DONE, lambda file: file.write(stamped))
        os.replace(aside, self.target)
        sync_folder(self.target.parent)

    def _complete_rows(self) -> None:
        """Fill the next rows with what is on disk, up to one with a block that is to be written, and mark them."""
        while self._rows and not any(self._path(part) in self._outstanding for part in self._rows[0]):
            row = self._rows.pop(0)
            for part in row:
                if self._path(part) not in self._filled:
                    self._fill(part, self._kept(part))
            rows = row[0].rows
            if self._marks is not None and rows.start not in self._marked:
                paths = [self._path(part) for part in row]
                self._marks.add(self._matrix, rows, [self._filled[path] for path in paths], paths)

    def _kept(self, part: Part) -> np.ndarray:
        """A block that an earlier run or another process wrote."""
        if part.rows.start in self._marked:
            with self._making():
                return self._matrix[part.rows, part.columns]
        values = read_block(self._path(part), shape_of(part), self.dtype)
        if values is None:
            raise RuntimeError(f"{self._path(part)} is damaged; call again with resume=True")
        return values

    def _fill(self, part: Part, values: np.ndarray) -> None:
        """Put a block into the matrix."""
        with self._making():
            if part.rows.start not in self._marked:
                self._matrix[part.rows, part.columns] = values
            if part.mirrored:
                self._matrix[part.columns, part.rows] = values.T
        self._filled[self._path(part)] = 0 if self._marks is None else checksum(values)

    def _is_safe_soon(self, path: Path, late: bool) -> bool:
        """Whether a block needs no file of its own: the disk falls behind, or it makes its row whole."""
        row = {self._path(part) for part in self._rows[0]}
        return late or (self._marks is not None and self._marks.busy) or row & self._outstanding == {path}

    @property
    def _layout(self) -> Layout:
        return Layout(self.shape, self.dtype, int(self.plan["block"]))

    @property
    def _aside(self) -> Path:
        """Where the matrix is made."""
        return self.folder / f"matrix{self.target.suffix}"

    def _rows_there(self) -> set[int]:
        """Starts of the rows of blocks that an earlier run has marked, and that are what they were."""
        matrix = None if self._marks is None else self._form.reopen(self._aside, self._layout)
        if matrix is None or self._marks is None:
            return set()
        places = [[(part.rows, part.columns) for part in row] for row in self._rows]
        return {row[0][0].start for row in places if self._marks.holds(matrix, row)}

    @contextmanager
    def _making(self) -> Iterator[Path]:
        """Where the matrix is made, which is begun where it is not; where there is no room for it, it goes."""
        try:
            if self._matrix is None and self._marked:
                self._matrix = self._form.reopen(self._aside, self._layout)
                if self._matrix is None:
                    raise RuntimeError(f"{self._aside} is gone; call again with resume=True")
            if self._matrix is None:
                remove(self._aside)  # what a run left that was killed
                self._matrix = self._form.make(self._aside, self._layout)
            yield self._aside
        except OSError as error:
            self._matrix, self._filled = None, {}
            remove(self._aside)
            raise explained(error, self._aside) from error

    def _clear(self) -> None:
        """Take away all files of this class in the folder of blocks, the plan last."""
        found = {path for pattern in _OURS for path in self.folder.glob(pattern)}
        for path in sorted(found, key=lambda path: (path.name == _PLAN, path.name)):
            remove(path)

    def _path(self, part: Part) -> Path:
        return self.folder / f"{part.rows.start}_{part.columns.start}.block"
