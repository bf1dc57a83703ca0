"""Running a Krylov method on one of the systems of conditional ranking, watching it, and stopping it early."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank._repr import short_repr
from torchrank.conditional.arguments import cross_kernels, real_tensor, wrapper
from torchrank.conditional.descriptions import NEW_K_END, NEW_K_START
from torchrank.conditional.systems import System
from torchrank.evidence import Evidence
from torchrank.linalg import Iteration, KrylovSolution, as_double, bicgstab, cg, kron_matmul
from torchrank.rankings.validate import check_at_least, check_choice, check_count
from torchrank.typing import Array, Kind, Values

METHODS = {"cg": cg, "bicgstab": bicgstab}


@dataclass(frozen=True)
class FitState:
    """What a callback sees after each iteration."""

    n_iter: int  # counted from 1
    residual: float  # relative residual of the linear system
    validation_error: float | None  # where something validates the fit
    duals: Callable[[], Tensor]  # computes the current duals, a copy


@dataclass(frozen=True, kw_only=True)
class IterativeFit(Evidence, Generic[Kind]):
    """Duals and how they were reached.

    ``objective`` is the relative residual of the linear system, at the start and after each iteration, so it has one
    value more than there are iterations. ``losses`` has one value: the least validation error where validation chose
    the iterate, else the last residual. ``reason`` is "tolerance", "validation", "callback", "max_iter", "precision"
    (rounding is all that is left of the residual) or "breakdown" (the method cannot go on).
    """

    duals: Kind  # (q,) one for each edge, or (m, n) for a complete graph
    pair_duals: Kind  # (m, n) float64: predictions are K pair_duals K^T, whatever the relation
    validation_errors: tuple[float, ...] = ()  # after each iteration
    best_iter: int | None = None  # the iteration whose duals these are, where validation chose it
    one_domain: bool = True  # start and end nodes are one set

    __repr__ = short_repr

    @shares_arguments(K_start=NEW_K_START, K_end=NEW_K_END)
    def predict(self, K_start: Values[Kind], K_end: Values[Kind] | None = None) -> Kind:
        """Scores of all pairs of new start and new end nodes, multiplied in float64 whatever the dtype.

        Duals of a singular kernel have parts of size ``1 / lam`` that cancel in the product, which float32 loses.

        Args:
            K_start: {K_start}
            K_end: {K_end}

        Returns:
            ``(r, s)`` in the dtype of ``K_start``.

        Raises:
            ValueError: no ``K_end`` although the nodes are of two sets; shapes that do not fit.
        """
        weights = real_tensor(self.pair_duals, "pair_duals")
        dtype_of = weights[:0].to(real_tensor(K_start, "K_start").dtype)
        left, right = cross_kernels(
            K_start, K_end, (weights.shape[0], weights.shape[1]), dtype_of, one_domain=self.one_domain
        )
        scores = kron_matmul(as_double(left), as_double(right), weights).to(left)
        return wrapper(K_start, K_end, self.pair_duals)(scores)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to iterate."""

    lam: float
    method: str
    tol: float
    max_iter: int
    patience: int
    callback: Callable[[FitState], bool | None] | None = None
    validation: Callable[[Tensor], float] | None = None


def checked_settings(
    lam: Tensor, dtype: torch.dtype, *, method: str, tol: float | None, max_iter: int, patience: int
) -> Settings:
    """Settings of one ``lam``; ``dtype`` is that of the kernels, by which ``tol`` is chosen."""
    check_choice(method, "method", tuple(METHODS))
    if tol is None:
        tol = 1e-8 if dtype == torch.float64 else 1e-5
    check_at_least(tol, "tol", 0)
    check_count(max_iter, "max_iter", 1)
    check_count(patience, "patience", 1)
    return Settings(lam=float(lam.detach()), method=method, tol=tol, max_iter=max_iter, patience=patience)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Duals of the last iterate, or of the best one where validation chose, and the evidence."""

    duals: Tensor
    solution: KrylovSolution
    validation_errors: tuple[float, ...]
    best_iter: int | None
    stopped_early: bool

    def fit(self, duals: Array, pair_duals: Array, *, one_domain: bool) -> IterativeFit[Array]:
        """The result that users see, with duals in their kind of array."""
        solution, errors = self.solution, self.validation_errors
        return IterativeFit(
            objective=solution.residuals,
            losses=(min(errors) if errors else solution.residuals[-1],),
            n_iter=solution.n_iter,
            converged=solution.converged,
            reason="validation" if self.stopped_early else solution.reason,
            duals=duals,
            pair_duals=pair_duals,
            validation_errors=errors,
            best_iter=self.best_iter,
            one_domain=one_domain,
        )


def run(system: System, labels: Tensor, settings: Settings, first: Tensor | None) -> Outcome:
    """Solve ``(L G L + lam I) a = L y`` by CG, or ``(L G + lam I) a = L y`` by BiCGSTAB.

    Args:
        system: the products.
        labels: y, as duals are indexed.
        settings: how to iterate.
        first: duals to start from, or None for zeros.
    """
    watch = _Watch(system, settings)
    solution = METHODS[settings.method](
        partial(system.product, lam=settings.lam, symmetric=settings.method == "cg"),
        system.right_side(labels),
        x0=None if first is None else system.center(system.from_duals(first)),
        tol=settings.tol,
        max_iter=settings.max_iter,
        callback=watch if settings.callback or settings.validation else None,
    )
    return Outcome(
        duals=system.to_duals(solution.x) if watch.best is None else watch.best,
        solution=solution,
        validation_errors=tuple(watch.errors),
        best_iter=watch.best_iter,
        stopped_early=watch.stopped_early,
    )


class _Watch:
    """Measures every iterate, remembers the best, and stops when none was better for some time."""

    def __init__(self, system: System, settings: Settings) -> None:
        self._system, self._settings = system, settings
        self.errors: list[float] = []
        self.best: Tensor | None = None
        self.best_iter: int | None = None
        self.stopped_early = False
        self._least = math.inf

    def __call__(self, state: Iteration) -> bool:
        error = None
        if self._settings.validation is not None:
            error = self._validate(self._settings.validation, state)
        stop = False
        if self._settings.callback is not None:
            stop = bool(
                self._settings.callback(FitState(state.n_iter, state.residual, error, lambda: self._duals(state)))
            )
        return stop or self.stopped_early

    def _validate(self, validation: Callable[[Tensor], float], state: Iteration) -> float:
        duals = self._duals(state)
        error = float(validation(duals))
        if math.isnan(error):
            raise ValueError(
                f"validation gave NaN after iteration {state.n_iter}; it needs edges to measure, and for the "
                "ranking loss edges of one query with different labels"
            )
        self.errors.append(error)
        if error < self._least or self.best_iter is None:
            self._least, self.best, self.best_iter = error, duals, state.n_iter
        self.stopped_early = state.n_iter - self.best_iter >= self._settings.patience
        return error

    def _duals(self, state: Iteration) -> Tensor:
        return self._system.to_duals(state.x.clone())
