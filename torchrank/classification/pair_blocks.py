"""Top scoring pairs and the vote of all pairs in plain torch, on any device, in blocks of item pairs.

Both take two classes of complete rankings. For every pair of items i < j and a class, let A be the number of its
rankings with i above j minus the number with i below; with n_first and n_second rankings in the classes, the score of
the pair is the integer D = n_first A_second - n_second A_first.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from torchrank._progress import progress_bar
from torchrank.ops.engines import why_missing

_BLOCK = 2**22  # item pairs


def top_pairs(
    ranks: Tensor,  # (m, n) int32 dense ranks, the first class before the second
    n_first: int,
    secondary: Tensor,  # (n,) int64
    k: int,
    progress: bool,
) -> Tensor:
    """Find the k pairs with the largest ``(|D_ij|, |secondary_i - secondary_j|)``, the earlier one among equals.

    Returns:
        ``(k,)`` int64, the pairs as i n + j, best first.
    """
    if ranks.device.type == "cpu" and why_missing("cpu") is None:
        from torchrank.cpu.top_scoring_pairs import top_pairs as engine  # numba takes half a second to import

        return engine(ranks, n_first, secondary, k, progress)
    n = ranks.shape[1]
    best = torch.empty((3, 0), dtype=torch.int64, device=ranks.device)
    for i, j, scores in _scored_blocks(ranks, n_first, False, progress):
        wanted = j > i[:, None]
        if best.shape[1] == k:
            wanted &= scores.abs() >= best[0, -1]
        row, column = wanted.nonzero(as_tuple=True)
        first, second = i[row], j[column]
        gap = (secondary[first] - secondary[second]).abs()
        found = torch.stack([scores[row, column].abs(), gap, first * n + second])
        best = torch.cat([best, found], dim=1)
        best = best[:, best[2].argsort()]
        for key in (1, 0):  # stable sorts, the least important key first
            best = best[:, best[key].argsort(descending=True, stable=True)]
        best = best[:, :k]
    return best[2]


def all_pairs_margins(
    ranks: Tensor,  # (m, n) int32 dense ranks, the first class before the second
    n_first: int,
    new: Tensor,  # (m2, n) int32 dense ranks
    strict: bool,
    progress: bool,
) -> Tensor:
    """Sum the votes sign(D_ij) sign(new_i - new_j) over all pairs i < j.

    With ``strict`` the sign of 0 is -1, here and where D counts.

    Returns:
        ``(m2,)`` int64: votes for the second class minus votes for the first.
    """
    if ranks.device.type == "cpu" and why_missing("cpu") is None:
        from torchrank.cpu.top_scoring_pairs import all_pairs_margins as engine

        return engine(ranks, n_first, new, strict, progress)
    votes = torch.zeros(len(new), dtype=torch.int64, device=ranks.device)
    for i, j, scores in _scored_blocks(ranks, n_first, strict, progress):
        direction = _signs(scores, strict) * (j > i[:, None])
        for t, row in enumerate(new):
            votes[t] += (direction * _signs(row[i, None] - row[j], strict)).sum()
    return votes


def _scored_blocks(
    ranks: Tensor, n_first: int, strict: bool, progress: bool
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Items i and j and the scores D (i, j) of all their pairs, j <= i among them; together they hold every i < j."""
    m, n = ranks.shape
    step = max(1, _BLOCK // n)
    for start in progress_bar("pairs of items", "block", range(0, n - 1, step), progress=progress):
        i = torch.arange(start, min(start + step, n - 1), device=ranks.device)
        j = torch.arange(start + 1, n, device=ranks.device)
        sums = torch.zeros((2, len(i), len(j)), dtype=torch.int64, device=ranks.device)
        for s, row in enumerate(ranks):
            sums[int(s >= n_first)] += _signs(row[i, None] - row[j], strict)
        yield i, j, n_first * sums[1] - (m - n_first) * sums[0]


def _signs(numbers: Tensor, strict: bool) -> Tensor:
    return 2 * (numbers > 0).to(torch.int64) - 1 if strict else numbers.sign()
