"""Conditional ranking on lists of edges: incomplete graphs, repeated edges, loops, nodes without edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.conditional.adjoint import EdgeMaps, attach_gradients
from torchrank.conditional.arguments import (
    DIRECTIONS,
    LOSSES,
    edge_labels,
    edge_list,
    kernel_pair,
    real_tensor,
    scalar_regularization,
    wrapper,
)
from torchrank.conditional.descriptions import ITERATIVE
from torchrank.conditional.krylov import FitState, IterativeFit, checked_settings, run
from torchrank.conditional.pair_kernel import PairKernel
from torchrank.conditional.relations import check_relation
from torchrank.conditional.systems import EdgeSystem
from torchrank.linalg import as_double, check_psd
from torchrank.metrics import conditional_ranking_error
from torchrank.rankings.isolation import isolated
from torchrank.rankings.unmapped import SEARCHES, SHAPES, unmapped
from torchrank.rankings.validate import check_choice
from torchrank.typing import Array, Direction, KrylovMethod, Loss, Relation, Values


@isolated
@unmapped(SEARCHES)
@shares_arguments(**ITERATIVE)
def kron_edge_rls(
    K_start: Values[Array],  # (m, m)
    K_end: Values[Array] | None,  # (n, n), None for the same nodes
    edges: Values,  # (q, 2) integers
    y: Values[Array],  # (q,)
    lam: float | Values,
    *,
    loss: Loss = "regression",
    direction: Direction = "outgoing",
    relation: Relation = "ordinary",
    method: KrylovMethod = "cg",
    tol: float | None = None,
    max_iter: int = 1000,
    callback: Callable[[FitState], bool | None] | None = None,
    validation: tuple[Values, Values] | Callable[[Tensor], float] | None = None,
    patience: int = 10,
    warm_start: Values | None = None,
) -> IterativeFit[Array]:
    """Kronecker RLS and RankRLS on any list of edges: incomplete graphs, repeated edges, loops, nodes without edges.

    Minimizes ``(y - G a)' L (y - G a) + lam a' G a`` over duals indexed by edge, where ``G`` is the
    :class:`PairKernel` between the edges, never formed, and ``L`` the identity (regression) or the centering over the
    edges of each node (ranking). A node with ``l`` edges weighs ``1 / (2 l)`` times the sum over its ordered pairs of
    edges: equation (31) of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, not equation (6), where nodes with
    many edges weigh more. An iteration takes O(q p) multiplications, or two dense products where that is less.

    Args:
        K_start: {K_start} Nodes without edges may be among them.
        K_end: {K_end}
        edges: ``(q, 2)`` rows (start, end).
        y: ``(q,)`` labels.
        lam: {lam} At 0 stop early.
        loss: {loss}
        direction: {direction}
        relation: {relation}
        method: {method}
        tol: {tol}
        max_iter: {max_iter}
        callback: {callback}
        validation: edges and labels that decide when to stop, by squared error or by the pooled error of
            :func:`conditional_ranking_error`; or a function of the duals that gives a number to be made small.
        patience: {patience}
        warm_start: ``(q,)`` duals to start from.

    Returns:
        The fit. Its duals have gradients for kernels, labels and ``lam`` where the iteration converged to the
        tolerance.

    Raises:
        TypeError: dtypes other than float32 and float64, or mixed ones; indices that are not integers.
        ValueError: bad kernels, shapes, labels or ``lam``; an edge between nodes that do not exist; ``validation`` that
            gives NaN, as edges without labels to compare do.

    Warns:
        ConvergenceWarning: ``max_iter`` was not enough, or the method broke down; from the backward pass too, which
            solves one more such system. In float32 that is so where ``lam`` is less than some 1e-6 of the largest
            product of eigenvalues: pass float64.
    """
    start, end = kernel_pair(K_start, K_end)
    check_psd(start, "K_start")
    if end is not start:
        check_psd(end, "K_end")
    return solve_edges(
        start,
        None if end is start else end,
        edges,
        y,
        lam,
        loss=loss,
        direction=direction,
        relation=relation,
        method=method,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
        validation=validation,
        patience=patience,
        warm_start=warm_start,
        wrap=wrapper(K_start, K_end, edges, y),
    )


def solve_edges(
    start: Tensor,  # (m, m)
    other: Tensor | None,  # (n, n), None for the same nodes
    edges: Values,
    y: Values[Array],
    lam: float | Values,
    *,
    loss: Loss,
    direction: Direction,
    relation: Relation,
    method: KrylovMethod = "cg",
    tol: float | None = None,
    max_iter: int = 1000,
    callback: Callable[[FitState], bool | None] | None = None,
    validation: tuple[Values, Values] | Callable[[Tensor], float] | None = None,
    patience: int = 10,
    warm_start: Values | None = None,
    wrap: Callable[[Tensor], Array] = lambda result: result,
) -> IterativeFit[Array]:
    """:func:`kron_edge_rls` for kernels that are checked already; ``wrap`` makes the caller's kind of array."""
    check_choice(loss, "loss", LOSSES)
    check_choice(direction, "direction", DIRECTIONS)
    check_relation(relation, start, other)
    end = start if other is None else other
    nodes = edge_list(edges, len(start), len(end), start.device).mT
    labels = edge_labels(y, len(nodes), start)
    lam_ = scalar_regularization(lam, start.device)
    settings = checked_settings(lam_, start.dtype, method=method, tol=tol, max_iter=max_iter, patience=patience)
    settings = replace(settings, callback=callback)
    first = None if warm_start is None else edge_labels(warm_start, len(nodes), start, "warm_start").detach()
    query = 0 if direction == "outgoing" else 1
    kernels = start.detach(), None if other is None else other.detach()
    kernel = PairKernel(*kernels, relation=relation, out_edges=nodes, in_edges=nodes)
    if validation is not None and not callable(validation):
        held_out, targets = _held_out(validation, kernel)
        between = PairKernel(*kernels, relation=relation, out_edges=held_out, in_edges=nodes)
        groups = held_out[:, query] if loss == "ranking" else None
        validation = partial(_held_out_error, between, targets, groups)
    system = EdgeSystem(kernel, nodes[:, query] if loss == "ranking" else None)
    outcome = run(system, labels.detach(), replace(settings, validation=validation), first)
    outcome.solution.warn_unless_converged(f"kron_edge_rls(loss={loss!r}, method={method!r})", settings.tol)
    duals = outcome.duals
    if outcome.solution.converged and validation is None:

        def solve(gradient: Tensor) -> Tensor:
            backward = run(system, gradient, replace(settings, callback=None), None)
            backward.solution.warn_unless_converged("the gradient of kron_edge_rls", settings.tol)
            return backward.duals

        duals = attach_gradients(duals, labels, start, end, lam_, solve, EdgeMaps(kernel.scatter, kernel.gather))
    return outcome.fit(wrap(duals), wrap(as_double(kernel.scatter(duals))), one_domain=other is None)


