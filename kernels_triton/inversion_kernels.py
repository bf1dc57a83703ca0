# pyright: reportCallIssue=false, reportArgumentType=false
# Triton rewrites the signatures of kernels and their launches, which the type checker does not see.
"""Inversions between permutations, counted on a grid of blocks of one order and intervals of the other.

Put item ``i`` at ``(t, v)``, its positions in x and in y; two items are discordant when t and v order them differently.
Cut t into blocks of B positions and v into C intervals. Every pair of items then falls in one of three classes:

* different blocks, different intervals: from a table of how many earlier items each interval holds;
* the same block: by comparing v of all pairs of its items;
* the same interval, different blocks: by comparing the block numbers of all pairs of its items.

A packed half-precision comparison and its count take one instruction a pair of items, so the two comparisons take
about 2 B instructions an item; with its reads and the table of the intervals an item takes some 500 for B = 128 and
C = 512, whatever n. Partitioning by bits, in the manner of merge sort, takes 210 for n = 1,024, as much again for every
further factor of 1,024, and moves every item through memory each time. The sign engine takes n / 2 tensor-core steps.
"""

import triton
import triton.language as tl
from torch import Tensor

from kernels_triton import pairwise, tiles
from kernels_triton.permutations import Permutations

EXACT_HALF = tl.constexpr(2048)  # counts up to here are exact in half precision


def most_items(block: int) -> int:
    """The largest number of items for which block numbers are ordered half-precision numbers."""
    return pairwise.HALF_RANKS * block - 1


_COUNT = tl.constexpr("{ .reg .b32 g; set.gt.f16x2.f16x2 g, $1, $2; add.f16x2 $0, $3, g; }")
_COUNT_LOWER = tl.constexpr(
    "{ .reg .b32 g, e; set.eq.f16x2.f16x2 e, $1, $2; set.gt.f16x2.f16x2 g, $3, $4; fma.rn.f16x2 $0, e, g, $5; }"
)


@triton.jit
def low_half(word):
    """The half-precision number in the low 16 bits."""
    return (word & 0xFFFF).to(tl.int16).to(tl.float16, bitcast=True)


@triton.jit
def two_halves(low, high):
    """A word of two half-precision numbers."""
    return (low.to(tl.int16, bitcast=True).to(tl.int32) & 0xFFFF) | (high.to(tl.int16, bitcast=True).to(tl.int32) << 16)


