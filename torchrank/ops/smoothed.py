"""The ops of the smoothed Kendall kernel: the Gram matrix and, as an op apart, its gradient."""

from functools import partial
from importlib.util import find_spec
from typing import get_args

import torch
from torch import Tensor

from torchrank._progress import progress_bar
from torchrank.ops.engines import runs_triton, why_missing
from torchrank.ops.memory import explaining_memory
from torchrank.ops.reference import smoothed as reference
from torchrank.ops.registration import implement, vmap_as_batch, vmap_by_calls
from torchrank.rankings.derivatives import in_graph
from torchrank.typing import SmoothedMethod

METHODS = get_args(SmoothedMethod)

torch.library.define(
    "torchrank::smoothed_gram",
    "(Tensor x, Tensor? y, Tensor window, str noise, str method, int workspace, bool progress) -> Tensor",
)
torch.library.define(
    "torchrank::smoothed_gram_backward",
    "(Tensor gradient, Tensor x, Tensor? y, Tensor window, str noise, str method, int workspace)"
    " -> (Tensor, Tensor, Tensor)",
)


def smoothed_gram(
    x: Tensor, y: Tensor | None, window: Tensor, noise: str, method: str, workspace: int, progress: bool
) -> Tensor:
    """Mean product of the expected signs of two rankings over all pairs of items, ``(b, m, m2)``.

    Args:
        x: ``(b, m, n)`` float32 or float64 scores without NaN.
        y: ``(b, m2, n)`` of the same dtype, or None for ``x`` itself (symmetric bit for bit).
        window: one positive number, shape ``()``.
        noise: a key of :data:`torchrank.rankings.noises.NOISES`.
        method: one of :data:`METHODS`.
        workspace: bytes to use at most beside inputs and outputs.
        progress: show a progress bar.

    float32 scores on CUDA are multiplied by Triton kernels where Triton is installed, unless ``method`` is "reference":
    errors against float64 stay below 1e-6, and the workspace bounds what they take. All else on CUDA, float64 too, is
    multiplied by plain torch. A window outside of 2^-120 to 2^120 makes all devices compute in float64.

    Raises:
        RuntimeError: ``method="sweep"`` without an engine for it.
    """
    from torchrank.ops.smoothed_autograd import SmoothedGram  # it builds on the ops, which are defined below

    call = torch.ops.torchrank.smoothed_gram if in_graph(x, y, window) else SmoothedGram.apply
    return call(x, y, window, noise, method, workspace, progress)


