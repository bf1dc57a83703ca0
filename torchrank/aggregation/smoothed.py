"""Borda's and Copeland's rules of uncertain scores, smooth in scores, weights and windows."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.kernels.arguments import ARGUMENTS as OF_KERNELS
from torchrank.kernels.smoothed import one_window
from torchrank.losses.spearman import soft_rank
from torchrank.ops.checks import complete_scores, exact_differences
from torchrank.ops.units import in_common_unit
from torchrank.rankings.arrays import Origin
from torchrank.rankings.isolation import isolated
from torchrank.rankings.noises import NOISES, expected_signs
from torchrank.rankings.powers import unit_of
from torchrank.rankings.prepared import weights_said
from torchrank.rankings.validate import Scores, as_scores, as_weights, check_choice, count_dtype
from torchrank.typing import Array, Noise, Values

ARGUMENTS = {
    "weights": """\
``(..., m)`` weights of the rankings, at least 0; None means those of a data set, or 1 each. Their scale does not
matter. Batch dimensions broadcast with those of ``X``.""",
}


@isolated
@shares_arguments(OF_KERNELS, ARGUMENTS)
def smoothed_borda(
    X: Scores[Array], weights: Values | None = None, *, window: float | Tensor, noise: Noise = "uniform"
) -> Array:
    r"""Expected votes by Borda's count of rankings whose scores have independent jitters, between 1 and n.

    .. math:: \text{votes}_i = \frac{n + 1}{2} + \frac{1}{2} \sum_{j \ne i} \sum_r w_r\, g(x_{ri} - x_{rj})

    with g as in :func:`torchrank.smoothed_kendall_gram` and weights that add up to 1: the mean of the rows'
    :func:`torchrank.soft_rank`. As the window shrinks, it becomes :func:`torchrank.borda`.

    Args:
        X: {uncertain}
        weights: {weights}
        window: {window}
        noise: {noise}

    Returns:
        ``(..., n)`` expected votes, larger = preferred; dtype of the scores if that is floating and has at least 32
        bits, else float32, for integers the default dtype; an array for NumPy input. Derivatives of scores, weights and
        window as of :func:`torchrank.kendall_loss`. Time O(m n^2), memory O(m n).

    Raises:
        ValueError: NaN among the scores, no rankings, a window that is not positive and finite, an unknown noise,
            weights that are negative, not finite or all 0, shapes that do not fit.
        TypeError: scores or weights that are not real numbers, prepared rankings.

    Example:
        >>> smoothed_borda(np.array([[3.0, 2.0, 1.75], [3.0, 1.0, 2.0]]), window=0.5).tolist()
        [3.0, 1.4375, 1.5625]
    """
    voters = _voters(X, weights, noise)
    ranks = soft_rank(voters.scores, window, noise=noise)
    votes = (voters.weights[..., None, :] @ ranks).squeeze(-2)
    return voters.origin.named(votes.to(voters.dtype), "items")


@isolated
@shares_arguments(OF_KERNELS, ARGUMENTS)
def smoothed_copeland(
    X: Scores[Array],
    weights: Values | None = None,
    *,
    window: float | Tensor,
    margin_window: float | Tensor,
    noise: Noise = "uniform",
) -> Array:
    r"""Smooth form of Copeland's rule: of every item, the majorities that it wins less those that it loses.

    .. math:: c_i = \sum_{j \ne i} g_v(M_{ij}), \qquad M_{ij} = \sum_r w_r\, g_u(x_{ri} - x_{rj})

    with the expected margins M of rankings whose scores have independent jitters, shares from -1 to 1 for weights that
    add up to 1, and g as in :func:`torchrank.smoothed_kendall_gram`, with the window u for scores and v for margins. As
    both windows shrink, it becomes :func:`torchrank.copeland`.

    This is a smooth function of expected margins. It is not the expected Copeland score under the jitters, the mean of
    the sign of a jittered margin, which no function here gives.

    Args:
        X: {uncertain}
        weights: {weights}
        window: {window}
        margin_window: of margins, which are jittered too: {window}
        noise: {noise}

    Returns:
        ``(..., n)`` numbers from 1 - n to n - 1, larger = preferred; dtype and kind as for :func:`smoothed_borda`.
        Derivatives of scores, weights and windows are as of :func:`torchrank.kendall_loss`. Time and memory O(m n^2).

    Raises:
        ValueError, TypeError: as :func:`smoothed_borda`.

    Example:
        >>> x = np.array([[3.0, 2.0, 1.0], [3.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
        >>> smoothed_copeland(x, window=0.1, margin_window=0.5).round(3).tolist()
        [1.778, -1.778, 0.0]
    """
    voters = _voters(X, weights, noise)
    x, _, width = in_common_unit(voters.scores, None, _width(window, "window", voters.scores))
    difference = x[..., :, None] - x[..., None, :]
    difference = torch.where(difference.isnan(), 0, difference)  # equal infinities are tied
    signs = expected_signs(difference, width.clamp(min=torch.finfo(x.dtype).tiny), noise)
    margins = (voters.weights[..., None, :] @ signs.flatten(-2)).squeeze(-2).unflatten(-1, signs.shape[-2:])
    won = expected_signs(
        margins, _width(margin_window, "margin_window", x).clamp(min=torch.finfo(x.dtype).tiny), noise
    ).sum(-1)
    return voters.origin.named(won.to(voters.dtype), "items")


def _width(window: float | Tensor, name: str, x: Tensor) -> Tensor:
    return one_window(window, name=name).to(device=x.device, dtype=x.dtype)


class _Voters(NamedTuple):
    scores: Tensor  # (..., m, n) float64, complete
    weights: Tensor  # (..., m) float64, adding up to 1
    dtype: torch.dtype  # of the result
    origin: Origin


def _voters(X: Scores, weights: Values | None, noise: str) -> _Voters:
    check_choice(noise, "noise", tuple(NOISES))
    scores, origin = as_scores(X, "X", apart=True)
    weight = as_weights(weights_said(X, weights), scores)
    weight = weight / unit_of(weight.detach().amax(dim=-1, keepdim=True))  # so that weights of any size have sums
    weight = weight / weight.sum(dim=-1, keepdim=True)
    wide = exact_differences(scores, "X").to(torch.float64)
    return _Voters(complete_scores(wide, "X"), weight, count_dtype(scores, origin), origin)
