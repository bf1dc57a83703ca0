"""Conditional ranking by iterations: incomplete graphs, repeated edges, symmetric ranking, early stopping."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from torchrank.conditional.adjoint import EdgeMaps, attach_gradients
from torchrank.conditional.arguments import (
    DIRECTIONS,
    LOSSES,
    Array,
    edge_labels,
    edge_list,
    kernel_pair,
    label_matrix,
    real_tensor,
    scalar_regularization,
    wrapper,
)
from torchrank.conditional.krylov import METHODS, FitState, IterativeFit, Settings, run
from torchrank.conditional.pair_kernels import EdgeProduct, apply_relation, check_relation
from torchrank.conditional.systems import CompleteSystem, EdgeSystem
from torchrank.linalg import as_double, check_psd, psd_eigh
from torchrank.metrics import conditional_ranking_error
from torchrank.rankings.derivatives import not_followed
from torchrank.rankings.surroundings import in_plain_surroundings
from torchrank.rankings.validate import check_at_least, check_choice, check_count


@in_plain_surroundings
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

    Minimises ``(y - G a)' L (y - G a) + lam a' G a`` over duals indexed by edge, where ``G`` is the pair kernel
    between the edges, never formed, and ``L`` the identity (regression) or the centring over the edges of each node
    (ranking). A node with ``l`` edges weighs ``1 / (2 l)`` times the sum over its ordered pairs of edges: equation
    (31) of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, not equation (6), where nodes with many edges
    weigh more. An iteration takes O(q p) multiplications, or two dense products where that is less; see
    :class:`torchrank.linalg.PairProduct`.

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
        tol: relative residual to reach; by default 1e-8 in float64 and 1e-5 in float32. 0 runs ``max_iter`` iterations,
            unless rounding is all that is left of the residual before. Where all labels of every query are equal, up to
            rounding, the solution of the ranking loss is 0, without an iteration.
        max_iter: most iterations.
        callback: sees a :class:`FitState` after each iteration and stops by returning True.
        validation: edges and labels that decide when to stop, by squared error or by the pooled error of
            :func:`conditional_ranking_error`; or a function of the duals that gives a number to be made small.
        patience: iterations without improvement on ``validation`` before it stops; the best iterate is restored.
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
            solves one more such system.
    """
    start, end = kernel_pair(K_start, K_end)
    _check_choices(K_start, K_end, loss, direction, relation)
    check_psd(start, "K_start")
    if end is not start:
        check_psd(end, "K_end")
    pairs = edge_list(edges, len(start), len(end), start.device)
    labels = edge_labels(y, pairs.shape[1], start)
    lam_ = scalar_regularization(lam, start)
    settings = _settings(lam_, start, method, tol, max_iter, callback, patience)
    first = None if warm_start is None else edge_labels(warm_start, pairs.shape[1], start, "warm_start").detach()
    query = 0 if direction == "outgoing" else 1
    K, L = start.detach(), end.detach()
    if validation is not None and not callable(validation):
        if not isinstance(validation, (tuple, list)) or len(validation) != 2:
            raise TypeError(
                f"validation is {type(validation).__name__}; expected (edges, labels) or a function of duals"
            )
        validation_edges, validation_labels = validation
        held_out = edge_list(validation_edges, len(start), len(end), start.device, "validation[0]")
        targets = edge_labels(validation_labels, held_out.shape[1], start, "validation[1]").detach()
        scores = EdgeProduct(K, L, held_out, pairs, relation)
        validation = partial(_held_out_error, scores, targets, held_out[query] if loss == "ranking" else None)
    system = EdgeSystem(K, L, pairs, pairs[query] if loss == "ranking" else None, relation)
    outcome = run(system, labels.detach(), replace(settings, validation=validation), first)
    outcome.solution.warn_unless_converged(f"kron_edge_rls(loss={loss!r}, method={method!r})", settings.tol)
    duals = outcome.duals
    to_matrix = partial(_pair_duals, pairs, (len(start), len(end)), relation)
    of_matrix = partial(_edge_entries, pairs, relation)
    if outcome.solution.converged and validation is None:
        adjoint = replace(settings, callback=None)

        def solve(gradient: Tensor) -> Tensor:
            backward = run(system, gradient, adjoint, None)
            backward.solution.warn_unless_converged("the gradient of kron_edge_rls", settings.tol)
            return backward.duals

        duals = attach_gradients(duals, labels, start, end, lam_, solve, EdgeMaps(to_matrix, of_matrix))
    two_sets = K_end is not None and K_end is not K_start
    return outcome.fit(duals, as_double(to_matrix(duals)), wrapper(K_start, K_end, edges, y), two_sets=two_sets)


