"""The engine "sweep": the smoothed kernel of two rankings, exact, in O(n log n).

Scores are cut into cells as wide as the window, and every score becomes its cell and a local coordinate in [0, 1]: then
nothing larger than 1 is ever subtracted, whatever the range of the scores. With u the local coordinates in x, v those
in y, and i after j in the order of x, the expected sign of the pair in x is

* in one cell: 2 (u_i - u_j) - (u_i - u_j)^2;
* with j in the cell before: 1, less (u_j - u_i)^2 where u_j > u_i;
* otherwise 1;

and likewise, with signs, in y. Summed over j these are three polynomials, each over all places up to one in the order
of x: (u_j - u_i)^2 up to one window before i, 1 - 2 (u_i - u_j) up to i's cell, and 2 (u_i - u_j) - (u_i - u_j)^2 up to
i. In y they are constant or a polynomial over every cell as a whole, and +1, -2, +1 times (v_j - v_i)^2 over those
items of the cell before, of i's and of the next one that lie below v_i. So items enter in the order of x, the moments
u^p v^q, p and q up to 2, are kept in a Fenwick tree over the items of each cell of y, and a tree over the cells keeps
u^p. (For counts alone this is Knight's method, JASA 61, 1966.)
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchrank._progress import progress_bar
from torchrank.cpu.compiled import njit
from torchrank.cpu.job import Job, RowBlock, Tile
from torchrank.cpu.parallel import spans

_TILE_ITEMS = 50_000  # pairs of rankings times items in a tile: some 50 ms, so that Ctrl-C is heard


class Prepared(NamedTuple):
    """Sorted rows cut into cells. Arrays are (rows, n) by place in the order from the least score on, but for the last.

    Cells are numbered without the empty ones; two are neighbors if no empty one lies between them.
    """

    order: np.ndarray  # item
    local: np.ndarray  # coordinate in the cell
    cell: np.ndarray
    below: np.ndarray  # how many items of the cell before, if that is a neighbor, lie below the item's coordinate
    above: np.ndarray  # how many of the next
    start: np.ndarray  # (rows, n + 2) by cell: place of its first item; n after the last cell
    neighbor: np.ndarray  # (rows, n + 2) by cell: whether the one before is its neighbor
    place: np.ndarray  # by item: its place

    @classmethod
    def of(cls, scores: np.ndarray, window: float) -> "Prepared":
        """Sort and cut (rows, n) float64 scores."""
        order = np.argsort(scores, axis=-1).astype(np.int32)
        by_cell = (len(order), order.shape[1] + 2)
        cell, below, above, place = (np.empty_like(order) for _ in range(4))
        start, neighbor = np.empty(by_cell, np.int32), np.empty(by_cell, np.bool_)
        local = np.empty(order.shape)
        cut(scores, np.full(len(order), window), order, local, cell, start, neighbor)
        _look_around(order, local, cell, start, neighbor, below, above, place)
        return cls(order, local, cell, below, above, start, neighbor, place)


_ROW_BYTES = 33  # of a prepared row, for each item


def smoothed_gram(x: Tensor, y: Tensor | None, window: float, workspace: int, progress: bool) -> Tensor:
    """See :func:`torchrank.ops.smoothed.smoothed_gram`; noise is uniform. Computes in float64."""
    b, m, _ = x.shape
    other = x if y is None else y
    score = torch.zeros(b, m, other.shape[1], dtype=torch.float64)
    if score.numel() == 0:
        return score.to(x.dtype)
    rows = x.to(torch.float64).contiguous().numpy()
    columns = rows if y is None else other.to(torch.float64).contiguous().numpy()
    pairs = b * (m * (m + 1) // 2 if y is None else m * other.shape[1])
    with progress_bar("smoothed_gram (sweep)", "pair", unit_scale=True, total=pairs, progress=progress) as bar:
        job = Job(rows, columns, score.numpy(), np.empty((b, 0, 0)), y is None, True, workspace, bar)
        _fill(job, window)
    return score.to(x.dtype)


# Nanoseconds of one thread: for a feature, for a product of two, and for n log2 n of a sweep. By
# ``python -m benchmarks.run smoothed`` on x86-64 with AVX-512.
_FEATURE = {torch.float32: 0.2, torch.float64: 0.37}
_PRODUCT = {torch.float32: 0.06, torch.float64: 0.09}
_SWEEP = 85.0


def is_faster(x: Tensor, y: Tensor | None) -> bool:
    """Whether the sweep is expected to beat products of features, for ``(b, m, n)`` and ``(b, m2, n)`` scores."""
    (b, m, n), m2 = x.shape, (x if y is None else y).shape[1]
    threads = torch.get_num_threads()
    rows, products, pairs = (m, m * m, m * (m + 1) // 2) if y is None else (m + m2, m * m2, m * m2)
    exact = b * n * (n - 1) / 2 * (rows * _FEATURE[x.dtype] + products * _PRODUCT[x.dtype] / threads)
    return b * pairs * n * math.log2(n) * _SWEEP / min(threads, max(1, b * pairs)) < exact


def _fill(job: Job, window: float) -> None:
    n = job.x.shape[2]
    pairs = n * (n - 1) // 2
    for block in job.blocks(_ROW_BYTES * n, 1):
        rows = _prepare_all(job, job.x[block.batches, block.rows], window)
        columns = rows if block.lower else _prepare_all(job, job.y[block.batches, block.columns], window)
        score = job.score[block.batches, block.rows, block.columns]

        def sweep(tile: Tile, block: RowBlock = block, score: np.ndarray = score, x=rows, y=columns) -> None:
            m, m2 = score.shape[1:]
            for r in range(tile.r0, tile.r1):
                for c in range(tile.c0, min(tile.c1, r + 1) if block.lower else tile.c1):
                    row, column = x[tile.batch * m + r], y[tile.batch * m2 + c]
                    score[tile.batch, r, c] = _sweep(*row, *column) / pairs
            job.mirror(block, tile)

        job.run(job.tiles(block, 1, max(1, _TILE_ITEMS // n)), sweep, job.share(block))


def _prepare_all(job: Job, scores: np.ndarray, window: float) -> list[Prepared]:
    """Every ranking of (b, r, n) scores by itself."""
    flat = scores.reshape(-1, scores.shape[-1])
    prepared: list[Prepared | None] = [None] * len(flat)

    def prepare(tile: Tile) -> None:
        part = Prepared.of(flat[tile.r0 : tile.r1], window)
        for k in range(tile.r0, tile.r1):
            prepared[k] = Prepared(*(array[k - tile.r0] for array in part))

    job.run([Tile(0, *rows, 0, 0) for rows in spans(len(flat), max(1, _TILE_ITEMS // flat.shape[1]))], prepare)
    return [row for row in prepared if row is not None]


@njit(nogil=True, cache=True)
def cut(scores, windows, order, local, cell, start, neighbor):
    """Cut rows into cells as wide as ``windows`` (rows,), from the scores and their order; see :class:`Prepared`."""
    n = order.shape[1]
    for row in range(order.shape[0]):
        cells, before, r_before, window = -1, 0.0, 0.0, windows[row]
        for k in range(n):
            score = scores[row, order[row, k]]
            r = np.fmod(score, window) if np.isfinite(score) else 0.0  # exact, so that nothing depends on the range
            if r < 0:
                r += window
            if k == 0:
                step = 2.0
            elif score == before:
                step = 0.0
            else:  # cells between the two: a whole number up to rounding, or far more than two
                step = ((score - before) - (r - r_before)) / window
            if step > 0.5:
                cells += 1
                start[row, cells] = k
                neighbor[row, cells] = step < 1.5
            cell[row, k] = cells
            local[row, k] = min(r / window, 1.0)
            before, r_before = score, r
        start[row, cells + 1] = n
        neighbor[row, cells + 1] = False


@njit(nogil=True, cache=True)
def _look_around(order, local, cell, start, neighbor, below, above, place):
    """Fill the rest of what :class:`Prepared` holds."""
    n = order.shape[1]
    for row in range(order.shape[0]):
        for k in range(n):
            place[row, order[row, k]] = k
        for c in range(cell[row, n - 1] + 1):
            first, last, following = start[row, c], start[row, c + 1], start[row, c + 1]
            previous = start[row, c - 1] if neighbor[row, c] else first
            end = start[row, c + 2] if neighbor[row, c + 1] else last
            down, up = previous, following
            for k in range(first, last):
                while down < first and local[row, down] <= local[row, k]:
                    down += 1
                while up < end and local[row, up] < local[row, k]:
                    up += 1
                below[row, k], above[row, k] = down - previous, up - following


@njit(nogil=True, cache=True)
def _sweep(
    order, u_local, x_cell, x_below, _x_above, x_start, x_neighbor, _x_place,
    _y_order, v_local, y_cell, y_below, y_above, y_start, y_neighbor, place,
):  # fmt: skip
    """Sum of the products of expected signs of two rankings, given by their :class:`Prepared` arrays."""
    n = order.size
    x = (u_local, x_cell, x_below, x_start, x_neighbor)
    y = (v_local, y_cell, y_below, y_above, y_start, y_neighbor)
    seen = (np.zeros((n, 9)), np.zeros((n, 9)), np.zeros((y_cell[n - 1] + 2, 3)), np.zeros(3))
    total = 0.0
    waiting = 0  # the first item whose window is not reached yet
    for k in range(n):  # the first k items have entered
        while waiting < n and _window_before(waiting, *x[1:]) == k:
            total += _answer(waiting, k, place[order[waiting]], x, y, seen)
            waiting += 1
        first, last = x_start[x_cell[k]], x_start[x_cell[k] + 1]
        if k == first:
            for item in range(first, last):
                if _window_before(item, *x[1:]) != k:
                    total += _answer(item, k, place[order[item]], x, y, seen)
        else:
            total += _answer(k, k, place[order[k]], x, y, seen)
        _enter(u_local[k], v_local[place[order[k]]], place[order[k]], y, seen)
    return total


@njit(nogil=True, cache=True)
def _window_before(k, cell, below, start, neighbor):
    """How many places lie at least one window below place k; the start of its cell if that has no neighbor before."""
    c = cell[k]
    return start[c - 1] + below[k] if neighbor[c] else start[c]


@njit(nogil=True, cache=True)
def _answer(item, k, p, x, y, seen):
    """Those of the three polynomials of an item (by place in x; p in y) that end at place k, times the signs in y."""
    u_local, x_cell, x_below, x_start, x_neighbor = x
    u = u_local[item]
    a0, a1, a2 = 0.0, 0.0, 0.0
    if _window_before(item, x_cell, x_below, x_start, x_neighbor) == k:
        a0, a1, a2 = u * u, -2 * u, 1.0
    if x_start[x_cell[item]] == k:
        a0, a1 = a0 + 1 - 2 * u, a1 + 2
    if item == k:
        a0, a1, a2 = a0 + 2 * u - u * u, a1 + 2 * u - 2, a2 - 1
    everything = seen[3]
    shifted = _moments_seen(a0, a1, a2, p, y, seen)
    return shifted - (a0 * everything[0] + a1 * everything[1] + a2 * everything[2])


@njit(nogil=True, cache=True)
def _moments_seen(a0, a1, a2, p, y, seen):
    """Sum over entered items j of (a0 + a1 u_j + a2 u_j^2) (1 + expected sign in y of the item at place p over j)."""
    local, cell, below, above, start, neighbor = y
    trees, totals, cell_tree, _ = seen
    v, c, far = local[p], cell[p], 0.0
    k = c - 1 if neighbor[c] else c  # cells far below: sign 1
    while k > 0:
        far += 2 * (a0 * cell_tree[k, 0] + a1 * cell_tree[k, 1] + a2 * cell_tree[k, 2])
        k &= k - 1
    near = _contract(totals, c, a0, a1, a2, (1 + v) ** 2, -2 - 2 * v, 1.0)
    near -= 2 * _prefix(trees, start[c], p - start[c], a0, a1, a2, v)
    if neighbor[c]:
        near += _contract(totals, c - 1, a0, a1, a2, 2 - v * v, 2 * v, -1.0)
        near += _prefix(trees, start[c - 1], below[p], a0, a1, a2, v)
    if neighbor[c + 1]:
        near += _prefix(trees, start[c + 1], above[p], a0, a1, a2, v)
    return far + near


@njit(nogil=True, cache=True)
def _prefix(trees, first, k, a0, a1, a2, v):
    """Sum of (a0 + a1 u + a2 u^2) (v_j - v)^2 over the first k items of the tree that starts at ``first``."""
    total = 0.0
    while k > 0:
        total += _contract(trees, first + k - 1, a0, a1, a2, v * v, -2 * v, 1.0)
        k &= k - 1
    return total


@njit(nogil=True, cache=True)
def _contract(nodes, k, a0, a1, a2, b0, b1, b2):
    """Sum of a_p b_q over the moments u^p v^q of a node, which lie at 3 p + q."""
    return (
        a0 * (b0 * nodes[k, 0] + b1 * nodes[k, 1] + b2 * nodes[k, 2])
        + a1 * (b0 * nodes[k, 3] + b1 * nodes[k, 4] + b2 * nodes[k, 5])
        + a2 * (b0 * nodes[k, 6] + b1 * nodes[k, 7] + b2 * nodes[k, 8])
    )


@njit(nogil=True, cache=True)
def _enter(u, v, p, y, seen):
    """Enter the item at place p of y, with coordinates u and v."""
    _, cell, _, _, start, _ = y
    trees, totals, cell_tree, everything = seen
    c = cell[p]
    first, size = start[c], start[c + 1] - start[c]
    _add(totals, c, u, v)
    k = p - first + 1
    while k <= size:
        _add(trees, first + k - 1, u, v)
        k += k & -k
    k = c + 1
    while k < cell_tree.shape[0]:
        _add_powers(cell_tree[k], u)
        k += k & -k
    _add_powers(everything, u)


@njit(nogil=True, cache=True)
def _add(nodes, k, u, v):
    """Add u^p v^q to the moments of a node."""
    for q in range(3):
        power = v**q
        nodes[k, q] += power
        nodes[k, 3 + q] += u * power
        nodes[k, 6 + q] += u * u * power


@njit(nogil=True, cache=True)
def _add_powers(moments, u):
    moments[0] += 1
    moments[1] += u
    moments[2] += u * u
