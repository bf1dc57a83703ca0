"""Kronecker RLS and RankRLS on complete graphs: one decomposition, then any labels, any lam, leave-out predictions.

Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, Section 4. Proposition 2 holds as printed. Corollary 2 does not:
equation (34) has the factors of ``K C`` in the wrong order, and it needs no second method for a singular kernel. The
system for the ranking loss is ``(K (x) C K + lam I) a = (I (x) C) y``, its solution is centered, and so it equals that
of the symmetric system ``(K (x) C K C + lam I) a = (I (x) C) y`` whatever the rank of ``K``.
"""

from __future__ import annotations

from typing import Any, Generic, get_args

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.conditional.adjoint import solve_pairs
from torchrank.conditional.arguments import (
    DIRECTIONS,
    LOSSES,
    cross_kernels,
    kernel_pair,
    label_matrix,
    real_tensor,
    regularization,
    wrapper,
)
from torchrank.conditional.descriptions import DIRECTION, K_END, K_START, LABELS, LAM, LOSS, NEW_K_END, NEW_K_START
from torchrank.conditional.relations import check_relation, part_of
from torchrank.linalg import as_double, centered_eigh, kron_matmul, psd_eigh
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import check_choice
from torchrank.typing import Array, Direction, Exclude, Kind, Loss, Relation, Values

EXCLUDES = get_args(Exclude)


