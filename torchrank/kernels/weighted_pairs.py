"""Kendall kernels that compare only some pairs of items, or weight them; and the polynomial family up to Mallows."""

import torch
from torch import Tensor

from torchrank.kernels.batches import one_batch
from torchrank.kernels.normalize import normalize_gram
from torchrank.ops.checks import pair_weights
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.ops.weighted_pairs import weighted_pairs
from torchrank.rankings.arrays import Matrix, as_tensor, to_numpy
from torchrank.rankings.derivatives import without_gradient
from torchrank.rankings.surroundings import in_plain_surroundings
from torchrank.rankings.validate import Scores, as_gram, check_count, check_finite, score_pair

_REMEDY = "kernels of weighted pairs need complete rankings"


def weighted_kendall(X: Scores, Y: Scores | None, pairs: Matrix, *, variant: str, workspace: int) -> Matrix:
    r"""Sum of weights of concordant pairs less that of discordant ones, over the sum of all weights.

    .. math:: K_a(x, y) = \frac{\sum_{i<j} w_{ij} \operatorname{sign}(x_i - x_j) \operatorname{sign}(y_i - y_j)}
                               {\sum_{i<j} w_{ij}}

    and "b" is its cosine. Positive semi-definite, as a sum of products with non-negative weights.
    """
    scores = score_pair(X, Y)
    weights = _as_weights(pairs, scores.X.shape[-1], scores.X.device)
    x = dense_ranks(scores.X, _REMEDY, "X")[0]
    y = None if scores.Y is None else dense_ranks(scores.Y, _REMEDY, "Y")[0]
    flat_x, flat_y, shape = one_batch(x, y)
    sums = weighted_pairs(flat_x, flat_y, weights, workspace)
    norms_x, norms_y = sums.norms_x, sums.norms_x if y is None else sums.norms_y
    if variant == "a":
        total = weights.sum() / 2
        kernel = sums.product / torch.where(total > 0, total, 1)
    else:
        kernel = normalize_gram(sums.product, norms_x, norms_y)
    return scores.wrap(without_gradient(kernel.reshape(shape).to(scores.dtype), scores.X, scores.Y))


@in_plain_surroundings
def polynomial_gram(K: Matrix, *, degree: int, scale: float) -> Matrix:
    r"""The kernel between Kendall and Mallows: all products of up to p pair signs.

    .. math:: \Big( \frac{1 + (c / p) K}{1 + c / p} \Big)^p

    For p = 1 and a large scale c it is the Kendall kernel itself; as p grows it tends to :math:`e^{c (K - 1)}`, which
    on total rankings is the Mallows kernel with :math:`\lambda = 4 c / (n (n - 1))` (Jiao and Vert, IEEE TPAMI 40(7),
    2018).

    Args:
        K: ``(..., m, m2)`` Kendall Gram matrix with entries in [-1, 1].
        degree: p, at least 1.
        scale: c, at least 0 and finite.

    Returns:
        A matrix of the shape, dtype and kind of ``K``; positive semi-definite where K is. Gradients pass.

    Raises:
        ValueError, TypeError: arguments out of range, or ``K`` not a floating-point matrix.
    """
    check_count(degree, "degree", least=1)
    check_finite(degree, "degree", 1)
    check_finite(scale, "scale", 0)
    gram, foreign = as_gram(K, "K", square=False)
    p, share, doubles = float(degree), scale / float(degree), gram.to(torch.float64)
    # A power of p magnifies what rounding does to a number near 1: there, take the logarithm of its distance from 1.
    below_one = (share / (1 + share)) * (doubles - 1)
    near = (p * torch.log1p(below_one.clamp(min=-0.5))).exp()
    power = torch.where(below_one > -0.5, near, ((1 + share * doubles) / (1 + share)) ** p)
    result = power.to(gram.dtype)
    return to_numpy(result) if foreign else result


def _as_weights(pairs: Matrix, n: int, device: torch.device) -> Tensor:
    weights = as_tensor(pairs, "pairs")[0]
    if weights.shape != (n, n):
        raise ValueError(
            f"pairs has shape {tuple(weights.shape)}; expected ({n}, {n}), a weight for each pair of items"
        )
    weights = pair_weights(weights.to(device=device, dtype=torch.float64))
    exponent = torch.frexp(weights.detach().max()).exponent  # only ratios count: sums of large weights would overflow
    return weights / torch.ldexp(torch.ones_like(weights[0, 0]), exponent - 1)