@triton.jit
def ordered_words(k):
    """Ordered numbers of T items to compare all with all: [T, 1], each twice in a word, and [1, T / 2], two by two."""
    bits = pairwise.half_pattern(k)
    even, odd = tl.split(tl.reshape(bits, (k.shape[0] // 2, 2)))
    return (bits | (bits << 16))[:, None], (even | (odd << 16))[None, :]


@triton.jit
def count_greater(counts, a, b, PACKED: tl.constexpr):
    """Add ``a > b`` to counts; each word of all three holds two half-precision numbers."""
    if PACKED:
        counts = tl.inline_asm_elementwise(_COUNT, "=r,r,r,r", [a, b, counts], dtype=tl.int32, is_pure=True, pack=1)
    else:
        low = low_half(counts) + (low_half(a) > low_half(b)).to(tl.float16)
        high = low_half(counts >> 16) + (low_half(a >> 16) > low_half(b >> 16)).to(tl.float16)
        counts = two_halves(low, high)
    return counts


@triton.jit
def count_lower_greater(counts, a, b, a_lower, b_lower, PACKED: tl.constexpr):
    """Add ``a == b and a_lower > b_lower``."""
    if PACKED:
        counts = tl.inline_asm_elementwise(
            _COUNT_LOWER, "=r,r,r,r,r,r", [a, b, a_lower, b_lower, counts], dtype=tl.int32, is_pure=True, pack=1
        )
    else:
        low = (low_half(a) == low_half(b)) & (low_half(a_lower) > low_half(b_lower))
        high = (low_half(a >> 16) == low_half(b >> 16)) & (low_half(a_lower >> 16) > low_half(b_lower >> 16))
        counts = two_halves(low_half(counts) + low.to(tl.float16), low_half(counts >> 16) + high.to(tl.float16))
    return counts


@triton.jit
def total(counts, EARLIER: tl.constexpr):
    """Sum the counts of all pairs of a block's items, or of those whose first item comes earlier, in 64 bits."""
    low, high = low_half(counts).to(tl.int32), low_half(counts >> 16).to(tl.int32)
    if EARLIER:
        s = tl.arange(0, counts.shape[0])[:, None]
        t = 2 * tl.arange(0, counts.shape[1])[None, :]
        low, high = tl.where(s < t, low, 0), tl.where(s <= t, high, 0)
    return tl.sum(tl.sum(low + high, axis=0).to(tl.int64))


@triton.jit
def rows_of_program(m, m2, SYMMETRIC: tl.constexpr):
    """The row of x and of y, both counted through the batch, the word of the result, and whether it is wanted."""
    pid = tl.program_id(0)
    i, j = pid % m, pid // m % m2
    batch = (pid // m // m2).to(tl.int64)
    row_x = batch * m + i
    return row_x, batch * m2 + j, row_x * m2 + j, (not SYMMETRIC) or i <= j


@triton.jit(do_not_specialize=["weight", "m", "m2", "n", "stride", "width"])
def blocks_kernel(
    ORDER_X,  # (batch * m, stride) items of each row of x by position
    POSITION_Y,  # (batch * m2, stride) positions of the items in each row of y
    OUT,  # (batch, m, m2) int64
    weight,
    m,
    m2,
    n,
    stride,
    width,  # positions in an interval
    SYMMETRIC: tl.constexpr,
    HALF: tl.constexpr,  # do all positions, and counts of all blocks, fit half precision
    PACKED: tl.constexpr,
    B: tl.constexpr,
    C: tl.constexpr,
):
    """Add ``weight`` times the discordant pairs in one block, or in different blocks and intervals.

    A program has one pair of rankings and one word of the result to itself. Items that pad the last block come last in
    both orders, so they are discordant with none.
    """
    row_x, row_y, word, wanted = rows_of_program(m, m2, SYMMETRIC)
    if not wanted:
        return
    OUT += word  # before the loop: one address to keep through it, not what it is made of
    ORDER_X += row_x * stride
    POSITION_Y += row_y * stride
    t = tl.arange(0, B)
    earlier = tl.zeros((C,), tl.int32)  # items of earlier blocks in each interval
    apart = tl.zeros((C,), tl.int64)
    together = tl.zeros((), tl.int64)
    for first in range(0, 1 if HALF else n, B * EXACT_HALF):  # without the outer loop's registers where it runs once
        counts = tl.zeros((B, B // 2), tl.int32)
        for start in range(first, n if HALF else tl.minimum(first + B * EXACT_HALF, n), B):
            v = tl.load(POSITION_Y + tl.load(ORDER_X + start + t))
            interval = v // width
            if HALF:
                a, b = ordered_words(v)
                counts = count_greater(counts, a, b, PACKED)
            else:
                a, b = ordered_words(interval)
                a_lower, b_lower = ordered_words(v - interval * width)
                counts = count_greater(counts, a, b, PACKED)
                counts = count_lower_greater(counts, a, b, a_lower, b_lower, PACKED)
            here = tl.histogram(interval, C)
            apart += here.to(tl.int64) * (start - tl.cumsum(earlier, 0))
            earlier += here
        together += total(counts, EARLIER=True)
    tl.store(OUT, tl.load(OUT) + weight * (together + tl.sum(apart)))


@triton.jit(do_not_specialize=["weight", "m", "m2", "n", "stride", "width"])
def intervals_kernel(
    POSITION_X,  # (batch * m, stride)
    ORDER_Y,  # (batch * m2, stride)
    OUT,  # (batch, m, m2) int64
    weight,
    m,
    m2,
    n,
    stride,
    width,
    SYMMETRIC: tl.constexpr,
    NARROW: tl.constexpr,  # is an interval one block wide
    PACKED: tl.constexpr,
    B: tl.constexpr,
):
    """Add ``weight`` times the discordant pairs in one interval and different blocks; one program for each word."""
    row_x, row_y, word, wanted = rows_of_program(m, m2, SYMMETRIC)
    if not wanted:
        return
    OUT += word
    POSITION_X += row_x * stride
    ORDER_Y += row_y * stride
    t = tl.arange(0, B)
    found = tl.zeros((), tl.int64)
    for first in range(0, n, B * EXACT_HALF):
        counts = tl.zeros((B, B // 2), tl.int32)
        for start in range(first, tl.minimum(first + B * EXACT_HALF, n), B):
            a, b = ordered_words(tl.load(POSITION_X + tl.load(ORDER_Y + start + t)) // B)
            counts = count_greater(counts, a, b, PACKED)
            if not NARROW:
                between = tl.zeros((B, B // 2), tl.int32)
                for before in range(start // width * width, start, B):
                    a, _ = ordered_words(tl.load(POSITION_X + tl.load(ORDER_Y + before + t)) // B)
                    between = count_greater(between, a, b, PACKED)
                found += total(between, EARLIER=False)
        found += total(counts, EARLIER=True)
    tl.store(OUT, tl.load(OUT) + weight * found)


def add_inversions(
    x: Permutations,
    y: Permutations,
    out: Tensor,  # (b, m, m2) int64, contiguous
    weight: int,
    *,
    symmetric: bool,
    tile: tiles.InversionTile,
) -> None:
    """Add ``weight`` times the number of discordant pairs of items to ``out``, above the diagonal only if symmetric."""
    b, m, m2 = out.shape
    n, block = x.n, tile.block
    width = block * triton.cdiv(n + 1, block * tile.bins)
    shared = {
        "OUT": out,
        "weight": weight,
        "m": m,
        "m2": m2,
        "n": n,
        "stride": x.order.shape[1],
        "width": width,
        "SYMMETRIC": symmetric,
        "PACKED": out.is_cuda,
        "B": block,
        "num_warps": tile.warps,
    }
    grid = (b * m * m2,)
    half = n < pairwise.HALF_RANKS and n <= block * EXACT_HALF.value
    blocks_kernel[grid](ORDER_X=x.order, POSITION_Y=y.position, HALF=half, C=tile.bins, **shared)
    intervals_kernel[grid](POSITION_X=x.position, ORDER_Y=y.order, NARROW=width == block, **shared)
