"""CPU engine of the top scoring pairs: pairs side by side in vector lanes, class by class, the best in bounded heaps.

A bit for every sample and pair would be written once and counted once, so nothing is packed: the lanes of a stretch of
second items count, sample after sample, how often the first item is above and below. Counts stay in 16 bits and in the
first-level cache, and a stretch of ranks stays in the second-level cache while many first items meet it.
"""

import threading
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from torchrank._progress import progress_bar
from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles

_LANES = 512  # second items that meet a first item at once
_TILE_COMPARISONS = 300_000_000  # about 20 ms
_i = np.int16  # a wider operand would widen the vectors


def top_pairs(ranks: Tensor, n_first: int, secondary: Tensor, k: int, progress: bool) -> Tensor:
    """See :func:`torchrank.classification.pair_blocks.top_pairs`."""
    m, n = ranks.shape
    columns, counter = _compact(ranks), np.int16 if m < 2**15 else np.int32
    gaps = secondary.numpy()
    best = np.empty((0, 3), np.int64)
    lock = threading.Lock()

    def search(rows: tuple[int, int]) -> None:
        nonlocal best
        with lock:
            floor = best[0, 0] if len(best) == k else np.int64(0)
        heap = np.empty((k, 3), np.int64)
        counts = np.empty((2, _LANES), counter)
        found = heap[: _search(columns, n_first, gaps, *rows, floor, heap, counts)]
        with lock:
            both = np.concatenate([best, found])
            best = both[np.lexsort(both.T[::-1])[-k:]]  # ascending: the worst kept one is first

    tiles = list(_tiles(n, m))
    with progress_bar("top scoring pairs", "tile", total=len(tiles), progress=progress) as bar:
        run_tiles(tiles, search, bar.update)
    return torch.from_numpy(-best[::-1, 2])


def all_pairs_margins(ranks: Tensor, n_first: int, new: Tensor, strict: bool, progress: bool) -> Tensor:
    """See :func:`torchrank.classification.pair_blocks.all_pairs_margins`."""
    (m, n), m2 = ranks.shape, new.shape[0]
    columns, voters = _compact(ranks), _compact(new)
    counter = np.int16 if m < 2**15 else np.int32
    total = np.zeros(m2, np.int64)
    lock = threading.Lock()

    def vote(rows: tuple[int, int]) -> None:
        votes = np.zeros(m2, np.int64)
        _vote(columns, n_first, voters, *rows, strict, votes, np.empty((2, _LANES), counter))
        with lock:
            np.add(total, votes, out=total)

    tiles = list(_tiles(n, m + m2))
    with progress_bar("all pairs vote", "tile", total=len(tiles), progress=progress) as bar:
        run_tiles(tiles, vote, bar.update)
    return torch.from_numpy(total)


def _compact(ranks: Tensor) -> np.ndarray:
    """Dense ranks in as few bytes as hold them; more of them fit a vector."""
    array = ranks.contiguous().numpy()
    return array.astype(np.int16) if ranks.shape[1] <= 2**15 else array


