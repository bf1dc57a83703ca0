"""What a stream of pairs computes, said in a few words and a digest: for files, and for processes that share it."""

import hashlib
from typing import Any

import numpy as np

from torchrank._version import __version__
from torchrank.kernels.pair_stream import PairStream
from torchrank.processes import Group, refuse_different
from torchrank.rankings.arrays import to_numpy


def plan_of(stream: PairStream) -> dict[str, Any]:
    """What the matrix of a stream is, of which JSON can be made."""
    arguments = {key: value if value == value else "NaN" for key, value in stream.quantity._asdict().items()}
    if stream.lam is not None:
        arguments["lam"] = float(stream.lam)
    return {
        "torchrank": __version__,
        "shape": list(stream.shape),
        "block": stream.block,
        "dtype": str(stream.dtype),
        "arguments": arguments,
        "input": _digest(stream),
    }


def refuse_different_plans(stream: PairStream, group: Group, **more: Any) -> None:
    """Raise ``ValueError`` in all processes of a group unless all have the same stream, and ``more`` facts by name."""
    if group is not None:  # alone there is nothing to compare with, and a digest takes a second for each gigabyte
        refuse_different(plan_of(stream) | more, group)


def _digest(stream: PairStream) -> str:
    """Of what is known of the rankings on both sides."""
    found = hashlib.sha256()
    for side in stream.pair.sides():
        dense: Any = side
        parts = [dense.starts, dense.items, dense.ranks] if hasattr(dense, "starts") else [dense.ranks]
        parts += [] if dense.meaning.topk is None else [dense.meaning.topk]
        found.update(dense.meaning.word.encode())
        for part in parts:
            found.update(repr((tuple(part.shape), str(part.dtype))).encode())
            found.update(np.ascontiguousarray(to_numpy(part)).data)
    return found.hexdigest()
