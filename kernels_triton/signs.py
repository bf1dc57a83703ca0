# pyright: reportCallIssue=false, reportArgumentType=false
# Triton rewrites the signatures of kernels and their launches, which the type checker does not see.
"""Concordance scores as a product of pair signs on the tensor cores; signs live inside one multiprocessor only."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels_triton import pairwise, tiles
from kernels_triton.blocks import blocks
from kernels_triton.launching import on_device_of_tensors, options_of, round_up
from kernels_triton.prepare import prepare_sides

MOST_ITEMS = 2**24  # ranks are exact in single precision


@triton.jit(do_not_specialize=["m", "m2", "batch_stride", "row_stride"])
def product_kernel(
    X,  # (batch, items, rows_x) ordered numbers, padded to whole tiles with NaN
    Y,  # (batch, items, rows_y)
    OUT,  # (batch, m, m2) integers, zero before
    m,
    m2,
    rows_x,
    rows_y,
    items,
    batch_stride,
    row_stride,
    SYMMETRIC: tl.constexpr,
    STRICT: tl.constexpr,
    PACKED: tl.constexpr,
    BX: tl.constexpr,
    BY: tl.constexpr,
    BK: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Add sum over pairs (i, j) of sign(x_i - x_j) sign(y_i - y_j) to a tile of rankings of x and of y.

    A program keeps one block of second items j at hand and sweeps first items i over it; each i adds BK pairs to
    a tensor-core product. Ties, unranked items and padding have sign 0, so no mask is needed. Sums stay below 2**24 in
    single precision and are exact; programs that share a tile add integers atomically, so their order doesn't matter.
    """
    batch, tile_x, tile_y, block, first, last, weight = pairwise.pairs_of_program(
        rows_x, rows_y, items, items, SYMMETRIC, BX, BY, BK, CHUNK
    )
    if first >= last:
        return

    j = block * BK
    row_x, row_y, k = tl.arange(0, BX), tl.arange(0, BY), tl.arange(0, BK)
    X += batch * items * rows_x + tile_x * BX
    Y += batch * items * rows_y + tile_y * BY
    xj = tl.load(X + j.to(tl.int64) * rows_x + (row_x[:, None] + k[None, :] * rows_x))  # [BX, BK]
    yj = tl.load(Y + j.to(tl.int64) * rows_y + (row_y[:, None] + k[None, :] * rows_y))  # [BY, BK]
    X += first.to(tl.int64) * rows_x
    Y += first.to(tl.int64) * rows_y
    acc = tl.zeros((BX, BY), tl.float32)
    for _ in range(first, last):
        xi, yi = tl.load(X + row_x), tl.load(Y + row_y)
        signs_x = pairwise.pair_signs(xi[:, None], xj, STRICT, PACKED)
        signs_y = pairwise.pair_signs(yi[:, None], yj, STRICT, PACKED)
        acc = tl.dot(signs_x, tl.trans(signs_y), acc)
        X += rows_x
        Y += rows_y

    OUT += batch * batch_stride + (tile_x * BX).to(tl.int64) * row_stride + tile_y * BY
    left, right = pairwise.halves(acc)
    pairwise.add_half(OUT, left * weight, row_stride, m - tile_x * BX, m2 - tile_y * BY)
    pairwise.add_half(OUT + BY // 2, right * weight, row_stride, m - tile_x * BX, m2 - tile_y * BY - BY // 2)


@on_device_of_tensors
def signs(
    x: Tensor,  # (b, m, n) int32 dense ranks, -1 = unranked
    y: Tensor | None,  # (b, m2, n); None means x
    out: Tensor,  # (b, m, m2) contiguous, int32 or int64
    *,
    strict: bool,
    workspace: int,
    arch: int,
    tile: tiles.SignTile | None = None,
) -> None:
    """Fill ``out`` with concordance scores, or with ``strict`` with numbers of pairs that both rankings order strictly.

    Takes 2 bytes an item and ranking of scratch (4 above 61,440 items) and never more than ``workspace``, unless one
    tile needs more. Never waits for the device.
    """
    n = x.shape[2]
    half = n <= pairwise.HALF_RANKS
    dtype = torch.float16 if half else torch.float32
    tile = tile or tiles.sign_tile(arch, max(out.shape[1:]), half)
    out.zero_()
    rows, items = max(tile.rows_x, tile.rows_y), round_up(n, tile.items)
    for block in blocks(x, y, row_bytes=items * dtype.itemsize, pair_bytes=0, workspace=workspace, padding=rows):
        px, py = prepare_sides(block, x, y, rows, items, dtype)
        part = out[block.batch, block.x, block.y]
        b, m, m2 = part.shape
        programs = b * (px.shape[2] // tile.rows_x) * (py.shape[2] // tile.rows_y) * (items // tile.items)
        product_kernel[(programs, triton.cdiv(items, tile.chunk) + 1)](
            X=px,
            Y=py,
            OUT=part,
            m=m,
            m2=m2,
            rows_x=px.shape[2],
            rows_y=py.shape[2],
            items=items,
            batch_stride=part.stride(0),
            row_stride=part.stride(1),
            SYMMETRIC=block.symmetric,
            STRICT=strict,
            PACKED=half and x.is_cuda,
            **options_of(tile),
        )
        del px, py  # before those of the next block are made
    if y is None:
        pairwise.mirror(out)
