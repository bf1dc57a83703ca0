"""Kendall kernels that compare only some pairs of items, or weight them."""

from __future__ import annotations

from typing import get_args

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.kernels.arguments import ARGUMENTS
from torchrank.kernels.batches import one_batch
from torchrank.kernels.kendall_arguments import VARIANTS
from torchrank.kernels.normalize import normalize_gram
from torchrank.ops.checks import pair_weights as checked_pair_weights
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.rank import rankings_of_sides
from torchrank.ops.weighted_pairs import weighted_pairs
from torchrank.rankings.arrays import Matrix, as_tensor
from torchrank.rankings.derivatives import on_values
from torchrank.rankings.isolation import isolated
from torchrank.rankings.names import check_same_names, columns_of, index_of
from torchrank.rankings.orders import total_scores
from torchrank.rankings.powers import unit_of
from torchrank.rankings.validate import Scores, check_choice, check_workspace
from torchrank.typing import Array, Scheme, Values, Variant

SCHEMES = get_args(Scheme)
_REMEDY = "kernels of weighted pairs need complete rankings"


@isolated
@shares_arguments(ARGUMENTS)
def weighted_kendall_gram(
    X: Scores[Array],
    Y: Scores[Array] | None = None,
    *,
    pairs: Values,
    variant: Variant = "b",
    workspace: int = WORKSPACE,
    progress: bool = False,
) -> Array:
    r"""Kendall kernel between all rankings that weights pairs of items, in [-1, 1].

    .. math:: K_a(x, y) = \frac{\sum_{i<j} w_{ij} \operatorname{sign}(x_i - x_j) \operatorname{sign}(y_i - y_j)}
                               {\sum_{i<j} w_{ij}}

    and "b" is its cosine. Positive semi-definite, as a sum of products with non-negative weights. With equal weights it
    is :func:`torchrank.kendall_gram`, which counts, and is many times faster; this is a product of blocks in torch.

    Args:
        X: {scores} Complete.
        Y: {others}
        pairs: ``(n, n)`` symmetric mask of the pairs of items to compare, or weights of pairs, at least 0, such as
            :func:`pair_weights` makes of weights of items. They may require a gradient. Their scale does not matter,
            and the kernel is 0 where no pair has a weight.
        variant: "a" or "b" as above.
        workspace: {workspace}
        progress: {progress}

    Returns:
        ``(..., m, m2)``, dtype and kind as for :func:`torchrank.kendall_gram`; differentiable in ``pairs``.

    Raises:
        ValueError: unranked items; weights that are negative, not finite, not symmetric or not 0 on the diagonal;
            shapes, devices or words that do not fit.
        TypeError: scores or weights that are not real numbers.
        RuntimeError: backward through the scores, in which it is piecewise constant.

    Example:
        >>> top = pair_weights([3.0, 1.0, 1.0])
        >>> X = np.array([[3.0, 2.0, 1.0], [3.0, 1.0, 2.0]])
        >>> weighted_kendall_gram(X, pairs=top).round(3).tolist()
        [[1.0, 0.714], [0.714, 1.0]]
    """
    check_choice(variant, "variant", VARIANTS)
    workspace = check_workspace(workspace)
    pair = rankings_of_sides(X, Y, "raise", remedy=_REMEDY)
    x, y = pair.X, pair.Y
    for axis, names in (("rows", index_of(pairs)), ("columns", columns_of(pairs))):
        check_same_names(x.origin.items, names, "columns of X", f"{axis} of pairs", "bring them into one order")
    weights = _as_weights(pairs, x.shape[-1], x.ranks.device)
    flat_x, flat_y, shape = one_batch(x.ranks, None if y is None else y.ranks)
    sums = weighted_pairs(flat_x, flat_y, weights, workspace, bool(progress))
    norms_x, norms_y = sums.norms_x, sums.norms_x if y is None else sums.norms_y
    if variant == "a":
        total = weights.sum() / 2
        kernel = sums.product / torch.where(total > 0, total, 1)
    else:
        kernel = normalize_gram(sums.product, norms_x, norms_y)
    return pair.origin.gram(pair.without_gradient(kernel.reshape(shape).to(pair.dtype)), symmetric=pair.Y is None)


@isolated
def pair_weights(items: Values[Array], *, scheme: Scheme = "product") -> Array:
    r"""Weights of pairs of items from what each item is worth, for :func:`weighted_kendall_gram`.

    Args:
        items: ``(n,)``, one number for each item: its weight, at least 0; or for "hyperbolic" its importance, of which
            the order alone counts, larger = more important.
        scheme: "product" for :math:`w_i w_j`; "sum" for :math:`w_i + w_j`; "hyperbolic" for
            :math:`\frac{1}{1 + r_i} + \frac{1}{1 + r_j}` with r = 0 for the most important item, 1 for the next, and so
            on, equal ones by index. With these weights variant "b" is ``scipy.stats.weightedtau(x, y, rank=r)`` (Vigna,
            A weighted correlation index for rankings with ties, WWW 2015); what SciPy does by default takes r from x
            and from y, so that each pair of rankings has its own weights, which is no kernel.

    Returns:
        ``(n, n)`` float64, symmetric, 0 on the diagonal; an array unless ``items`` is a tensor, whose gradient passes.

    Raises:
        ValueError: not one number for each of at least two items, weights that are negative or not finite, importances
            that are NaN, an unknown scheme.
        TypeError: not real numbers.

    Example:
        >>> pair_weights([2.0, 1.0, 0.0]).tolist()
        [[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    check_choice(scheme, "scheme", SCHEMES)
    given, origin = as_tensor(items, "items", ordinal=scheme == "hyperbolic")
    if given.ndim != 1 or len(given) < 2:
        raise ValueError(f"items has shape {tuple(given.shape)}; expected (n,), one number for each of 2 or more items")
    if scheme == "hyperbolic":
        ranks = dense_ranks(given[None], "an item without importance has no weight", "items")[0][0]
        worth = 1 / (len(ranks) + 1 - total_scores(ranks))
    else:
        worth = given.to(torch.float64)
        on_values(_check_worth, worth)
    weights = worth[:, None] * worth if scheme == "product" else worth[:, None] + worth
    return origin.wrap(weights * (1 - torch.eye(len(worth), dtype=torch.float64, device=worth.device)))


def _check_worth(worth: Tensor) -> Tensor:
    wrong = ~((worth >= 0) & worth.isfinite())
    if bool(wrong.any()):
        item = int(wrong.nonzero()[0][-1])
        raise ValueError(f"items[{item}] is {worth[wrong][0].item():g}; weights must be finite and at least 0")
    return worth


def _as_weights(pairs: Matrix, n: int, device: torch.device) -> Tensor:
    weights = as_tensor(pairs, "pairs")[0]
    if weights.shape != (n, n):
        raise ValueError(
            f"pairs has shape {tuple(weights.shape)}; expected ({n}, {n}), a weight for each pair of items"
        )
    weights = checked_pair_weights(weights.to(device=device, dtype=torch.float64))
    return weights / unit_of(weights.detach().max())  # only ratios count: sums of large weights would overflow
