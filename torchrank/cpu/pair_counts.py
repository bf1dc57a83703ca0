"""CPU engine of the pair_counts op: chooses between sign planes and inversion counting."""

from contextlib import nullcontext
from typing import NoReturn

import torch
from torch import Tensor
from tqdm import tqdm

from torchrank.cpu import inversions, signs
from torchrank.cpu.crossover import fastest_method
from torchrank.cpu.job import Job
from torchrank.ops.reference.pair_counts import score_dtype

_ENGINES = {"signs": signs.count, "inversions": inversions.count}


def pair_counts(
    x: Tensor, y: Tensor | None, strict: bool, method: str, workspace: int, progress: bool
) -> tuple[Tensor, Tensor]:
    """See :func:`torchrank.ops.pair_counts.pair_counts`."""
    b, m, n = x.shape
    other = x if y is None else y
    shape = (b, m, other.shape[1])
    score = torch.zeros(shape, dtype=score_dtype(n))
    both = torch.zeros(shape if strict else (b, 0, 0), dtype=score.dtype)
    if score.numel() == 0 or n < 2:
        return score, both
    plain = _all_plain(x) and (y is None or _all_plain(y))
    if method == "auto":
        method = fastest_method(rankings=m + other.shape[1], items=n, plain=plain)
    ranks_x = x.contiguous().numpy()
    ranks_y = ranks_x if y is None else other.contiguous().numpy()
    wanted = both[:, :0, :0] if plain else both  # without ties all pairs are strict, and need no counting
    total = b * (m * (m + 1) // 2 if y is None else m * other.shape[1])
    with _progress_bar(method, total) if progress else nullcontext() as bar:
        job = Job(ranks_x, ranks_y, score.numpy(), wanted.numpy(), y is None, plain, workspace, bar)
        _ENGINES[method](job)
    if plain:
        both.fill_(n * (n - 1) // 2)
    return score, both


def _progress_bar(method: str, pairs: int) -> "tqdm[NoReturn]":
    return tqdm(desc=f"pair_counts ({method})", unit="pair", unit_scale=True, total=pairs)


def _all_plain(ranks: Tensor) -> bool:
    """Whether every row is complete and without ties: only then does its largest dense rank reach n - 1."""
    return bool((ranks.amax(dim=-1) == ranks.shape[-1] - 1).all())