@isolated
@unmapped(SHAPES)
def observed_edges(F: Values[Array]) -> tuple[Array, Array]:
    """The edges of a label matrix with missing entries.

    Args:
        F: ``(m, n)`` labels, NaN where there is none.

    Returns:
        Edges ``(q, 2)`` in row-major order and their labels ``(q,)``, for :func:`kron_edge_rls`.

    Raises:
        ValueError: not a matrix.
        TypeError: not real numbers.
    """
    labels = real_tensor(F, "F")
    if labels.ndim != 2:
        raise ValueError(f"F has shape {tuple(labels.shape)}; expected (start nodes, end nodes)")
    edges = (~labels.isnan()).nonzero()
    wrap = wrapper(F)
    return wrap(edges), wrap(labels[edges[:, 0], edges[:, 1]])


def _held_out(validation: object, kernel: PairKernel) -> tuple[Tensor, Tensor]:
    """Edges ``(q, 2)`` and labels ``(q,)`` to validate by."""
    if not isinstance(validation, (tuple, list)) or len(validation) != 2:
        raise TypeError(
            f"validation is {type(validation).__name__}; expected (edges, labels) or a function of the duals"
        )
    n_start, n_end = len(kernel.K_start), len(kernel.K_end)
    edges = edge_list(validation[0], n_start, n_end, kernel.K_start.device, "validation[0]").mT
    return edges, edge_labels(validation[1], len(edges), kernel.K_start, "validation[1]").detach()


def _held_out_error(between: PairKernel, labels: Tensor, groups: Tensor | None, duals: Tensor) -> float:
    predicted = between @ duals
    if groups is None:
        return float(as_double(predicted - labels).square().mean())
    return conditional_ranking_error(labels, predicted, groups).pooled