@explaining_memory
def _gram(
    x: Tensor, y: Tensor | None, window: Tensor, noise: str, method: str, workspace: int, progress: bool
) -> Tensor:
    width = float(window)
    method = chosen_method(x, y, width, noise, method)
    dtype, x, y = x.dtype, *_with_room(x, y, width)
    if method == "sweep":
        from torchrank.cpu import smoothed_sweep  # numba takes half a second to import

        return smoothed_sweep.smoothed_gram(x, y, width, workspace, progress).to(dtype)
    (b, m, n), m2 = x.shape, (x if y is None else y).shape[1]
    total = b * m * m2 * (n * (n - 1) // 2)
    with progress_bar("smoothed_gram", "product", unit_scale=True, total=total, progress=progress) as bar:
        return reference.smoothed_gram(x, y, _maker(x, y, width, noise, method), workspace, bar.update).to(dtype)


def chosen_method(x: Tensor, y: Tensor | None, window: float, noise: str, method: str) -> str:
    """What "auto" means for these scores, "exact" or "sweep"; any other method is itself.

    Raises:
        RuntimeError: "sweep" without an engine for it.
    """
    if method not in ("auto", "sweep"):
        return method
    why_not = _why_no_sweep(x, noise)
    if method == "sweep":
        if why_not:
            raise RuntimeError(f"method='sweep' has no engine for this call: {why_not}; use method='exact'")
        return method
    if why_not:
        return "exact"
    from torchrank.cpu import smoothed_sweep  # numba takes half a second to import

    return "sweep" if smoothed_sweep.is_faster(*_with_room(x, y, window)) else "exact"


@torch.library.register_fake("torchrank::smoothed_gram")
def _fake_gram(
    x: Tensor, y: Tensor | None, window: Tensor, noise: str, method: str, workspace: int, progress: bool
) -> Tensor:
    other = x if y is None else y
    torch._check(x.dtype in (torch.float32, torch.float64), lambda: f"scores must be float32 or float64, got {x.dtype}")
    torch._check(x.dtype == other.dtype, lambda: f"x has dtype {x.dtype} and y {other.dtype}")
    torch._check(x.ndim == 3 and other.ndim == 3, lambda: "scores must have shape (batch, rankings, items)")
    torch._check(x.device == other.device, lambda: f"x is on {x.device} and y on {other.device}")
    torch._check(x.shape[0] == other.shape[0], lambda: f"batch sizes {x.shape[0]} and {other.shape[0]} differ")
    torch._check(x.shape[2] == other.shape[2], lambda: f"numbers of items {x.shape[2]} and {other.shape[2]} differ")
    return x.new_empty(x.shape[0], x.shape[1], other.shape[1])


@explaining_memory
def _gram_backward(
    gradient: Tensor, x: Tensor, y: Tensor | None, window: Tensor, noise: str, method: str, workspace: int
) -> tuple[Tensor, Tensor, Tensor]:
    for_x, for_y, for_window = _gradients(gradient, x, y, float(window), noise, method, workspace)
    return for_x, for_y, for_window.to(window).reshape(window.shape)


def _gradients(
    gradient: Tensor, x: Tensor, y: Tensor | None, width: float, noise: str, method: str, workspace: int
) -> tuple[Tensor, Tensor, Tensor]:
    dtype, x, y = x.dtype, *_with_room(x, y, width)
    make = _maker(x, y, width, noise, method)
    for_x, for_y, for_window = reference.smoothed_gram_backward(gradient.to(x.dtype), x, y, make, workspace)
    return for_x.to(dtype), for_y.to(dtype), for_window


@torch.library.register_fake("torchrank::smoothed_gram_backward")
def _fake_gram_backward(
    gradient: Tensor, x: Tensor, y: Tensor | None, window: Tensor, noise: str, method: str, workspace: int
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.empty_like(x), torch.empty_like(x[:0] if y is None else y), torch.empty_like(window)


@explaining_memory
def _gram_on_cuda(
    x: Tensor, y: Tensor | None, window: Tensor, noise: str, method: str, workspace: int, progress: bool
) -> Tensor:
    width = float(window)
    if not _fused(x, width, method):
        return _gram(x, y, _number(width), noise, method, workspace, progress)
    from kernels_triton.smoothed import launch

    return launch(x, y, window=width, noise=noise, workspace=workspace)


@explaining_memory
def _gram_backward_on_cuda(
    gradient: Tensor, x: Tensor, y: Tensor | None, window: Tensor, noise: str, method: str, workspace: int
) -> tuple[Tensor, Tensor, Tensor]:
    width = float(window)
    if _fused(x, width, method):
        from kernels_triton.smoothed import launch_backward

        parts = launch_backward(gradient, x, y, window=width, noise=noise, workspace=workspace)
    else:
        parts = _gradients(gradient, x, y, width, noise, method, workspace)
    for_x, for_y, for_window = parts
    return for_x, for_y, for_window.to(window).reshape(window.shape)


def _number(width: float) -> Tensor:
    """A window that was asked for already, which waits for no device when it is asked for again."""
    return torch.tensor(width, dtype=torch.float64, device="cpu")


implement("smoothed_gram", "default", _gram)
implement("smoothed_gram_backward", "default", _gram_backward)
if find_spec("triton") is not None:
    implement("smoothed_gram", "cuda", _gram_on_cuda)
    implement("smoothed_gram_backward", "cuda", _gram_backward_on_cuda)
vmap_as_batch("smoothed_gram", axis=0, shared=2)
vmap_by_calls("smoothed_gram_backward")


def _with_room(x: Tensor, y: Tensor | None, window: float) -> tuple[Tensor, Tensor | None]:
    """Scores as they are or, where float32 has no room for multiples of the window and its inverse, in float64."""
    if 2.0**-120 <= window <= 2.0**120:
        return x, y
    return x.double(), None if y is None else y.double()


def _maker(x: Tensor, y: Tensor | None, window: float, noise: str, method: str) -> reference.MakeRows:
    """The fastest way to make features that suits device, noise and scores."""
    if x.device.type == "cpu" and noise == "uniform" and method != "reference" and not why_missing("cpu"):
        finite = bool(x.isfinite().all()) and (y is None or bool(y.isfinite().all()))
        if finite:
            from torchrank.ops.smoothed_rows import NumbaRows  # numba takes half a second to import

            return partial(NumbaRows, window=window)
    return partial(reference.TorchRows, window=window, noise=noise)


def _fused(x: Tensor, window: float, method: str) -> bool:
    """Whether the Triton kernels compute this; float64 scores, for one, are multiplied in plain torch."""
    if method in ("sweep", "reference") or not runs_triton(x.device):
        return False
    from kernels_triton.smoothed import suits

    return suits(x, window)


def _why_no_sweep(x: Tensor, noise: str) -> str | None:
    if noise != "uniform":
        return f"it needs noise='uniform', whose expected signs are piecewise polynomials, not {noise!r}"
    if x.device.type != "cpu":
        return f"it exists for the CPU only, and the scores are on {x.device}"
    return why_missing("cpu")
