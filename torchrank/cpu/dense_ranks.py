"""CPU engine of the dense_ranks op.

Bit patterns, of 32 or 64 bits as the scores have, are compared. Items of short rows are counted below each other, in
loops that compile to vector instructions; longer rows are sorted by radix, with one walk along the sorted row.
"""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles, spans
from torchrank.rankings.ties import sortable

_TILE_SCORES = 2**15  # a tile's copy in 64 bits stays in cache, and torch makes it in the thread that asks
_SHORT = 100  # up to here counting is faster than clearing histograms and adding them up; for floats by 3 to 18 times
_LONG = 8192  # rows from here on have more items than the histograms of wide digits have entries
_u = np.uint64


def dense_ranks(scores: Tensor) -> tuple[Tensor, Tensor]:
    """See :func:`torchrank.rankings.ties.dense_ranks`; any real dtype."""
    n = scores.shape[-1]
    ranks = torch.empty(scores.shape, dtype=torch.int32)
    strict = torch.empty(scores.shape[:-1], dtype=torch.int64)
    rows = scores.detach().reshape(strict.numel(), n)
    rank_rows, strict_rows = ranks.view(strict.numel(), n).numpy(), strict.view(-1).numpy()
    digit = 11 if n >= _LONG else 8
    fill = _count_rows if n <= _SHORT else partial(_rank_rows, digit=digit)

    def rank(tile: slice) -> None:
        tile_scores = sortable(rows[tile])
        bits = tile_scores.contiguous().view(torch.int32 if tile_scores.element_size() == 4 else torch.int64).numpy()
        key = np.uint32 if bits.itemsize == 4 else np.uint64
        keys = np.empty((2, n), key)
        fill(bits, tile_scores.is_floating_point(), rank_rows[tile], strict_rows[tile], keys)

    size = _TILE_SCORES if n > _SHORT else 4 * _TILE_SCORES  # a millisecond
    run_tiles([slice(*span) for span in spans(len(rows), max(1, size // max(1, n)))], rank)
    return ranks, strict


@njit(nogil=True, cache=True)
def _count_rows(bits, floating, ranks, strict, keys):
    """Fill ``ranks`` (r, n) and ``strict`` (r,) from scores (r, n) given by their bits, in O(n^2).

    ``keys`` (2, n) are unsigned numbers as wide as the bits, to be overwritten.
    """
    n = bits.shape[1]
    below, items = np.empty(n, np.int32), np.empty(n, np.uint32)
    group = np.empty(n, np.int32)  # of the items with so many below them: how many groups are below
    for row in range(bits.shape[0]):
        ranked = _ordered_keys(bits[row], floating, keys[0], items, ranks[row])
        _count_below(keys[0, :ranked], below[:ranked])
        group[:ranked] = 0
        pairs = 0
        for k in range(ranked):
            group[below[k]] = 1
            pairs += below[k]
        groups = 0
        for k in range(ranked):
            groups, group[k] = groups + group[k], groups
        for k in range(ranked):
            ranks[row, items[k]] = group[below[k]]
        strict[row] = pairs


@njit(nogil=True, cache=True)
def _count_below(keys, below):
    """How many keys each is above: four at a time, so that keys are read a quarter as often."""
    whole = keys.size // 4 * 4
    for k in range(0, whole, 4):
        key0, key1, key2, key3 = keys[k], keys[k + 1], keys[k + 2], keys[k + 3]
        smaller0, smaller1, smaller2, smaller3 = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
        for j in range(keys.size):
            smaller0 += np.int32(keys[j] < key0)
            smaller1 += np.int32(keys[j] < key1)
            smaller2 += np.int32(keys[j] < key2)
            smaller3 += np.int32(keys[j] < key3)
        below[k], below[k + 1], below[k + 2], below[k + 3] = smaller0, smaller1, smaller2, smaller3
    for k in range(whole, keys.size):
        key, smaller = keys[k], np.int32(0)
        for j in range(keys.size):
            smaller += np.int32(keys[j] < key)
        below[k] = smaller


@njit(nogil=True, cache=True)
def _rank_rows(bits, floating, ranks, strict, keys, digit):
    """The same by sorting."""
    n = bits.shape[1]
    items = np.empty((2, n), np.uint32)
    histograms = np.empty((-(-8 * bits.itemsize // digit), 1 << digit), np.uint32)
    for row in range(bits.shape[0]):
        ranked = _ordered_keys(bits[row], floating, keys[0], items[0], ranks[row])
        side = _sort(ranked, digit, keys, items, histograms)
        rank, group_start, pairs = -1, 0, 0
        for k in range(ranked):
            if k == 0 or keys[side, k] != keys[side, k - 1]:
                rank += 1
                group_start = k
            ranks[row, items[side, k]] = rank
            pairs += group_start  # an item is strictly above all items before its tie group
        strict[row] = pairs


@njit(nogil=True, cache=True)
def _ordered_keys(bits, floating, keys, items, ranks):
    """Unsigned numbers in the order of the scores, and the items they belong to; NaN gets rank -1 and no key."""
    sign = np.int64(-1) << np.int64(8 * bits.itemsize - 1)
    infinity = np.int64(0x7FF0 << 48) if bits.itemsize == 8 else np.int64(0x7F80 << 16)
    unranked = 0
    for item in range(bits.size):  # without branches
        b = np.int64(bits[item])
        if floating:
            unranked += (b & ~sign) > infinity
            b = np.int64(0) if b == sign else b  # -0.0 equals 0.0
            b = ~b ^ sign if b < 0 else b  # larger bits of negative numbers are smaller numbers
        keys[item] = _u(b ^ sign)  # of which 32 bits are kept where there are as many
        items[item] = item
    if unranked == 0:
        return bits.size
    ranked = 0
    for item in range(bits.size):
        if (np.int64(bits[item]) & ~sign) > infinity:
            ranks[item] = -1
        else:
            keys[ranked], items[ranked] = keys[item], item
            ranked += 1
    return ranked


@njit(nogil=True, cache=True)
def _sort(size, digit, keys, items, histograms):
    """Sort ``keys[0, :size]`` and their items, last digits first; returns which of the two sides holds the result."""
    mask = (_u(1) << _u(digit)) - _u(1)
    histograms[:] = 0
    for k in range(size):
        key = keys[0, k]
        for d in range(histograms.shape[0]):
            histograms[d, (key >> _u(d * digit)) & mask] += 1
    side = 0
    for d in range(histograms.shape[0]):
        shift = _u(d * digit)
        if size == 0 or histograms[d, (keys[side, 0] >> shift) & mask] == size:
            continue  # all keys share this digit
        start = 0
        for bucket in range(histograms.shape[1]):
            start, histograms[d, bucket] = start + histograms[d, bucket], start
        other = 1 - side
        for k in range(size):
            key = keys[side, k]
            bucket = (key >> shift) & mask
            place = histograms[d, bucket]
            histograms[d, bucket] = place + 1
            keys[other, place] = key
            items[other, place] = items[side, k]
        side = other
    return side
