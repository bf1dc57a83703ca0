"""The polynomial family of kernels between Kendall and Mallows."""

from __future__ import annotations

import torch

from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import as_gram, check_count, check_finite
from torchrank.typing import Array, Values


@isolated
def polynomial_gram(K: Values[Array], *, degree: int, scale: float) -> Array:
    r"""The kernel between Kendall and Mallows: all products of up to p pair signs.

    .. math:: \Bigl( \frac{1 + (c / p) K}{1 + c / p} \Bigr)^p

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
    gram, origin = as_gram(K, "K", square=False)
    p, share, doubles = float(degree), scale / float(degree), gram.to(torch.float64)
    # A power of p magnifies what rounding does to a number near 1: there, take the logarithm of its distance from 1.
    below_one = (share / (1 + share)) * (doubles - 1)
    near = (p * torch.log1p(below_one.clamp(min=-0.5))).exp()
    power = torch.where(below_one > -0.5, near, ((1 + share * doubles) / (1 + share)) ** p)
    result = power.to(gram.dtype)
    return origin.named(result, "rows", "items")
