# pyright: reportCallIssue=false, reportArgumentType=false
# Triton rewrites the launches of kernels, which the type checker does not see.
"""The kernel that writes planes of pair signs, for :mod:`benchmarks.gpu.planes`."""

import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 1024


@triton.jit(do_not_specialize=["n", "first", "n_pairs", "width"])
def planes_kernel(RANKS, OUT, n, first, n_pairs, width, BLOCK: tl.constexpr):
    """Signs of the pairs from ``first`` on of a ranking, ``width`` of them, 0 beyond the last pair."""
    row = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = first + at
    d = p // n
    i = p - d * n
    j = i + d + 1
    j = tl.where(j >= n, j - n, j)
    known = (p < n_pairs) & (at < width)
    a = tl.load(RANKS + row * n + i, mask=known, other=0)
    b = tl.load(RANKS + row * n + j, mask=known, other=0)
    sign = (a > b).to(tl.int8) - (a < b).to(tl.int8)
    tl.store(OUT + row * width + at, sign, mask=at < width)


def write(ranks: Tensor, out: Tensor, first: int, n_pairs: int) -> None:
    """Fill ``out`` ``(m, width)`` from ranks ``(m, n)``."""
    grid = (triton.cdiv(out.shape[1], _BLOCK), len(ranks))
    planes_kernel[grid](
        RANKS=ranks.contiguous(), OUT=out, n=ranks.shape[1], first=first, n_pairs=n_pairs, width=out.shape[1],
        BLOCK=_BLOCK,
    )  # fmt: skip
