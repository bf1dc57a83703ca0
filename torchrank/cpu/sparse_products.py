"""The numba engine of products with a sparse matrix of edge weights: rows of a dense matrix gathered edge by edge.

Each edge touches one row of the dense matrix. A row of many nodes is longer than the caches like, so the matrix is
cut into panels of columns, each copied to memory of its own, and all edges of a row go through one panel before the
next. The order of every sum is the same for any number of threads.
"""

import itertools
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles

_PANEL_BYTES = 8 * 2**20  # panels of this size stay in a last-level cache
_PANEL_COLUMNS = 64, 512  # narrower ones cost more in overhead than they save, wider ones leave the first-level cache
_ALONE = 1_000_000  # multiplications that one thread does before others could start


class NumbaSparseEngine:
    """Products of one dense matrix with sparse matrices of one pattern; see ``torchrank.linalg.sparse``.

    Args:
        row_starts: ``(rows + 1,)`` int64, where the entries of each row of the sparse matrix begin.
        columns: ``(q,)`` int64, the column of each entry.
        dense: ``(columns of the sparse matrix, width)``, float32 or float64.
    """

    def __init__(self, row_starts: Tensor, columns: Tensor, dense: Tensor) -> None:
        self._row_starts, self._columns = row_starts.numpy(), columns.to(torch.int32).numpy()
        self._width = dense.shape[1]
        least, most = _PANEL_COLUMNS
        step = min(most, max(least, _PANEL_BYTES // max(1, len(dense) * dense.element_size()) // least * least))
        panels = range(0, self._width, step)
        self._panels = [(first, dense[:, first : first + step].contiguous().numpy()) for first in panels]

    def spmm(self, weights: Tensor, out: Tensor) -> None:
        """``out = S @ dense`` of shape ``(rows, width)``, where ``S`` has the weights ``(q,)`` as its entries."""
        values, result = weights.numpy(), out.numpy()

        def fill(first: int, last: int) -> None:
            for column, panel in self._panels:
                _add_rows(self._row_starts, self._columns, values, panel, result, first, last, column)

        self._run(fill)

    def sddmm(self, left: Tensor, out: Tensor) -> None:
        """``out[e] = left[row of e] . dense[column of e]``, ``(q,)``, for a contiguous ``left`` ``(rows, width)``."""
        rows, result = left.numpy(), out.zero_().numpy()

        def fill(first: int, last: int) -> None:
            for column, panel in self._panels:
                _add_dots(self._row_starts, self._columns, rows, panel, result, first, last, column)

        self._run(fill)

    def _run(self, fill: Callable[[int, int], None]) -> None:
        """Cut the rows into tiles of about equally many entries."""
        rows, entries = len(self._row_starts) - 1, len(self._columns)
        threads = torch.get_num_threads()
        tiles = 1 if entries * self._width < _ALONE or threads == 1 else 4 * threads
        shares = np.searchsorted(self._row_starts, np.linspace(0, entries, tiles + 1)[1:-1])
        cuts = [0, *shares.tolist(), rows]
        run_tiles(list(itertools.pairwise(cuts)), lambda tile: fill(*tile))


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _add_rows(
    row_starts: np.ndarray,
    columns: np.ndarray,
    weights: np.ndarray,
    panel: np.ndarray,
    out: np.ndarray,
    first: int,
    last: int,
    column: int,
) -> None:
    """Weighted sums of rows of the panel, four at a time, so that each store serves four multiplications."""
    width = panel.shape[1]
    for row in range(first, last):
        total = out[row, column : column + width]
        total[:] = 0
        e, end = row_starts[row], row_starts[row + 1]
        while e + 4 <= end:
            a, b, c, d = panel[columns[e]], panel[columns[e + 1]], panel[columns[e + 2]], panel[columns[e + 3]]
            wa, wb, wc, wd = weights[e], weights[e + 1], weights[e + 2], weights[e + 3]
            for k in range(width):
                total[k] += wa * a[k] + wb * b[k] + wc * c[k] + wd * d[k]
            e += 4
        while e < end:
            a, wa = panel[columns[e]], weights[e]
            for k in range(width):
                total[k] += wa * a[k]
            e += 1


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _add_dots(
    row_starts: np.ndarray,
    columns: np.ndarray,
    left: np.ndarray,
    panel: np.ndarray,
    out: np.ndarray,
    first: int,
    last: int,
    column: int,
) -> None:
    """Inner products with rows of the panel, four at a time, so that each row on the left is loaded once for four."""
    width = panel.shape[1]
    zero = panel.dtype.type(0)
    for row in range(first, last):
        x = left[row, column : column + width]
        e, end = row_starts[row], row_starts[row + 1]
        while e + 4 <= end:
            a, b, c, d = panel[columns[e]], panel[columns[e + 1]], panel[columns[e + 2]], panel[columns[e + 3]]
            sa = sb = sc = sd = zero
            for k in range(width):
                sa += x[k] * a[k]
                sb += x[k] * b[k]
                sc += x[k] * c[k]
                sd += x[k] * d[k]
            out[e] += sa
            out[e + 1] += sb
            out[e + 2] += sc
            out[e + 3] += sd
            e += 4
        while e < end:
            a, sa = panel[columns[e]], zero
            for k in range(width):
                sa += x[k] * a[k]
            out[e] += sa
            e += 1
