"""The op behind every Kendall quantity: exact concordance scores between all rankings of two batches."""

from importlib.util import find_spec
from typing import get_args

import torch
from torch import Tensor

from torchrank.ops.engines import warn_once, why_missing, why_unsuited
from torchrank.ops.memory import explaining_memory
from torchrank.ops.reference.pair_counts import pair_counts as reference_engine
from torchrank.ops.registration import implement, vmap_as_batch
from torchrank.rankings.pairs import pair_dtype
from torchrank.typing import PairMethod

METHODS = get_args(PairMethod)
WORKSPACE = 128 * 2**20


torch.library.define(
    "torchrank::pair_counts",
    "(Tensor x, Tensor? y, bool strict, str method, int workspace, bool progress, Tensor? untied=None)"
    " -> (Tensor, Tensor)",
)


def pair_counts(
    x: Tensor, y: Tensor | None, strict: bool, method: str, workspace: int, progress: bool, untied: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Concordance scores and, when ``strict`` is set, the number of pairs ordered strictly by both rankings.

    Args:
        x: ``(b, m, n)`` int32 dense ranks, ``-1`` = unranked; a pair of items counts where both rankings rank both.
        y: ``(b, m2, n)``, or None for ``x`` itself (symmetric bit for bit).
        strict: whether the second result is wanted.
        method: one of :data:`METHODS`; "auto" is the fastest engine that the device has.
        workspace: bytes that the engine may use beside inputs and outputs.
        progress: show a progress bar.
        untied: what is known about x and y from :func:`torchrank.ops.completeness.refuse_unranked`, if anything.

    Returns:
        ``(b, m, m2)`` concordant - discordant, and concordant + discordant (``(b, 0, 0)`` unless ``strict``).
        Both int32 up to 65,536 items, else int64.
    """
    return torch.ops.torchrank.pair_counts(x, y, strict, method, workspace, progress, untied)


@torch.library.register_fake("torchrank::pair_counts")
def _fake(
    x: Tensor, y: Tensor | None, strict: bool, method: str, workspace: int, progress: bool, untied: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    other = x if y is None else y
    torch._check(x.dtype == torch.int32 and other.dtype == torch.int32, lambda: "ranks must be int32")
    torch._check(x.ndim == 3 and other.ndim == 3, lambda: "ranks must have shape (batch, rankings, items)")
    torch._check(x.device == other.device, lambda: f"x is on {x.device} and y on {other.device}")
    torch._check(x.shape[0] == other.shape[0], lambda: f"batch sizes {x.shape[0]} and {other.shape[0]} differ")
    torch._check(x.shape[2] == other.shape[2], lambda: f"numbers of items {x.shape[2]} and {other.shape[2]} differ")
    shape = (x.shape[0], x.shape[1], other.shape[1])
    dtype = pair_dtype(x.shape[2])
    score = torch.empty(shape, dtype=dtype, device=x.device)
    return score, torch.empty(shape if strict else (shape[0], 0, 0), dtype=dtype, device=x.device)


@explaining_memory
def _on_any_device(
    x: Tensor, y: Tensor | None, strict: bool, method: str, workspace: int, progress: bool, untied: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    return _reference_or_refuse(x, y, strict, method, workspace)


@explaining_memory
def _on_cpu(
    x: Tensor, y: Tensor | None, strict: bool, method: str, workspace: int, progress: bool, untied: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    if method == "reference" or why_missing("cpu"):
        return _reference_or_refuse(x, y, strict, method, workspace)
    from torchrank.cpu.pair_counts import pair_counts as engine  # numba takes half a second to import

    return engine(x, y, strict, method, workspace, progress)


@explaining_memory
def _on_cuda(
    x: Tensor, y: Tensor | None, strict: bool, method: str, workspace: int, progress: bool, untied: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    if method == "reference" or why_missing("cuda") or why_unsuited(x.device):
        return _reference_or_refuse(x, y, strict, method, workspace)
    from kernels_triton.pair_counts import launch

    known = None if untied is None or untied.numel() == 0 else (bool(untied[0]), bool(untied[1]))
    return launch(x, y, strict=strict, method=method, workspace=workspace, untied=known)


implement("pair_counts", "default", _on_any_device)
implement("pair_counts", "cpu", _on_cpu)
if find_spec("triton") is not None:
    implement("pair_counts", "cuda", _on_cuda)
vmap_as_batch("pair_counts", axis=0)


def _reference_or_refuse(
    x: Tensor, y: Tensor | None, strict: bool, method: str, workspace: int
) -> tuple[Tensor, Tensor]:
    """Run the reference where it was asked for or nothing faster exists; refuse a fast engine that the device lacks."""
    reason = why_missing(x.device.type) or why_unsuited(x.device)
    if method in ("signs", "inversions"):
        raise RuntimeError(f"method={method!r} has no engine on {x.device}: {reason}")
    if method == "auto" and reason:
        warn_once(x.device, reason)
    return reference_engine(x, y, strict, workspace)