def _tiles(n: int, samples: int) -> Iterator[tuple[int, int]]:
    """Ranges of first items; few enough pairs each that Ctrl-C is heard, and at most 256 first items."""
    first = 0
    while first < n - 1:
        rows = max(1, min(256, _TILE_COMPARISONS // (max(1, samples) * (n - 1 - first))))
        yield first, min(first + rows, n - 1)
        first += rows


@njit(nogil=True, cache=True)
def _search(ranks, n_first, gaps, i0, i1, floor, heap, counts):
    """Put the best pairs (i, j > i) with i0 <= i < i1 into ``heap``; returns how many there are."""
    m, n = ranks.shape
    n_second, lanes, size = m - n_first, counts.shape[1], 0
    scores = np.empty(lanes, np.int64)
    for j0 in range(i0 + 1, n, lanes):
        for i in range(i0, i1):
            start = max(j0, i + 1)
            width = min(j0 + lanes, n) - start
            if width <= 0:
                continue
            _count(ranks, n_first, i, start, width, False, counts)
            largest = np.int64(0)
            for b in range(width):
                score = abs(n_first * np.int64(counts[1, b]) - n_second * np.int64(counts[0, b]))
                scores[b] = score
                largest = max(largest, score)
            if largest < floor:
                continue
            for b in range(width):
                if scores[b] >= floor:
                    gap = abs(gaps[i] - gaps[start + b])
                    size = _push(heap, size, scores[b], gap, -(np.int64(i) * n + start + b))
            if size == heap.shape[0]:
                floor = max(floor, heap[0, 0])
    return size


@njit(nogil=True, cache=True)
def _vote(ranks, n_first, new, i0, i1, strict, votes, counts):
    """Add to ``votes`` (m2,) the votes of the pairs (i, j > i) with i0 <= i < i1, second class minus first."""
    m, n = ranks.shape
    n_second, lanes = m - n_first, counts.shape[1]
    signs = np.empty(lanes, np.int16)
    low, scale, shift = (_i(0), _i(2), _i(-1)) if strict else (_i(-1), _i(1), _i(0))
    for j0 in range(i0 + 1, n, lanes):
        sums = np.zeros((new.shape[0], lanes), np.int16)  # of at most 256 first items
        for i in range(i0, i1):
            start = max(j0, i + 1)
            width = min(j0 + lanes, n) - start
            if width <= 0:
                continue
            _count(ranks, n_first, i, start, width, strict, counts)
            for b in range(width):
                score = n_first * np.int64(counts[1, b]) - n_second * np.int64(counts[0, b])
                signs[b] = scale * _clip(score, np.int64(low)) + shift
            for t in range(new.shape[0]):
                own, row = new[t, i], new[t, start : start + width]
                margins = sums[t]
                for b in range(width):
                    margins[b] += signs[b] * (scale * _clip(row.dtype.type(own - row[b]), low) + shift)
        for t in range(new.shape[0]):
            total = 0
            for b in range(lanes):
                total += sums[t, b]
            votes[t] += total


@njit(nogil=True, cache=True)
def _count(ranks, n_first, i, start, width, strict, counts):
    """Times that item i is above minus times it is below each of ``width`` items, in either class.

    With ``strict`` only the former, which with "not above" for "below" halves the scores of pairs.
    """
    counts[:, :width] = 0
    low = _i(0) if strict else _i(-1)
    for s in range(ranks.shape[0]):
        own, row = ranks[s, i], ranks[s, start : start + width]
        lane = counts[0] if s < n_first else counts[1]
        for b in range(width):
            lane[b] += _clip(row.dtype.type(own - row[b]), low)


@njit(nogil=True, cache=True)
def _clip(number, low):
    """A number clipped to -1 or 0 and 1; for 16-bit numbers all vector units have these operations."""
    return np.int16(min(max(number, low), 1))


@njit(nogil=True, cache=True)
def _push(heap, size, score, gap, place):
    """Keep a pair if there is room or if it is better than the worst, which is at the root; returns the new size."""
    full = size == heap.shape[0]
    if full and not _worse(heap, 0, score, gap, place):
        return size
    hole = 0 if full else size
    if full:  # the root makes room: move up the worse child of the hole, level by level, while the new pair is better
        while True:
            child = 2 * hole + 1
            if child >= size:
                break
            if child + 1 < size and _worse(heap, child + 1, heap[child, 0], heap[child, 1], heap[child, 2]):
                child += 1
            if not _worse(heap, child, score, gap, place):
                break
            heap[hole] = heap[child]
            hole = child
    else:  # from the end: move down better parents
        while hole > 0 and not _worse(heap, (hole - 1) // 2, score, gap, place):
            heap[hole] = heap[(hole - 1) // 2]
            hole = (hole - 1) // 2
    heap[hole, 0], heap[hole, 1], heap[hole, 2] = score, gap, place
    return size if full else size + 1


@njit(nogil=True, cache=True)
def _worse(heap, k, score, gap, place):
    """Whether entry k has a smaller score, or the same and a smaller gap, or the same and comes later."""
    if heap[k, 0] != score:
        return heap[k, 0] < score
    if heap[k, 1] != gap:
        return heap[k, 1] < gap
    return heap[k, 2] < place
