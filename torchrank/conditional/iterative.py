"""Conditional ranking by iterations: incomplete graphs, repeated edges, symmetric ranking, early stopping."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from torchrank.conditional.adjoint import kernel_gradients
from torchrank.conditional.arguments import (
    DIRECTIONS,
    LOSSES,
    Array,
    cross_kernel,
    edge_labels,
    edge_list,
    kernel_pair,
    label_matrix,
    real_tensor,
    scalar_regularization,
    wrapper,
)
from torchrank.conditional.pair_kernels import EdgeProduct, apply_relation, check_relation
from torchrank.conditional.systems import CompleteSystem, EdgeSystem, System
from torchrank.linalg import Iteration, KrylovSolution, as_double, bicgstab, cg, kron_matmul, psd_eigh
from torchrank.metrics import conditional_ranking_error
from torchrank.rankings.validate import check_at_least, check_choice

METHODS = {"cg": cg, "bicgstab": bicgstab}


@dataclass(frozen=True)
class FitState:
    """What a callback sees after each iteration."""

    n_iter: int  # counted from 1
    residual: float  # relative residual of the linear system
    error: float | None  # on the validation edges, where there are some
    duals: Callable[[], Tensor]  # computes the current duals, a copy


@dataclass(frozen=True)
class IterativeFit:
    """Duals and how they were reached."""

    duals: Array  # (q,) one for each edge, or (m, n) for a complete graph
    pair_duals: Array  # (m, n): predictions are K pair_duals K^T, whatever the relation
    n_iter: int  # iterations done
    converged: bool  # the relative residual is within the tolerance
    reason: str  # why the iteration ended: "tolerance", "validation", "callback", "max_iter" or "breakdown"
    residuals: tuple[float, ...]  # relative residual at the start and after each iteration
    errors: tuple[float, ...] = field(default=())  # validation error after each iteration
    best_iter: int | None = None  # the iteration whose duals these are, where validation chose it

    def predict(self, K_start: Array, K_end: Array | None = None) -> Array:
        """Scores ``(r, s)`` of all pairs of nodes, from kernels with the training nodes ``(r, m)`` and ``(s, n)``.

        ``K_end=None`` takes ``K_start`` for both sides. Products are computed in float64.
        """
        weights = real_tensor(self.pair_duals, "pair_duals")
        left = cross_kernel(K_start, "K_start", weights.shape[0], weights)
        right = left if K_end is None else cross_kernel(K_end, "K_end", weights.shape[1], weights)
        scores = kron_matmul(as_double(left), as_double(right), as_double(weights)).to(weights)
        return wrapper(K_start, K_end, self.pair_duals)(scores)


def kron_edge_rls(
    K_start: Array,  # (m, m)
    K_end: Array | None,  # (n, n), None for the same nodes
    edges: Array,  # (q, 2) integers
    y: Array,  # (q,)
    lam: Array = 1.0,
    *,
    loss: str = "regression",
    direction: str = "outgoing",
    relation: str = "ordinary",
    method: str = "cg",
    tol: float | None = None,
    max_iter: int = 1000,
    callback: Callable[[FitState], bool | None] | None = None,
    validation: tuple[Array, Array] | Callable[[Tensor], float] | None = None,
    patience: int = 10,
    warm_start: Array | None = None,
) -> IterativeFit:
    """Kronecker RLS and RankRLS on any list of edges: incomplete graphs, repeated edges, loops, nodes without edges.

    Minimises ``(y - G a)' L (y - G a) + lam a' G a`` over duals indexed by edge, where ``G`` is the pair kernel between the
    edges, never formed, and ``L`` the identity (regression) or the centring over the edges of each node (ranking). A node with
    ``l`` edges weighs ``1 / (2 l)`` times the sum over its ordered pairs of edges: equation (31) of Pahikkala et al. (2013),
    doi:10.1007/s10994-013-5354-7, not equation (6), where nodes with many edges weigh more. An iteration takes O(q p)
    multiplications, or two dense products where that is less; see :class:`torchrank.linalg.PairProduct`.

    Args:
        K_start: ``(m, m)`` positive semi-definite kernel of the start nodes; nodes without edges may be among them.
        K_end: ``(n, n)`` kernel of the end nodes, or None for the same nodes.
        edges: ``(q, 2)`` rows (start, end).
        y: ``(q,)`` labels.
        lam: regularisation, at least 0. At 0 stop early.
        loss: "regression" or "ranking".
        direction: the ranking loss compares the edges leaving ("outgoing") or entering ("incoming") a node.
        relation: pair kernel: "ordinary", "symmetric" or "reciprocal".
        method: "cg" on the symmetric system or "bicgstab" on the reduced one, which costs two products an iteration.
        tol: relative residual to reach; by default 1e-8 in float64 and 1e-5 in float32. 0 runs exactly ``max_iter`` iterations.
        max_iter: most iterations.
        callback: sees a :class:`FitState` after each iteration and stops by returning True.
        validation: edges and labels that decide when to stop, by squared error or by the pooled error of
            :func:`conditional_ranking_error`; or a function of the duals that gives a number to be made small.
        patience: iterations without improvement on ``validation`` before it stops; the best iterate is restored.
        warm_start: ``(q,)`` duals to start from.

    Returns:
        The fit. Its duals have gradients for kernels, labels and ``lam`` where the iteration converged to the tolerance.

    Raises:
        TypeError: dtypes other than float32 and float64, or mixed ones; indices that are not integers.
        ValueError: bad kernels, shapes, labels or ``lam``; an edge between nodes that do not exist.

    Warns:
        ConvergenceWarning: ``max_iter`` was not enough, or the method broke down.
    """
    _check_choices(K_start, K_end, loss, direction, relation, method)
    start, end = kernel_pair(K_start, K_end)
    pairs = edge_list(edges, len(start), len(end), start.device)
    labels = edge_labels(y, pairs.shape[1], start)
    lam_ = scalar_regularization(lam, start)
    groups = pairs[0 if direction == "outgoing" else 1] if loss == "ranking" else None
    system = EdgeSystem(start.detach(), end.detach(), pairs, labels.detach(), groups, relation)
    if isinstance(validation, tuple):
        judge = _validation_judge(start.detach(), end.detach(), pairs, validation, loss, direction, relation)
    else:
        judge = validation
    first = None if warm_start is None else edge_labels(warm_start, pairs.shape[1], start, "warm_start").detach()
    fit = _Fit(system, float(lam_), method, _tolerance(tol, start), max_iter, callback, judge, patience)
    duals = fit.run(first, f"kron_edge_rls with loss={loss!r}")
    if fit.solution.converged and judge is None:
        duals = _Adjoint.apply(labels, start, end, lam_, duals, system, pairs, relation, fit.adjoint_settings)
    return fit.result(duals, _scatter(duals, pairs, start, end, relation), wrapper(K_start, K_end, edges, y))


def kron_iterative_rls(
    K_start: Array,  # (m, m)
    K_end: Array | None,  # (n, n), None for the same nodes
    F: Array,  # (m, n)
    lam: Array = 1.0,
    *,
    loss: str = "regression",
    direction: str = "outgoing",
    relation: str = "ordinary",
    method: str = "cg",
    tol: float | None = None,
    max_iter: int = 1000,
    callback: Callable[[FitState], bool | None] | None = None,
    validation: Callable[[Tensor], float] | None = None,
    patience: int = 10,
) -> IterativeFit:
    """Kronecker RLS and RankRLS on a complete graph by iterations, for what has no closed form.

    That is the ranking loss with a symmetric or reciprocal kernel, and early stopping. After one eigen-decomposition each
    iteration takes O(m n) operations, with the iterates that O(m n (m + n)) of them would give. No gradients.

    Args:
        K_start: as in :func:`kron_edge_rls`, and so are the others, except:
        K_end: see there.
        F: ``(m, n)`` labels, ``F[i, j]`` of the edge from i to j.
        lam: see there.
        loss: see there.
        direction: see there.
        relation: see there.
        method: see there.
        tol: see there.
        max_iter: see there.
        callback: see there.
        validation: a function of the ``(m, n)`` duals that gives a number to be made small.
        patience: see there.

    Returns:
        The fit, with duals ``(m, n)``.

    Raises:
        TypeError: as :func:`kron_edge_rls`.
        ValueError: as :func:`kron_edge_rls`.
    """
    _check_choices(K_start, K_end, loss, direction, relation, method)
    start, end = kernel_pair(K_start, K_end)
    labels = label_matrix(F, (len(start), len(end)), start).detach()
    if labels.ndim != 2:
        raise ValueError(f"F has shape {tuple(labels.shape)}; an iteration solves for one output at a time")
    lam_ = scalar_regularization(lam, start)
    start_eigen = psd_eigh(start, "K_start")
    end_eigen = start_eigen if end is start else psd_eigh(end, "K_end")
    query = (0 if direction == "outgoing" else 1) if loss == "ranking" else None
    system = CompleteSystem(start_eigen, end_eigen, labels.to(start_eigen.values.device), query, relation)
    fit = _Fit(system, float(lam_), method, _tolerance(tol, start), max_iter, callback, validation, patience)
    duals = fit.run(None, f"kron_iterative_rls with loss={loss!r}").to(labels.device)
    return fit.result(duals, apply_relation(duals, relation), wrapper(K_start, K_end, F))


def observed_edges(F: Array) -> tuple[Array, Array]:
    """The edges of a label matrix with missing entries.

    Args:
        F: ``(m, n)`` labels, NaN where there is none.

    Returns:
        Edges ``(q, 2)`` in row-major order and their labels ``(q,)``, for :func:`kron_edge_rls`.
    """
    labels = real_tensor(F, "F")
    if labels.ndim != 2:
        raise ValueError(f"F has shape {tuple(labels.shape)}; expected (start nodes, end nodes)")
    edges = (~labels.isnan()).nonzero()
    wrap = wrapper(F)
    return wrap(edges), wrap(labels[edges[:, 0], edges[:, 1]])
