"""Spearman's rank correlation between all rankings."""

from __future__ import annotations

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.kernels.arguments import ARGUMENTS
from torchrank.ops.memory import explaining_memory
from torchrank.ops.rank import rankings_of_sides
from torchrank.rankings.isolation import isolated
from torchrank.rankings.orders import centered_mid_ranks
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.validate import Scores
from torchrank.typing import Array

_REMEDY = "Spearman's correlation compares complete rankings: complete or drop these rows"


@isolated
@shares_arguments(ARGUMENTS)
def spearman_gram(X: Scores[Array], Y: Scores[Array] | None = None) -> Array:
    r"""Spearman's rank correlation between all rankings, in [-1, 1]; the correlation of ranks, tied ones averaged.

    .. math:: \rho(x, y) = \frac{\sum_i (r_i - \bar r)(q_i - \bar q)}
                                {\sqrt{\sum_i (r_i - \bar r)^2 \sum_i (q_i - \bar q)^2}}

    with mid-ranks r of x and q of y (Spearman, Am. J. Psychol. 15(1), 1904). It is a positive semi-definite kernel. A
    constant row has no order: its correlation with every row, itself included, is 0. Sums are whole numbers, exact for
    up to 300,000 items, and are divided once.

    Args:
        X: {scores} Complete.
        Y: {others}

    Returns:
        ``(..., m, m2)``, dtype and kind as for :func:`torchrank.kendall_gram`.

    Raises:
        ValueError: unranked items; fewer than two items; shapes, devices or names of items that do not fit.
        TypeError: scores that are not real numbers.
        RuntimeError: backward through the scores, in which it is piecewise constant.

    Example:
        >>> import numpy as np
        >>> X = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0, 3.0]])
        >>> spearman_gram(X).round(3).tolist()
        [[1.0, 0.8], [0.8, 1.0]]
    """
    pair = rankings_of_sides(X, Y, "raise", remedy=_REMEDY)
    x, norm_x = _centered(pair.X)
    y, norm_y = (x, norm_x) if pair.Y is None else _centered(pair.Y)
    result = _cosines(x, norm_x, y, norm_y)
    if pair.Y is None:
        result = result.tril() + result.tril(-1).mT  # sums beyond 2^53 may round otherwise in the other order
    return pair.origin.gram(
        pair.without_gradient(result.to(pair.dtype), what="rank correlations are"), symmetric=pair.Y is None
    )


@explaining_memory
def _cosines(x: Tensor, norm_x: Tensor, y: Tensor, norm_y: Tensor) -> Tensor:
    """Products over the roots of squared norms; 0 where one of these is."""
    scale = (norm_x[..., :, None] * norm_y[..., None, :]).sqrt_()
    return x @ y.mT / torch.where(scale > 0, scale, 1)


def _centered(rankings: Rankings) -> tuple[Tensor, Tensor]:
    """Twice the mid-ranks less their mean, whole numbers in float64, and sums of their squares."""
    ranks = centered_mid_ranks(rankings.ranks).to(torch.float64)
    return ranks, ranks.square().sum(-1)
