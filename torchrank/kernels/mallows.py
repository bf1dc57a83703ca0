"""Mallows kernel between all rankings of two sets."""

import torch
from torch import Tensor

from torchrank.kernels.kendall import distance_tensor
from torchrank.kernels.partial import Kind
from torchrank.ops.concentration import checked_concentration
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.rankings.validate import Matrix, Scores, check_at_least, check_finite


def mallows_gram(
    X: Scores,
    Y: Scores | None = None,
    *,
    lam: float | Tensor = 1.0,
    tie_penalty: float = 0.25,
    normalize: bool = False,
    missing: str = "raise",
    kind: Kind = None,
    kind_y: Kind = None,
    method: str = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
) -> Matrix:
    r"""Mallows kernel between all rankings, in (0, 1], 1 on the diagonal.

    .. math:: K(x, y) = e^{-\lambda\, d(x, y)}, \qquad d = n_d + p\, t

    with the distance of :func:`torchrank.kendall_distance` (Jiao and Vert, IEEE TPAMI 40(7), 2018, equation 2). With
    ties the exponential of the bare discordance count is not positive definite: a pair tied in exactly one ranking has
    to count at least 1/4, for which d belongs to the Kendall kernel's own feature space.

    Distances grow as n^2: for n = 1000 random rankings differ in about 250,000 pairs, and exp(-0.01 d) is 0 off the
    diagonal. With ``normalize=True`` the distance is a share of the n(n-1)/2 pairs, and ``lam`` of order 1 to 10 is
    useful for every n.

    Args:
        X: as for :func:`torchrank.kendall_gram`, as are all arguments that are not named here.
        Y: see there.
        lam: at least 0; a tensor may require a gradient, and may have any shape that broadcasts to the result.
        tie_penalty: p, at least 1/4.
        normalize: divide distances by n(n-1)/2, or by the number of pairs of common items.
        missing: see there; "pairwise" does not give a positive semi-definite matrix. With "interleaving" and "topk"
            this is the exponential of the distance of mean feature vectors. That is a kernel, but not the convolution
            Mallows kernel, the mean over the total rankings that agree with the rows.
        kind: see there.
        kind_y: see there.
        method: see there.
        workspace: see there.
        progress: see there.

    Returns:
        ``(..., m, m2)``, dtype and kind as for :func:`torchrank.kendall_gram`. NumPy output carries no gradient.

    Raises:
        ValueError, TypeError, RuntimeError: as :func:`torchrank.kendall_gram`, for ``lam`` negative, infinite or NaN,
            and for a ``tie_penalty`` below 1/4.
    """
    check_at_least(tie_penalty, "tie_penalty", 0.25, why=": below, the exponential of the distance is not a kernel")
    check_finite(tie_penalty, "tie_penalty", 0.25)
    if isinstance(lam, Tensor):
        lam = checked_concentration(lam)
    else:
        check_finite(lam, "lam", 0)
    distance, pair = distance_tensor(
        X,
        Y,
        tie_penalty=tie_penalty,
        normalize=normalize,
        exact=True,  # a rounded distance would be multiplied by lam
        missing=missing,
        kind=kind,
        kind_y=kind_y,
        method=method,
        workspace=workspace,
        progress=progress,
    )
    return pair.wrap(torch.mul(distance, -lam).exp_().to(pair.dtype))
