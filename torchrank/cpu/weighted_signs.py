"""CPU engine of the weighted_signs op: walks one ranking once for many others, side by side in vector lanes."""

import numpy as np
import torch
from torch import Tensor

from torchrank.cpu.compiled import njit
from torchrank.cpu.parallel import run_tiles, spans
from torchrank.cpu.position_sets import sort_rows
from torchrank.rankings.orders import centered_mid_ranks

_LANES = 256  # rankings met by one walk; their sums stay in the first-level cache
_TILE_ITEMS = 20_000_000  # items times rankings met in a tile: about 10 ms


def weighted_signs(x: Tensor, y: Tensor, workspace: int) -> Tensor:
    """See :func:`torchrank.ops.weighted_signs.weighted_signs`."""
    b, m, n = x.shape
    m2 = y.shape[1]
    total = torch.zeros((b, m, m2), dtype=torch.int64)
    if total.numel() == 0:
        return total
    lanes = max(1, min(_LANES, m2, workspace // (24 * n)))
    for batch in range(b):
        ranks = x[batch].contiguous().numpy()
        order, starts = np.empty((m, n), np.int32), np.empty((m, n + 1), np.int32)
        run_tiles(
            [slice(*span) for span in spans(m, 16)],
            lambda rows, ranks=ranks, order=order, starts=starts: sort_rows(ranks[rows], order[rows], starts[rows]),
        )
        for c0, c1 in spans(m2, lanes):
            coded = _coded(y[batch, c0:c1])
            out = total[batch, :, c0:c1].numpy()
            run_tiles(
                [slice(*span) for span in spans(m, max(1, _TILE_ITEMS // (n * (c1 - c0))))],
                lambda rows, order=order, starts=starts, coded=coded, out=out: _walk(
                    order[rows], starts[rows], coded, out[rows]
                ),
            )
    return total


def _coded(ranks: Tensor) -> np.ndarray:
    """Centerd mid-rank and whether it is one, (n, lanes): twice the former, plus 1 if the item is ranked."""
    code = 2 * centered_mid_ranks(ranks) + (ranks >= 0)
    return code.to(torch.int32 if ranks.shape[-1] < 2**29 else torch.int64).T.contiguous().numpy()


@njit(nogil=True, cache=True)
def _walk(order, starts, coded, out):
    """Sum of signs times weights: an item is above the common items before its tie group, and below those after it."""
    lanes = coded.shape[1]
    for row in range(order.shape[0]):
        seen, sums, weights = np.zeros(lanes, np.int64), np.zeros(lanes, np.int64), np.zeros(lanes, np.int64)
        for group in range(order.shape[1]):
            first, last = starts[row, group], starts[row, group + 1]
            if first == last:
                break
            if last == first + 1:
                code = coded[order[row, first]]
                for lane in range(lanes):
                    c = np.int64(code[lane])
                    before = seen[lane]
                    after = before + (c & 1)
                    seen[lane] = after
                    sums[lane] += (c >> 1) * (before + after)
                    weights[lane] += c >> 1
                continue
            before_group = seen.copy()
            for k in range(first, last):
                code = coded[order[row, k]]
                for lane in range(lanes):
                    seen[lane] += np.int64(code[lane]) & 1
            for k in range(first, last):
                code = coded[order[row, k]]
                for lane in range(lanes):
                    weight = np.int64(code[lane]) >> 1
                    sums[lane] += weight * (before_group[lane] + seen[lane])
                    weights[lane] += weight
        for lane in range(lanes):
            out[row, lane] = sums[lane] - seen[lane] * weights[lane]
