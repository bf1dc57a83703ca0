"""One minus the smoothed Kendall correlation between predicted scores and hard rankings."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.kernels.arguments import ARGUMENTS as OF_KERNELS
from torchrank.kernels.kendall_arguments import VARIANTS
from torchrank.losses.rows import ARGUMENTS, REDUCTIONS, as_rows, row_windows
from torchrank.losses.weights import ARGUMENTS as OF_WEIGHTS
from torchrank.losses.weights import row_weights
from torchrank.ops.agreement import agreement
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.units import in_unit
from torchrank.rankings.isolation import isolated
from torchrank.rankings.noises import NOISES
from torchrank.rankings.validate import Scores, check_choice
from torchrank.typing import Array, ItemWeights, LossScheme, Noise, Reduction, Values, Variant


@isolated
@shares_arguments(OF_KERNELS, ARGUMENTS, OF_WEIGHTS)
def kendall_loss(
    prediction: Scores[Array],
    target: Scores,
    *,
    window: float | Tensor,
    noise: Noise = "uniform",
    variant: Variant = "b",
    weights: Values | ItemWeights | None = None,
    pairs: Values | None = None,
    scheme: LossScheme = "sum",
    mask: Any = None,
    reduction: Reduction = "mean",
) -> Array:
    r"""One minus the smoothed Kendall correlation between each row of scores and a hard ranking, in [0, 2].

    The signs of the prediction x are expected ones under independent jitters, those of the target y are hard:

    .. math:: \ell(x, y) = 1 - \frac{\sum_{i<j} w_{ij}\, g_{ij} s_{ij}}
              {\sqrt{\sum_{i<j} w_{ij}\, g_{ij}^2 \; \sum_{i<j} w_{ij}\, s_{ij}^2}}

    with

    .. math:: g_{ij} = E \operatorname{sign}(x_i - x_j + \epsilon_i - \epsilon_j), \qquad
              s_{ij} = \operatorname{sign}(y_i - y_j)

    over the pairs of items that count. This is variant "b", the cosine of the features of the smoothed Kendall kernel
    (Jiao and Vert, IEEE TPAMI 40(7), 2018, equation 13) with weights; it stays the same where a small prediction is
    multiplied. Variant "a" divides by :math:`\sum_{i<j} w_{ij}` instead: the expected loss under the jitters, which
    also asks for differences of a window and more. As the window shrinks, "b" becomes
    ``1 - scipy.stats.kendalltau(x, y)`` and with weights ``1 - scipy.stats.weightedtau``.

    Args:
        prediction: {prediction}
        target: {target}
        window: {window}
        noise: {noise}
        variant: "a" or "b" as above. Where a sum under the root is 0, as for a target or a prediction that ties all
            items, "b" has loss 1 and gradient 0: a model that starts from equal scores learns by "a".
        weights: {weights}
        pairs: {pairs}
        scheme: {scheme}
        mask: {mask}
        reduction: {reduction}

    Returns:
        A number, or ``(...)`` for "none", in the dtype of the prediction if that is floating and has at least 32 bits,
        else float32, for integers the default dtype; a NumPy array, without gradient, where no tensor came in, a series
        for "none" of a data frame. Computed
        in float64 on the CPU; elsewhere float32 predictions are computed in float32, with sums in float64. Derivatives
        of prediction, window and weights are of every mode and order, under ``torch.compile`` the first ones;
        forward mode within forward mode is refused.

        The graph keeps numbers for each item, none for pairs. With uniform noise rows of 3,000 items and more take
        O(n log n) on the CPU, but for the gradient of weights of items; that and all else is O(n^2), in blocks of at
        most 128 MiB, or in a Triton kernel for float32 on CUDA, but for weights of pairs. A GPU is not waited for:
        there, the values of window and weights are not looked at.

    Raises:
        ValueError: shapes or devices that do not fit, unknown words, a window that is not positive and finite, weights
            that are negative or not finite, or both kinds of them.
        TypeError: values that are not real numbers, a mask that is not bool.
        RuntimeError: backward through the target, in which the loss is piecewise constant.

    Warns:
        UserWarning: lists of one item each, as of a model whose outputs have a last dimension of 1.

    Example:
        >>> x = torch.tensor([[2.0, 1.0, 0.5], [0.1, 0.2, 0.0]], requires_grad=True)
        >>> y = torch.tensor([[3.0, 2.0, 1.0], [1.0, 2.0, float("nan")]])
        >>> kendall_loss(x, y, window=1.0, reduction="none").round(decimals=3)
        tensor([0.0080, 0.0000], grad_fn=<RoundBackward1>)
    """
    check_choice(noise, "noise", tuple(NOISES))
    check_choice(variant, "variant", VARIANTS)
    check_choice(reduction, "reduction", REDUCTIONS)
    rows = as_rows(prediction, target, mask)
    table, meant = row_weights(weights, pairs, scheme, rows)
    x, width = in_unit(rows.x, row_windows(window, rows.x), rows.counted(), scale_free=variant == "b")
    sums = agreement(x, rows.ranks, table, width, noise, meant, WORKSPACE)
    of_signs, square, strict, total = sums.unbind(-1)
    scale = total if variant == "a" else square * strict
    undefined = scale == 0  # and not NaN
    scale = torch.where(undefined, 1, scale)
    tau = torch.where(undefined, 0, of_signs) / (scale if variant == "a" else scale.sqrt())
    return rows.reduce(1 - tau, total != 0, reduction)
