"""The ops of expected ranks, row by row: ranks and, as an op apart, their gradient."""

import torch
from torch import Tensor

from torchrank.ops.engines import why_missing
from torchrank.ops.reference import soft_ranks as reference
from torchrank.ops.registration import implement, vmap_as_batch
from torchrank.rankings.derivatives import in_graph

torch.library.define(
    "torchrank::soft_ranks", "(Tensor x, Tensor counted, Tensor window, str noise, int workspace) -> Tensor"
)
torch.library.define(
    "torchrank::soft_ranks_backward",
    "(Tensor gradient, Tensor x, Tensor counted, Tensor window, str noise, int workspace) -> (Tensor, Tensor)",
)


def soft_ranks(x: Tensor, counted: Tensor, window: Tensor, noise: str, workspace: int) -> Tensor:
    """Expected ranks under jitters less their mean (k + 1) / 2 among k items, ``(r, n)`` in the dtype of ``x``.

    Args:
        x: ``(r, n)`` float32 or float64 scores, n at least 2. A NaN that counts makes its row NaN.
        counted: ``(r, n)`` bool, which items are ranked; others get a number without meaning.
        window: ``(r,)`` positive numbers, float64.
        noise: a key of :data:`torchrank.rankings.noises.NOISES`.
        workspace: bytes to use at most beside inputs and outputs.

    No device is waited for. On the CPU uniform noise has a compiled engine, which computes in float64; all else is
    plain torch. Differentiable in ``x`` and ``window``.
    """
    from torchrank.ops.soft_ranks_autograd import SoftRanks  # it builds on the ops, which are defined here

    if in_graph(x, window):
        return torch.ops.torchrank.soft_ranks(x, counted, window, noise, workspace)
    return SoftRanks.apply(x, window, counted, noise, workspace)


def _on_any_device(x: Tensor, counted: Tensor, window: Tensor, noise: str, workspace: int) -> Tensor:
    return reference.soft_ranks(x, window, reference.Among(counted, noise), workspace)


def _on_cpu(x: Tensor, counted: Tensor, window: Tensor, noise: str, workspace: int) -> Tensor:
    if noise != "uniform" or why_missing("cpu"):
        return _on_any_device(x, counted, window, noise, workspace)
    from torchrank.cpu.soft_ranks import soft_ranks as engine  # numba takes half a second to import

    return engine(x, window, counted).to(x.dtype)


def _backward_on_any_device(
    gradient: Tensor, x: Tensor, counted: Tensor, window: Tensor, noise: str, workspace: int
) -> tuple[Tensor, Tensor]:
    return reference.soft_ranks_backward(gradient, x, window, reference.Among(counted, noise), workspace)


def _backward_on_cpu(
    gradient: Tensor, x: Tensor, counted: Tensor, window: Tensor, noise: str, workspace: int
) -> tuple[Tensor, Tensor]:
    if noise != "uniform" or why_missing("cpu"):
        return _backward_on_any_device(gradient, x, counted, window, noise, workspace)
    from torchrank.cpu.soft_ranks import soft_ranks_backward as engine  # numba takes half a second to import

    for_x, for_window = engine(gradient, x, window, counted)
    return for_x.to(x.dtype), for_window.to(window.dtype)


implement("soft_ranks", "default", _on_any_device)
implement("soft_ranks", "cpu", _on_cpu)
implement("soft_ranks_backward", "default", _backward_on_any_device)
implement("soft_ranks_backward", "cpu", _backward_on_cpu)
vmap_as_batch("soft_ranks", axis=0)
vmap_as_batch("soft_ranks_backward", axis=0)
torch.library.register_fake("torchrank::soft_ranks", lambda x, *others: torch.empty_like(x))
torch.library.register_fake(
    "torchrank::soft_ranks_backward",
    lambda gradient, x, counted, window, *settings: (torch.empty_like(x), torch.empty_like(window)),
)
