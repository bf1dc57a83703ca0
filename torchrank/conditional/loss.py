"""The squared loss over pairs of edges as a differentiable function, for training any model of scores."""

import torch
from torch import Tensor

from torchrank.rankings.validate import check_choice


def conditional_rank_loss(
    scores: Tensor,  # (q,)
    labels: Tensor,  # (q,)
    groups: Tensor,  # (q,) integers
    *,
    normalization: str = "pair",
) -> Tensor:
    """Mean of ``((y_e - y_e') - (f_e - f_e'))^2`` over the pairs of edges e, e' of one query, in O(q).

    Equation (6) of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, normalised.

    Args:
        scores: ``(q,)`` predicted scores f.
        labels: ``(q,)`` true labels y.
        groups: ``(q,)`` query of each edge, numbered from 0, in any order.
        normalization: "pair" averages over all pairs; "node" over the pairs of each query, then over the queries that
            have any.

    Returns:
        A number. Queries with a single edge add nothing; without any pair it is 0, with gradient 0.

    Raises:
        ValueError: shapes that differ, or an unknown normalization.
    """
    check_choice(normalization, "normalization", ("pair", "node"))
    if scores.ndim != 1 or labels.shape != scores.shape or groups.shape != scores.shape:
        shapes = ", ".join(str(tuple(x.shape)) for x in (scores, labels, groups))
        raise ValueError(f"scores, labels and groups have shapes {shapes}; expected the same (edges,) for all")
    residual = labels - scores
    sizes = torch.bincount(groups).to(scores.dtype)
    means = torch.zeros_like(sizes).index_add(0, groups, residual) / sizes.clamp(min=1)
    centred = torch.zeros_like(sizes).index_add(0, groups, (residual - means[groups]).square())
    # A query of l edges has l (l - 1) ordered pairs of two edges, and their squares sum to 2 l times the centred ones.
    if normalization == "pair":
        return (2 * sizes * centred).sum() / (sizes * (sizes - 1)).sum().clamp(min=1)
    return (2 * centred / (sizes - 1).clamp(min=1)).sum() / (sizes > 1).sum().clamp(min=1)
