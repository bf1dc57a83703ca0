"""Kendall kernels that compare only some pairs of items, or weight them; and the polynomial family up to Mallows."""

import numpy as np
import torch
from torch import Tensor

from torchrank.kernels.gradient import without_gradient
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.ops.reference.pair_counts import signs
from torchrank.rankings.validate import (
    Matrix,
    Scores,
    as_gram,
    check_count,
    check_finite,
    from_array,
    score_pair,
    to_numpy,
)


def weighted_kendall(X: Scores, Y: Scores | None, pairs: Matrix, *, variant: str, workspace: int) -> Matrix:
    r"""Sum of weights of concordant pairs less that of discordant ones, over the sum of all weights.

    .. math:: K_a(x, y) = \frac{\sum_{i<j} w_{ij} \operatorname{sign}(x_i - x_j) \operatorname{sign}(y_i - y_j)}
                               {\sum_{i<j} w_{ij}}

    and "b" is its cosine. Positive semi-definite, as a sum of products with non-negative weights.
    """
    scores = score_pair(X, Y)
    n = scores.X.shape[-1]
    weights = _checked_weights(pairs, n, scores.X.device)
    i, j = torch.triu(weights.detach(), 1).nonzero(as_tuple=True)
    w = weights[i, j].to(torch.float64)
    x = dense_ranks(scores.X, "kernels of weighted pairs need complete rankings", "X")[0]
    y = x if scores.Y is None else dense_ranks(scores.Y, "kernels of weighted pairs need complete rankings", "Y")[0]
    total = torch.zeros((1,), dtype=torch.float64, device=x.device)
    self_x = self_y = total
    step = max(1, workspace // (24 * max(1, x.shape[:-1].numel() + y.shape[:-1].numel())))
    for start in range(0, len(w), step):
        block = slice(start, start + step)
        sx = signs(x, i[block], j[block]).to(torch.float64)
        sy = sx if scores.Y is None else signs(y, i[block], j[block]).to(torch.float64)
        total = total + (sx * w[block]) @ sy.mT
        self_x, self_y = self_x + sx.square() @ w[block], self_y + sy.square() @ w[block]
    if not len(w):
        total = total + torch.zeros((*x.shape[:-1], y.shape[-2]), dtype=torch.float64, device=x.device)
    if scores.Y is None:
        total = total.tril() + total.tril(-1).mT  # matrix products are not symmetric to the last bit
    squared = w.sum() ** 2 if variant == "a" else self_x[..., :, None] * self_y[..., None, :]
    kernel = total / torch.where(squared > 0, squared, 1).sqrt()
    return scores.wrap(without_gradient(kernel.to(scores.dtype), scores.X, scores.Y))


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
    check_finite(scale, "scale", 0)
    gram, foreign = as_gram(K, "K", square=False)
    result = ((1 + scale / degree * gram) / (1 + scale / degree)) ** degree
    return to_numpy(result) if foreign else result


def _checked_weights(pairs: Matrix, n: int, device: torch.device) -> Tensor:
    weights = pairs if isinstance(pairs, Tensor) else from_array(np.asarray(pairs), "pairs")
    weights = weights.to(device)
    if weights.shape != (n, n):
        raise ValueError(
            f"pairs has shape {tuple(weights.shape)}; expected ({n}, {n}), a weight for each pair of items"
        )
    values = weights.detach()
    for wrong, problem in (
        (~((values >= 0) & (values < torch.inf)), "weights must be finite and at least 0"),
        (torch.diag(values.diagonal() != 0), "an item is not compared with itself, so the diagonal must be 0"),
        (values != values.mT, "pairs must be symmetric"),
    ):
        if bool(wrong.any()):
            i, j = (int(k) for k in wrong.nonzero()[0])
            raise ValueError(f"pairs has {values[i, j].item()!r} at ({i}, {j}); {problem}")
    return weights
