"""The op behind partial rankings: pair signs of one ranking, weighted by how far apart the other ranks the items."""

import torch
from torch import Tensor

from torchrank.ops.engines import why_missing
from torchrank.ops.memory import explaining_memory
from torchrank.ops.reference.weighted_signs import weighted_signs as reference_engine
from torchrank.ops.registration import implement, vmap_as_batch

torch.library.define("torchrank::weighted_signs", "(Tensor x, Tensor y, int workspace) -> Tensor")


def weighted_signs(x: Tensor, y: Tensor, workspace: int) -> Tensor:
    """Sum of ``sign(x_i - x_j) (u_i - u_j)`` over pairs of items that both rankings rank.

    u_i is the number of items that y ranks below item i minus the number above.

    Args:
        x: ``(b, m, n)`` int32 dense ranks, ``-1`` = unranked.
        y: ``(b, m2, n)``.
        workspace: bytes that the engine may use beside inputs and outputs.

    Returns:
        ``(b, m, m2)`` int64; below n^3 / 3 in size.
    """
    return torch.ops.torchrank.weighted_signs(x, y, workspace)


@torch.library.register_fake("torchrank::weighted_signs")
def _fake(x: Tensor, y: Tensor, workspace: int) -> Tensor:
    torch._check(x.dtype == torch.int32 and y.dtype == torch.int32, lambda: "ranks must be int32")
    torch._check(x.shape[0] == y.shape[0], lambda: f"batch sizes {x.shape[0]} and {y.shape[0]} differ")
    torch._check(x.shape[2] == y.shape[2], lambda: f"numbers of items {x.shape[2]} and {y.shape[2]} differ")
    return torch.empty((x.shape[0], x.shape[1], y.shape[1]), dtype=torch.int64, device=x.device)


@explaining_memory
def _on_any_device(x: Tensor, y: Tensor, workspace: int) -> Tensor:
    return reference_engine(x, y, workspace)


@explaining_memory
def _on_cpu(x: Tensor, y: Tensor, workspace: int) -> Tensor:
    if why_missing("cpu"):
        return reference_engine(x, y, workspace)
    from torchrank.cpu.weighted_signs import weighted_signs as engine  # numba takes half a second to import

    return engine(x, y, workspace)


implement("weighted_signs", "default", _on_any_device)
implement("weighted_signs", "cpu", _on_cpu)
vmap_as_batch("weighted_signs", axis=0)