@in_plain_surroundings
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

    That is the ranking loss with a symmetric or reciprocal kernel, and early stopping. After one eigen-decomposition
    each iteration takes O(m n) operations, with the iterates that O(m n (m + n)) of them would give. No gradients.

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
    start, end = kernel_pair(K_start, K_end)
    _check_choices(K_start, K_end, loss, direction, relation)
    labels = label_matrix(F, (len(start), len(end)), start).detach()
    if labels.ndim != 2:
        raise ValueError(f"F has shape {tuple(labels.shape)}; an iteration solves for one output at a time")
    settings = _settings(scalar_regularization(lam, start), start, method, tol, max_iter, callback, patience)
    start_eigen = psd_eigh(start, "K_start")
    end_eigen = start_eigen if end is start else psd_eigh(end, "K_end")
    query = (0 if direction == "outgoing" else 1) if loss == "ranking" else None
    system = CompleteSystem(start_eigen, end_eigen, query, relation)
    outcome = run(system, labels, replace(settings, validation=validation), None)
    outcome.solution.warn_unless_converged(f"kron_iterative_rls(loss={loss!r}, method={method!r})", settings.tol)
    pair_duals = apply_relation(outcome.duals, relation)
    two_sets = K_end is not None and K_end is not K_start
    duals = not_followed(outcome.duals.to(labels), K_start, K_end, F, lam, by="kron_iterative_rls")
    return outcome.fit(duals, pair_duals, wrapper(K_start, K_end, F), two_sets=two_sets)


@in_plain_surroundings
def observed_edges(F: Array) -> tuple[Array, Array]:
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


def _check_choices(K_start: Array, K_end: Array | None, loss: str, direction: str, relation: str) -> None:
    check_choice(loss, "loss", LOSSES)
    check_choice(direction, "direction", DIRECTIONS)
    check_relation(relation, K_start, K_end)


def _settings(
    lam: Tensor,
    like: Tensor,
    method: str,
    tol: float | None,
    max_iter: int,
    callback: Callable[[FitState], bool | None] | None,
    patience: int,
) -> Settings:
    check_choice(method, "method", tuple(METHODS))
    if tol is None:
        tol = 1e-8 if like.dtype == torch.float64 else 1e-5
    check_at_least(tol, "tol", 0)
    check_count(max_iter, "max_iter", 1)
    check_count(patience, "patience", 1)
    return Settings(float(lam.detach()), method, tol, max_iter, callback, patience)


def _held_out_error(scores: EdgeProduct, labels: Tensor, groups: Tensor | None, duals: Tensor) -> float:
    predicted = scores(duals)
    if groups is None:
        return float(as_double(predicted - labels).square().mean())
    return conditional_ranking_error(labels, predicted, groups).pooled


def _edge_entries(pairs: Tensor, relation: str, matrix: Tensor) -> Tensor:
    """What the transpose of :func:`_pair_duals` makes of a matrix: entries of its part of the relation's symmetry."""
    return apply_relation(matrix, relation)[pairs[0], pairs[1]]


def _pair_duals(pairs: Tensor, shape: tuple[int, int], relation: str, duals: Tensor) -> Tensor:
    """Duals of edges summed over repeated ones, as a matrix that has the symmetry of the relation."""
    matrix = duals.new_zeros(shape).index_put((pairs[0], pairs[1]), duals, accumulate=True)
    return apply_relation(matrix, relation)
