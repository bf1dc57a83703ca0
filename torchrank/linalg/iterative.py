"""Krylov solvers that know a matrix by its products only: closure in, solution and status out."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from torchrank._warnings import warn_not_converged
from torchrank.rankings.surroundings import in_plain_surroundings

Product = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Iteration:
    """What a callback sees after each iteration."""

    n_iter: int  # iterations done, counted from 1
    x: Tensor  # current solution, a copy
    residual: float  # ||b - A x|| / ||b||, as the recurrence has it


@dataclass(frozen=True)
class KrylovSolution:
    """Solution and evidence of :func:`cg` and :func:`bicgstab`."""

    x: Tensor
    n_iter: int
    residuals: tuple[float, ...]  # relative residual at the start and after each iteration
    converged: bool  # the residual, computed afresh at the end, is within the tolerance
    reason: str  # "tolerance", "callback", "max_iter", "precision" or "breakdown"

    def warn_unless_converged(self, name: str, tol: float) -> None:
        """Warn where the iteration stopped for want of iterations or broke down; ``tol=0`` asked for just that."""
        if tol > 0 and self.reason in ("max_iter", "precision", "breakdown"):
            remedy = "raise max_iter, lam or tol"
            if self.reason == "breakdown":
                remedy = "check that the kernels are positive semi-definite, or raise lam"
            warn_not_converged(
                f"{name} did not converge in {self.n_iter} iterations ({self.reason}): relative residual "
                f"{self.residuals[-1]:.3g}, tolerance {tol:.3g}; {remedy}"
            )


@in_plain_surroundings
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

    The tolerance is relative to ``||b||``, so scaling ``b`` changes nothing, even where its squares would underflow or
    overflow. When the recurrence says that it is
    reached, the residual is computed afresh; if rounding has parted the two, the iteration starts again from there.

    Args:
        product: computes ``A x``; called once per iteration. It may return the same memory each time.
        b: right-hand side of any shape; products are sums over all entries.
        x0: where to start; zeros by default.
        tol: relative residual to reach; 0 runs ``max_iter`` iterations, fewer only where rounding is all that is left
            of the residual ("precision"), and does not count as a failure.
        max_iter: most iterations.
        callback: sees every iterate and stops the iteration by returning True.

    Returns:
        The last iterate and how it was reached.
    """
    run = _Run(product, b, x0, tol, max_iter, callback)
    r = run.first_residual()
    p, rho = r.clone(), _dot(r, r)
    while run.goes_on():
        Ap = product(p)
        curvature = _dot(p, Ap)
        if not curvature > 0:  # exact zero at the solution of a singular system; negative: A is indefinite
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


@in_plain_surroundings
def bicgstab(
    product: Product,
    b: Tensor,
    *,
    x0: Tensor | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    callback: Callable[[Iteration], bool | None] | None = None,
) -> KrylovSolution:
    """Solve ``A x = b`` for a general ``A`` by the stabilised biconjugate gradients of van der Vorst (1992).

    Arguments and result are those of :func:`cg`; each iteration costs two products.
    """
    run = _Run(product, b, x0, tol, max_iter, callback)
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
            fresh = run.true_residual()  # the recurrence cannot go on: start again from here
        if fresh is not None:
            r, shadow, p, rho = fresh, fresh.clone(), fresh.clone(), _dot(fresh, fresh)
            continue
        p.sub_(Ap, alpha=omega).mul_(rho / previous * alpha / omega).add_(r)
    return run.solution()


class _Run:
    """The bookkeeping that both methods share."""

    def __init__(
        self,
        product: Product,
        b: Tensor,
        x0: Tensor | None,
        tol: float,
        max_iter: int,
        callback: Callable[[Iteration], bool | None] | None,
    ) -> None:
        self.product, self.tol, self.max_iter, self.callback = product, tol, max_iter, callback
        self.unit = _power_of_two(b)  # what is iterated is in units of the size of b, so that its squares are numbers
        self.b = b / self.unit
        self.x = torch.zeros_like(b) if x0 is None else x0 / self.unit
        self.size = math.sqrt(_dot(self.b, self.b))
        self.residuals: list[float] = []
        self.reason: str | None = None
        self.from_zero = x0 is None

    def first_residual(self) -> Tensor:
        r = self.b.clone() if self.from_zero else self.true_residual()
        if self.size == 0:  # x = 0 is the solution, and no residual is relative to nothing
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
        """Note the residual and ask the callback; give the residual computed afresh where the recurrence was wrong."""
        residual = math.sqrt(_dot(r, r)) / self.size
        fresh = None
        if residual <= self.tol or residual == 0:
            fresh = self.true_residual()
            residual = math.sqrt(_dot(fresh, fresh)) / self.size
            if residual <= self.tol or residual == 0:
                self.reason = "tolerance"
        elif not math.isfinite(residual):
            self.reason = "breakdown"
        elif residual <= 8 * torch.finfo(r.dtype).eps:  # going on would blow up noise where the system is singular
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
    """The largest up to the largest entry, by which dividing is exact; 1 for zeros."""
    largest = float(b.abs().max()) if b.numel() else 0.0
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if 0 < largest < math.inf else 1.0


def _dot(a: Tensor, b: Tensor) -> float:
    return float(torch.dot(a.reshape(-1), b.reshape(-1)))
