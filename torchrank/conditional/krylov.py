"""Running a Krylov method on one of the systems of conditional ranking, watching it, and stopping it early."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from torch import Tensor

from torchrank._repr import short_repr
from torchrank.conditional.arguments import Array, cross_kernel, real_tensor, wrapper
from torchrank.conditional.systems import System
from torchrank.linalg import Iteration, KrylovSolution, as_double, bicgstab, cg, kron_matmul

METHODS = {"cg": cg, "bicgstab": bicgstab}


@dataclass(frozen=True)
class FitState:
    """What a callback sees after each iteration."""

    n_iter: int  # counted from 1
    residual: float  # relative residual of the linear system
    error: float | None  # on what validates the fit, where something does
    duals: Callable[[], Tensor]  # computes the current duals, a copy


@dataclass(frozen=True)
class IterativeFit:
    """Duals and how they were reached."""

    duals: Array  # (q,) one for each edge, or (m, n) for a complete graph
    pair_duals: Array  # (m, n) float64: predictions are K pair_duals K^T, whatever the relation
    n_iter: int  # iterations done
    converged: bool  # the relative residual of the last iterate is within the tolerance
    reason: str  # why it ended: "tolerance", "validation", "callback", "max_iter", "precision" or "breakdown"
    residuals: tuple[float, ...]  # relative residual at the start and after each iteration
    errors: tuple[float, ...] = field(default=())  # validation error after each iteration
    best_iter: int | None = None  # the iteration whose duals these are, where validation chose it
    two_sets: bool = False  # start and end nodes were given kernels of their own

    __repr__ = short_repr

    def predict(self, K_start: Array, K_end: Array | None = None) -> Array:
        """Scores ``(r, s)`` of all pairs of nodes, from kernels ``(r, m)`` and ``(s, n)`` with the training nodes.

        ``K_end=None`` takes ``K_start`` for both sides. The products are computed in float64, since duals of a singular
        kernel have parts of size ``1 / lam`` that cancel, and rounded to the dtype of ``K_start``.

        Raises:
            ValueError: no ``K_end`` although the nodes are of two sets; shapes that do not fit.
        """
        if K_end is None and self.two_sets:
            raise ValueError("K_end is missing; this fit has two sets of nodes, and each needs its kernel")
        weights = real_tensor(self.pair_duals, "pair_duals")
        like = weights[:0].to(real_tensor(K_start, "K_start").dtype)  # what K_end has to agree with
        left = cross_kernel(K_start, "K_start", weights.shape[0], like)
        right = cross_kernel(K_start if K_end is None else K_end, "K_end", weights.shape[1], like)
        scores = kron_matmul(as_double(left), as_double(right), weights).to(left)
        return wrapper(K_start, K_end, self.pair_duals)(scores)


@dataclass(frozen=True)
class Settings:
    """How to iterate."""

    lam: float
    method: str
    tol: float
    max_iter: int
    callback: Callable[[FitState], bool | None] | None
    patience: int
    validation: Callable[[Tensor], float] | None = None


@dataclass(frozen=True)
class Outcome:
    """Duals of the last iterate, or of the best one where validation chose, and the evidence."""

    duals: Tensor
    solution: KrylovSolution
    errors: tuple[float, ...]
    best_iter: int | None
    stopped_early: bool

    def fit(
        self, duals: Tensor, pair_duals: Tensor, wrap: Callable[[Tensor], Array], *, two_sets: bool
    ) -> IterativeFit:
        """The result that users see."""
        solution, reason = self.solution, "validation" if self.stopped_early else self.solution.reason
        return IterativeFit(
            wrap(duals),
            wrap(pair_duals),
            solution.n_iter,
            solution.converged,
            reason,
            solution.residuals,
            self.errors,
            self.best_iter,
            two_sets,
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
    duals = system.to_duals(solution.x) if watch.best is None else watch.best
    return Outcome(duals, solution, tuple(watch.errors), watch.best_iter, watch.stopped_early)


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
            duals = self._duals(state)
            error = float(self._settings.validation(duals))
            if math.isnan(error):
                raise ValueError(
                    f"validation gave NaN after iteration {state.n_iter}; it needs edges to measure, and for the "
                    "ranking loss edges of one query with different labels"
                )
            self.errors.append(error)
            if error < self._least or self.best_iter is None:
                self._least, self.best, self.best_iter = error, duals, state.n_iter
            self.stopped_early = state.n_iter - self.best_iter >= self._settings.patience
        stop = False
        if self._settings.callback is not None:
            stop = bool(
                self._settings.callback(FitState(state.n_iter, state.residual, error, lambda: self._duals(state)))
            )
        return stop or self.stopped_early

    def _duals(self, state: Iteration) -> Tensor:
        return self._system.to_duals(state.x.clone())
