"""Lloyd's algorithm in any geometry, from many starts at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol

import torch
from torch import Tensor
from tqdm import tqdm

from torchrank._progress import NoBar, show_starts, starts_bar
from torchrank._repr import short_repr
from torchrank._warnings import warn, warn_not_converged
from torchrank.evidence import Evidence
from torchrank.kernels.points import Groups
from torchrank.typing import Kind

BATCH_ELEMENTS = 2**24  # starts are run together while starts x clusters x rows stay below


class Clusters(NamedTuple):
    """Clusters of some starts."""

    labels: Tensor  # (s, m) int64
    mass: Tensor  # (s, c) float64 sums of weights
    most: Tensor  # (s, c) the largest that they were
    centers: Tensor  # (s, c, q)


class Nearest(NamedTuple):
    """The first of the cheapest centers of every point, in some starts, and sums over the points."""

    labels: Tensor  # (s, m) int64
    cost: Tensor  # (s, m)
    mass: Tensor  # (s, c) float64 sums of the weights of the points that go to each center
    objective: Tensor  # (s,) weighted sums of costs
    moved: Tensor  # (s,) int64 how many points had another label before

    @classmethod
    def of(cls, labels: Tensor, cost: Tensor, n_clusters: int, weights: Tensor, before: Tensor) -> Nearest:
        """With the sums that labels and costs have."""
        return cls(labels, cost, masses(labels, n_clusters, weights), cost @ weights, (labels != before).sum(-1))


class Geometry(Protocol):
    """What Lloyd's algorithm asks of m weighted points; centers are ``(s, c, q)`` whatever q means."""

    weights: Tensor  # (m,) float64
    tolerance: float  # distances that differ by less are equal

    def points(self, rows: Tensor) -> Tensor:
        """Points ``(s,)`` by number, each as the one center of a start: ``(s, 1, q)``."""
        ...

    def centers(self, labels: Tensor, mass: Tensor, previous: Clusters | None) -> Tensor:
        """Centers of the clusters that ``labels`` ``(s, m)`` of this ``mass`` make; anything for empty ones."""
        ...

    def distances(self, centers: Tensor) -> Tensor:
        """What every point costs at every center, ``(s, c, m)``."""
        ...

    def costs_at(self, rows: Tensor) -> Tensor:
        """What every point costs at the points ``(s, k)`` by number, ``(s, k, m)``."""
        return self.distances(self.points(rows.reshape(-1)).reshape(*rows.shape, -1))

    def nearest(self, centers: Tensor, filled: Tensor, labels: Tensor) -> Nearest:
        """The first of the cheapest centers that are ``filled`` ``(s, c)``; the points were labelled ``(s, m)``."""
        costs = self.distances(centers).masked_fill(~filled[..., None], math.inf)
        return Nearest.of(*nearest_centers(costs, self.tolerance), centers.shape[1], self.weights, labels)


@dataclass(frozen=True, kw_only=True)
class KMeansFit(Evidence, Generic[Kind]):
    """Labels, and the evidence for them; ``reason`` is "tolerance" or "max_iter".

    The objective is the weighted sum of what the rows cost at their centers, and never rises but for rounding; losses
    are the last objective of each start.
    """

    labels: Kind  # (m,) int64, the nearest of the centers; None of rows in batches, for which predict gives them

    __repr__ = short_repr

    def times(self, unit: float) -> KMeansFit:
        """The same for weights multiplied by ``unit``."""
        objective, losses = (tuple(unit * value for value in values) for values in (self.objective, self.losses))
        return replace(self, objective=objective, losses=losses)

    def warn_unless_sound(self, n_clusters: int, filled: int) -> None:
        """Warn of clusters that stay empty, or else of an iteration that was cut short."""
        if filled < n_clusters:
            warn(
                f"{n_clusters - filled} of n_clusters={n_clusters} clusters stay empty: "
                f"the {filled} others hold all rows at no cost, as there are too few different rows"
            )
        elif not self.converged:
            by = f"by {self.objective[-2] - self.objective[-1]:.3g} " if len(self.objective) > 1 else ""
            warn_not_converged(
                f"k-means did not converge in {self.n_iter} iterations: the last one lowered the objective "
                f"{by}to {min(self.losses):.6g}; raise max_iter"
            )


class BestStart(NamedTuple):
    """The start that ended lowest, the first of those that are equal but for rounding."""

    fit: KMeansFit
    members: Tensor  # (m,) the labels that the last centers were computed from
    centers: Tensor  # (c, q)
    filled: Tensor  # (c,) which centers have members


