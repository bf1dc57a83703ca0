"""The maximum of the likelihood of Plackett-Luce worths, from an objective on."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torchrank.distributions.ascent import Ascent, Objective, Point, Reached, ascend, solve_by_products
from torchrank.distributions.choices import ChoiceStatistics, mm_update
from torchrank.distributions.likelihood import PlackettLuceObjective
from torchrank.distributions.plackett_luce_fit import EXACT, PlackettLuceFit, as_fit
from torchrank.distributions.priors import Gamma

_MOST_MATRIX = 500  # items up to which steps by the matrix of second derivatives are the faster ones
_FLAT = 10  # times the largest derivative allowed at the end: a curvature that a maximum has more of


def method_for(method: str, n: int) -> str:
    """What "auto" means for n items; other words mean themselves."""
    return ("newton" if n <= _MOST_MATRIX else "cg") if method == "auto" else method


def maximum(
    objective: Objective,
    n: int,
    sizes: Tensor,  # (t,) of ties that have a parameter
    *,
    ties: bool,
    total: float,
    method: str,
    covariance: str | list[int],
    tol: float,
    max_iter: int,
    reached: Reached | None = None,
    save: Callable[[Reached], Any] | None = None,
) -> PlackettLuceFit:
    """Go uphill from equal worths, or from where an earlier run came to; ``total`` is the sum of weights.

    Raises:
        ValueError: with ties, where there is no maximum.
    """
    start = torch.zeros(n + len(sizes), dtype=torch.float64, device=sizes.device)
    if method == "mm":
        assert isinstance(objective, PlackettLuceObjective)
        end = _minorize(objective, start, tol * total, max_iter)
    else:
        end = ascend(objective, start, method, tol * total, max_iter, reached=reached, save=save)
    if ties and _is_flat(end.point, objective.level, n, _FLAT * max(tol, EXACT) * total):
        raise ValueError(
            "Plackett-Luce with ties has no maximum of the likelihood for these rankings: worths or tie parameters "
            "grow without end, as where all choices are ties, against which no prior helps, or where an item ties and "
            "wins but never loses: there pass prior=0.5"
        )
    return as_fit(end, objective.level, n, sizes, total, covariance, tol)


def _is_flat(point: Point, level: Tensor | None, n: int, least: float) -> bool:
    """Whether the curvature in some direction is less than a maximum has.

    Where there is none, the likelihood grows ever less along some direction, and its curvature with it. Of very many
    items only directions with a tie parameter are looked at.
    """
    if n <= _MOST_MATRIX:
        curvature = torch.linalg.eigvalsh(point.information())
        return int((curvature < least).sum()) > (level is not None)
    units = torch.eye(len(point.parameters) - n, dtype=point.parameters.dtype, device=point.parameters.device)
    towards = (torch.cat([unit.new_zeros(n), unit]) for unit in units)
    return any(float(unit @ solve_by_products(point, unit, 1e-4)) > 1 / least for unit in towards)


def _minorize(objective: PlackettLuceObjective, start: Tensor, tol: float, max_iter: int) -> Ascent:
    """Go uphill by Hunter's steps until no derivative exceeds ``tol``."""
    alpha = objective.prior.alpha if isinstance(objective.prior, Gamma) else 0.0
    point, trace = objective.at(start), []
    while True:
        trace.append(point.value)
        slope = float(point.gradient.abs().max())
        if len(trace) > max_iter or slope <= tol:
            return Ascent(point, trace, len(trace) - 1, slope)
        sums = ChoiceStatistics(objective.wins, point.sums.rates, point.sums.log_likelihood)
        point = objective.at(mm_update(sums, point.worths, alpha).log())
