"""Expected ranks of uncertain scores, and one minus their correlation with hard ranks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.kernels.arguments import ARGUMENTS as OF_KERNELS
from torchrank.losses.rows import ARGUMENTS, REDUCTIONS, as_mask, as_rows, flat, flat_mask, row_windows
from torchrank.ops.checks import exact_differences
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.soft_ranks import soft_ranks
from torchrank.ops.units import in_unit
from torchrank.rankings.isolation import isolated
from torchrank.rankings.noises import NOISES
from torchrank.rankings.orders import centered_mid_ranks
from torchrank.rankings.validate import Scores, as_scores, check_choice, count_dtype
from torchrank.typing import Array, Noise, Reduction


@isolated
@shares_arguments(OF_KERNELS, ARGUMENTS)
def soft_rank(x: Scores[Array], window: float | Tensor, *, noise: Noise = "uniform", mask: Any = None) -> Array:
    r"""Expected rank of each item under independent jitters of the scores: exact, and smooth in scores and window.

    .. math:: R_i = 1 + \sum_{j \ne i} P(x_j + \epsilon_j < x_i + \epsilon_i)
                  = \frac{k + 1}{2} + \frac{1}{2} \sum_{j \ne i} g(x_i - x_j)

    with g as in :func:`torchrank.kendall_loss`, among the k items that count. 1 is the least score and k the largest,
    so that ranks are scores again: larger = preferred; k + 1 less the rank is the expected position. As the window
    shrinks, they become mid-ranks, ``scipy.stats.rankdata``. (Taylor, Guiver, Robertson and Minka, SoftRank, WSDM 2008,
    equation 10, has them for Gaussian noise.)

    Args:
        x: ``(..., n)`` scores, one list a row, larger = preferred, of any real dtype. NaN = not ranked.
        window: {window}
        noise: {noise}
        mask: {mask}

    Returns:
        ``(..., n)``, NaN for items that are not ranked, with gradient 0; dtype and kind as for
        :func:`torchrank.kendall_loss`, a frame for a data frame. Derivatives of scores and window are as there.
        Time O(n^2) and memory O(n) a row.

    Raises:
        ValueError: a mask or a window that does not fit, an unknown noise.
        TypeError: scores that are not real numbers, a mask that is not bool; prepared rankings.

    Example:
        >>> soft_rank(np.array([0.0, 0.5, 3.0]), 1.0).tolist()
        [1.125, 1.875, 3.0]
    """
    check_choice(noise, "noise", tuple(NOISES))
    scores, origin = as_scores(x, "x", least_dims=1, least_items=0, apart=True)
    counted = scores == scores
    counted = counted if mask is None else counted & as_mask(mask, scores)
    rows, n = flat(torch.where(counted, exact_differences(scores, "x", counted), 0)), scores.shape[-1]
    among = flat_mask(counted, rows)
    x_in_unit, width = in_unit(rows, row_windows(window, rows), among)
    ranks = soft_ranks(x_in_unit, among, width, noise, WORKSPACE)
    ranks = ranks[:, :n].reshape(scores.shape) + (counted.sum(-1, keepdim=True) + 1) / 2
    return origin.named(torch.where(counted, ranks, torch.nan).to(count_dtype(scores, origin)), "rows", "items")


@isolated
@shares_arguments(OF_KERNELS, ARGUMENTS)
def spearman_loss(
    prediction: Scores[Array],
    target: Scores,
    *,
    window: float | Tensor,
    noise: Noise = "uniform",
    mask: Any = None,
    reduction: Reduction = "mean",
) -> Array:
    r"""One minus the correlation of the expected ranks of each row of scores with the ranks of a target, in [0, 2].

    .. math:: \ell(x, y) = 1 - \frac{\sum_i (R_i - \bar R)(q_i - \bar q)}
                                    {\sqrt{\sum_i (R_i - \bar R)^2 \sum_i (q_i - \bar q)^2}}

    with R as in :func:`soft_rank` and mid-ranks q of y, over the items that count. As the window shrinks, it becomes
    ``1 - scipy.stats.spearmanr(x, y)``.

    Args:
        prediction: {prediction}
        target: {target}
        window: {window}
        noise: {noise}
        mask: {mask}
        reduction: {reduction}

    Returns:
        As :func:`torchrank.kendall_loss`. Where all items of a prediction or a target are tied, the loss is 1 with
        gradient 0.

    Raises:
        ValueError, TypeError, RuntimeError: as :func:`torchrank.kendall_loss`.

    Example:
        >>> round(float(spearman_loss(np.array([0.0, 0.5, 3.0]), [1, 2, 3], window=1.0)), 3)
        0.007
    """
    check_choice(noise, "noise", tuple(NOISES))
    check_choice(reduction, "reduction", REDUCTIONS)
    rows = as_rows(prediction, target, mask)
    counted = rows.ranks >= 0
    x, width = in_unit(rows.x, row_windows(window, rows.x), counted, scale_free=True)
    soft = torch.where(counted, soft_ranks(x, counted, width, noise, WORKSPACE), 0).to(torch.float64)
    hard = centered_mid_ranks(rows.ranks).to(torch.float64) / 2
    scale = soft.square().sum(-1) * hard.square().sum(-1)
    undefined = scale == 0  # and not NaN
    rho = torch.where(undefined, 0, (soft * hard).sum(-1)) / torch.where(undefined, 1, scale).sqrt()
    return rows.reduce(1 - rho, counted.sum(-1) > 1, reduction)
