"""CPU engine of the pair_counts op: chooses between sign planes and inversion counting."""

import numpy as np
import torch
from torch import Tensor

from torchrank._progress import progress_bar
from torchrank.cpu import inversions, signs
from torchrank.cpu.crossover import fastest_method
from torchrank.cpu.job import Job
from torchrank.rankings.pairs import pair_dtype

_ENGINES = {"signs": signs.count, "inversions": inversions.count}


def pair_counts(
    x: Tensor, y: Tensor | None, strict: bool, method: str, workspace: int, progress: bool
) -> tuple[Tensor, Tensor]:
    """See :func:`torchrank.ops.pair_counts.pair_counts`."""
    b, m, n = x.shape
    other = x if y is None else y
    shape = (b, m, other.shape[1])
    dtype = np.int32 if pair_dtype(n) == torch.int32 else np.int64
    score = torch.from_numpy(np.zeros(shape, dtype))
    both = torch.from_numpy(np.zeros(shape if strict else (b, 0, 0), dtype))
    if score.numel() == 0 or n < 2:
        return score, both
    ranks_x = x.contiguous().numpy()
    ranks_y = ranks_x if y is None else other.contiguous().numpy()
    untied = _all_untied(ranks_x) and (y is None or _all_untied(ranks_y))
    if method == "auto":
        method = fastest_method(rankings=m + other.shape[1], items=n, untied=untied)
    wanted = both[:, :0, :0] if untied else both  # without ties all pairs are strict, and need no counting
    total = b * (m * (m + 1) // 2 if y is None else m * other.shape[1])
    with progress_bar(f"pair_counts ({method})", "pair", unit_scale=True, total=total, progress=progress) as bar:
        job = Job(ranks_x, ranks_y, score.numpy(), wanted.numpy(), y is None, untied, workspace, bar)
        _ENGINES[method](job)
    if untied:
        both.numpy().fill(n * (n - 1) // 2)
    return score, both


def _all_untied(ranks: np.ndarray) -> bool:
    """Whether every row is complete and without ties: only then does its largest dense rank reach n - 1."""
    return bool((ranks.max(axis=-1) == ranks.shape[-1] - 1).all())
