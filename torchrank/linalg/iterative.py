"""Krylov solvers, which know a matrix by its products with vectors only."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank._warnings import warn_not_converged
from torchrank.rankings.isolation import isolated
from torchrank.rankings.unmapped import SEARCHES, unmapped

Product = Callable[[Tensor], Tensor]

_ROUNDING = 8  # epsilons: a relative residual of so many consists of rounding
_SHARED = {
    "product": "computes ``A x``. It may return the same memory each time.",
    "b": "right-hand side of any shape; inner products are sums over all entries.",
    "x0": "where to start; zeros by default.",
    "tol": (
        "residual to reach, relative to ``||b||``. 0 runs ``max_iter`` iterations, fewer only where rounding is all"
        " that is left of the residual; this does not count as a failure."
    ),
    "max_iter": "most iterations.",
    "callback": "sees every iterate and stops the iteration by returning True.",
}


@dataclass(frozen=True)
class Iteration:
    """What a callback sees after each iteration."""

    n_iter: int  # iterations done, counted from 1
    x: Tensor  # current solution, a copy
    residual: float  # ||b - A x|| / ||b||, updated from step to step; computed afresh where it is within the tolerance


@dataclass(frozen=True)
class KrylovSolution:
    """Solution of a linear system by :func:`cg` or :func:`bicgstab`, and how it was reached."""

    x: Tensor
    n_iter: int
    residuals: tuple[float, ...]  # relative residual at the start and after each iteration
    converged: bool  # the residual, computed afresh at the end, is within the tolerance
    # "tolerance"; "callback", which stopped it; "max_iter"; "precision", nothing but rounding is left of the residual;
    # "breakdown", the method divides by zero, or cg met a direction along which A is not positive
    reason: str

    def warn_unless_converged(self, name: str, tol: float) -> None:
        """Warn where the iteration ended before ``tol``, unless a callback or ``tol=0`` asked for that."""
        if tol > 0 and self.reason in ("max_iter", "precision", "breakdown"):
            remedy = "raise max_iter, lam or tol"
            if self.reason == "breakdown":
                remedy = "check that the kernels are positive semi-definite, or raise lam"
            warn_not_converged(
                f"{name} did not converge in {self.n_iter} iterations ({self.reason}): relative residual "
                f"{self.residuals[-1]:.3g}, tolerance {tol:.3g}; {remedy}"
            )


@isolated
@unmapped(SEARCHES)
@shares_arguments(**_SHARED)
def cg(
    product: Product,
    b: Tensor,
    *,
    x0: Tensor | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    callback: Callable[[Iteration], bool | None] | None = None,
) -> KrylovSolution:
    """Solve ``A x = b`` for a symmetric positive semi-definite ``A`` by conjugate gradients.

    The residual ``b - A x`` is updated from step to step, and rounding makes it drift. So where it seems to be within
    the tolerance, it is computed afresh. If that one is larger, the iteration starts again from the current solution.
    Scaling ``b`` scales the solution and changes nothing else, even where squares of ``b`` underflow or overflow.

    Args:
        product: {product} Called once per iteration.
        b: {b}
        x0: {x0}
        tol: {tol}
        max_iter: {max_iter}
        callback: {callback}

    Returns:
        The last iterate and how it was reached.
    """
    run = _Run(product, b, x0, tol=tol, max_iter=max_iter, callback=callback)
    r = run.first_residual()
    p, rho = r.clone(), _dot(r, r)
    while run.goes_on():
        Ap = product(p)
        curvature = _dot(p, Ap)
        if not curvature > 0:  # A is indefinite, or it is singular and the solution is reached
            run.reason = "breakdown"
            break
        step = rho / curvature
        run.x.add_(p, alpha=step)
        r.sub_(Ap, alpha=step)
        fresh = run.record(r)
        if fresh is not None:
            r, p, rho = fresh, fresh.clone(), _dot(fresh, fresh)
            continue
        rho, previous = _dot(r, r), rho
        p.mul_(rho / previous).add_(r)
    return run.solution()


@isolated
@unmapped(SEARCHES)
@shares_arguments(**_SHARED)
def bicgstab(
    product: Product,
    b: Tensor,
    *,
    x0: Tensor | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    callback: Callable[[Iteration], bool | None] | None = None,
) -> KrylovSolution:
    """Solve ``A x = b`` for a general ``A`` by the stabilized biconjugate gradients of van der Vorst (1992).

    The residual is updated and computed afresh as in :func:`cg`.

    Args:
        product: {product} Called twice per iteration.
        b: {b}
        x0: {x0}
        tol: {tol}
        max_iter: {max_iter}
        callback: {callback}

    Returns:
        The last iterate and how it was reached.
    """
    run = _Run(product, b, x0, tol=tol, max_iter=max_iter, callback=callback)
    r = run.first_residual()
    shadow, p, Ap, rho = r.clone(), r.clone(), torch.empty_like(r), _dot(r, r)
    while run.goes_on():
        Ap.copy_(product(p))
        denominator = _dot(shadow, Ap)
        if denominator == 0:
            run.reason = "breakdown"
            break
        alpha = rho / denominator
        r.sub_(Ap, alpha=alpha)
        run.x.add_(p, alpha=alpha)
        Ar = product(r)
        length = _dot(Ar, Ar)
        omega = _dot(Ar, r) / length if length > 0 else 0.0
        run.x.add_(r, alpha=omega)
        r.sub_(Ar, alpha=omega)
        fresh = run.record(r)
        rho, previous = _dot(shadow, r), rho
        if fresh is None and (omega == 0 or rho == 0):
            fresh = run.true_residual()  # the next step would divide by zero: start again from the current solution
        if fresh is not None:
            r, shadow, p, rho = fresh, fresh.clone(), fresh.clone(), _dot(fresh, fresh)
            continue
        p.sub_(Ap, alpha=omega).mul_(rho / previous * alpha / omega).add_(r)
    return run.solution()


class _Run:
    """What both methods share: units, residuals, and when to stop."""

    def __init__(
        self,
        product: Product,
        b: Tensor,
        x0: Tensor | None,
        *,
        tol: float,
        max_iter: int,
        callback: Callable[[Iteration], bool | None] | None,
    ) -> None:
        self.product, self.tol, self.max_iter, self.callback = product, tol, max_iter, callback
        self.unit = _power_of_two(b)  # b and x are divided by it, so that squares neither underflow nor overflow
        self.b = b / self.unit
        self.x = torch.zeros_like(b) if x0 is None else x0 / self.unit
        self.size = math.sqrt(_dot(self.b, self.b))
        self.residuals: list[float] = []
        self.reason: str | None = None
        self.from_zero = x0 is None

    def first_residual(self) -> Tensor:
        r = self.b.clone() if self.from_zero else self.true_residual()
        if self.size == 0:  # then x = 0 is the solution, and there is nothing to divide residuals by
            self.x.zero_()
            self.residuals.append(0.0)
            self.reason = "tolerance"
            return r
        self.residuals.append(math.sqrt(_dot(r, r)) / self.size)
        if self.residuals[0] <= self.tol or self.residuals[0] == 0:
            self.reason = "tolerance"
        return r

    def true_residual(self) -> Tensor:
        return self.b - self.product(self.x)

    def goes_on(self) -> bool:
        if self.reason is None and len(self.residuals) > self.max_iter:
            self.reason = "max_iter"
        return self.reason is None

    def record(self, r: Tensor) -> Tensor | None:
        """Note the updated residual ``r`` and ask the callback.

        Returns:
            The residual computed afresh where ``r`` seemed to be within the tolerance, else None.
        """
        residual = math.sqrt(_dot(r, r)) / self.size
        fresh = None
        if residual <= self.tol or residual == 0:
            fresh = self.true_residual()
            residual = math.sqrt(_dot(fresh, fresh)) / self.size
            if residual <= self.tol or residual == 0:
                self.reason = "tolerance"
        elif not math.isfinite(residual):
            self.reason = "breakdown"
        elif residual <= _ROUNDING * torch.finfo(r.dtype).eps:  # of a singular system, further steps grow without bound
            self.reason = "precision"
        self.residuals.append(residual)
        if self.callback is not None and self.callback(
            Iteration(len(self.residuals) - 1, self.x * self.unit, residual)
        ):
            self.reason = self.reason or "callback"
        return fresh

    def solution(self) -> KrylovSolution:
        reason = self.reason or "max_iter"
        x = self.x * self.unit
        return KrylovSolution(x, len(self.residuals) - 1, tuple(self.residuals), reason == "tolerance", reason)


def _power_of_two(b: Tensor) -> float:
    """The largest power of two up to the largest entry; dividing by it is exact. 1 for zeros."""
    largest = float(b.abs().max()) if b.numel() else 0.0
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if 0 < largest < math.inf else 1.0


def _dot(a: Tensor, b: Tensor) -> float:
    return float(torch.dot(a.reshape(-1), b.reshape(-1)))
