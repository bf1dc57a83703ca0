"""CPU engine of the dense_ranks op: NumPy's vectorised argsort, and one walk along each sorted row."""

import numpy as np
import torch
from numba import njit
from torch import Tensor

from torchrank.cpu.parallel import run_tiles, spans

_TILE_SCORES = 2**16  # sorted indices of a tile stay in cache for the walk


def dense_ranks(scores: Tensor) -> tuple[Tensor, Tensor]:
    """See :func:`torchrank.rankings.ties.dense_ranks`; ``scores`` are float32, float64 or int64."""
    n = scores.shape[-1]
    ranks = torch.empty(scores.shape, dtype=torch.int32)
    strict = torch.empty(scores.shape[:-1], dtype=torch.int64)
    rows = scores.detach().reshape(-1, n).numpy()
    rank_rows, strict_rows = ranks.view(-1, n).numpy(), strict.view(-1).numpy()

    def rank(tile: slice) -> None:
        order = np.argsort(rows[tile], axis=-1)  # NaN sorts last
        _walk(rows[tile], order, rank_rows[tile], strict_rows[tile])

    run_tiles([slice(*span) for span in spans(len(rows), max(1, _TILE_SCORES // n))], rank)
    return ranks, strict


@njit(nogil=True, cache=True)
def _walk(scores, order, ranks, strict):
    for row in range(scores.shape[0]):
        rank, group_start, pairs = -1, 0, 0
        previous = scores[row, order[row, 0]]
        for k in range(scores.shape[1]):
            item = order[row, k]
            score = scores[row, item]
            if score != score:  # NaN
                ranks[row, item] = -1
                continue
            if k == 0 or score != previous:
                rank += 1
                group_start = k
                previous = score
            ranks[row, item] = rank
            pairs += group_start  # an item is strictly above all items before its tie group
        strict[row] = pairs
