"""A linear map of features under which rows with like rankings are near: a ridge regression's, closed form."""

import torch
from torch import Tensor

from torchrank.label_ranking.rankings import label_votes
from torchrank.rankings.missing import Missing

_RIDGE = 1.0  # rows' worth of shrinking, for features on a common scale


def plain_metric(n_features: int, n_labels: int, like: Tensor) -> Tensor:
    """The map ``(d, d + L)`` that knows of no rankings: the features themselves, divided by the root of d."""
    unit = torch.eye(n_features, n_features + n_labels, device=like.device, dtype=like.dtype)
    return unit / n_features**0.5


def ridge_metric(X: Tensor, ranks: Tensor, missing: Missing, weight: float) -> Tensor:
    """The map ``(d, d + L)`` of features ``(N, d)`` to themselves and the votes that are predicted of them.

    The second part is ``weight`` times the coefficients of a ridge regression of the labels' expected votes, centered
    and in a unit in which those of a complete ranking have norm 1, so that its mean square is the share of the votes
    that a linear function of the features explains.

    Args:
        X: features, of at least one row.
        ranks: ``(N, L)`` dense ranks of the labels, -1 = unranked.
        missing: what unranked labels mean.
        weight: of the predicted votes, at least 0.
    """
    n_labels = ranks.shape[1]
    plain = plain_metric(X.shape[1], n_labels, X)
    votes = label_votes(ranks, missing)
    votes = (votes - votes.mean(0)) / (n_labels * (n_labels**2 - 1) / 12) ** 0.5
    centered = X.to(torch.float64) - X.to(torch.float64).mean(0)
    gram = centered.T @ centered + _RIDGE * torch.eye(X.shape[1], dtype=torch.float64, device=X.device)
    plain[:, X.shape[1] :] = weight * torch.linalg.solve(gram, centered.T @ votes).to(X.dtype)
    return plain
