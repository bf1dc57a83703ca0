"""Kendall kernels, distances and counts between all rankings of two sets."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, overload

import torch
from torch import Tensor
from typing_extensions import NamedTuple

from torchrank._docs import shares_arguments
from torchrank.kernels.all_pairs import all_pairs
from torchrank.kernels.arguments import ARGUMENTS
from torchrank.kernels.kendall_arguments import VARIANTS, distance_quantity, kernel_quantity
from torchrank.kernels.out import into, refuse_without_out
from torchrank.kernels.pair_stream import PairStream
from torchrank.ops.memory import FEATURES, explaining, feature_size
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.quantities import Quantity
from torchrank.ops.rank import as_rankings, sides_to_count
from torchrank.processes import ARGUMENTS as OF_PROCESSES
from torchrank.processes import Group
from torchrank.rankings.arrays import Matrix
from torchrank.rankings.derivatives import without_gradient
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Missing
from torchrank.rankings.pairs import item_pairs, n_pairs
from torchrank.rankings.validate import Scores, check_choice
from torchrank.typing import Array, Kind, PairMethod, Variant


class PairCounts(NamedTuple, Generic[Kind]):
    """Five disjoint classes of item pairs for every pair of rankings; each ``(..., m, m2)`` int64."""

    concordant: Kind
    discordant: Kind
    tied_x: Kind  # tied in x only
    tied_y: Kind  # tied in y only
    tied_xy: Kind  # tied in both


@overload
def kendall_gram(
    X: Scores[Array],
    Y: Scores[Array] | None = None,
    *,
    variant: Variant | None = None,
    missing: Missing = None,
    missing_y: Missing = None,
    min_common: int | None = None,
    fill_value: float = math.nan,
    shrink: float = 0.0,
    method: PairMethod = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
) -> Array: ...
@overload
def kendall_gram(
    X: Scores,
    Y: Scores | None = None,
    *,
    out: Any,
    variant: Variant | None = None,
    missing: Missing = None,
    missing_y: Missing = None,
    min_common: int | None = None,
    fill_value: float = math.nan,
    shrink: float = 0.0,
    method: PairMethod = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
    block: int | None = None,
    resume: bool = False,
    group: Group = None,
) -> Any: ...
@isolated
@shares_arguments(ARGUMENTS, OF_PROCESSES)
def kendall_gram(
    X: Scores,
    Y: Scores | None = None,
    *,
    variant: Variant | None = None,
    missing: Missing = None,
    missing_y: Missing = None,
    min_common: int | None = None,
    fill_value: float = math.nan,
    shrink: float = 0.0,
    method: PairMethod = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
    out: Any = None,
    block: int | None = None,
    resume: bool = False,
    group: Group = None,
) -> Any:
    r"""Kendall kernel between all rankings: the agreement of two rankings over all pairs of items, in [-1, 1].

    With :math:`n_c` concordant and :math:`n_d` discordant pairs of items,

    .. math:: K_a(x, y) = \frac{n_c - n_d}{n(n-1)/2}, \qquad
              K_b(x, y) = \frac{K_a(x, y)}{\sqrt{K_a(x, x) K_a(y, y)}}

    (Jiao and Vert, IEEE TPAMI 40(7), 2018, equation 3; the second is its cosine, Kendall's tau-b). Without ties the two
    are equal. Counts are exact integers, divided once in float64. Both kernels are positive semi-definite. A
    constant row has no order: its kernel with every row, itself included, is 0. :func:`weighted_kendall_gram` weights
    pairs of items.

    Args:
        X: {scores}
        Y: {others}
        variant: {variant}
        missing: {missing}
        missing_y: {missing_y}
        min_common: {min_common}
        fill_value: {fill_value}
        shrink: s at least 0: every entry times c / (c + s), with c items that both rows rank, the diagonal included.
            This is the usual shrinkage of similarities of users or of items, which trusts those over few common items
            less (Koren, KDD 2008, section 2.2). For ``missing="pairwise"`` alone.
        method: {method}
        workspace: {workspace}
        progress: {progress}
        out: {out}
        block: {out_block}
        resume: {resume}
        group: for ``out`` that is a file, {group}

    Returns:
        ``(..., m, m2)`` in the dtype of the scores if that is floating, else in the default dtype (torch's for tensors,
        float64 for NumPy); a NumPy array for NumPy input, a data frame with
        the names of the rows for data frames.

    Raises:
        ValueError: unranked items with ``missing="raise"``; fewer than two items; shapes, devices, names of items or
            words that do not fit; ``min_common`` or ``shrink`` negative, or without ``missing="pairwise"``.
        TypeError: scores that are not real numbers.
        RuntimeError: ``method`` has no engine on this device; backward through the scores (see below).

    The result is piecewise constant in the scores, so there is no gradient with respect to them, and asking raises.

    Example:
        >>> kendall_gram(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])).round(3).tolist()
        [[1.0, 0.333], [0.333, 1.0]]
    """

    def ask():
        pair = sides_to_count(X, Y, missing, missing_y)
        return pair, kernel_quantity(pair, variant, min_common, fill_value, shrink)

    on_disk = {"out": out, "block": block, "resume": resume, "group": group}
    return _matrix(ask, "kendall_gram", method=method, workspace=workspace, progress=progress, **on_disk)


@overload
def kendall_distance(
    X: Scores[Array],
    Y: Scores[Array] | None = None,
    *,
    tie_penalty: float = 0.25,
    normalize: bool = False,
    missing: Missing = None,
    missing_y: Missing = None,
    min_common: int | None = None,
    fill_value: float = math.nan,
    method: PairMethod = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
) -> Array: ...
@overload
def kendall_distance(
    X: Scores,
    Y: Scores | None = None,
    *,
    out: Any,
    tie_penalty: float = 0.25,
    normalize: bool = False,
    missing: Missing = None,
    missing_y: Missing = None,
    min_common: int | None = None,
    fill_value: float = math.nan,
    method: PairMethod = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
    block: int | None = None,
    resume: bool = False,
    group: Group = None,
) -> Any: ...
@isolated
@shares_arguments(ARGUMENTS, OF_PROCESSES)
def kendall_distance(
    X: Scores,
    Y: Scores | None = None,
    *,
    tie_penalty: float = 0.25,
    normalize: bool = False,
    missing: Missing = None,
    missing_y: Missing = None,
    min_common: int | None = None,
    fill_value: float = math.nan,
    method: PairMethod = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
    out: Any = None,
    block: int | None = None,
    resume: bool = False,
    group: Group = None,
) -> Any:
    r"""Kendall distance between all rankings: a number of item pairs.

    .. math:: d_p(x, y) = n_d + p\, t

    with :math:`n_d` discordant pairs, t pairs tied in exactly one of the two rankings and p the ``tie_penalty`` (Fagin
    et al., SIAM J. Discrete Math. 20(3), 2006). For p = 1/4 it is :math:`n(n-1)/8` times the squared distance of the
    Kendall kernel's feature vectors; below 1/4 no kernel belongs to it. With ``missing`` "interleaving" and "topk" it
    is this squared distance of the mean feature vectors, and ``tie_penalty`` has to be 1/4.

    Args:
        X: {scores}
        Y: {others}
        tie_penalty: p, at least 0.
        normalize: divide by the number of pairs, n(n-1)/2, or by that of commonly ranked items.
        missing: {missing}
        missing_y: {missing_y}
        min_common: {min_common}
        fill_value: {fill_value}
        method: {method}
        workspace: {workspace}
        progress: {progress}
        out: {out}
        block: {out_block}
        resume: {resume}
        group: for ``out`` that is a file, {group}

    Returns:
        ``(..., m, m2)`` distances, dtype and kind as for :func:`kendall_gram`, but float32 for half-precision scores,
        since counts soon exceed what half precision holds. Rows without two common items have distance 0.

    Raises:
        ValueError, TypeError, RuntimeError: as :func:`kendall_gram`, for a ``tie_penalty`` negative, infinite or NaN,
            and for ``min_common`` as there.
    """

    def ask():
        pair = sides_to_count(X, Y, missing, missing_y)
        return pair, distance_quantity(pair, tie_penalty, normalize, min_common, fill_value)

    on_disk = {"out": out, "block": block, "resume": resume, "group": group}
    return _matrix(ask, "kendall_distance", method=method, workspace=workspace, progress=progress, **on_disk)


def _matrix(
    ask: Callable[[], tuple[Any, Quantity]],
    title: str,
    *,
    method: str,
    workspace: int,
    progress: bool,
    out: Any,
    block: int | None,
    resume: bool,
    group: Group,
) -> Matrix:
    """The matrix of the rankings and the quantity that ``ask`` gives, here or in ``out``."""
    if out is not None:
        return into(
            out,
            lambda: PairStream.of(*ask(), block=block, method=method, workspace=workspace),
            resume=resume,
            group=group,
            title=title,
            progress=bool(progress),
        )
    refuse_without_out(block, resume, group)
    pair, quantity = ask()
    return pair.origin.gram(
        all_pairs(pair, quantity, method=method, workspace=workspace, progress=progress)[0], symmetric=pair.Y is None
    )


@isolated
@shares_arguments(ARGUMENTS)
def pair_counts(
    X: Scores[Array],
    Y: Scores[Array] | None = None,
    *,
    missing: Missing = None,
    method: PairMethod = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
) -> PairCounts[Array]:
    """Exact numbers of concordant, discordant and tied item pairs between all rankings.

    The five classes are disjoint and add up to n(n-1)/2 (with ``missing="pairwise"`` to the pairs of common items).

    Args:
        X: {scores}
        Y: {others}
        missing: what unranked items mean: "raise" (an error; the default for scores) or "pairwise" (each two rows are
            compared on the items that both rank).
        method: {method}
        workspace: {workspace}
        progress: {progress}

    Returns:
        :class:`PairCounts` of ``(..., m, m2)`` int64 tensors, or arrays for NumPy input.

    Raises:
        ValueError, TypeError, RuntimeError: as :func:`kendall_gram`.
    """
    pair = sides_to_count(X, Y, missing)
    classes = all_pairs(
        pair, Quantity("counts"), method=method, workspace=workspace, progress=progress, dtype=torch.int64
    )
    return PairCounts(*(pair.origin.gram(count, symmetric=pair.Y is None) for count in classes.unbind(0)))


@isolated
@shares_arguments(ARGUMENTS)
def kendall_features(X: Scores[Array], *, variant: Variant = "a") -> Array:
    r"""Explicit feature map of the Kendall kernel: signs of all item pairs, scaled.

    .. math:: \Phi(x) = \binom{n}{2}^{-1/2} \bigl(\operatorname{sign}(x_i - x_j)\bigr)_{i < j}

    (Jiao and Vert, IEEE TPAMI 40(7), 2018, theorem 1), so that ``kendall_features(X) @ kendall_features(Y).T`` is
    ``kendall_gram(X, Y)`` of the same variant up to rounding. Columns are in the order of ``torch.triu_indices(n, n,
    1)``.

    Args:
        X: {scores} Complete.
        variant: "a", or "b" for rows of unit norm (rows of zeros where a ranking is constant).

    Returns:
        ``(..., m, n(n-1)/2)`` in dtype and kind as for :func:`kendall_gram`.

    Raises:
        ValueError: unranked items, fewer than two items, or an unknown variant.
        TypeError: scores that are not real numbers.
    """
    check_choice(variant, "variant", VARIANTS)
    rankings = as_rankings(X, remedy="complete or drop these rows")
    ranks, strict = rankings.ranks, rankings.strict
    squared_norm = strict if variant == "b" else torch.full_like(strict, n_pairs(ranks.shape[-1]))
    features = _features(ranks, squared_norm.clamp(min=1), rankings.result_dtype)
    return rankings.origin.wrap(without_gradient(features, rankings.scores, what="signs of pairs are"))


@explaining(feature_size, FEATURES)
def _features(ranks: Tensor, squared_norm: Tensor, dtype: torch.dtype) -> Tensor:
    """Signs of all pairs of items, over the roots of squared norms ``(..., m)``."""
    i, j = item_pairs(ranks.shape[-1], ranks.device)
    signs = (ranks[..., i] - ranks[..., j]).sign_()
    return (signs / squared_norm[..., None].to(torch.float64).sqrt()).to(dtype)
