"""Kendall kernels, distances and counts between all rankings of two sets."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchrank.kernels.all_pairs import MISSING, all_pairs
from torchrank.kernels.partial import KINDS, Kind
from torchrank.kernels.weighted_pairs import weighted_kendall
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.ops.pair_counts import METHODS, WORKSPACE
from torchrank.ops.quantities import Quantity
from torchrank.rankings.arrays import Matrix, to_numpy
from torchrank.rankings.derivatives import without_gradient
from torchrank.rankings.pairs import item_pairs
from torchrank.rankings.surroundings import in_plain_surroundings
from torchrank.rankings.validate import (
    Scores,
    as_float,
    as_scores,
    check_choice,
    check_finite,
    check_workspace,
    real_dtype,
)

VARIANTS = ("a", "b")


class PairCounts(NamedTuple):
    """Five disjoint classes of item pairs for every pair of rankings; each ``(..., m, m2)`` int64."""

    concordant: Tensor | np.ndarray
    discordant: Tensor | np.ndarray
    tied_x: Tensor | np.ndarray  # tied in x only
    tied_y: Tensor | np.ndarray  # tied in y only
    tied_xy: Tensor | np.ndarray  # tied in both


@in_plain_surroundings
def kendall_gram(
    X: Scores,
    Y: Scores | None = None,
    *,
    variant: str | None = None,
    missing: str = "raise",
    kind: Kind = None,
    kind_y: Kind = None,
    pairs: Matrix | None = None,
    method: str = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
) -> Matrix:
    r"""Kendall kernel between all rankings: the agreement of two rankings over all pairs of items, in [-1, 1].

    With :math:`n_c` concordant and :math:`n_d` discordant pairs of items,

    .. math:: K_a(x, y) = \frac{n_c - n_d}{n(n-1)/2}, \qquad
              K_b(x, y) = \frac{K_a(x, y)}{\sqrt{K_a(x, x) K_a(y, y)}}

    (Jiao and Vert, IEEE TPAMI 40(7), 2018, equation 3; the second is its cosine, Kendall's tau-b). Without ties the two
    are equal. Counts are exact integers, divided once in float64. Both kernels are positive semi-definite. A
    constant row has no order: its kernel with every row, itself included, is 0.

    Args:
        X: ``(..., m, n)`` scores, one ranking a row: larger = preferred, equal = tied, NaN = unranked. Any real dtype.
        Y: ``(..., m2, n)``; None means ``X``, and a result that is symmetric bit for bit. Batch dimensions broadcast.
        variant: "a" or "b" as above. None means "b", but "a" for ``missing`` "interleaving" and "topk", whose diagonal
            tells how much of the order a row fixes.
        missing: what unranked items mean.

            * "raise": an error.
            * "interleaving": anything; the mean kernel over all total rankings that agree with a row, equation 7 there.
            * "topk": less preferred than all ranked items, in any order; the mean likewise.
            * "pairwise": each two rows are compared on the items that both rank. This does not give a positive
              semi-definite matrix; rows with fewer than two common items get 0.
        kind: for ``missing`` "interleaving" and "topk": which of the two each row of ``X`` is, where they differ. One
            word for all, or words ``(m,)``, or ``(..., m)``, whose batch dimensions broadcast with those of the scores.
        kind_y: the same for ``Y``.
        pairs: ``(n, n)`` symmetric mask of the pairs of items to compare, or non-negative weights of pairs, which may
            require a gradient; None compares all alike. The kernel is 0 where no pair has a weight. For complete
            rankings; a product of blocks in plain torch.
        method: "auto", "signs", "inversions" or "reference": which engine counts. All give the same result.
        workspace: bytes of memory to use at most beside inputs and results.
        progress: show a progress bar.

    Returns:
        ``(..., m, m2)`` in the dtype of the scores if that is floating, else in the default dtype (torch's for tensors,
        float64 for NumPy); a NumPy array for NumPy input.

    Raises:
        ValueError: unranked items with ``missing="raise"``; fewer than two items; shapes, devices or words that do not
            fit.
        TypeError: scores that are not real numbers.
        RuntimeError: ``method`` has no engine on this device or for ``pairs``; backward through the scores (see below).

    The result is piecewise constant in the scores, so there is no gradient with respect to them, and asking raises.

    Example:
        >>> kendall_gram(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])).round(3).tolist()
        [[1.0, 0.333], [0.333, 1.0]]
    """
    variant = ("a" if missing in KINDS else "b") if variant is None else variant
    check_choice(variant, "variant", VARIANTS)
    if pairs is not None:
        check_choice(missing, "missing", MISSING)
        check_choice(method, "method", METHODS)
        workspace = check_workspace(workspace)
        if missing != "raise" or kind is not None or kind_y is not None:
            raise ValueError(
                f"pairs needs complete rankings, missing='raise' without kind; got missing={missing!r}, kind={kind!r}, "
                f"kind_y={kind_y!r}"
            )
        if method in ("signs", "inversions"):
            raise RuntimeError(f"method={method!r} has no engine for pairs, which torch multiplies; use method='auto'")
        return weighted_kendall(X, Y, pairs, variant=variant, workspace=workspace)
    result, pair = all_pairs(
        X,
        Y,
        Quantity(variant),
        missing=missing,
        method=method,
        workspace=workspace,
        progress=progress,
        kind=kind,
        kind_y=kind_y,
    )
    return pair.wrap(result[0])


@in_plain_surroundings
def kendall_distance(
    X: Scores,
    Y: Scores | None = None,
    *,
    tie_penalty: float = 0.25,
    normalize: bool = False,
    missing: str = "raise",
    kind: Kind = None,
    kind_y: Kind = None,
    method: str = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
) -> Matrix:
    r"""Kendall distance between all rankings: a number of item pairs.

    .. math:: d_p(x, y) = n_d + p\, t

    with :math:`n_d` discordant pairs, t pairs tied in exactly one of the two rankings and p the ``tie_penalty`` (Fagin
    et al., SIAM J. Discrete Math. 20(3), 2006). For p = 1/4 it is :math:`n(n-1)/8` times the squared distance of the
    Kendall kernel's feature vectors; below 1/4 no kernel belongs to it. With ``missing`` "interleaving" and "topk" it
    is this squared distance of the mean feature vectors, and ``tie_penalty`` has to be 1/4.

    Args:
        X: as for :func:`kendall_gram`, as are all arguments that are not named here.
        Y: see there.
        tie_penalty: p, at least 0.
        normalize: divide by the number of pairs, n(n-1)/2, or by that of commonly ranked items.
        missing: see there.
        kind: see there.
        kind_y: see there.
        method: see there.
        workspace: see there.
        progress: see there.

    Returns:
        ``(..., m, m2)`` distances, dtype and kind as for :func:`kendall_gram`, but float32 for half-precision scores,
        since counts soon exceed what half precision holds. Rows without two common items have distance 0.

    Raises:
        ValueError, TypeError, RuntimeError: as :func:`kendall_gram`, and for a ``tie_penalty`` negative, infinite or
            NaN.
    """
    check_finite(tie_penalty, "tie_penalty", 0)
    result, pair = all_pairs(
        X,
        Y,
        Quantity("distance", as_float(tie_penalty), bool(normalize)),
        missing=missing,
        method=method,
        workspace=workspace,
        progress=progress,
        kind=kind,
        kind_y=kind_y,
    )
    return pair.wrap(result[0])


@in_plain_surroundings
def pair_counts(
    X: Scores,
    Y: Scores | None = None,
    *,
    missing: str = "raise",
    method: str = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
) -> PairCounts:
    """Exact numbers of concordant, discordant and tied item pairs between all rankings.

    The five classes are disjoint and add up to n(n-1)/2 (with ``missing="pairwise"`` to the pairs of common items).

    Args:
        X: as for :func:`kendall_gram`, as are all other arguments.
        Y: see there.
        missing: see there.
        method: see there.
        workspace: see there.
        progress: see there.

    Returns:
        :class:`PairCounts` of ``(..., m, m2)`` int64 tensors, or arrays for NumPy input.

    Raises:
        ValueError, TypeError, RuntimeError: as :func:`kendall_gram`.
    """
    classes, pair = all_pairs(
        X,
        Y,
        Quantity("counts"),
        missing=missing,
        method=method,
        workspace=workspace,
        progress=progress,
        dtype=torch.int64,
    )
    return PairCounts(*(pair.wrap(count) for count in classes.unbind(0)))


@in_plain_surroundings
def kendall_features(X: Scores, *, variant: str = "a") -> Matrix:
    r"""Explicit feature map of the Kendall kernel: signs of all item pairs, scaled.

    .. math:: \Phi(x) = \binom{n}{2}^{-1/2} \big(\operatorname{sign}(x_i - x_j)\big)_{i < j}

    (Jiao and Vert, IEEE TPAMI 40(7), 2018, theorem 1), so that ``kendall_features(X) @ kendall_features(Y).T`` is
    ``kendall_gram(X, Y)`` of the same variant up to rounding. Columns are in the order of ``torch.triu_indices(n, n,
    1)``.

    Args:
        X: ``(..., m, n)`` complete scores, larger = preferred.
        variant: "a", or "b" for rows of unit norm (rows of zeros where a ranking is constant).

    Returns:
        ``(..., m, n(n-1)/2)`` in dtype and kind as for :func:`kendall_gram`.

    Raises:
        ValueError: unranked items, fewer than two items, or an unknown variant.
        TypeError: scores that are not real numbers.
    """
    check_choice(variant, "variant", VARIANTS)
    scores, foreign = as_scores(X, "X")
    ranks, strict = dense_ranks(scores, "complete or drop these rows", "X")
    n = ranks.shape[-1]
    i, j = item_pairs(n, ranks.device)
    signs = (ranks[..., i] - ranks[..., j]).sign_()
    squared_norm = strict[..., None] if variant == "b" else torch.full_like(strict[..., None], n * (n - 1) // 2)
    features = signs / squared_norm.clamp(min=1).to(torch.float64).sqrt()
    features = features.to(real_dtype(scores, foreign=foreign))
    features = without_gradient(features, scores, what="signs of pairs are")
    return to_numpy(features) if foreign else features
