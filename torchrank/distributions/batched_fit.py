"""Fits of Plackett-Luce worths to rankings in batches: a pass over all rows evaluates likelihood and derivatives."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchrank.distributions.ascent import Objective, Reached
from torchrank.distributions.choice_lists import ChoiceLists, choice_lists, one_set
from torchrank.distributions.choices import TIES_OR
from torchrank.distributions.connectivity import edges_of, groups_of, refuse_groups
from torchrank.distributions.likelihood import PlackettLuceObjective
from torchrank.distributions.maximum import maximum, method_for
from torchrank.distributions.plackett_luce_fit import PlackettLuceFit, with_origin
from torchrank.distributions.priors import LogPrior, Prior, log_prior
from torchrank.distributions.tied_likelihood import TiedObjective
from torchrank.processes import Group, joined
from torchrank.rankings.batches import Batches
from torchrank.rankings.missing import Missing
from torchrank.rankings.sparse import SparseRankings
from torchrank.rankings.sparse_forms import from_rankings
from torchrank.stream.passes import Chunk, Passes, weights_of
from torchrank.stream.sums import Sums


def fit_in_batches(
    batches: Batches,
    *,
    missing: Missing,
    ties: str,
    prior: Prior,
    method: str,
    covariance: Callable[[int, Any], str | list[int]],
    tol: float,
    max_iter: int,
    progress: bool,
    checkpoint: Any,
    group: Group,
) -> PlackettLuceFit:
    """See :func:`torchrank.fit_plackett_luce`; ``covariance`` checks that argument for n items and their names."""
    if method == "mm":
        raise ValueError('method="mm" takes no rows in batches; pass method="auto"')

    def read(X: Any, weights: Any) -> Chunk:
        rankings = one_set(X, missing)
        sparse = rankings if isinstance(rankings, SparseRankings) else from_rankings(rankings, "X")
        if ties == "raise":
            sparse.refuse_ties("X", TIES_OR + 'ties="davidson"')
        return Chunk(replace(sparse, origin=rankings.origin), weights_of(X, weights, rankings))

    with Passes(batches, read, group=group, title="Plackett-Luce", progress=progress) as passes:
        words = {"missing": repr(missing), "ties": ties, "prior": repr(prior), "method": method, "tol": float(tol)}
        facts, keeper, kept = passes.begin({"model": "Plackett-Luce", **words}, checkpoint, max_iter)
        first = passes.first
        n, device = first.n_items, first.ranks.device
        asked = covariance(n, first.origin.items)
        log_prior_ = log_prior(prior, n, device)
        method = method_for(method, n)
        preferences = passes.total(lambda chunk: _preferences(chunk, ties != "raise"))
        if log_prior_ is None:
            refuse_groups(groups_of(*preferences.edges(), n))
        sizes = torch.from_numpy(preferences.sizes).to(device)
        objective = StreamedObjective(passes, log_prior_, n, sizes, ties=ties != "raise", matrix=method == "newton")
        fit = maximum(
            objective,
            n,
            sizes,
            ties=ties != "raise",
            total=facts.weight,
            method=method,
            covariance=asked,
            tol=tol,
            max_iter=max_iter,
            reached=None if kept is None else Reached(kept["parameters"].to(device), kept["trace"], kept["steepest"]),
            save=lambda reached: keeper.save(reached._asdict(), None),
        )
    return with_origin(fit, first.origin, asked)


@dataclass(frozen=True)
class Preferences:
    """Which items were preferred to which, and how many were tied."""

    keys: np.ndarray  # (e,) int64 sorted different edges, start * 2^32 + end
    nodes: int
    sizes: np.ndarray  # (t,) int64 sorted different numbers of items chosen together, above 1

    def __add__(self, other: "Preferences") -> "Preferences":
        keys, sizes = np.union1d(self.keys, other.keys), np.union1d(self.sizes, other.sizes)
        return Preferences(keys, max(self.nodes, other.nodes), sizes)

    def over(self, group: Group) -> "Preferences":
        """Those of all processes of a group."""
        keys, sizes, nodes = (joined(part, group) for part in (self.keys, self.sizes, np.array([self.nodes])))
        return Preferences(np.unique(keys), int(nodes.max()), np.unique(sizes))

    def edges(self) -> tuple[np.ndarray, np.ndarray, int]:
        """From items to items that they were preferred to, and the number of nodes."""
        return self.keys >> 32, self.keys & 0xFFFFFFFF, self.nodes


def _preferences(chunk: Chunk, ties: bool) -> Preferences:
    lists = choice_lists(chunk.rankings, chunk.weights)
    start, end, nodes = edges_of(lists, ties)
    keys = np.unique(start.astype(np.int64) << 32 | end.astype(np.int64))
    sizes = TiedObjective(lists, None).sizes.cpu().numpy() if ties else np.zeros(0, np.int64)
    return Preferences(keys, nodes, sizes)


@dataclass(frozen=True)
class PointSums(Sums):
    """Of the log-likelihood of some rows, without a prior."""

    log_likelihood: Tensor  # ()
    gradient: Tensor  # (q,)
    diagonal: Tensor  # (q,) of the information
    information: Tensor  # (q, q), or (0, 0) where it is not asked for


@dataclass(frozen=True)
class _Product(Sums):
    values: Tensor  # (q,)


class StreamedObjective(Objective):
    """Log-likelihood of all rows, plus a prior's logarithm of the n logits; ``matrix`` asks for second derivatives."""

    def __init__(
        self, passes: Passes, prior: LogPrior | None, n: int, sizes: Tensor, *, ties: bool, matrix: bool
    ) -> None:
        self.passes, self.prior, self.n, self.sizes, self.ties, self.matrix = passes, prior, n, sizes, ties, matrix
        logits = torch.arange(n + len(sizes), device=sizes.device) < n
        self.level = None if prior is not None and prior.fixes_level else logits.double()

    def at(self, parameters: Tensor) -> "StreamedPoint":
        """Evaluate it, by a pass."""
        return StreamedPoint(self, parameters)

    def of_lists(self, lists: ChoiceLists) -> Objective:
        """That of some rows, without the prior."""
        return TiedObjective(lists, None, self.sizes) if self.ties else PlackettLuceObjective(lists, None)


