"""The op of agreement between scores with jitters and hard rankings, row by row."""

from importlib.util import find_spec

import torch
from torch import Tensor

from torchrank.ops.engines import runs_triton, why_missing
from torchrank.ops.reference import agreement as reference
from torchrank.ops.registration import implement, vmap_as_batch
from torchrank.rankings.derivatives import in_graph, needs_derivative

torch.library.define(
    "torchrank::agreement",
    "(Tensor x, Tensor ranks, Tensor? weights, Tensor window, str noise, str scheme, int workspace, bool slopes,"
    " bool window_slopes) -> (Tensor, Tensor, Tensor)",
)
torch.library.define(
    "torchrank::agreement_of_weights",
    "(Tensor gradient, Tensor x, Tensor ranks, Tensor weights, Tensor window, str noise, str scheme, int workspace)"
    " -> Tensor",
)


def agreement(
    x: Tensor, ranks: Tensor, weights: Tensor | None, window: Tensor, noise: str, scheme: str, workspace: int
) -> Tensor:
    """Four sums over the pairs of items of each row, ``(r, 4)`` float64: w g s, w g^2, w s^2 and w.

    g is the expected sign of the difference of two scores under jitters, s its sign in the hard ranking, and w the
    weight of the pair, 0 unless both are ranked.

    Args:
        x: ``(r, n)`` float32 or float64 scores, n at least 2. A NaN that counts makes the sums of its row NaN.
        ranks: ``(r, n)`` int32 dense ranks of the hard ranking; negative = the item does not count.
        weights: None for 1; ``(r, n)`` of items, or ``(r, n, n)`` of pairs, float64.
        window: ``(r,)`` positive numbers, float64.
        noise: a key of :data:`torchrank.rankings.noises.NOISES`.
        scheme: what weights mean, one of :data:`torchrank.ops.reference.agreement.SCHEMES`.
        workspace: bytes to use at most beside inputs and outputs.

    No device is waited for. On the CPU uniform noise has a compiled engine, which computes in float64. On CUDA float32
    scores have a Triton kernel, for both noises. Weights of pairs and all else are plain torch, in the dtype of ``x``
    with sums in float64. Differentiable in ``x``, ``weights`` and ``window``.
    """
    from torchrank.ops.agreement_autograd import Agreement  # it builds on the op, which is defined here

    wanted = needs_derivative(x), needs_derivative(window)
    if in_graph(x, weights, window):
        call = torch.ops.torchrank.agreement
        return call(x, ranks, weights, window, noise, scheme, workspace, *wanted)[0]
    return Agreement.apply(x, weights, window, ranks, noise, scheme, workspace, *wanted)[0]


def _on_any_device(
    x: Tensor, ranks: Tensor, weights: Tensor | None, window: Tensor, noise: str, scheme: str, workspace: int,
    slopes: bool, window_slopes: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    terms = reference.Terms(ranks, noise, scheme)
    return reference.sums_and_slopes(x, weights, window, terms, workspace, slopes, window_slopes)


def _on_cpu(
    x: Tensor, ranks: Tensor, weights: Tensor | None, window: Tensor, noise: str, scheme: str, workspace: int,
    slopes: bool, window_slopes: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    if noise != "uniform" or scheme == "pairs" or why_missing("cpu"):
        return _on_any_device(x, ranks, weights, window, noise, scheme, workspace, slopes, window_slopes)
    from torchrank.cpu.agreement import sums_and_slopes  # numba takes half a second to import

    sums, of_x, of_window = sums_and_slopes(x, ranks, weights, window, scheme, slopes, window_slopes)
    return sums, of_x.to(x.dtype), of_window


def _on_cuda(
    x: Tensor, ranks: Tensor, weights: Tensor | None, window: Tensor, noise: str, scheme: str, workspace: int,
    slopes: bool, window_slopes: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    if not _fused(x, scheme):
        return _on_any_device(x, ranks, weights, window, noise, scheme, workspace, slopes, window_slopes)
    from kernels_triton.agreement import launch

    any_slopes = slopes or window_slopes
    sums, of_x, of_window = launch(x, ranks, weights, window, noise=noise, scheme=scheme, slopes=any_slopes)
    return sums, of_x if slopes else of_x[..., :0].clone(), of_window if window_slopes else of_window[:, :0].clone()


def _fused(x: Tensor, scheme: str) -> bool:
    """Whether the Triton kernel computes this."""
    if not runs_triton(x.device):
        return False
    from kernels_triton.agreement import suits

    return suits(x, scheme)


@torch.library.register_fake("torchrank::agreement")
def _fake(
    x: Tensor, ranks: Tensor, weights: Tensor | None, window: Tensor, noise: str, scheme: str, workspace: int,
    slopes: bool, window_slopes: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    torch._check(x.dtype in (torch.float32, torch.float64), lambda: f"scores must be float32 or float64, got {x.dtype}")
    torch._check(ranks.dtype == torch.int32, lambda: f"ranks must be int32, got {ranks.dtype}")
    torch._check(x.ndim == 2 and x.shape == ranks.shape, lambda: "scores and ranks must have one shape (rows, items)")
    rows, n = x.shape
    return (
        x.new_empty(rows, 4, dtype=torch.float64),
        x.new_empty(rows, 2, n if slopes else 0),
        x.new_empty(rows, 2 if window_slopes else 0, dtype=torch.float64),
    )


def _of_weights(
    gradient: Tensor, x: Tensor, ranks: Tensor, weights: Tensor, window: Tensor, noise: str, scheme: str, workspace: int
) -> Tensor:
    return reference.weights_gradient(gradient, x, weights, window, reference.Terms(ranks, noise, scheme), workspace)


torch.library.register_fake(
    "torchrank::agreement_of_weights", lambda gradient, x, ranks, weights, *settings: torch.empty_like(weights)
)
implement("agreement_of_weights", "default", _of_weights)
vmap_as_batch("agreement_of_weights", axis=0)
implement("agreement", "default", _on_any_device)
implement("agreement", "cpu", _on_cpu)
if find_spec("triton") is not None:
    implement("agreement", "cuda", _on_cuda)
vmap_as_batch("agreement", axis=0)
