"""Conditional ranking on complete graphs as functions: kernels and labels in, dual coefficients out."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.conditional.adjoint import solve_pairs
from torchrank.conditional.arguments import kernel_pair, label_matrix, scalar_regularization, wrapper
from torchrank.conditional.descriptions import DIRECTION, EXCLUDE_NODES, K_END, K_START, LABELS, LAM, RELATION
from torchrank.conditional.eigen import KroneckerEigh
from torchrank.linalg import Eigen, as_double, psd_eigh
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import check_choice
from torchrank.typing import Array, Direction, NodesExcluded, Relation, Values

_KERNELS_AND_LABELS = {"K_start": K_START, "K_end": K_END, "F": LABELS, "lam": LAM}


@isolated
@shares_arguments(**_KERNELS_AND_LABELS, relation=RELATION)
def kron_rls(
    K_start: Values[Array],  # (m, m)
    K_end: Values[Array] | None,  # (n, n), None for the same nodes
    F: Values[Array],  # (..., m, n)
    lam: float | Values,
    *,
    relation: Relation = "ordinary",
) -> Array:
    """Kronecker regularized least squares on a complete graph in closed form, O(m^3 + n^3).

    Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, Corollary 1; Proposition 3 for symmetric and reciprocal
    relations. Where the same kernels serve several sets of labels or leave-out predictions, call
    :class:`KroneckerEigh` and its methods instead: it decomposes them once.

    Args:
        K_start: {K_start}
        K_end: {K_end}
        F: {F}
        lam: {lam} A tensor of any shape gives solutions for all its values.
        relation: {relation}

    Returns:
        Duals ``A`` of shape ``(*lam.shape, ..., m, n)`` with ``K_start A K_end + lam A = F``; differentiable.
        Predictions for new nodes are ``K_new_start @ A @ K_new_end.T``; in float32 that loses digits where kernels are
        singular and ``lam`` is small beside products of their eigenvalues; :meth:`KroneckerEigh.predict` keeps them.

    Raises:
        TypeError: dtypes other than float32 and float64, or mixed ones.
        ValueError: a kernel that is not symmetric positive semi-definite, labels of another shape or NaN, negative
            ``lam``, an unknown choice, or a gradient at ``lam = 0`` for a singular kernel.
        torch.linalg.LinAlgError: the decomposition fails also on the CPU.
    """
    return KroneckerEigh(K_start, K_end, relation=relation).solve(F, lam)


@isolated
@shares_arguments(**_KERNELS_AND_LABELS, direction=DIRECTION)
def kron_rank_rls(
    K_start: Values[Array],  # (m, m)
    K_end: Values[Array] | None,  # (n, n), None for the same nodes
    F: Values[Array],  # (..., m, n)
    lam: float | Values,
    *,
    direction: Direction = "outgoing",
) -> Array:
    """Kronecker RankRLS on a complete graph in closed form, O(m^3 + n^3), for singular kernels too.

    Minimizes ``sum ||C (F_i - f_i)||^2 + lam ||f||^2`` over the edges ``i`` leaving (``direction="outgoing"``) or
    entering ("incoming") each node, ``C`` the centering matrix: equation (37) of Pahikkala et al. (2013),
    doi:10.1007/s10994-013-5354-7, with the order of factors in their equation (34) corrected. Their loss (6) summed
    over all ordered pairs of a node's ``n`` edges is ``2 n`` times this, so its ``lam`` is ``2 n`` times ours.

    Args:
        K_start: {K_start}
        K_end: {K_end}
        F: {F}
        lam: {lam} A tensor of any shape gives solutions for all its values.
        direction: {direction}

    Returns:
        Duals ``(*lam.shape, ..., m, n)`` whose rows (outgoing) or columns (incoming) sum to zero; differentiable.

    Raises:
        TypeError: dtypes other than float32 and float64, or mixed ones.
        ValueError: a kernel that is not symmetric positive semi-definite, labels of another shape or NaN, negative
            ``lam``, an unknown choice, or a gradient at ``lam = 0`` for a singular kernel.
        torch.linalg.LinAlgError: the decomposition fails also on the CPU.
    """
    return KroneckerEigh(K_start, K_end, loss="ranking", direction=direction).solve(F, lam)


@isolated
@shares_arguments(**_KERNELS_AND_LABELS)
def two_step_rls(
    K_start: Values[Array],
    K_end: Values[Array] | None,
    F: Values[Array],
    lam_start: float | Values,
    lam_end: float | Values,
) -> Array:
    """Kernel ridge regression over start nodes, then over end nodes.

    Args:
        K_start: {K_start}
        K_end: {K_end}
        F: {F}
        lam_start: of the start side, {lam}
        lam_end: of the end side, {lam}

    Returns:
        Duals ``(K_start + lam_start I)^-1 F (K_end + lam_end I)^-1``, ``(..., m, n)``; predictions are ``K A K^T``.

    Raises:
        TypeError: dtypes other than float32 and float64, or mixed ones.
        ValueError: a kernel that is not symmetric positive semi-definite, labels of another shape or NaN, negative lam.
    """
    labels, start, end = _two_step(K_start, K_end, F, lam_start, lam_end)
    duals = start.inverse @ as_double(labels) @ end.inverse
    return wrapper(K_start, K_end, F)(duals.to(labels))


@isolated
@shares_arguments(**_KERNELS_AND_LABELS, exclude=EXCLUDE_NODES)
def two_step_loo(
    K_start: Values[Array],
    K_end: Values[Array] | None,
    F: Values[Array],
    lam_start: float | Values,
    lam_end: float | Values,
    *,
    exclude: NodesExcluded = "both",
) -> Array:
    """Predictions of :func:`two_step_rls` for every edge without the nodes that it joins, all in O(m^3 + n^3).

    Leaving out node i of one side turns its hat matrix ``H`` into ``(H - diag H)[i] / (1 - H_ii)``, and the sides are
    independent.

    Args:
        K_start: {K_start}
        K_end: {K_end}
        F: {F}
        lam_start: of the start side, {lam}
        lam_end: of the end side, {lam}
        exclude: {exclude}

    Returns:
        ``(..., m, n)``.

    Raises:
        TypeError: dtypes other than float32 and float64, or mixed ones.
        ValueError: a kernel that is not symmetric positive semi-definite, labels of another shape or NaN, negative lam;
            an unknown ``exclude``; lam = 0 with a singular kernel on a side left out.
    """
    check_choice(exclude, "exclude", get_args(NodesExcluded))
    labels, start, end = _two_step(K_start, K_end, F, lam_start, lam_end)
    left = _leave_out(start) if exclude in ("start", "both") else start.kernel @ start.inverse
    right = _leave_out(end) if exclude in ("end", "both") else end.kernel @ end.inverse
    return wrapper(K_start, K_end, F)((left @ as_double(labels) @ right.mT).to(labels))


class _Side(NamedTuple):
    """One step of two, in float64."""

    kernel: Tensor  # (p, p)
    inverse: Tensor  # (K + lam I)^-1, differentiable; where that is singular, the pseudo-inverse
    singular: bool


def _two_step(K_start: Any, K_end: Any, F: Any, lam_start: Any, lam_end: Any) -> tuple[Tensor, _Side, _Side]:
    start, end = kernel_pair(K_start, K_end)
    labels = label_matrix(F, (len(start), len(end)), start)
    start_eigen = psd_eigh(start, "K_start")
    end_eigen = start_eigen if end is start else psd_eigh(end, "K_end")
    device = start_eigen.values.device
    start_side = _side(start, start_eigen, scalar_regularization(lam_start, device, "lam_start"))
    return labels, start_side, _side(end, end_eigen, scalar_regularization(lam_end, device, "lam_end"))


def _side(K: Tensor, eigen: Eigen, lam: Tensor) -> _Side:
    def solve(F: Tensor, lam: Tensor) -> Tensor:
        shifted = eigen.values + lam
        return (eigen.vectors * torch.where(shifted > 0, shifted.reciprocal(), 0.0)) @ (eigen.vectors.mT @ F)

    kernel, identity = as_double(K), torch.eye(len(K), dtype=torch.float64, device=K.device)
    singular = not bool((eigen.values + lam.detach() > 0).all())
    return _Side(kernel, solve_pairs(identity, kernel, identity, lam, solve), singular)


def _leave_out(side: _Side) -> Tensor:
    """Row i gives the prediction for node i by the others: ``I - P / diag(P)`` with ``P = (K + lam I)^-1``."""
    if side.singular:
        raise ValueError("lam=0 with a singular kernel: leave-out predictions are not determined; use a positive lam")
    P = side.inverse
    return torch.eye(len(P), dtype=P.dtype, device=P.device) - P / P.diagonal()[:, None]
