"""Total rankings: what distributions on permutations are distributions of."""

import torch
from torch import Tensor

from torchrank.ops.dense_ranks import dense_ranks
from torchrank.rankings.validate import Scores, as_scores

_REMEDY = "this is a distribution of total rankings; complete the row, or use KernelGaussianMixture"


def total_rankings(X: Scores, n_items: int) -> tuple[Tensor, bool]:
    """Dense ranks ``(m, n)`` of total rankings, and whether they came from outside torch.

    Raises:
        ValueError: another number of items or dimensions, an unranked item, or a tie.
        TypeError: scores that are not real numbers.
    """
    scores, foreign = as_scores(X)
    if scores.ndim != 2 or scores.shape[1] != n_items:
        raise ValueError(f"X has shape {tuple(scores.shape)}; expected (rankings, {n_items})")
    ranks, _ = dense_ranks(scores, _REMEDY, "X")
    tied = ranks.amax(dim=-1) < n_items - 1 if len(ranks) else torch.zeros(0, dtype=torch.bool)
    if bool(tied.any()):
        row = int(tied.nonzero()[0])
        raise ValueError(
            f"X has tied items in row {row}: {scores[row].tolist()}; this is a distribution of total rankings; break "
            "the tie, or use KernelGaussianMixture"
        )
    return ranks, foreign
