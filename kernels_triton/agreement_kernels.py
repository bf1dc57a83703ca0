# pyright: reportCallIssue=false, reportArgumentType=false
# Triton rewrites the signatures of kernels and their launches, which the type checker does not see.
"""Kernel of the agreement between scores with jitters and hard rankings: sums over the pairs of items of a row.

**Precision.** Expected signs, slopes and weights of pairs are in single precision. A program adds up CHUNK items in
it, and chunks, items and programs in double precision, in an order that does not change.

**Infinite scores.** Two equal ones are a tie, whose difference would be NaN; they do not move, so their slope is 0. Any
NaN that counts goes through to the sums.
"""

import triton
import triton.language as tl

from kernels_triton.smoothed_kernels import expected_sign, slope

LEAST = tl.constexpr(2.0**-126)  # and most of a window in single precision
MOST = tl.constexpr(2.0**127)


@triton.jit
def difference_in_windows(x_i, x_j, window, GAUSSIAN: tl.constexpr):
    """Differences of scores as multiples of the window, cut where expected signs are constant; of NaN they are NaN."""
    reach = 100.0 if GAUSSIAN else 1.0
    s = tl.where(x_i == x_j, 0.0, x_i - x_j) / window
    return tl.where(s > reach, reach, tl.where(s < -reach, -reach, s))


@triton.jit(do_not_specialize=["n"])
def agreement_kernel(
    X,  # (rows, n) float32 scores
    RANKS,  # (rows, n) int32, negative = the item does not count
    WEIGHTS,  # (rows, n) float64 of items, where WEIGHTED
    WINDOW,  # (rows,) float64
    SUMS,  # (rows, blocks of items, 6) float64: w g s, w g^2, w s^2, w, and of the first two the slopes in the window
    SLOPES,  # (rows, 2, n) float32: of the first two sums in the scores
    n,
    WEIGHTED: tl.constexpr,  # 0 = no weights, 1 = their products, 2 = their sums
    GAUSSIAN: tl.constexpr,
    WITH_SLOPES: tl.constexpr,
    BI: tl.constexpr,
    BJ: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Sums over the pairs of BI items of a row with all others, so that each pair of the row is met twice.

    The slopes of those items need no other program.
    """
    n_blocks = tl.cdiv(n, BI)
    row = (tl.program_id(0) // n_blocks).to(tl.int64)
    block = tl.program_id(0) % n_blocks
    X += row * n
    RANKS += row * n
    WEIGHTS += row * n
    window = tl.minimum(tl.maximum(tl.load(WINDOW + row), LEAST), MOST).to(tl.float32)
    i = block * BI + tl.arange(0, BI)
    rank_i = tl.load(RANKS + i, mask=i < n, other=-1)
    score_i = tl.load(X + i, mask=i < n, other=0.0)
    x_i = tl.where(rank_i >= 0, score_i, 0.0)[:, None]
    weight_i = x_i  # of none
    if WEIGHTED > 0:
        weight_i = tl.load(WEIGHTS + i, mask=i < n, other=0.0).to(tl.float32)[:, None]
    # w g s, w g^2, w s^2 and w of each item i; slopes of the first two in x_i, and in the window
    agreeing = tl.zeros((BI,), tl.float64)
    square = tl.zeros((BI,), tl.float64)
    strict = tl.zeros((BI,), tl.float64)
    counted = tl.zeros((BI,), tl.float64)
    steep = tl.zeros((BI,), tl.float64)
    steep_square = tl.zeros((BI,), tl.float64)
    in_window = tl.zeros((BI,), tl.float64)
    in_window_square = tl.zeros((BI,), tl.float64)
    for start in range(0, n, CHUNK):
        c_agreeing = tl.zeros((BI, BJ), tl.float32)
        c_square = tl.zeros((BI, BJ), tl.float32)
        c_strict = tl.zeros((BI, BJ), tl.float32)
        c_counted = tl.zeros((BI, BJ), tl.float32)
        c_steep = tl.zeros((BI, BJ), tl.float32)
        c_steep_square = tl.zeros((BI, BJ), tl.float32)
        c_in_window = tl.zeros((BI, BJ), tl.float32)
        c_in_window_square = tl.zeros((BI, BJ), tl.float32)
        for at in range(start, tl.minimum(start + CHUNK, n), BJ):
            j = at + tl.arange(0, BJ)
            rank_j = tl.load(RANKS + j, mask=j < n, other=-1)
            x_j = tl.where(rank_j >= 0, tl.load(X + j, mask=j < n, other=0.0), 0.0)[None, :]
            both = (rank_i >= 0)[:, None] & (rank_j >= 0)[None, :] & (i[:, None] != j[None, :])
            w = both.to(tl.float32)
            if WEIGHTED > 0:
                weight_j = tl.load(WEIGHTS + j, mask=j < n, other=0.0).to(tl.float32)[None, :]
                of_pair = weight_i * weight_j if WEIGHTED == 1 else weight_i + weight_j
                w = tl.where(both, of_pair, 0.0)
            above, below = rank_i[:, None] > rank_j[None, :], rank_i[:, None] < rank_j[None, :]
            signed = tl.where(above, w, tl.where(below, -w, 0.0))
            s = difference_in_windows(x_i, x_j, window, GAUSSIAN)
            g = expected_sign(s, GAUSSIAN)
            weighted = w * g
            c_agreeing += signed * g
            c_square += weighted * g
            c_strict += tl.abs(signed)
            c_counted += w
            if WITH_SLOPES:
                moving = slope(s, GAUSSIAN) / window
                c_steep += signed * moving
                c_steep_square += 2.0 * weighted * moving
                c_in_window -= signed * moving * s
                c_in_window_square -= 2.0 * weighted * moving * s
        agreeing += tl.sum(c_agreeing, 1).to(tl.float64)
        square += tl.sum(c_square, 1).to(tl.float64)
        strict += tl.sum(c_strict, 1).to(tl.float64)
        counted += tl.sum(c_counted, 1).to(tl.float64)
        if WITH_SLOPES:
            steep += tl.sum(c_steep, 1).to(tl.float64)
            steep_square += tl.sum(c_steep_square, 1).to(tl.float64)
            in_window += tl.sum(c_in_window, 1).to(tl.float64)
            in_window_square += tl.sum(c_in_window_square, 1).to(tl.float64)

    SUMS += (row * n_blocks + block) * 6
    tl.store(SUMS, tl.sum(agreeing, 0))
    tl.store(SUMS + 1, tl.sum(square, 0))
    tl.store(SUMS + 2, tl.sum(strict, 0))
    tl.store(SUMS + 3, tl.sum(counted, 0))
    if WITH_SLOPES:
        tl.store(SUMS + 4, tl.sum(in_window, 0))
        tl.store(SUMS + 5, tl.sum(in_window_square, 0))
        still = tl.abs(score_i) == float("inf")
        SLOPES += row * 2 * n + i
        tl.store(SLOPES, tl.where(still, 0.0, steep.to(tl.float32)), mask=i < n)
        tl.store(SLOPES + n, tl.where(still, 0.0, steep_square.to(tl.float32)), mask=i < n)
