# pyright: reportCallIssue=false, reportArgumentType=false
# Triton rewrites the launches of kernels, which the type checker does not see.
"""Agreement between scores with jitters and hard rankings on a CUDA device: the launcher behind the op of that name."""

import torch
import triton
from torch import Tensor

from kernels_triton import tiles
from kernels_triton.agreement_kernels import agreement_kernel
from kernels_triton.launching import on_device_of_tensors

NOISES = ("uniform", "gaussian")
SCHEMES = ("product", "sum")  # of weights of items
_MOST_PROGRAMS = 2**31 - 1


def suits(x: Tensor, scheme: str) -> bool:
    """Whether the kernel can take such scores and weights; what it can't belongs to plain torch."""
    if x.dtype != torch.float32 or scheme not in SCHEMES:
        return False
    return len(x) * triton.cdiv(x.shape[1], tiles.AGREEMENT.items) <= _MOST_PROGRAMS and x.shape[1] < 2**30


@on_device_of_tensors
def launch(
    x: Tensor, ranks: Tensor, weights: Tensor | None, window: Tensor, *, noise: str, scheme: str, slopes: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Sums over the pairs of items of each row, ``(r, 4)`` float64: w g s, w g^2, w s^2 and w; and their slopes.

    Args:
        x: ``(r, n)`` float32 scores, of which those that count make the sums of their row NaN if they are.
        ranks: ``(r, n)`` int32 dense ranks on the same device; negative = the item does not count.
        weights: None for 1, or ``(r, n)`` float64.
        window: ``(r,)`` positive float64.
        noise: one of :data:`NOISES`.
        scheme: one of :data:`SCHEMES`.
        slopes: whether to compute those of the first two sums, in the scores ``(r, 2, n)`` float32 and in the window
            ``(r, 2)`` float64; else they have no elements.

    The same bits come out of every run. Never waits for the device. Runs on CPU tensors where Triton interprets
    kernels.
    """
    rows, n = x.shape
    tile = tiles.AGREEMENT
    n_blocks = triton.cdiv(n, tile.items)
    parts = torch.empty((rows, n_blocks, 6), dtype=torch.float64, device=x.device)
    of_x = torch.empty((rows, 2, n if slopes else 0), dtype=torch.float32, device=x.device)
    if rows * n_blocks > 0:
        window = window.contiguous()
        agreement_kernel[(rows * n_blocks,)](
            X=x.contiguous(),
            RANKS=ranks.contiguous(),
            WEIGHTS=window if weights is None else weights.contiguous(),
            WINDOW=window,
            SUMS=parts,
            SLOPES=of_x,
            n=n,
            WEIGHTED=0 if weights is None else 1 + SCHEMES.index(scheme),
            GAUSSIAN=noise == "gaussian",
            WITH_SLOPES=slopes,
            BI=tile.items,
            BJ=tile.others,
            CHUNK=tile.chunk,
            num_warps=tile.warps,
        )
    sums = parts[..., : 6 if slopes else 4].sum(1) / 2  # each pair was met from both of its items
    return sums[:, :4].contiguous(), of_x, sums[:, 4:].contiguous()
