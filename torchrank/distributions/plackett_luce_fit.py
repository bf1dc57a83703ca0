"""What a fit of Plackett-Luce worths gives back: worths, their covariances, and how it went."""

from __future__ import annotations

from typing import Generic

import torch
from torch import Tensor
from typing_extensions import NamedTuple

from torchrank._repr import short_repr
from torchrank._warnings import warn_not_converged
from torchrank.distributions.ascent import Ascent, Point, inverse, solve_by_products
from torchrank.rankings.arrays import Origin
from torchrank.typing import Kind

_MOST_COVARIANCE = 2000  # items of which "auto" gives all covariances
EXACT = 1e-12  # residual of covariances by products


class PlackettLuceFit(NamedTuple, Generic[Kind]):
    """Worths fitted to rankings, and the evidence that the fit ended where it should.

    There are q = n + t parameters, the logits and then the logarithms of tie parameters.
    """

    logits: Kind  # (n,) log-worths that add up to 0, larger = preferred
    covariance: Kind  # (q, q), or (k, k) of the items asked for: inverse information; None where not asked for
    standard_errors: Kind  # (n,) of the logits, or (k,) of the items asked for; None likewise
    log_likelihood: float  # of the weighted rankings, without the prior
    gradient: float  # largest derivative in a parameter at the end, divided by the sum of weights
    objective: tuple[float, ...]  # before every step and at the end: log-likelihood plus log-prior, which rises
    losses: tuple[float, ...]  # minus the last objective
    n_iter: int
    converged: bool
    reason: str  # "tolerance" or "max_iter"
    log_ties: Kind  # (t,) logarithms of the parameters of ties of 2, 3, ... items; -inf for sizes never seen
    tie_standard_errors: Kind  # (t,) of them, 0 for sizes never seen; None likewise

    __repr__ = short_repr


def as_fit(
    end: Ascent,
    level: Tensor | None,
    n: int,
    sizes: Tensor,
    total: float,
    covariance: str | list[int],
    tol: float,
) -> PlackettLuceFit:
    """What comes back, with a warning if the end is not one."""
    converged = end.slope <= tol * total
    if not converged:
        warn_not_converged(
            f"Plackett-Luce did not converge in {end.n_iter} steps: the largest derivative is {end.slope:.3g}, "
            f"{tol * total:.3g} was asked for; raise max_iter or tol"
        )
    parameters = end.point.parameters
    table = _covariance(end.point, level, n, covariance)
    log_ties = parameters.new_full((int(sizes.max()) - 1 if len(sizes) else 0,), -torch.inf)
    log_ties[sizes - 2] = parameters[n:]
    if table is not None and isinstance(covariance, str):
        table = _with_unseen(table, n, sizes)
    errors = None if table is None else table.diagonal().clamp(min=0).sqrt() if table.ndim == 2 else table.sqrt()
    whole = isinstance(covariance, str)
    return PlackettLuceFit(
        logits=parameters[:n] - parameters[:n].mean(),
        covariance=table if table is not None and table.ndim == 2 else None,
        standard_errors=errors[:n] if errors is not None and whole else errors,
        log_likelihood=end.point.log_likelihood,
        gradient=end.slope / total,
        objective=tuple(end.trace),
        losses=(-end.trace[-1],),
        n_iter=end.n_iter,
        converged=converged,
        reason="tolerance" if converged else "max_iter",
        log_ties=log_ties,
        tie_standard_errors=errors[n:] if errors is not None and whole else None,
    )


def _covariance(point: Point, level: Tensor | None, n: int, wanted: str | list[int]) -> Tensor | None:
    """Covariances ``(q, q)`` of logits that add up to 0 and tie parameters, variances ``(q,)``, or those of items."""
    q = len(point.parameters)
    if wanted == "auto":
        wanted = "full" if n <= _MOST_COVARIANCE else "none"
    if wanted == "none":
        return None
    logits = (torch.arange(q, device=point.parameters.device) < n).to(point.parameters.dtype)
    if isinstance(wanted, str):
        table = inverse(point.information(), level)
        if level is None:
            table = _centered(_centered(table, logits).mT, logits)
        return table if wanted == "full" else table.diagonal().clone()
    chosen = torch.tensor(wanted, dtype=torch.int64, device=logits.device)
    found = logits.new_zeros(len(wanted), len(wanted))
    for place, item in enumerate(wanted):
        unit = torch.zeros_like(logits)
        unit[item] = 1
        solution = solve_by_products(point, _centered(unit[:, None], logits)[:, 0], EXACT)
        found[place] = _centered(solution[:, None], logits)[chosen, 0]
    return found


def _with_unseen(table: Tensor, n: int, sizes: Tensor) -> Tensor:
    """The table with zeros for ties of sizes that were never seen, whose parameter is 0 for sure."""
    kept = torch.cat([torch.arange(n, device=sizes.device), n + sizes - 2])
    q = n + (int(sizes.max()) - 1 if len(sizes) else 0)
    if table.ndim == 1:
        return table.new_zeros(q).index_copy_(0, kept, table)
    return table.new_zeros(q, q).index_put_((kept[:, None], kept), table)


def _centered(columns: Tensor, logits: Tensor) -> Tensor:
    """Columns ``(q, k)`` whose logits add up to 0."""
    return columns - torch.outer(logits, logits @ columns / logits.sum())


def with_origin(fit: PlackettLuceFit, origin: Origin, covariance: str | list[int]) -> PlackettLuceFit:
    """The fit with the caller's kind of arrays, and the names of the items of a data frame."""
    chosen = slice(None) if isinstance(covariance, str) else covariance
    some = origin if not origin.frame or origin.items is None else origin._replace(items=origin.items[chosen])
    of_logits = fit.covariance is None or len(fit.log_ties) == 0
    axes = {
        "logits": (origin, "items"),
        "covariance": (some, "items", "items") if of_logits else (origin,),
        "standard_errors": (some, "items"),
        "log_ties": (origin,),
        "tie_standard_errors": (origin,),
    }
    values = {name: getattr(fit, name) for name in axes}
    return fit._replace(
        **{
            name: None if values[name] is None else own.named(values[name], *names) if names else own.wrap(values[name])
            for name, (own, *names) in axes.items()
        }
    )
