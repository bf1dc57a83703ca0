"""A stream of blocks of the smoothed kernel."""

import platform
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torchrank.kernels.block_stream import BlockStream, Part, block_rows, check_block, check_one_matrix, digest
from torchrank.ops.smoothed import chosen_method, smoothed_gram
from torchrank.ops.units import in_common_unit
from torchrank.rankings.derivatives import needs_derivative


def processor_of(device: torch.device) -> str:
    """The kind of processor, by which libraries choose how they multiply matrices, and so how it rounds."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    try:
        from llvmlite.binding import get_host_cpu_name  # of the engines; it tells kinds of one maker apart

        name = get_host_cpu_name()
    except ImportError:
        name = platform.processor() or platform.machine()
    return f"{name}, {torch.backends.cpu.get_cpu_capability()}"


@dataclass(frozen=True)
class SmoothedStream(BlockStream):
    """All pairs of two sets of score vectors, block by block.

    A block is computed from its own rows, by a call of its own, so its bits do not depend on which blocks are there
    already. Products of features are rounded by their shapes, though, so other blocks have other last digits. A sweep
    takes two rows by themselves: there all blocks are the entries of one call bit for bit.
    """

    x: Tensor  # (m, n)
    y: Tensor | None  # (m2, n); None means x
    window: Tensor
    noise: str
    method: str  # one for all blocks, not "auto"
    block: int
    workspace: int
    dtype: torch.dtype

    @classmethod
    def of(
        cls,
        x: Tensor,
        y: Tensor | None,
        *,
        window: Tensor,
        noise: str,
        method: str,
        block: int | None,
        workspace: int,
        dtype: torch.dtype,
    ) -> "SmoothedStream":
        """Of checked scores.

        Raises:
            ValueError: batch dimensions, a block below 1, a derivative asked for.
            TypeError: a block that is no integer.
            RuntimeError: "sweep" where it has no engine.
        """
        check_block(block)
        for side, name in ((x, "X"), (x if y is None else y, "Y")):
            check_one_matrix(side.shape, name)
        for value, name in ((x, "X"), (y, "Y"), (window, "window")):
            if value is not None and needs_derivative(value):
                raise ValueError(f"{name} asks for a derivative, which out does not keep; detach it, or leave out away")
        sides = x[None], None if y is None else y[None]
        method = chosen_method(*sides, float(window), noise, method)
        return cls(x, y, window, noise, method, block_rows(block, workspace), workspace, dtype)

    @property
    def symmetric(self) -> bool:
        """Whether both sides are the same scores."""
        return self.y is None

    @property
    def shape(self) -> tuple[int, int]:
        """``(m, m2)``, of the whole matrix."""
        return len(self.x), len(self.x if self.y is None else self.y)

    def values(self, part: Part) -> Tensor:
        """The kernel of all pairs of a block, ``(1, rows, columns)``; on the diagonal it is symmetric."""
        rows = self.x[part.rows][None]
        if self.y is not None:
            return self._gram(rows, self.y[part.columns][None])
        if not part.mirrored:
            return self._gram(rows, None)
        return self._gram(self.x[part.columns][None], rows).mT  # the later row first, as in one call

    def identity(self) -> dict[str, Any]:
        """Scores and arguments, and what the rounding of products depends on."""
        arguments = {"window": float(self.window), "noise": self.noise, "method": self.method}
        scores = [self.x] if self.y is None else [self.x, self.y]
        found: dict[str, Any] = {"kernel": "smoothed", "arguments": arguments, "input": digest(scores)}
        if self.method != "sweep":
            found |= {"workspace": self.workspace, "device": self.x.device.type, "torch": torch.__version__}
            found["processor"] = processor_of(self.x.device)
            if self.x.device.type == "cpu":
                found["threads"] = torch.get_num_threads()
        return found

    def _gram(self, x: Tensor, y: Tensor | None) -> Tensor:
        x, y, window = in_common_unit(x, y, self.window)
        gram = smoothed_gram(x, y, window, self.noise, self.method, self.workspace, False)
        return gram.to(self.dtype)
