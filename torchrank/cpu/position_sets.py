"""Inversion counting in O(1) vector operations an item: a bit set with counted prefixes.

One ranking is walked from its least to its most preferred item; the other gives each item a position. A pair is
concordant where the later item also has the larger position, so each item asks how many of the items seen so far lie
before it. The answer has four parts, each one look-up: whole blocks of 65,536 positions, spans of 2,048 inside the
block, 64-bit words inside the span, and a population count inside the word. Entering an item adds 1 to every later
counter of its span, block and table, which is one 512-bit vector addition each. (Knight, JASA 61, 1966, counts the same
inversions in O(log n) an item by merging.)

Several rankings are walked at once: their counters are independent, which hides the latency from a vector store to the
next look-up, and their positions lie side by side, so that one cache line serves all.
"""

# The first parameter of an intrinsic, the typing context, is not passed by its callers.
# pyright: reportCallIssue=false

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from torchrank.cpu.compiled import njit

WORDS = 32  # 64-bit words in a span, spans in a block: their uint16 counters fill 512 bits
SPAN = 64 * WORDS
BLOCK = SPAN * WORDS
_u = np.uint64


@intrinsic
def _popcount(typingctx, word):
    """Number of bits set in ``word``."""
    return types.uint64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])


@intrinsic
def _count_after(typingctx, counters, start, entry):
    """Add 1 to ``counters[start + k]`` for every k in (entry, WORDS); one masked vector addition."""

    def codegen(context, builder, signature, args):
        element = ir.IntType(signature.args[0].dtype.bitwidth)
        vector = ir.VectorType(element, WORDS)
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        address = builder.bitcast(builder.gep(data, [args[1]]), vector.as_pointer())
        undefined, lane = ir.Constant(vector, ir.Undefined), ir.IntType(32)
        first = builder.insert_element(undefined, builder.trunc(args[2], element), ir.Constant(lane, 0))
        entries = builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(lane, WORDS), [0] * WORDS))
        after = builder.icmp_unsigned(">", ir.Constant(vector, list(range(WORDS))), entries)
        old = builder.load(address, align=element.width // 8)
        builder.store(builder.sub(old, builder.sext(after, vector)), address, align=element.width // 8)
        return context.get_dummy_value()

    return types.void(counters, types.uint64, types.uint64), codegen


@njit(nogil=True, cache=True)
def sort_rows(ranks, order, starts):
    """Counting sort of the dense ranks (m, n).

    Fills ``order`` (m, n) with the ranked items from least to most preferred, and ``starts`` (m, n + 1): tie group r of
    a row is ``order[starts[r] : starts[r + 1]]``; groups that do not exist are empty.
    """
    m, n = ranks.shape
    free = np.empty(n, np.int64)
    for row in range(m):
        _group_starts(ranks[row], starts[row], free)
        for item in range(n):
            r = ranks[row, item]
            if r >= 0:
                order[row, free[r]] = item
                free[r] += 1


@njit(nogil=True, cache=True)
def place_rows(ranks, placed, groups):
    """Lay the dense ranks (w, n) of w rows side by side: ``placed[w * item + row]``, unranked as the largest unsigned.

    ``groups`` (w, n, 2) gets the first position of every tie group twice; it may be empty when all rows are untied.
    """
    width, n = ranks.shape
    for item in range(n):
        for row in range(width):
            placed[item * width + row] = ranks[row, item]
    if groups.shape[1]:
        starts, free = np.empty(n + 1, np.int64), np.empty(n, np.int64)
        for row in range(width):
            _group_starts(ranks[row], starts, free)
            for r in range(n):
                groups[row, r, 0] = groups[row, r, 1] = starts[r]


@njit(nogil=True, cache=True)
def _group_starts(ranks, starts, free):
    """First position of every tie group in sorted order, into ``starts`` (n + 1) and ``free`` (n)."""
    free[:] = 0
    for r in ranks:
        if r >= 0:
            free[r] += 1
    total = 0
    for r in range(free.size):
        starts[r] = total
        total += free[r]
        free[r] = starts[r]
    starts[free.size] = total


@njit(nogil=True, cache=True)
def plain_tile(order, placed, width, r0, r1, c0, lower, sets, score):
    """Concordant minus discordant pairs of rows [r0, r1) with ``width`` columns from c0 on, all complete and untied.

    ``order`` is that of :func:`sort_rows`, ``placed`` that of :func:`place_rows` for the columns, ``sets`` comes from
    :func:`empty_sets`. With ``lower``, rows and columns are the same rankings, and only the lower triangle is written.
    """
    n = order.shape[1]
    concordant = np.empty(width, np.uint64)
    walk = np.empty_like(placed)
    for r in range(max(r0, c0) if lower else r0, r1):
        met = min(width, r - c0) if lower else width
        if met < width:
            score[r, r] = n * (n - 1) // 2
        capacity = _clear(width, *sets)
        concordant[:] = 0
        _collect(order[r], placed, width, walk)
        for k in range(n):
            for row in range(met):
                p = _u(row) * capacity + _u(walk[_u(k * width + row)])
                concordant[row] += _seen_before(p, *sets)
                _enter(p, _u(row + 1) * capacity, *sets)
        for row in range(met):
            score[r, c0 + row] = 2 * np.int64(concordant[row]) - n * (n - 1) // 2


@njit(nogil=True, cache=True)
def tied_tile(order, starts, placed, groups, r0, r1, c0, lower, sets, score, strict):
    """The same for rankings with ties or unranked items, and the pairs ordered strictly by both.

    ``strict`` may have no rows, when nobody asked for it. The items of one tie group of the walked ranking first all
    ask, then all enter, so that they never meet. In the others an item enters at the next free position of its tie
    group: ``groups[row, g]`` holds the first and the next free position of group g, side by side for the cache's sake,
        and their difference is how many equal items have been
    seen.
    """
    width = groups.shape[0]
    unranked = _u(np.iinfo(placed.dtype).max)
    walk = np.empty_like(placed)
    balance, comparable, seen = np.empty(width, np.int64), np.empty(width, np.int64), np.empty(width, np.int64)
    for r in range(max(r0, c0) if lower else r0, r1):
        met = min(width, r - c0) if lower else width
        if met < width:
            score[r, r] = _strict_pairs(starts[r])
            if strict.shape[0]:
                strict[r, r] = score[r, r]
        capacity = _clear(width, *sets)
        groups[:, :, 1] = groups[:, :, 0]
        _collect(order[r, : starts[r, -1]], placed, width, walk)
        balance[:], comparable[:], seen[:] = 0, 0, 0
        for group in range(order.shape[1]):
            first, last = starts[r, group], starts[r, group + 1]
            if first == last:
                break
            for k in range(first, last):
                for row in range(met):
                    g = _u(walk[_u(k * width + row)])
                    if g != unranked:
                        start, free = _u(groups[row, g, 0]), _u(groups[row, g, 1])
                        below = _seen_before(_u(row) * capacity + start, *sets)
                        different = seen[row] - np.int64(free - start)
                        balance[row] += 2 * np.int64(below) - different
                        comparable[row] += different
            for k in range(first, last):
                for row in range(met):
                    g = _u(walk[_u(k * width + row)])
                    if g != unranked:
                        p = _u(row) * capacity + _u(groups[row, g, 1])
                        groups[row, g, 1] += 1
                        seen[row] += 1
                        _enter(p, _u(row + 1) * capacity, *sets)
        for row in range(met):
            score[r, c0 + row] = balance[row]
            if strict.shape[0]:
                strict[r, c0 + row] = comparable[row]


@njit(nogil=True, cache=True)
def _collect(order, placed, width, walk):
    """Bring what belongs to each item into the order of the walk.

    These are far jumps in memory. In a loop of their own many are under way at once.
    """
    for k in range(order.size):
        item = _u(order[k]) * _u(width)
        for row in range(width):
            walk[_u(k * width + row)] = placed[item + _u(row)]


@njit(nogil=True, cache=True)
def _strict_pairs(starts):
    """Pairs of items in different tie groups: every item is strictly above all items before its group."""
    pairs = 0
    for group in range(starts.size - 1):
        start, end = np.int64(starts[group]), np.int64(starts[group + 1])
        pairs += start * (end - start)
    return pairs


@njit(nogil=True, cache=True)
def _clear(width, words, spans, blocks, tables):
    """Empty the sets; returns the number of positions that each row's set can hold."""
    words[:], spans[:], blocks[:] = 0, 0, 0
    if tables is not None:
        tables[:] = 0
    return _u(64 * words.size // width)


@njit(nogil=True, cache=True)
def _seen_before(p, words, spans, blocks, tables):
    """How many positions of the set before ``p`` have been entered."""
    below = (_u(1) << (p & _u(63))) - _u(1)
    inside = _popcount(words[p >> _u(6)] & below) + _u(spans[p >> _u(6)]) + _u(blocks[p >> _u(11)])
    return inside if tables is None else inside + _u(tables[p >> _u(16)])


@njit(nogil=True, cache=True)
def _enter(p, end, words, spans, blocks, tables):
    """Enter position ``p`` into its set, which ends before position ``end``."""
    word, span = p >> _u(6), p >> _u(11)
    words[word] |= _u(1) << (p & _u(63))
    _count_after(spans, word & ~_u(31), word & _u(31))
    _count_after(blocks, span & ~_u(31), span & _u(31))
    if tables is not None:
        for later in range((p >> _u(16)) + _u(1), end >> _u(16)):
            tables[_u(later)] += 1


def empty_sets(n: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Sets of n positions for ``width`` rows: words, and counters by word, by span and, beyond one block, by block.

    Up to one block the last is None, a type of its own for numba, which then compiles the look-up away.
    """
    blocks = -(-n // BLOCK) * width
    return (
        np.empty(blocks * WORDS * WORDS, np.uint64),
        np.empty(blocks * WORDS * WORDS, np.uint16),
        np.empty(blocks * WORDS, np.uint16),
        np.empty(blocks, np.uint32) if n > BLOCK else None,
    )
