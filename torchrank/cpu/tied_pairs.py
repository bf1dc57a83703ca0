"""CPU engine that counts, for each two rankings, the pairs tied by one among the items that the other ranks.

One ranking's tie groups are walked once for many others, side by side in vector lanes.
"""

import numpy as np
import torch
from torch import Tensor

from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles, spans
from torchrank.cpu.position_sets import sort_rows

_LANES = 1024  # rankings met by one walk; their counts stay in the first-level cache
_TILE_ITEMS = 100_000_000  # items times rankings met in a tile: about 10 ms


def tied_pairs(x: Tensor, y: Tensor) -> Tensor:
    """Pairs that rows of x tie, of items that rows of y rank: ``(b, m, m2)`` int64 of ranks ``(b, m or m2, n)``."""
    b, m, n = x.shape
    m2 = y.shape[1]
    total = torch.zeros((b, m, m2), dtype=torch.int64)
    out = total.numpy()
    for batch in range(b):
        ranks = x[batch].contiguous().numpy()
        ranked = (y[batch] >= 0).to(torch.uint8).T.contiguous().numpy()

        def walk(rows: slice, batch=batch, ranks=ranks, ranked=ranked) -> None:
            order = np.empty((rows.stop - rows.start, n), np.int32)
            starts = np.empty((rows.stop - rows.start, n + 1), np.int32)
            sort_rows(ranks[rows], order, starts)
            for first, last in spans(m2, _LANES):
                _walk(order, starts, ranked[:, first:last], out[batch, rows, first:last])

        run_tiles([slice(*span) for span in spans(m, max(1, _TILE_ITEMS // max(1, n * m2)))], walk)
    return total


@njit(nogil=True, cache=True)
def _walk(order, starts, ranked, out):
    lanes = ranked.shape[1]
    count = np.empty(lanes, np.int32)
    for row in range(order.shape[0]):
        for group in range(order.shape[1]):
            first, last = starts[row, group], starts[row, group + 1]
            if first == last:
                break
            if last == first + 1:
                continue
            count[:] = 0
            for k in range(first, last):
                item = order[row, k]
                for lane in range(lanes):
                    count[lane] += ranked[item, lane]
            for lane in range(lanes):
                c = np.int64(count[lane])
                out[row, lane] += (c * (c - 1)) >> 1
