"""Lloyd's algorithm on rankings that come in batches: a pass over all rows is an iteration, and keeps class sums."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from torchrank.clustering.center_sums import CenterSums, Costs, center_sums, nearest_centers
from torchrank.clustering.lloyd import KMeansFit, masses
from torchrank.processes import Group, stacked, summed
from torchrank.rankings.distinct import distinct_rows
from torchrank.rankings.prepared import Rankings
from torchrank.stream.passes import Chunk, Passes

_IN_SIGHT = 8  # times as many rows are looked at as may be needed, since rows repeat


class Centers(Protocol):
    """What k-means has for centers, ``(c, p)`` numbers that pair signs of rankings are multiplied with."""

    tolerance: float  # costs that differ by less are equal

    def costs(self, rankings: Rankings, centers: Tensor) -> Costs:
        """What rankings cost at centers, apart from their product."""
        ...

    def load(self, chunk: Chunk) -> Tensor:
        """``(r,)`` by what the pair signs of each row are multiplied before they are added up."""
        ...

    def of_sums(self, sums: Tensor, counts: Tensor, previous: Tensor | None) -> Tensor:
        """Centers of clusters by their sums ``(c, p)`` and weights ``(c,)``; anything for empty ones."""
        ...

    def of_ranks(self, ranks: Tensor) -> Tensor:
        """Centers ``(k, p)`` that are single rankings ``(k, n)``."""
        ...


@dataclass(frozen=True)
class Assigned:
    """What a pass finds: the rows went to their nearest centers."""

    sums: Tensor  # (c, p) of pair signs times load
    counts: Tensor  # (c,) weight
    objective: Tensor  # () weighted cost
    far_costs: Tensor  # (c,) of the rows that cost most, falling; minus infinity where there are no more
    far_ranks: Tensor  # (c, n)

    def __add__(self, other: "Assigned") -> "Assigned":
        costs = torch.cat([self.far_costs, other.far_costs])
        ranks = torch.cat([self.far_ranks, other.far_ranks])
        objective = self.objective + other.objective
        return Assigned(
            self.sums + other.sums, self.counts + other.counts, objective, *_most(costs, ranks, len(self.counts))
        )

    def over(self, group: Group) -> "Assigned":
        """The sum of those of all processes of a group."""
        costs, ranks = (stacked(part, group).flatten(0, 1) for part in (self.far_costs, self.far_ranks))
        sums, counts, objective = (summed(part, group) for part in (self.sums, self.counts, self.objective))
        return Assigned(sums, counts, objective, *_most(costs, ranks, len(counts)))


@dataclass(frozen=True)
class State:
    """Where an iteration stands; all that a checkpoint keeps."""

    centers: Tensor  # (c, p) of the last pass, or those to start from
    filled: Tensor  # (c,) which of them count
    found: Assigned | None = None  # by the last pass
    trace: tuple[float, ...] = ()  # objective of every pass
    converged: bool = False

    def as_dict(self) -> dict[str, Any]:
        """What :func:`torch.save` keeps."""
        found = None if self.found is None else vars(self.found)
        return {**vars(self), "found": found, "trace": list(self.trace)}

    @classmethod
    def of_dict(cls, kept: dict[str, Any], device: torch.device) -> "State":
        """The inverse of :meth:`as_dict`."""
        found = kept["found"] and Assigned(**{name: part.to(device) for name, part in kept["found"].items()})
        return cls(
            kept["centers"].to(device), kept["filled"].to(device), found, tuple(kept["trace"]), kept["converged"]
        )


def streamed_lloyd(
    passes: Passes, kind: Centers, state: State, max_iter: int, save: Callable[[State], Any]
) -> tuple[State, KMeansFit]:
    """Run Lloyd's algorithm until a pass finds the sums of the one before, so that centers stay, or gains nothing.

    A cluster that becomes empty gets a ranking that costs most as its center. The objective never rises but for
    rounding.

    Args:
        passes: the rows.
        kind: what centers are.
        state: to go on from.
        max_iter: most passes.
        save: called after every pass with the state to go on from.
    """
    while not state.converged and len(state.trace) < max_iter:
        centers, filled = _next_centers(state, kind)
        found = _pass(passes, kind, centers, filled, state.trace)
        objective, before = float(found.objective), state.found
        stays = bool(state.trace) and objective >= state.trace[-1] - kind.tolerance * float(found.counts.sum())
        same = before is not None and torch.equal(found.sums, before.sums) and torch.equal(found.counts, before.counts)
        trace = (*state.trace, objective)
        state = State(centers, filled, found, trace, (stays or same) and not _left(found, kind))
        save(state)
    fit = KMeansFit(
        labels=None,
        objective=state.trace,
        losses=state.trace[-1:],
        n_iter=len(state.trace),
        converged=state.converged,
        reason="tolerance" if state.converged else "max_iter",
    )
    return state, fit


def _pass(passes: Passes, kind: Centers, centers: Tensor, filled: Tensor, trace: tuple[float, ...]) -> Assigned:
    engine: CenterSums | None = None

    def assign(chunk: Chunk) -> Assigned:
        nonlocal engine
        rankings = chunk.rankings
        engine = center_sums(centers, rankings.shape[1]) if engine is None else engine
        costs = kind.costs(rankings, centers)
        costs = costs._replace(offset=torch.where(filled, costs.offset, math.inf))
        labels, cost = nearest_centers(engine, rankings, costs, kind.tolerance)
        sums = engine.sums(rankings, labels, kind.load(chunk))
        counts = masses(labels[None], len(centers), chunk.weights)[0]
        counted = torch.where(chunk.weights > 0, cost, -math.inf)
        return Assigned(sums, counts, cost @ chunk.weights, *_most(counted, rankings.ranks, len(centers)))

    shown = {"objective": f"{trace[-1]:.6g}"} if trace else {}
    return passes.total(assign, reading=len(trace) + 1, **shown)


def _next_centers(state: State, kind: Centers) -> tuple[Tensor, Tensor]:
    """Centers of the sums that the last pass found, and which of them count; at the start those that are given."""
    found = state.found
    if found is None:
        return state.centers, state.filled
    filled = found.counts > 0
    centers = kind.of_sums(found.sums, found.counts, state.centers)
    far = (found.far_costs > kind.tolerance).nonzero()[:, 0]
    empty = (~filled).nonzero()[:, 0][: len(far)]
    centers[empty] = kind.of_ranks(found.far_ranks[far[: len(empty)]])
    filled = filled.clone()
    filled[empty] = True
    return torch.where(filled[:, None], centers, 0), filled


def _left(found: Assigned, kind: Centers) -> bool:
    """Whether a cluster is empty although a ranking could be its center."""
    return bool((found.counts <= 0).any() and (found.far_costs > kind.tolerance).any())


def _most(costs: Tensor, ranks: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k different rows that cost most, the highest first, and their costs; filled up with minus infinity.

    Among equal costs the first rows are taken. Very many equal rows may leave fewer than k different ones in sight.
    """
    order = costs.argsort(descending=True, stable=True)[: _IN_SIGHT * k]
    order = order[distinct_rows(ranks[order]).first.sort().values][:k]
    missing = k - len(order)
    costs = torch.cat([costs[order], costs.new_full((missing,), -math.inf)])
    return costs, torch.cat([ranks[order], ranks.new_zeros(missing, ranks.shape[1])])
