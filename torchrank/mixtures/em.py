"""Expectation-maximization from many starts at once, with a record of how it went."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchrank._progress import show_starts, starts_bar
from torchrank._repr import short_repr
from torchrank._warnings import warn_not_converged
from torchrank.evidence import Evidence
from torchrank.mixtures.extrapolation import Extrapolation

Parameters = Any  # a NamedTuple of tensors whose first dimension counts the starts
EStep = Callable[[Parameters], tuple[Tensor, Tensor]]  # objective (s,) and weighted memberships (s, c, m)
MStep = Callable[[Tensor, Parameters], Parameters]


@dataclass(frozen=True, kw_only=True)
class MixtureFit(Evidence):
    """Evidence of a fit by expectation-maximization; ``reason`` is "tolerance" or "max_iter".

    The objective is the log-likelihood less a penalty, and never falls, except for partial rankings whose probabilities
    are estimated from samples; losses are minus the last objective of each start. Converged means that no more than the
    tolerance was left to gain, as far as the last gains tell.

    Attributes:
        log_likelihood: weighted sum over all rows, of the parameters that were kept.
    """

    log_likelihood: float

    __repr__ = short_repr

    def warn_unless_converged(self, tol: float) -> None:
        """Warn if the iteration was cut short, and say by how much it was still gaining."""
        if not self.converged:
            gained = ""
            if len(self.objective) > 1:
                gained = f"the last one gained {self.objective[-1] - self.objective[-2]:.3g} in log-likelihood, "
            warn_not_converged(
                f"EM did not converge in {self.n_iter} iterations: {gained}tolerance {tol:.3g} a unit of weight; "
                "raise max_iter or tol"
            )


class EMResult(NamedTuple):
    """The parameters of the best start, without the dimension of starts, and the evidence."""

    parameters: Parameters
    trace: tuple[float, ...]
    n_iter: int
    converged: bool
    objectives: tuple[float, ...]  # the last of each start

    def evidence(self, penalty: float, unit: float) -> MixtureFit:
        """The record for weights multiplied by ``unit``; the objective is the log-likelihood less ``penalty``."""
        return MixtureFit(
            log_likelihood=unit * (self.trace[-1] + penalty),
            objective=tuple(unit * value for value in self.trace),
            losses=tuple(-unit * value for value in self.objectives),
            n_iter=self.n_iter,
            converged=self.converged,
            reason="tolerance" if self.converged else "max_iter",
        )


def em(
    parameters: Parameters, e_step: EStep, m_step: MStep, *, tol: float, max_iter: int, progress: bool = False
) -> EMResult:
    """Alternate E- and M-steps until at most ``tol`` is left to gain; starts that have converged drop out.

    EM converges linearly, and slowly at times: gains of which each is 0.99 of the one before add up to 100 times the
    last one. So what is left is estimated from two gains by Aitken's formula, and after the first iterations every
    third M-step is one of memberships extrapolated from the last three. They are kept if the objective does not fall.

    Args:
        parameters: to start from.
        e_step: the objective of parameters, and the memberships that they give.
        m_step: better parameters by memberships and the parameters that gave them.
        tol: most that may be left to gain, absolute.
        max_iter: most E-steps.
        progress: show a progress bar of the starts.
    """
    s, device = len(parameters[0]), parameters[0].device
    active = torch.arange(s, device=device)
    final = _take(parameters, active)
    objectives = torch.full((s,), -math.inf, dtype=torch.float64, device=device)
    ended, converged = torch.zeros_like(active), torch.zeros_like(active, dtype=torch.bool)
    trace, run = [], Extrapolation(len(active), device)
    with starts_bar(s, "EM", progress) as bar:
        for n_iter in range(1, max_iter + 1):
            value, shares = e_step(parameters)
            previous = objectives[active]
            if run.on_trial and bool((worse := ~(value >= previous)).any()):
                shares = torch.where(worse[:, None, None], run.shares[-1], shares)
                value = torch.where(worse, previous, value)
                parameters = type(parameters)(*map(_chooser(worse), _take(final, active), parameters))
            done = run.left_to_gain(value - previous, shares) <= tol
            for kept, part in zip(final, parameters, strict=True):
                kept[active] = part
            objectives[active], ended[active], converged[active] = value, n_iter, done
            trace.append(objectives.clone())
            going = ~done
            show_starts(bar, n_iter, len(active) if n_iter == max_iter else int(done.sum()), objectives.max())
            active = active[going]
            if len(active) == 0 or n_iter == max_iter:
                break
            run.keep(going)
            parameters = m_step(run.proposal(n_iter), _take(parameters, going))
    best = int(objectives.argmax())
    n_iter = int(ended[best])
    return EMResult(
        type(parameters)(*(part[best] for part in final)),
        tuple(torch.stack(trace)[:n_iter, best].tolist()),
        n_iter,
        bool(converged[best]),
        tuple(objectives.tolist()),
    )


def _take(parameters: Parameters, rows: Tensor) -> Parameters:
    """A copy of the parameters of some starts."""
    return type(parameters)(*(part[rows] for part in parameters))


def _chooser(first: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """A function that takes the one tensor where ``first`` (s,) is true, and the other elsewhere."""
    return lambda one, other: torch.where(first.view(-1, *[1] * (one.ndim - 1)), one, other)
