# pyright: reportCallIssue=false, reportArgumentType=false
# Triton rewrites the signatures of kernels and their launches, which the type checker does not see.
"""Kernels of the smoothed Gram matrix: expected signs are made in registers and multiplied on the tensor cores.

**Precision.** An expected sign g is computed in single precision and multiplied as a pair of half-precision numbers,
g = high + low up to 2**-24; the product of the low parts, below 2**-24, is left out, and -1, 0 and 1 are exact. Tensor
cores may round sums towards zero, so they add up one tile of pairs at a time, small products first; tiles are added in
single precision, and programs add their sums to 64-bit integers, as fixed-point numbers, in any order with the same
result.

**Infinite scores.** Scores are divided by 2**6, exactly, so that there is room above the largest finite one: infinities
become 2**127. They are further from all others than any window reaches, and equal ones still are a tie, which two
infinities would not be.

**Padding.** No item beyond the last is swept as first item of a pair; as second item its difference, in one of the two
rankings, counts 0 windows.
"""

import triton
import triton.language as tl

from kernels_triton import pairwise


@triton.jit(do_not_specialize=["m", "m2", "batch_stride", "row_stride", "column_stride"])
def weights_kernel(
    GRADIENT,  # (batch, m, m2) float32
    TRANSPOSED,  # the same or another matrix, (batch, m2, m), where BOTH
    SCALE,  # (batch, m) float32: what to multiply a row with
    OUT,  # (batch, 2, padded rows, padded columns) float16
    m,
    m2,
    batch_stride,
    row_stride,
    column_stride,
    padded_rows,
    padded_columns,
    BOTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write scaled weights as pairs of half-precision numbers, 0 in the padding; with BOTH, of matrix plus transposed.

    A program writes its own BLOCK by BLOCK words of either number.
    """
    tiles_c = padded_columns // BLOCK
    tiles_r = padded_rows // BLOCK
    pid = tl.program_id(0)
    batch = (pid // tiles_c // tiles_r).to(tl.int64)
    row = pid // tiles_c % tiles_r * BLOCK + tl.arange(0, BLOCK)
    column = pid % tiles_c * BLOCK + tl.arange(0, BLOCK)
    inside = (row < m)[:, None] & (column < m2)[None, :]
    offset = batch * batch_stride
    r, c = row[:, None].to(tl.int64), column[None, :].to(tl.int64)
    weight = tl.load(GRADIENT + offset + r * row_stride + c * column_stride, mask=inside, other=0.0)
    if BOTH:
        weight += tl.load(TRANSPOSED + offset + c * row_stride + r * column_stride, mask=inside, other=0.0)
    scale = tl.load(SCALE + batch * m + row, mask=row < m, other=0.0)
    high, low = split(weight * scale[:, None])
    OUT += batch * 2 * padded_rows * padded_columns
    offsets = r * padded_columns + c
    tl.store(OUT + offsets, high)
    tl.store(OUT + offsets + padded_rows.to(tl.int64) * padded_columns, low)


@triton.jit
def split(x):
    """``x`` of at most 1 as the sum of two half-precision numbers."""
    high = x.to(tl.float16)
    return high, (x - high.to(tl.float32)).to(tl.float16)


@triton.jit
def in_windows(difference, inverse, GAUSSIAN: tl.constexpr):
    """Differences of scores as multiples of the window, cut where expected signs are constant."""
    s = difference * inverse
    return tl.clamp(s, -100.0, 100.0) if GAUSSIAN else tl.clamp(s, -1.0, 1.0)


@triton.jit
def expected_sign(s, GAUSSIAN: tl.constexpr):
    """Expected sign of a difference of ``s`` windows."""
    return tl.erf(0.5 * s) if GAUSSIAN else s * (2.0 - tl.abs(s))


@triton.jit
def slope(s, GAUSSIAN: tl.constexpr):
    """Its derivative."""
    return tl.exp(-0.25 * s * s) * 0.5641895835477563 if GAUSSIAN else 2.0 - 2.0 * tl.abs(s)


@triton.jit
def dot_of_pairs(x_high, x_low, y_high, y_low):
    """Product of two matrices of pairs in single precision, without low times low; the smaller products first."""
    small = tl.dot(x_high, y_low, tl.dot(x_low, y_high))
    return tl.dot(x_high, y_high, small)


@triton.jit(do_not_specialize=["m", "m2", "n", "batch_stride", "row_stride", "inverse", "scale"])
def gram_kernel(
    X,  # (batch, items, rows_x) prepared scores, in whole tiles
    Y,  # (batch, items, rows_y)
    SUMS,  # (batch, m, m2) int64, zero before
    m,
    m2,
    n,
    rows_x,
    rows_y,
    items,
    batch_stride,
    row_stride,
    inverse,
    scale,
    SYMMETRIC: tl.constexpr,
    GAUSSIAN: tl.constexpr,
    BX: tl.constexpr,
    BY: tl.constexpr,
    BK: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Add ``scale`` times sum over pairs (i, j) of g(x_i - x_j) g(y_i - y_j) to a tile of rankings of x and of y.

    A program keeps one block of second items j at hand and sweeps first items i over it; each i adds BK pairs to a
    product. Programs that share a tile add integers atomically, so their order doesn't matter; rows outside of the
    matrix are masked there.
    """
    batch, tile_x, tile_y, block, first, last, weight = pairwise.pairs_of_program(
        rows_x, rows_y, items, n, SYMMETRIC, BX, BY, BK, CHUNK
    )
    if first >= last:
        return

    row_x, row_y, k = tl.arange(0, BX), tl.arange(0, BY), tl.arange(0, BK)
    X += batch * items * rows_x + tile_x * BX
    Y += batch * items * rows_y + tile_y * BY
    j = (block * BK).to(tl.int64)
    xj = tl.load(X + j * rows_x + (row_x[:, None] + k[None, :] * rows_x))  # [BX, BK]
    yj = tl.load(Y + j * rows_y + (row_y[:, None] + k[None, :] * rows_y))  # [BY, BK]
    X += first.to(tl.int64) * rows_x
    Y += first.to(tl.int64) * rows_y
    inverse_y = tl.where(block * BK + k < n, inverse, 0.0)[None, :]  # none of padding
    total = tl.zeros((BX, BY), tl.float32)
    for _ in range(first, last):
        xi, yi = tl.load(X + row_x), tl.load(Y + row_y)
        x_high, x_low = split(expected_sign(in_windows(xi[:, None] - xj, inverse, GAUSSIAN), GAUSSIAN))
        y_high, y_low = split(expected_sign(in_windows(yi[:, None] - yj, inverse_y, GAUSSIAN), GAUSSIAN))
        total += dot_of_pairs(x_high, x_low, tl.trans(y_high), tl.trans(y_low))
        X += rows_x
        Y += rows_y

    SUMS += batch * batch_stride + (tile_x * BX).to(tl.int64) * row_stride + tile_y * BY
    left, right = pairwise.halves(total)
    weight *= scale
    pairwise.add_half(SUMS, left * weight, row_stride, m - tile_x * BX, m2 - tile_y * BY)
    pairwise.add_half(SUMS + BY // 2, right * weight, row_stride, m - tile_x * BX, m2 - tile_y * BY - BY // 2)


@triton.jit(do_not_specialize=["n", "inverse", "scale", "moment_scale"])
def gradient_kernel(
    X,  # (batch, items, rows_x) prepared scores, in whole tiles
    Y,  # (batch, items, rows_y)
    WEIGHTS,  # (batch, 2, rows_x, rows_y) float16: gradient of the Gram matrix, high and low part
    GRADIENT,  # (batch, items, rows_x) int64, zero before
    MOMENTS,  # (batch, rows_x) int64, zero before
    n,
    rows_x,
    rows_y,
    items,
    inverse,
    scale,
    moment_scale,
    GAUSSIAN: tl.constexpr,
    BX: tl.constexpr,
    BY: tl.constexpr,
    BK: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Add a tile's share of the gradient with respect to x / window, and of its product with x / window summed up.

    With h_ij = sum over rankings y of weight times g(y_i - y_j), a pair (i, j) adds h_ij g'(x_i - x_j) to the gradient
    of x_i and subtracts it from that of x_j. A program keeps the latter for its block of second items j, sums up the
    former over the block for each first item i that it sweeps. Programs that share a word of GRADIENT or MOMENTS, which
    are padded to whole tiles, add integers atomically, ``scale`` or ``moment_scale`` times the sum, so their order
    doesn't matter.
    """
    batch, tile_x, _, block, first, last, weight = pairwise.pairs_of_program(
        rows_x, BY, items, n, False, BX, BY, BK, CHUNK
    )
    if first >= last:
        return

    row_x, row_y, k = tl.arange(0, BX), tl.arange(0, BY), tl.arange(0, BK)
    own_i = batch * items * rows_x + tile_x * BX + first.to(tl.int64) * rows_x  # the first of the rows of item i
    own_j = own_i + (block * BK - first).to(tl.int64) * rows_x + (row_x[:, None] + k[None, :] * rows_x)  # [BX, BK]
    Y += batch * items * rows_y
    y_of_j = Y + (block * BK).to(tl.int64) * rows_y + (row_y[:, None] + k[None, :] * rows_y)  # [BY, BK]
    y_of_i = Y + first.to(tl.int64) * rows_y + row_y
    w_high = WEIGHTS + (batch * 2 * rows_x + tile_x * BX) * rows_y + (row_x[:, None] * rows_y + row_y[None, :])
    w_low = w_high + rows_x.to(tl.int64) * rows_y  # [BX, BY]
    inverse_y = tl.where(block * BK + k < n, inverse, 0.0)[None, :]  # none of padding
    weight_i = weight * scale
    for_j = tl.zeros((BX, BK), tl.float32)
    moments = tl.zeros((BX,), tl.float32)
    for _ in range(first, last):
        h = tl.zeros((BX, BK), tl.float32)
        for c in range(0, rows_y, BY):
            s = in_windows(tl.load(y_of_i + c)[:, None] - tl.load(y_of_j + c), inverse_y, GAUSSIAN)
            y_high, y_low = split(expected_sign(s, GAUSSIAN))
            h += dot_of_pairs(tl.load(w_high + c), tl.load(w_low + c), y_high, y_low)
        s = in_windows(tl.load(X + own_i + row_x)[:, None] - tl.load(X + own_j), inverse, GAUSSIAN)
        by_s = h * slope(s, GAUSSIAN)
        for_j -= by_s
        moments += tl.sum(by_s * s, 1)
        tl.atomic_add(GRADIENT + own_i + row_x, (tl.sum(by_s, 1) * weight_i).to(tl.int64), sem="relaxed")
        own_i += rows_x
        y_of_i += rows_y

    tl.atomic_add(GRADIENT + own_j, (for_j * weight_i).to(tl.int64), sem="relaxed")
    MOMENTS += batch * rows_x + tile_x * BX
    tl.atomic_add(MOMENTS + row_x, (moments * (weight * moment_scale)).to(tl.int64), sem="relaxed")