def lloyd(
    geometry: Geometry,
    labels: Tensor,
    n_clusters: int,
    max_iter: int,
    progress: bool = False,
    *,
    moving: float = 0.0,
) -> BestStart:
    """Run Lloyd's algorithm from all starts and keep the first that ends lowest.

    Every iteration computes the centers of the present clusters and moves every point to its nearest center, the first
    of equally near ones. A cluster that this empties gets the point that costs most. A start has converged when no
    point moves, or no more than a share of them, or when the objective stays. Its labels and its objective belong to
    its last centers.

    Args:
        geometry: the points.
        labels: ``(s, m)`` to start from, in ``[0, n_clusters)``.
        n_clusters: c.
        max_iter: most iterations.
        progress: show a progress bar of starts.
        moving: share of the points that may still move when a start has converged.
    """
    step = max(1, BATCH_ELEMENTS // max(1, n_clusters * labels.shape[1]))
    with starts_bar(len(labels), "k-means", progress) as bar:
        runs = [_run(geometry, batch, n_clusters, max_iter, bar, moving) for batch in labels.split(step)]
    best = runs[_lowest([run.fit.objective[-1] for run in runs], geometry)]
    losses = tuple(loss for run in runs for loss in run.fit.losses)
    return best._replace(fit=replace(best.fit, losses=losses))


def _run(
    geometry: Geometry, labels: Tensor, n_clusters: int, max_iter: int, bar: tqdm[Any] | NoBar[Any], moving: float
) -> BestStart:
    """Lloyd's algorithm from starts that go together; those that have converged drop out."""
    (s, m), weights = labels.shape, geometry.weights
    active = torch.arange(s, device=labels.device)
    ended, converged = torch.zeros_like(active), torch.zeros_like(active, dtype=torch.bool)
    objectives = torch.full((s,), math.inf, dtype=torch.float64, device=labels.device)
    kept: dict[int, tuple[Tensor, Clusters]] = {}
    traces, clusters, mass = [], None, masses(labels, n_clusters, weights)
    for n_iter in range(1, max_iter + 1):
        filled = mass > 0
        most = mass if clusters is None else torch.maximum(mass, clusters.most)
        clusters = Clusters(labels, mass, most, geometry.centers(labels, mass, clusters))
        nearest, cost, mass, objective, moved = geometry.nearest(clusters.centers, filled, labels)
        reseeded = _fill_empty(nearest, cost, mass, geometry)
        stays = objective >= objectives[active] - geometry.tolerance * weights.sum()
        if reseeded is not nearest:
            stays &= (reseeded == nearest).all(-1)
            mass, moved = masses(reseeded, n_clusters, weights), (reseeded != labels).sum(-1)
        done = (moved <= moving * m) | stays
        objectives[active], ended[active], converged[active] = objective, n_iter, done
        traces.append(objectives.clone())
        ending = done.tolist() if n_iter < max_iter else [True] * len(active)
        for place in (place for place, ends in enumerate(ending) if ends):
            own = Clusters(*(part[place].clone() for part in clusters))
            kept[int(active[place])] = nearest[place].clone(), own
        show_starts(bar, n_iter, sum(ending), objectives.min())
        labels = reseeded
        if any(ending):
            going = [place for place, ends in enumerate(ending) if not ends]
            active, labels, mass = active[going], labels[going], mass[going]
            clusters = Clusters(*(part[going] for part in clusters))
        if len(active) == 0:
            break
    best = _lowest(objectives.tolist(), geometry)
    n_iter = int(ended[best])
    trace = tuple(float(objective[best]) for objective in traces[:n_iter])
    nearest, own = kept[best]
    fit = KMeansFit(
        labels=nearest,
        objective=trace,
        losses=tuple(objectives.tolist()),
        n_iter=n_iter,
        converged=bool(converged[best]),
        reason="tolerance" if converged[best] else "max_iter",
    )
    return BestStart(fit, own.labels, own.centers, own.mass > 0)


def _lowest(objectives: list[float], geometry: Geometry) -> int:
    """Number of the first of the lowest: starts often end in the same clusters, by other names, but for rounding."""
    highest = min(objectives) + geometry.tolerance * float(geometry.weights.sum())
    return next((start for start, objective in enumerate(objectives) if objective <= highest), 0)


def nearest_centers(costs: Tensor, tolerance: float) -> tuple[Tensor, Tensor]:
    """The first of the cheapest centers, costs within ``tolerance`` being equal, and its cost; both ``(..., m)``."""
    limit = costs.amin(dim=-2) + tolerance
    last = costs.shape[-2] - 1
    labels = torch.full(limit.shape, last, dtype=torch.int64, device=costs.device)
    for center in range(last - 1, -1, -1):  # many times faster than argmax across this dimension
        labels.masked_fill_(costs[..., center, :] <= limit, center)
    return labels, costs.gather(-2, labels.unsqueeze(-2)).squeeze(-2)


def labels_of_all(labels: Tensor, groups: Groups, rows: Any, predict: Callable[[Any], Tensor]) -> Tensor:
    """Labels ``(m,)`` of all ``rows`` from those of the points ``(u,)``; rows that take no part are predicted."""
    counted, labels = groups.counted, labels[groups.inverse]
    if len(labels) == len(counted):
        return labels
    everywhere = torch.empty(len(counted), dtype=torch.int64, device=labels.device)
    everywhere[counted], everywhere[~counted] = labels, predict(rows[~counted])
    return everywhere


def _fill_empty(labels: Tensor, cost: Tensor, mass: Tensor, geometry: Geometry) -> Tensor:
    """Give every empty cluster the farthest point, unless all points cost nothing; the labels."""
    empty = (mass == 0).nonzero().tolist()
    if not empty:
        return labels
    labels, cost = labels.clone(), cost * (geometry.weights > 0)
    for start, cluster in empty:
        farthest = int(cost[start].argmax())
        if cost[start, farthest] > geometry.tolerance:
            labels[start, farthest], cost[start, farthest] = cluster, 0
    return labels


def shares_of(labels: Tensor, n_clusters: int, weights: Tensor) -> Tensor:
    """What every point contributes to every cluster, ``(s, c, m)`` float64, of labels ``(s, m)``."""
    clusters = torch.arange(n_clusters, device=labels.device)
    return (labels[:, None] == clusters[:, None]) * weights


def masses(labels: Tensor, n_clusters: int, weights: Tensor) -> Tensor:
    """Sums ``(s, c)`` float64 of the weights ``(m,)`` of points by labels ``(s, m)``."""
    if labels.device.type != "cpu":  # scattered there they would be added in an order of its own every time
        return shares_of(labels, n_clusters, weights).sum(-1)
    total = weights.new_zeros((len(labels), n_clusters))
    return total.scatter_add_(1, labels, weights.expand(labels.shape))
