"""Newton's method for concave objectives, by matrices of second derivatives or by their products with vectors."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from torchrank.linalg.iterative import cg
from torchrank.rankings.powers import unit_of

_LEAST_GAIN = 1e-4  # of what a Newton step promises, for its length to be accepted (Armijo)
_INEXACT = 0.1  # residual that the products' steps may leave far from the maximum
_MOST_PRODUCTS = 2000  # of one step


class Point(Protocol):
    """The objective at some parameters ``(q,)``."""

    parameters: Tensor
    value: float
    log_likelihood: float  # the part of the value that is not a prior's
    gradient: Tensor

    def product(self, x: Tensor) -> Tensor:
        """The information, minus the second derivatives, times ``x``."""
        ...

    def diagonal(self) -> Tensor:
        """Of the information."""
        ...

    def information(self) -> Tensor:
        """``(q, q)``."""
        ...


class Objective(Protocol):
    """What is maximized."""

    level: Tensor | None  # (q,) the direction along which nothing changes, ones for logits; None where there is none

    def at(self, parameters: Tensor) -> Point:
        """Evaluate it."""
        ...


class Ascent(NamedTuple):
    """Where Newton's method ended."""

    point: Point
    trace: list[float]
    n_iter: int
    slope: float  # largest derivative


class Reached(NamedTuple):
    """Where an ascent stands, all that it needs to go on."""

    parameters: Tensor
    trace: list[float]  # the objective, before every step and now
    steepest: float  # the largest derivative at the start


def ascend(
    objective: Objective,
    start: Tensor,
    method: str,
    tol: float,
    max_iter: int,
    *,
    reached: Reached | None = None,
    save: Callable[[Reached], Any] | None = None,
) -> Ascent:
    """Go uphill by Newton steps, "newton" or "cg", until no derivative exceeds ``tol``.

    Args:
        objective: what is maximized.
        start: parameters to begin with.
        method: how steps are found.
        tol: largest derivative at the end.
        max_iter: most steps.
        reached: where to go on, in place of the start.
        save: called with what is reached, at the start and after every step.
    """
    point = objective.at(start if reached is None else reached.parameters)
    trace = [point.value] if reached is None else [*reached.trace]
    steepest = max(float(point.gradient.abs().max()), torch.finfo(torch.float64).tiny)
    steepest = steepest if reached is None else reached.steepest
    if save is not None and reached is None:
        save(Reached(point.parameters, trace, steepest))
    while len(trace) <= max_iter and (slope := float(point.gradient.abs().max())) > tol:
        if method == "newton":
            step = solve(point.information(), point.gradient, objective.level)
        else:
            step = solve_by_products(point, point.gradient, min(_INEXACT, slope / steepest))
        point = _on_the_way(objective, point, step)
        trace.append(point.value)
        if save is not None:
            save(Reached(point.parameters, trace, steepest))
    return Ascent(point, trace, len(trace) - 1, float(point.gradient.abs().max()))


def _on_the_way(objective: Objective, point: Point, step: Tensor) -> Point:
    """The point after a step, which is halved until the objective grows as it should."""
    promised, length = float(point.gradient @ step), 1.0
    while True:
        there = objective.at(point.parameters + length * step)
        # At the maximum gains drown in rounding: then the full step is as good as any.
        drowned = promised <= 1e-12 * abs(point.value) and there.value == there.value
        if there.value - point.value >= _LEAST_GAIN * length * promised or drowned or length < 1e-6:
            return there
        length /= 2


def solve(information: Tensor, b: Tensor, level: Tensor | None) -> Tensor:
    """The solution x of ``information x = b``, which has no part along ``level``."""
    factor, unit = _factor(information, level)
    return torch.cholesky_solve(b[:, None] / unit, factor)[:, 0]


def inverse(information: Tensor, level: Tensor | None) -> Tensor:
    """Inverse on the vectors that have no part along ``level``."""
    factor, unit = _factor(information, level)
    found = torch.cholesky_inverse(factor) / unit
    return found if level is None else _without(_without(found, level).mT, level)


def solve_by_products(point: Point, b: Tensor, tol: float) -> Tensor:
    """The same by conjugate gradients, the parameters in units of the information's diagonal."""
    diagonal = point.diagonal().clamp(min=torch.finfo(b.dtype).tiny)
    unit = unit_of(diagonal.mean())  # so that weights times a power of two change no bit of square roots
    scale = (diagonal / unit).rsqrt()
    solution = cg(
        lambda x: scale * (point.product(scale * x) / unit), scale * (b / unit), tol=tol, max_iter=_MOST_PRODUCTS
    )
    return scale * solution.x


def _factor(information: Tensor, level: Tensor | None) -> tuple[Tensor, Tensor]:
    """Cholesky factor of the information in a unit, a power of two, and the unit."""
    unit = unit_of(information.diagonal().mean().clamp(min=torch.finfo(information.dtype).tiny))
    information = information / unit
    diagonal = information.diagonal()
    if level is not None:
        information = information + diagonal.mean() / level.sum() * torch.outer(level, level)
    factor, failed = torch.linalg.cholesky_ex(information)
    if bool(failed):  # flat to rounding in some direction: lift it by as much
        lift = diagonal.max() * len(diagonal) * 1e-14
        eye = torch.eye(len(diagonal), dtype=information.dtype, device=information.device)
        factor = torch.linalg.cholesky(information + lift * eye)
    return factor, unit


def _without(matrix: Tensor, level: Tensor) -> Tensor:
    """Columns without their part along ``level``, of ones and zeros."""
    return matrix - torch.outer(level, level @ matrix / level.sum())
