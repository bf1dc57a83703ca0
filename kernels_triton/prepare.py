# pyright: reportCallIssue=false, reportArgumentType=false
# Triton rewrites the signatures of kernels and their launches, which the type checker does not see.
"""Rankings as the tile kernels read them: items first, in whole tiles, as numbers to compare or to subtract."""

from math import gcd

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels_triton import pairwise
from kernels_triton.blocks import RowBlock
from kernels_triton.launching import round_up

SHRINK = tl.constexpr(2.0**-6)
INFINITE = tl.constexpr(2.0**127)


@triton.jit(do_not_specialize=["m", "n", "batch_stride", "row_stride"])
def prepare_kernel(
    VALUES,  # (batch, m, n) int32 dense ranks, -1 = unranked; or float32 scores without NaN
    OUT,  # (batch, padded items, padded rows) half or single precision
    m,
    n,
    batch_stride,
    row_stride,
    item_stride,
    padded_rows,
    padded_items,
    SCORES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write ranks as ordered numbers, NaN where unranked and in the padding; or scores, as ``smoothed_kernels`` says.

    A program writes its own BLOCK by BLOCK words.
    """
    tiles_r = padded_rows // BLOCK
    tiles_i = padded_items // BLOCK
    pid = tl.program_id(0)
    batch = (pid // tiles_r // tiles_i).to(tl.int64)
    row = pid % tiles_r * BLOCK + tl.arange(0, BLOCK)
    item = pid // tiles_r % tiles_i * BLOCK + tl.arange(0, BLOCK)
    VALUES += batch * batch_stride
    OUT += batch * padded_items * padded_rows
    value = tl.load(
        VALUES + row[None, :].to(tl.int64) * row_stride + item[:, None].to(tl.int64) * item_stride,
        mask=(row < m)[None, :] & (item < n)[:, None],
        other=0 if SCORES else -1,
    )  # [items, rows]
    if SCORES:
        number = tl.clamp(value * SHRINK, -INFINITE, INFINITE)
    elif OUT.dtype.element_ty == tl.float16:
        number = pairwise.half_pattern(value).to(tl.int16).to(tl.float16, bitcast=True)
    else:
        number = value.to(tl.float32)
    if not SCORES:
        number = tl.where(value < 0, float("nan"), number)
    tl.store(OUT + item[:, None].to(tl.int64) * padded_rows + row[None, :], number.to(OUT.dtype.element_ty))


def prepare_sides(
    block: RowBlock, x: Tensor, y: Tensor | None, rows_multiple: int, items: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Both sides of a block, once where they are the same."""
    values_x, values_y = block.rankings(x, y)
    px = prepare(values_x, rows_multiple, items, dtype)
    return px, px if block.symmetric else prepare(values_y, rows_multiple, items, dtype)


def prepare(values: Tensor, rows_multiple: int, items: int, dtype: torch.dtype) -> Tensor:
    """``(b, items, rows)`` of the dtype: int32 ranks or float32 scores ``(b, m, n)``, padded to whole tiles."""
    b, m, n = values.shape
    rows = round_up(m, rows_multiple)
    out = torch.empty((b, items, rows), dtype=dtype, device=values.device)
    block = gcd(32, rows, items)
    prepare_kernel[(b * (rows // block) * (items // block),)](
        VALUES=values,
        OUT=out,
        m=m,
        n=n,
        batch_stride=values.stride(0),
        row_stride=values.stride(1),
        item_stride=values.stride(2),
        padded_rows=rows,
        padded_items=items,
        SCORES=values.is_floating_point(),
        BLOCK=block,
    )
    return out
