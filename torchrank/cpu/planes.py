"""Sign bit-planes: every pair of items is one bit, and rankings are compared 64 pairs at a time by XOR and popcount.

Pairs are enumerated by distance around a circle, (i, i + d mod n) for d = 1, 2, ..., n // 2: then the bits of one
distance are one comparison of two contiguous vectors, and planes have no gaps. For even n the last distance has n / 2
pairs.

Complete rankings without ties need one plane: whether item i is preferred to item i + d. All others carry a second one:
whether the pair is ordered strictly. Blocks of rows are compared as in a matrix product, RxC counters held in vector
registers over a stretch of words that stays in cache.
"""

# The first parameter of an intrinsic, the typing context, is not passed by its callers.
# pyright: reportCallIssue=false

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from torchrank.cpu.compiled import njit
from torchrank.cpu.plane_product import LANES, plane_product

ROWS = 4  # planes are padded to whole groups of this many rows
_STRETCH = 512  # words of each row that one pass over a tile reads: 4 KiB
_u = np.uint64


@intrinsic
def _greater64(typingctx, a, i, b, j):
    """Bit k tells whether ``a[i + k] > b[j + k]``, for k = 0..63, as unsigned numbers."""

    def codegen(context, builder, signature, args):
        sides = []
        for array, start, kind in ((args[0], args[1], signature.args[0]), (args[2], args[3], signature.args[2])):
            vector = ir.VectorType(ir.IntType(kind.dtype.bitwidth), 64)
            address = builder.gep(context.make_array(kind)(context, builder, array).data, [start])
            sides.append(builder.load(builder.bitcast(address, vector.as_pointer()), align=kind.dtype.bitwidth // 8))
        return builder.bitcast(builder.icmp_unsigned(">", *sides), ir.IntType(64))

    return types.uint64(a, types.intp, b, types.intp), codegen


_plain_product = plane_product(4, 4, masked=False)  # 16 counters and 8 operands: within 32 vector registers
_masked_product = plane_product(4, 2, masked=True)


def words_of(n: int, first: int, last: int) -> int:
    """Words of a plane that holds the pairs at distances ``first`` to ``last - 1``, in whole vectors."""
    return -(-pairs_of(n, first, last) // (64 * LANES)) * LANES


@njit(nogil=True, cache=True)
def fill_planes(ranks, first, last, circle, signs, strict):
    """Write the bits of distances ``first`` to ``last - 1`` of the dense ranks (r, n) into ``signs`` (r, words).

    ``circle`` is scratch of 2 n + 64 unsigned numbers, in whose dtype -1 becomes the largest number. ``strict`` has the
    shape of ``signs``, or no rows when no plane of strict pairs is wanted.
    """
    n = ranks.shape[1]
    circle[2 * n :] = 0
    for row in range(ranks.shape[0]):
        for item in range(n):
            circle[item] = ranks[row, item]
            circle[n + item] = ranks[row, item]
        _fill_plane(circle, n, first, last, False, signs[row])
        if strict.shape[0]:
            _fill_plane(circle, n, first, last, True, strict[row])


@njit(nogil=True, cache=True)
def _fill_plane(circle, n, first, last, strict, plane):
    """Write the bits of one row: is the first item of each pair preferred, or, for strict, do the two differ."""
    unranked = np.empty(64, circle.dtype)
    unranked[:] = np.iinfo(circle.dtype).max
    waiting = _u(0)  # bits of the unfinished word
    full = word = 0  # how many they are, and how many words are finished
    for d in range(first, last):
        pairs = n // 2 if 2 * d == n else n
        for i in range(0, pairs - 63, 64):
            bits = _strict64(circle, i, d, unranked) if strict else _greater64(circle, i, circle, i + d)
            plane[word] = waiting | (bits << _u(full))
            waiting = (bits >> _u(1)) >> _u(63 - full)  # two shifts, since one by 64 is undefined
            word += 1
        rest = pairs % 64
        if rest:
            i = pairs - rest
            bits = _strict64(circle, i, d, unranked) if strict else _greater64(circle, i, circle, i + d)
            bits &= (_u(1) << _u(rest)) - _u(1)
            waiting |= bits << _u(full)
            full += rest
            if full >= 64:
                full -= 64
                plane[word] = waiting
                waiting = bits >> _u(rest - full)
                word += 1
    plane[word:] = 0
    if full:
        plane[word] = waiting


@njit(nogil=True, cache=True)
def _strict64(circle, i, d, unranked):
    """Bit k tells whether items i + k and i + k + d are both ranked, and differ."""
    differ = _greater64(circle, i, circle, i + d) | _greater64(circle, i + d, circle, i)
    return differ & _greater64(unranked, 0, circle, i) & _greater64(unranked, 0, circle, i + d)


@njit(nogil=True, cache=True)
def plain_tile(x, y, r0, r1, c0, c1, lower, score):
    """Subtract twice the differing pairs of rows [r0, r1) and columns [c0, c1) from ``score``.

    ``x`` and ``y`` are planes (rows, words); r0 and c0 are multiples of 4. With ``lower``, x is y and blocks above the
    diagonal are left out.
    """
    words = x.shape[1]
    flat_x, flat_y = x.reshape(-1), y.reshape(-1)
    out = np.empty(16, np.int64)
    for start in range(0, words, _STRETCH):
        vectors = min(_STRETCH, words - start) // LANES
        for r in range(r0, r1, 4):
            for c in range(c0, min(c1, r + 4) if lower else c1, 4):
                _plain_product(
                    flat_x, flat_y, flat_x, flat_y, r * words + start, c * words + start, words, vectors, out
                )
                for a in range(min(4, r1 - r)):
                    for b in range(min(4, c1 - c)):
                        score[r + a, c + b] -= 2 * out[4 * a + b]


@njit(nogil=True, cache=True)
def masked_tile(x, y, strict_x, strict_y, tied_x, tied_y, pairs, r0, r1, c0, c1, lower, score, strict):
    """Add the strict pairs of both, less twice the differing ones, to ``score``, and the strict ones to ``strict``.

    ``tied_x`` and ``tied_y`` tell for each group of four rows whether one of them is not complete or has ties; where
    neither group has one, all ``pairs`` of the planes are strict, and need not be masked. ``strict`` may have no rows,
    when nobody asked for it.
    """
    words = x.shape[1]
    flat = x.reshape(-1), y.reshape(-1), strict_x.reshape(-1), strict_y.reshape(-1)
    out = np.empty(16, np.int64)
    for start in range(0, words, _STRETCH):
        vectors = min(_STRETCH, words - start) // LANES
        strict_pairs = pairs if start == 0 else 0  # of the planes, once
        for r in range(r0, r1, ROWS):
            for c in range(c0, min(c1, r + ROWS) if lower else c1, ROWS):
                if not (tied_x[r // ROWS] or tied_y[c // ROWS]):
                    _plain_product(*flat, r * words + start, c * words + start, words, vectors, out)
                    for a in range(min(ROWS, r1 - r)):
                        for b in range(min(ROWS, c1 - c)):
                            score[r + a, c + b] += strict_pairs - 2 * out[ROWS * a + b]
                            if strict.shape[0]:
                                strict[r + a, c + b] += strict_pairs
                    continue
                for half in range(c, min(c + ROWS, c1), 2):
                    _masked_product(*flat, r * words + start, half * words + start, words, vectors, out)
                    for a in range(min(ROWS, r1 - r)):
                        for b in range(min(2, c1 - half)):
                            score[r + a, half + b] += out[8 + 2 * a + b] - 2 * out[2 * a + b]
                            if strict.shape[0]:
                                strict[r + a, half + b] += out[8 + 2 * a + b]


def pairs_of(n: int, first: int, last: int) -> int:
    """How many pairs of items there are at distances ``first`` to ``last - 1``."""
    return n * (last - first) - (n // 2 if n % 2 == 0 and first <= n // 2 < last else 0)
