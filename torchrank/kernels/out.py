"""Whole matrices over all pairs, block by block into an array or onto the disk."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchrank._version import __version__
from torchrank.kernels.block_stream import BlockStream
from torchrank.rankings.arrays import Matrix, to_numpy
from torchrank.storage import BlockFolder


def into(out: Any, stream: BlockStream, *, resume: bool, title: str, progress: bool) -> Matrix:
    """The matrix of a stream in ``out``: an array, which is filled, or a name on disk.

    Raises:
        TypeError: something else, or a dtype that NumPy lacks.
        ValueError: an array of another shape or dtype, ``resume`` without a name, and what
            :class:`torchrank.storage.BlockFolder` refuses.
        ImportError: a name that ends in .zarr, and no zarr.
        OSError: the disk is full, or the name is there.
    """
    if isinstance(out, (str, os.PathLike)):
        return _into_file(Path(out), stream, resume=resume, title=title, progress=progress)
    if not isinstance(out, (np.ndarray, Tensor)):
        raise TypeError(
            f"out is {type(out).__name__}; expected a name that ends in .npy or .zarr, an array or a tensor"
        )
    if resume:
        raise ValueError("resume=True goes on with blocks on disk; out is an array")
    dtype = out.dtype if isinstance(out, Tensor) else _torch_dtype(out)
    if tuple(out.shape) != stream.shape or dtype != stream.dtype:
        raise ValueError(
            f"out has shape {tuple(out.shape)} and dtype {out.dtype}; expected {stream.shape} of {stream.dtype}"
        )
    for part, computed in stream.run(title, progress):
        block = computed[0].detach()
        values: Any = block.to(out.device) if isinstance(out, Tensor) else to_numpy(block)
        out[part.rows, part.columns] = values
        if part.mirrored:
            out[part.columns, part.rows] = values.T
    return out


def refuse_without_out(block: int | None, resume: bool) -> None:
    """Raise ``ValueError`` for arguments that are of ``out`` alone."""
    if block is not None or resume:
        raise ValueError(f"{'resume' if resume else 'block'} is for matrices that are written to out; pass out= too")


def _into_file(path: Path, stream: BlockStream, *, resume: bool, title: str, progress: bool) -> Any:
    folder = BlockFolder(path, _plan(stream), resume=bool(resume))
    parts = stream.parts()
    if not folder.done:
        for part, block in stream.run(title, progress, folder.missing(parts)):
            folder.write(part, to_numpy(block[0]))
    return folder.finish(parts)


def _plan(stream: BlockStream) -> dict[str, Any]:
    return {
        "torchrank": __version__,
        "shape": list(stream.shape),
        "block": stream.block,
        "dtype": to_numpy(torch.empty(0, dtype=stream.dtype)).dtype.str,
        **stream.identity(),
    }


def _torch_dtype(out: np.ndarray) -> torch.dtype:
    try:
        return torch.from_numpy(out[:0]).dtype
    except (TypeError, ValueError):
        raise TypeError(f"out has dtype {out.dtype}, which torch lacks") from None
