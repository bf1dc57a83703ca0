"""What a stream of blocks computes, said in a few words and a digest: for files, and for processes that share it."""

from typing import Any

from torchrank._version import __version__
from torchrank.kernels.block_stream import BlockStream
from torchrank.processes import Group, refuse_different


def plan_of(stream: BlockStream) -> dict[str, Any]:
    """What the matrix of a stream is, of which JSON can be made."""
    return {
        "torchrank": __version__,
        "shape": list(stream.shape),
        "block": stream.block,
        "dtype": str(stream.dtype),
        **stream.identity(),
    }


def refuse_different_plans(stream: BlockStream, group: Group, **more: Any) -> None:
    """Raise ``ValueError`` in all processes of a group unless all have the same stream, and ``more`` facts by name."""
    if group is not None:  # alone there is nothing to compare with, and a digest takes a second for each gigabyte
        refuse_different(plan_of(stream) | more, group)