class StreamedPoint:
    """The objective at some parameters."""

    def __init__(self, objective: StreamedObjective, parameters: Tensor) -> None:
        self.objective, self.parameters = objective, parameters
        self.sums = objective.passes.total(self._sums)
        self.log_likelihood = float(self.sums.log_likelihood)
        self.value, self.gradient = self.log_likelihood, self.sums.gradient
        prior, n = objective.prior, objective.n
        if prior is not None:
            self.value += float(prior.value(parameters[:n]))
            self.gradient = self._with_logits(self.gradient, prior.gradient(parameters[:n]))

    def product(self, x: Tensor) -> Tensor:
        """The information, minus the second derivatives, times ``x``; by a pass unless the matrix is known."""
        prior, n = self.objective.prior, self.objective.n
        if len(self.sums.information):
            found = self.sums.information @ x
        else:
            found = self.objective.passes.total(lambda chunk: _Product(self._point(chunk).product(x))).values
        if prior is None:
            return found
        return self._with_logits(found, prior.product(self.parameters[:n], x[:n, None])[:, 0])

    def diagonal(self) -> Tensor:
        """Of the information."""
        prior, n = self.objective.prior, self.objective.n
        own = self.sums.diagonal
        return own if prior is None else self._with_logits(own, prior.diagonal(self.parameters[:n]))

    def information(self) -> Tensor:
        """``(q, q)``."""
        prior, n = self.objective.prior, self.objective.n
        found = self.sums.information
        if len(found) < len(self.parameters):
            found = self.objective.passes.total(lambda chunk: _Product(self._point(chunk).information())).values
        if prior is None:
            return found
        eye = torch.eye(n, dtype=found.dtype, device=found.device)
        found = found.clone()
        found[:n, :n] += prior.product(self.parameters[:n], eye)
        return found

    def _sums(self, chunk: Chunk) -> PointSums:
        point = self._point(chunk)
        value = self.parameters.new_tensor(point.log_likelihood)
        information = point.information() if self.objective.matrix else self.parameters.new_zeros(0, 0)
        return PointSums(value, point.gradient, point.diagonal(), information)

    def _point(self, chunk: Chunk) -> Any:
        lists = choice_lists(chunk.rankings, chunk.weights)
        return self.objective.of_lists(lists).at(self.parameters)

    def _with_logits(self, values: Tensor, of_logits: Tensor) -> Tensor:
        """``values`` (q,) with ``of_logits`` (n,) added to the first of them."""
        return torch.cat([values[: len(of_logits)] + of_logits, values[len(of_logits) :]])
