"""EM on rankings that come in batches: a pass over all rows is an E-step, of which statistics are kept."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torchrank._warnings import quietly
from torchrank.clustering.seeds import init_in_plan, one_set_of_labels
from torchrank.mixtures.em import EMResult, Parameters
from torchrank.mixtures.extrapolation import Extrapolation, extrapolated_statistics
from torchrank.mixtures.statistics import MixtureStatistics, soft_members
from torchrank.processes import stacked
from torchrank.rankings.arrays import Matrix
from torchrank.rankings.validate import check_generator
from torchrank.stream.passes import Chunk, Facts, Passes

_SAMPLE = 4096  # rows that starts are fitted to


@dataclass(frozen=True)
class Steps:
    """What EM asks of a mixture."""

    kind: type[Any]  # NamedTuple of tensors, parameters
    start: Callable[[Chunk], Parameters]  # fits to a sample
    of_shares: Callable[[Chunk, Tensor], MixtureStatistics]  # of given memberships (c, r), without parameters
    statistics: Callable[[Chunk, Parameters], MixtureStatistics]  # the E-step
    maximize: Callable[[MixtureStatistics, Parameters | None], Parameters]  # the M-step
    penalty: Callable[[Parameters], Tensor]  # of a unit of weight


@dataclass(frozen=True)
class State:
    """Where EM stands; all that a checkpoint keeps."""

    parameters: Parameters  # to be evaluated next
    best: Parameters  # evaluated last
    trace: tuple[float, ...] = ()  # objective of every pass
    converged: bool = False

    def as_dict(self, run: Extrapolation) -> dict[str, Any]:
        """What :func:`torch.save` keeps of it, and of the extrapolation."""
        return {
            "parameters": list(self.parameters),
            "best": list(self.best),
            "trace": list(self.trace),
            "converged": self.converged,
            "run": run.as_dict(),
        }

    @classmethod
    def of_dict(cls, kept: dict[str, Any], run: Extrapolation, kind: type[Any]) -> "State":
        """The inverse of :meth:`as_dict`."""
        run.set_back(kept["run"])
        parameters, best = (kind(*(part.to(run.device) for part in kept[name])) for name in ("parameters", "best"))
        return cls(parameters, best, tuple(kept["trace"]), kept["converged"])


def fit_in_batches(
    passes: Passes,
    steps: Steps,
    *,
    init: str | Matrix,
    n_components: int,
    tol: float,
    max_iter: int,
    generator: torch.Generator | None,
    checkpoint: Any,
    plan: dict[str, Any],
) -> tuple[EMResult, Facts]:
    """EM over all rows from where a fit to a sample of them ends.

    As in :func:`torchrank.mixtures.em.em`, but the statistics are extrapolated in place of the memberships that add up
    to them.

    Args:
        passes: the rows.
        steps: of the mixture.
        init: words are for the start; or labels ``(m,)`` of all rows in the order in which they come.
        n_components: c.
        tol: most that may be left to gain, a unit of weight.
        max_iter: most passes.
        generator: source of the sample and of its starts.
        checkpoint: file that the state is kept in after every pass, or None.
        plan: what a checkpoint has to agree in, beside the rows.
    """
    check_generator(generator)
    with passes, quietly():
        plan = plan | {"init": init_in_plan(init), "n_components": n_components, "tol": float(tol)}
        labeled = not isinstance(init, str)
        facts, keeper, kept = passes.begin(plan, checkpoint, max_iter, generator, _SAMPLE, labeled=labeled)
        run = Extrapolation(1, passes.first.ranks.device, extrapolated_statistics)
        if kept is None:
            if isinstance(init, str):
                found = steps.start(facts.sample)
                found = steps.kind(*(stacked(part, passes.group)[0] for part in found))  # each may have drawn another
            else:
                found = _from_labels(passes, steps, one_set_of_labels(init, facts.n_rows, n_components), n_components)
            state = State(found, found)
            keeper.save(state.as_dict(run), generator)
        else:
            state = State.of_dict(kept, run, steps.kind)
        tol *= facts.weight
        while not state.converged and len(state.trace) < max_iter:
            state = _pass(passes, steps, state, run, tol, facts.weight)
            keeper.save(state.as_dict(run), generator)
    trace = state.trace
    return EMResult(state.best, trace, len(trace), state.converged, trace[-1:]), facts


def _from_labels(passes: Passes, steps: Steps, labels: Tensor, n_components: int) -> Parameters:
    """Parameters of components that rows belong to for the most part."""
    total = None
    for chunk, own in passes.with_labels(labels):
        part = steps.of_shares(chunk, soft_members(own, n_components) * chunk.weights)
        total = part if total is None else total + part
    assert total is not None
    return steps.maximize(total, None)


def _pass(passes: Passes, steps: Steps, state: State, run: Extrapolation, tol: float, weight: float) -> State:
    """An E-step over all rows, and the M-step of what it finds."""
    shown = {"objective": f"{state.trace[-1]:.6g}"} if state.trace else {}
    parameters = state.parameters
    found = passes.total(lambda chunk: steps.statistics(chunk, parameters), reading=len(state.trace) + 1, **shown)
    table, value = found.table(), found.log_likelihood - weight * steps.penalty(parameters)
    previous = state.trace[-1] if state.trace else -math.inf
    if run.on_trial and not bool(value >= previous):
        table, value, parameters = run.shares[-1], torch.full_like(value, previous), state.best
    done = bool(run.left_to_gain(value[None] - previous, table) <= tol)
    trace = (*state.trace, float(value))
    following = parameters
    if not done:
        following = steps.maximize(MixtureStatistics.of_table(run.proposal(len(trace))), parameters)
    return State(following, parameters, trace, done)
