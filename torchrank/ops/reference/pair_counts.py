"""Concordance scores as products of explicit sign features, in blocks of item pairs."""

from collections.abc import Iterator

import torch
from torch import Tensor

from torchrank.rankings.pairs import pair_dtype

_EXACT_FLOAT32 = 2**24  # integers up to here are exact in float32, sums of that many signs too


def pair_counts(
    x: Tensor,  # (b, m, n) dense ranks, -1 = unranked
    y: Tensor | None,  # (b, m2, n); None means x
    strict: bool,
    workspace: int,  # bytes
) -> tuple[Tensor, Tensor]:
    """Sum the products of pair signs, sign(x_i - x_j) sign(y_i - y_j), over all pairs of items ranked in both.

    Returns:
        score: ``(b, m, m2)``, concordant minus discordant pairs; int32 up to 65,536 items, else int64.
        strict: ``(b, m, m2)``, concordant plus discordant pairs, or ``(b, 0, 0)`` when not asked for.
    """
    other = x if y is None else y
    b, m, n = x.shape
    dtype = pair_dtype(n)
    score = torch.zeros((b, m, other.shape[1]), dtype=dtype, device=x.device)
    both = torch.zeros_like(score) if strict else score.new_empty((b, 0, 0))
    for i, j in pair_blocks(n, rows=b * (m + other.shape[1]), workspace=workspace, device=x.device):
        sx = signs(x, i, j)
        sy = sx if y is None else signs(y, i, j)
        score += (sx @ sy.mT).to(dtype)
        if strict:
            both += (sx.abs() @ sy.abs().mT).to(dtype)
    return score, both


def signs(ranks: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """The sign of every pair (i, j) in every row, 0 where one of the two is unranked."""
    first, second = ranks[..., i], ranks[..., j]
    sign = (first - second).sign()
    return torch.where((first < 0) | (second < 0), 0, sign).to(torch.float32)


def pair_blocks(n: int, rows: int, workspace: int, device: torch.device) -> Iterator[tuple[Tensor, Tensor]]:
    """Blocks of index pairs i < j whose sign features fit the workspace and whose sums are exact in float32."""
    block = max(1, min(workspace // (24 * max(rows, 1)), _EXACT_FLOAT32))
    first = 0
    while first < n - 1:
        last = first + 1  # whole items i while they fit
        size = n - 1 - first
        while last < n - 1 and size + n - 1 - last <= block:
            size += n - 1 - last
            last += 1
        left = torch.arange(first, last, device=device)
        i = torch.repeat_interleave(left, n - 1 - left, output_size=size)
        j = torch.cat([torch.arange(k + 1, n, device=device) for k in range(first, last)])
        for start in range(0, size, block):
            yield i[start : start + block], j[start : start + block]
        first = last
