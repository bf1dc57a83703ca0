"""Conditional ranking on complete graphs by iterations: symmetric and reciprocal ranking, early stopping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.conditional.arguments import (
    DIRECTIONS,
    LOSSES,
    kernel_pair,
    label_matrix,
    scalar_regularization,
    wrapper,
)
from torchrank.conditional.descriptions import ITERATIVE
from torchrank.conditional.krylov import FitState, IterativeFit, checked_settings, run
from torchrank.conditional.relations import check_relation, part_of
from torchrank.conditional.systems import CompleteSystem
from torchrank.linalg import psd_eigh
from torchrank.rankings.derivatives import not_followed
from torchrank.rankings.isolation import isolated
from torchrank.rankings.unmapped import SEARCHES, unmapped
from torchrank.rankings.validate import check_choice
from torchrank.typing import Array, Direction, KrylovMethod, Loss, Relation, Values


@isolated
@unmapped(SEARCHES)
@shares_arguments(**ITERATIVE)
def kron_iterative_rls(
    K_start: Values[Array],  # (m, m)
    K_end: Values[Array] | None,  # (n, n), None for the same nodes
    F: Values[Array],  # (m, n)
    lam: float | Values,
    *,
    loss: Loss = "regression",
    direction: Direction = "outgoing",
    relation: Relation = "ordinary",
    method: KrylovMethod = "cg",
    tol: float | None = None,
    max_iter: int = 1000,
    callback: Callable[[FitState], bool | None] | None = None,
    validation: Callable[[Tensor], float] | None = None,
    patience: int = 10,
) -> IterativeFit[Array]:
    """Kronecker RLS and RankRLS on a complete graph by iterations, for what has no closed form.

    That is the ranking loss with a symmetric or reciprocal kernel, and early stopping. After one eigen-decomposition
    each iteration takes O(m n) operations, with the iterates that O(m n (m + n)) of them would give. No gradients.

    Args:
        K_start: {K_start}
        K_end: {K_end}
        F: ``(m, n)`` labels, ``F[i, j]`` of the edge from i to j.
        lam: {lam} At 0 stop early.
        loss: {loss}
        direction: {direction}
        relation: {relation}
        method: {method}
        tol: {tol}
        max_iter: {max_iter}
        callback: {callback}
        validation: a function of the ``(m, n)`` duals that gives a number to be made small.
        patience: {patience}

    Returns:
        The fit, with duals ``(m, n)``.

    Raises:
        TypeError: dtypes other than float32 and float64, or mixed ones.
        ValueError: bad kernels, shapes, labels or ``lam``; ``validation`` that gives NaN.

    Warns:
        ConvergenceWarning: ``max_iter`` was not enough, or the method broke down.
    """
    start, end = kernel_pair(K_start, K_end)
    check_choice(loss, "loss", LOSSES)
    check_choice(direction, "direction", DIRECTIONS)
    check_relation(relation, K_start, K_end)
    labels = label_matrix(F, (len(start), len(end)), start).detach()
    if labels.ndim != 2:
        raise ValueError(f"F has shape {tuple(labels.shape)}; an iteration solves for one output at a time")
    lam_ = scalar_regularization(lam, start.device)
    settings = checked_settings(lam_, start.dtype, method=method, tol=tol, max_iter=max_iter, patience=patience)
    settings = replace(settings, callback=callback, validation=validation)
    start_eigen = psd_eigh(start, "K_start")
    end_eigen = start_eigen if end is start else psd_eigh(end, "K_end")
    query = (0 if direction == "outgoing" else 1) if loss == "ranking" else None
    system = CompleteSystem(start_eigen, end_eigen, query, relation)
    outcome = run(system, labels, settings, None)
    outcome.solution.warn_unless_converged(f"kron_iterative_rls(loss={loss!r}, method={method!r})", settings.tol)
    duals = not_followed(outcome.duals.to(labels), K_start, K_end, F, lam, by="kron_iterative_rls")
    wrap = wrapper(K_start, K_end, F)
    return outcome.fit(wrap(duals), wrap(part_of(outcome.duals, relation)), one_domain=end is start)
