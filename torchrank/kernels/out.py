"""Whole matrices over all pairs, block by block into an array or onto the disk."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchrank.kernels.block_stream import BlockStream, Part
from torchrank.kernels.plan import plan_of
from torchrank.processes import Group, rank_of, refuse_different, share_of, together, told
from torchrank.rankings.arrays import Matrix, to_numpy
from torchrank.storage import BlockFolder, form_of, write_behind


def into(
    out: Any,
    prepare: Callable[[], BlockStream],
    *,
    resume: bool,
    group: Group,
    title: str,
    progress: bool,
) -> Matrix:
    """The matrix of a stream in ``out``: an array, which is filled, or a name on disk.

    ``prepare`` makes the stream; it is called here, so that what it refuses in one process of a group is refused in
    all.

    Raises:
        TypeError: something else, or a dtype that NumPy lacks.
        ValueError: an array of another shape or dtype, or that may only be read; ``resume`` or ``group`` without a
            name, and what :class:`torchrank.storage.BlockFolder` refuses.
        ImportError: a name that ends in .zarr, and no zarr.
        OSError: the disk is full, or the name is there.
        RuntimeError: another process is writing there; another process of the group raised.
    """
    if isinstance(out, (str, os.PathLike)):
        return _into_file(Path(out), prepare, resume=resume, group=group, title=title, progress=progress)
    if not isinstance(out, (np.ndarray, Tensor)):
        raise TypeError(
            f"out is {type(out).__name__}; expected a name that ends in .npy or .zarr, an array or a tensor"
        )
    if resume:
        raise ValueError("resume=True goes on with blocks on disk; out is an array")
    if group is not None:
        raise ValueError("the processes of a group write to one place on disk; out is an array: pass a name")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError("out is an array that may only be read; pass one that can be written, or a name on disk")
    stream = prepare()
    dtype = out.dtype if isinstance(out, Tensor) else _torch_dtype(out)
    given, wanted = (str(found).removeprefix("torch.") for found in (dtype, stream.dtype))
    if tuple(out.shape) != stream.shape or dtype != stream.dtype:
        raise ValueError(f"out has shape {tuple(out.shape)} and dtype {given}; expected {stream.shape} of {wanted}")
    for part, computed in stream.run(title, progress):
        block = computed[0].detach()
        values: Any = block.to(out.device) if isinstance(out, Tensor) else to_numpy(block)
        out[part.rows, part.columns] = values
        if part.mirrored:
            out[part.columns, part.rows] = values.T
    return out


def refuse_without_out(block: int | None, resume: bool, group: Group) -> None:
    """Raise ``ValueError`` for arguments that are of ``out`` alone."""
    given = {"resume": resume, "block": block is not None, "group": group is not None}
    if any(given.values()):
        name = next(name for name, there in given.items() if there)
        raise ValueError(f"{name} is for matrices that are written to out; pass out= too")


def _into_file(
    path: Path,
    prepare: Callable[[], BlockStream],
    *,
    resume: bool,
    group: Group,
    title: str,
    progress: bool,
) -> Any:
    with together(group):
        form_of(path).check()
        stream = prepare()
        plan = plan_of(stream) | {"dtype": _numpy_dtype(stream.dtype, path).str}
    refuse_different(plan | {"resume": bool(resume)}, group)
    parts = stream.parts()
    folder = _folder(path, plan, parts, resume=bool(resume), group=group)
    try:
        if not told(folder.done, group)[0]:
            with together(group):
                missing = folder.missing(share_of(parts, group))
                blocks = stream.run(title, progress and rank_of(group) == 0, missing)
                write_behind(blocks, lambda found, late: folder.write(found[0], to_numpy(found[1][0]), late))
        with together(group):
            if rank_of(group) == 0:
                folder.finish()
    finally:
        folder.close()
    with together(group):
        return folder.read()


def _folder(path: Path, plan: dict[str, Any], parts: list[Part], *, resume: bool, group: Group) -> BlockFolder:
    """The folder of a matrix, made or found by the first process of a group and then found by the others."""
    folder: Any = None
    try:
        with together(group):
            if rank_of(group) == 0:
                folder = BlockFolder(path, plan, parts, alone=group is None, resume=resume)
        with together(group):
            if folder is None:
                folder = BlockFolder(path, plan, parts, alone=False, resume=True, create=False)
    except BaseException:
        if folder is not None:
            folder.close()
        raise
    return folder


def _numpy_dtype(dtype: torch.dtype, path: Path) -> np.dtype[Any]:
    try:
        return to_numpy(torch.empty(0, dtype=dtype)).dtype
    except TypeError:
        name = str(dtype).removeprefix("torch.")
        raise TypeError(
            f"out={str(path)!r} is made by NumPy, which lacks {name}, the dtype of these scores and their matrix; "
            f"pass scores in float32, or a tensor of {name} as out"
        ) from None


def _torch_dtype(out: np.ndarray) -> torch.dtype:
    try:
        return torch.from_numpy(np.empty(0, out.dtype)).dtype
    except (TypeError, ValueError):
        raise TypeError(f"out has dtype {out.dtype}, which torch lacks") from None