@isolated
@shares_arguments(K_start=K_START, K_end=K_END, loss=LOSS, direction=DIRECTION)
class KroneckerEigh(Generic[Kind]):
    """Solver that keeps the eigenpairs of the node kernels.

    The loss is ``sum (F - K_start A K_end)^2`` (regression, equation (5)), or the same of values centered over the
    edges of each node (ranking, equation (32)), plus ``lam <A, K_start A K_end>``; equations are those of Pahikkala et
    al. (2013), doi:10.1007/s10994-013-5354-7. Decomposing costs O(m^3 + n^3) in float64 whatever the dtype; a solution
    after that four products.

    Args:
        K_start: {K_start}
        K_end: {K_end}
        loss: {loss}
        direction: {direction} For regression it only says which node is the query that :meth:`loo` may leave out.
        relation: "symmetric" and "reciprocal" regress with the pair kernels of equations (8) and (9), by symmetric or
            antisymmetric labels (Proposition 3), and the duals then have that symmetry too. The ranking loss has no
            such short cut: see :func:`kron_iterative_rls`.

    Raises:
        TypeError: dtypes other than float32 and float64, or mixed ones.
        ValueError: a kernel that is not square, symmetric, finite and positive semi-definite.
        torch.linalg.LinAlgError: the decomposition fails also on the CPU.
    """

    def __init__(
        self: KroneckerEigh[Array],
        K_start: Values[Array],
        K_end: Values[Array] | None = None,
        *,
        loss: Loss = "regression",
        direction: Direction = "outgoing",
        relation: Relation = "ordinary",
    ) -> None:
        check_choice(loss, "loss", LOSSES)
        check_choice(direction, "direction", DIRECTIONS)
        check_relation(relation, K_start, K_end)
        if relation != "ordinary" and loss == "ranking":
            raise ValueError(f"loss='ranking' with relation={relation!r} has no closed form; use kron_iterative_rls")
        self.loss: Loss = loss
        self.direction: Direction = direction
        self.relation: Relation = relation
        self.K_start, self.K_end = kernel_pair(K_start, K_end)
        self._one_domain = self.K_end is self.K_start
        rank_start = loss == "ranking" and direction == "incoming"
        rank_end = loss == "ranking" and direction == "outgoing"
        self._start = (centered_eigh if rank_start else psd_eigh)(self.K_start, "K_start")
        if self._one_domain and loss == "regression":
            self._end = self._start
        else:
            self._end = (centered_eigh if rank_end else psd_eigh)(
                self.K_end, "K_start" if self._one_domain else "K_end"
            )
        self._kernels = K_start, K_end  # as they were given: tensors give tensors
        self._solved: tuple[Tensor, Tensor, Tensor] | None = None

    @shares_arguments(F=LABELS, lam=LAM)
    def solve(self, F: Values[Kind], lam: float | Values) -> Kind:
        """Dual coefficients, one for each pair of nodes.

        They have gradients of any order for the kernels, the labels and ``lam``, also where eigenvalues repeat. At
        ``lam = 0`` they are those of least norm among the best ones.

        Args:
            F: {F}
            lam: {lam} A tensor of any shape gives solutions for all its values.

        Returns:
            ``(*lam.shape, ..., m, n)``; predictions are ``K A K^T`` (:meth:`predict`). Kept for :meth:`predict` and
            :meth:`loo`.

        Raises:
            TypeError: mixed dtypes.
            ValueError: wrong shape, NaN, negative ``lam``, or a gradient at ``lam = 0`` for a singular kernel.
        """
        labels, lam_ = self._checked(F, lam)
        labels = part_of(labels, self.relation)
        K_start, K_end = as_double(self.K_start), as_double(self.K_end)
        if (K_start.requires_grad or K_end.requires_grad) and self._is_singular(lam_):
            raise ValueError("lam=0 with a singular kernel: the solution jumps there and has no gradient; use lam > 0")
        duals = solve_pairs(as_double(labels), K_start, K_end, lam_, self._apply_inverse)
        self._solved = labels, lam_, duals
        return wrapper(*self._kernels, F, lam)(duals.to(labels))

    @property
    def pair_duals(self) -> Kind:
        """``(*lam.shape, ..., m, n)`` duals of the last :meth:`solve` in float64, before it rounded them."""
        return wrapper(*self._kernels)(self._last()[2])

    def training_loss(self) -> Kind:
        """What the last :meth:`solve` minimized, at its solution: squared misfits plus ``lam <A, K_start A K_end>``.

        With a symmetric or reciprocal relation the misfit is that of the part of the labels that it allows.

        Returns:
            ``(*lam.shape, ...)`` float64, a value for each ``lam`` and each matrix of labels.
        """
        labels, lam, duals = self._last()
        scores = kron_matmul(as_double(self.K_start), as_double(self.K_end), duals)
        misfit = as_double(labels) - scores
        if self.loss == "ranking":
            misfit = misfit - misfit.mean(-1 if self.direction == "outgoing" else -2, keepdim=True)
        return wrapper(*self._kernels)((misfit.square() + lam * duals * scores).sum((-2, -1)))

    @shares_arguments(K_start=NEW_K_START, K_end=NEW_K_END)
    def predict(
        self,
        K_start: Values[Kind] | None = None,
        K_end: Values[Kind] | None = None,
        *,
        duals: Values[Kind] | None = None,
    ) -> Kind:
        """Scores of all pairs of new start and new end nodes, multiplied in float64 whatever the dtype.

        Duals of a singular kernel have components of size ``1 / lam`` that cancel in the product, which float32 loses.

        Args:
            K_start: {K_start} Without either kernel the scores are those of the training nodes.
            K_end: {K_end}
            duals: ``(..., m, n)``; by default those of the last :meth:`solve`.

        Returns:
            ``(..., r, s)``.

        Raises:
            TypeError: another dtype than that of the training kernels.
            ValueError: nothing is solved yet; shapes that do not fit; one kernel missing where there are two sets of
                nodes, or only ``K_end`` given.
        """
        shape = self.K_start.shape[0], self.K_end.shape[0]
        weights = self._last()[2] if duals is None else as_double(real_tensor(duals, "duals"))
        if tuple(weights.shape[-2:]) != shape:
            raise ValueError(f"duals have shape {tuple(weights.shape)}; expected (..., {shape[0]}, {shape[1]})")
        left, right = self.K_start, self.K_end
        if K_start is not None:
            left, right = cross_kernels(K_start, K_end, shape, self.K_start, one_domain=self._one_domain)
        elif K_end is not None:
            raise ValueError("K_start is missing; for the training nodes pass their kernel, solver.K_start")
        scores = kron_matmul(as_double(left), as_double(right), weights).to(left)
        return wrapper(*self._kernels, K_start, K_end, duals)(scores)

    @torch.no_grad()
    def loo(
        self, F: Values[Kind] | None = None, lam: float | Values | None = None, *, exclude: Exclude = "edge"
    ) -> Kind:
        """Predictions for every edge by a model trained without it, in O(m n (m + n)) for all.

        With ``P = (K_start (x) K_end + lam I)^-1`` the prediction without an edge is ``F - A / diag(P)``; without a
        node the division happens in the eigenbasis of the other side. The ranking loss allows each query a constant,
        so excluding an edge or a ranked node gives scores on the scale of the labels, and excluding a query gives
        scores that are centered. No gradient passes through.

        Args:
            F: ``(..., m, n)`` labels; by default those of the last :meth:`solve`.
            lam: regularization of any shape; by default that of the last :meth:`solve`.
            exclude: "edge" leaves out one edge; "start" all edges of one start node; "end" all of one end node;
                "query" the node that the ranking is conditioned on, the start node of outgoing and the end node of
                incoming edges. The two sides are separate sets: leaving out a start node keeps it as an end node. For
                leaving out both nodes of an edge see :func:`two_step_loo`.

        Returns:
            ``(*lam.shape, ..., m, n)``.

        Raises:
            ValueError: an unknown ``exclude``, ``lam = 0`` with a singular kernel, or the only ranked node left out.
        """
        check_choice(exclude, "exclude", EXCLUDES)
        if self.relation != "ordinary":
            raise ValueError(
                f"leave-out formulas hold for relation='ordinary', not {self.relation!r}, where an edge's mirror "
                "image knows its label; fit the folds of ConditionalSplit"
            )
        if (F is None) != (lam is None):
            raise ValueError("pass both F and lam, or neither to use those of the last solve")
        labels, lam_ = self._last()[:2] if F is None else self._checked(F, lam)
        if self._is_singular(lam_):
            raise ValueError("lam=0 with a singular kernel: leave-out predictions are not determined; use lam > 0")
        if min(self._start.vectors.shape[1], self._end.vectors.shape[1]) == 0:
            raise ValueError("a single node is ranked; without it nothing is left to rank")
        query = "start" if self.direction == "outgoing" else "end"
        exclude = query if exclude == "query" else exclude
        V, U = self._start.vectors, self._end.vectors
        F64, inverse = as_double(labels), self._inverse(lam_)
        inner = (V.mT @ F64 @ U) * inverse
        if exclude == "edge":
            residual = (V @ inner @ U.mT) / ((V * V) @ inverse @ (U * U).mT)
        elif exclude == "start":
            residual = ((V @ inner) / ((V * V) @ inverse)) @ U.mT
        else:
            residual = V @ ((inner @ U.mT) / (inverse @ (U * U).mT))
        if self.loss == "ranking" and exclude == query:
            F64 = F64 - F64.mean(-1 if query == "start" else -2, keepdim=True)
        return wrapper(*self._kernels, F, lam)((F64 - residual).to(labels))

    def _checked(self, F: Any, lam: Any) -> tuple[Tensor, Tensor]:
        """Labels, and ``lam`` with dimensions of size one for theirs."""
        labels = label_matrix(F, (self.K_start.shape[0], self.K_end.shape[0]), self.K_start)
        lam_ = regularization(lam, self._start.values.device)
        return labels, lam_.reshape(lam_.shape + (1,) * labels.ndim)

    def _last(self) -> tuple[Tensor, Tensor, Tensor]:
        if self._solved is None:
            raise ValueError("nothing is solved yet: call solve(F, lam) first, or pass the labels or duals here")
        return self._solved

    def _is_singular(self, lam: Tensor) -> bool:
        if bool((lam > 0).all()):
            return False
        return any(bool((side.values == 0).any()) for side in (self._start, self._end))

    def _inverse(self, lam: Tensor) -> Tensor:
        """``1 / (l_i s_j + lam)``, 0 where that divides by zero."""
        inverse = torch.outer(self._start.values, self._end.values) + lam
        return torch.where(inverse > 0, inverse.reciprocal(), 0.0)

    def _apply_inverse(self, F: Tensor, lam: Tensor) -> Tensor:
        V, U = self._start.vectors, self._end.vectors
        return V @ ((V.mT @ F @ U) * self._inverse(lam)) @ U.mT
