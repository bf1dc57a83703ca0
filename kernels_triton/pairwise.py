# pyright: reportCallIssue=false, reportArgumentType=false
# Triton rewrites the signatures of kernels and their launches, which the type checker does not see.
"""Device helpers that the engines share: ordered bit patterns, signs of pairs, a program's pairs, sums, symmetry."""

import torch
import triton
import triton.language as tl

HALF_RANKS = 61_440  # finite, normal and nonzero numbers of half precision, one for each rank

_SIGN = tl.constexpr(
    "{ .reg .b32 g, l; set.gt.f16x2.f16x2 g, $1, $2; set.lt.f16x2.f16x2 l, $1, $2; sub.f16x2 $0, g, l; }"
)
_UNEQUAL = tl.constexpr("set.ne.f16x2.f16x2 $0, $1, $2;")


@triton.jit
def half_pattern(k):
    """Bits of the half-precision number that stands for ``k`` in 0..61,439; larger ``k``, larger number.

    Only normal numbers: a mode that flushes small ones to zero can't make two of them equal.
    """
    return tl.where(k < 30720, 0x8400 + 30719 - k, 0x0400 + k - 30720)


@triton.jit
def pair_signs(a, b, STRICT: tl.constexpr, PACKED: tl.constexpr):
    """Sign of ``a - b``, or with STRICT its absolute value, in half precision; 0 where one of the two is NaN.

    PACKED does two half-precision pairs an instruction, which compilers do not find by themselves; the interpreter
    has no inline assembly.
    """
    if PACKED:
        signs = tl.inline_asm_elementwise(
            _UNEQUAL if STRICT else _SIGN, "=r,r,r", [a, b], dtype=tl.float16, is_pure=True, pack=2
        )
    elif STRICT:
        signs = (a > b).to(tl.float16) + (a < b).to(tl.float16)
    else:
        signs = (a > b).to(tl.float16) - (a < b).to(tl.float16)
    return signs


@triton.jit
def pairs_of_program(
    rows_x,
    rows_y,
    items,
    n,
    SYMMETRIC: tl.constexpr,
    BX: tl.constexpr,
    BY: tl.constexpr,
    BK: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """What a program multiplies: batch, tile of x, tile of y, block of second items, first items, and a pair's weight.

    Rows and items are padded to whole tiles. The program sweeps first items ``first <= i < last`` over its block of BK
    second items. Blocks pair with all earlier items, in chunks, and in a program of their own with themselves, where
    every pair of the n items comes twice, as (i, j) and (j, i), hence a weight of a half. With SYMMETRIC nothing is
    left to sweep for tiles below the diagonal.
    """
    tiles_x, tiles_y, blocks_j = rows_x // BX, rows_y // BY, items // BK
    pid = tl.program_id(0)
    tile_x = pid % tiles_x
    tile_y = pid // tiles_x % tiles_y
    block = pid // tiles_x // tiles_y % blocks_j
    batch = (pid // tiles_x // tiles_y // blocks_j).to(tl.int64)
    chunk = tl.num_programs(1) - 1 - tl.program_id(1)  # the last, 0, is the block with itself and the shortest
    j = block * BK
    first = (chunk - 1) * CHUNK
    last = tl.minimum(first + CHUNK, j)
    weight = 1.0
    if chunk == 0:
        first = j
        last = tl.minimum(j + BK, n)
        weight = 0.5
    if SYMMETRIC:
        last = tl.where((tile_y + 1) * BY <= tile_x * BX, first, last)
    return batch, tile_x, tile_y, block, first, last, weight


@triton.jit
def halves(tile):
    """The left and the right half of the columns."""
    rows: tl.constexpr = tile.shape[0]
    columns: tl.constexpr = tile.shape[1] // 2
    return tl.split(tl.permute(tl.reshape(tile, (rows, 2, columns)), (0, 2, 1)))


@triton.jit
def add_half(OUT, sums, row_stride, rows, columns):
    """Add half a tile of sums to ``rows`` by ``columns`` words, by quarters: all at once would spill registers."""
    row, column = tl.arange(0, sums.shape[0]), tl.arange(0, sums.shape[1] // 2)
    offsets = row[:, None].to(tl.int64) * row_stride + column[None, :]
    left, right = halves(sums)
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    tl.atomic_add(OUT + offsets, left.to(OUT.dtype.element_ty), mask=inside, sem="relaxed")
    OUT += sums.shape[1] // 2
    inside = (row < rows)[:, None] & (column < columns - sums.shape[1] // 2)[None, :]
    tl.atomic_add(OUT + offsets, right.to(OUT.dtype.element_ty), mask=inside, sem="relaxed")


@triton.jit(do_not_specialize=["m", "batch_stride", "row_stride"])
def mirror_kernel(
    OUT,  # (batch, m, m) whose upper triangle is filled
    m,
    batch_stride,
    row_stride,
    BLOCK: tl.constexpr,
):
    """Copy the upper triangle of every matrix to the lower one.

    A program reads only words above the diagonal and writes only words below it, each of them alone.
    """
    tiles = tl.cdiv(m, BLOCK)
    pid = tl.program_id(0)
    i = pid % tiles * BLOCK + tl.arange(0, BLOCK)
    j = pid // tiles % tiles * BLOCK + tl.arange(0, BLOCK)
    if pid // tiles % tiles > pid % tiles:
        return
    OUT += (pid // tiles // tiles).to(tl.int64) * batch_stride
    below = (j[None, :] < i[:, None]) & (i[:, None] < m)  # [BLOCK, BLOCK]
    upper = tl.load(OUT + j[None, :].to(tl.int64) * row_stride + i[:, None], mask=below)
    tl.store(OUT + i[:, None].to(tl.int64) * row_stride + j[None, :], upper, mask=below)


def mirror(out: torch.Tensor, block: int = 64) -> None:
    """Make every matrix of the contiguous ``(batch, m, m)`` tensor symmetric by its upper triangle, in place."""
    batch, m, _ = out.shape
    grid = (batch * triton.cdiv(m, block) ** 2,)
    mirror_kernel[grid](OUT=out, m=m, batch_stride=out.stride(0), row_stride=out.stride(1), BLOCK=block)
