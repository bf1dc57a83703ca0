"""The E-step of a mixture of Mallows distributions on rankings that come in batches."""

import functools
import operator
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from torchrank.clustering.center_sums import CenterSums, center_sums
from torchrank.distributions.choices import MISSING
from torchrank.distributions.mallows_law import log_partitions
from torchrank.mixtures.mallows_parameters import MallowsParameters
from torchrank.mixtures.partial_rankings import REMEDY, PartialPoints, check_rows, partial_rankings
from torchrank.mixtures.statistics import MixtureStatistics, memberships
from torchrank.rankings.missing import Missing
from torchrank.rankings.pairs import n_pairs
from torchrank.rankings.partial_orders import PartialOrders
from torchrank.rankings.prepared import Rankings
from torchrank.stream.passes import Chunk, read_rankings

_BLOCK_BYTES = 2**25  # of pair signs of partial rankings that are held at a time


@dataclass(frozen=True)
class BatchedRows:
    """How the rows of a mixture are read; see :class:`torchrank.MallowsMixture` for the settings."""

    n_items: int
    missing: Missing
    ties: str
    n_samples: int

    def plan(self) -> dict[str, Any]:
        """What a checkpoint has to agree in."""
        missing = self.missing if self.missing is None or isinstance(self.missing, str) else repr(self.missing)
        return {"model": "MallowsMixture", **asdict(self), "missing": missing}

    def read(self, X: Any, weights: Any) -> Chunk:
        """A batch, checked."""
        if isinstance(X, PartialOrders):
            raise TypeError("X are preferences, which come in no batches; pass all of them at once")
        chunk = read_rankings(X, weights, missing=self.missing, remedy=REMEDY, legal=MISSING)
        check_rows(chunk.rankings.ranks, self.n_items, self.ties)
        return chunk

    def points(self, rankings: Rankings) -> PartialPoints:
        """Rows as what probabilities depend on."""
        words = {"missing": None, "ties": self.ties, "n_samples": self.n_samples}
        return partial_rankings(rankings, self.n_items, None, training=False, **words)[0]

    def statistics(self, chunk: Chunk, parameters: MallowsParameters) -> MixtureStatistics:
        """Of the E-step; of total rankings without keeping their pair signs."""
        log_shares, centers, lam = parameters
        if not chunk.rankings.untied:
            return self._summed(chunk, lambda part, _: self._of_partial(part, parameters))
        n = self.n_items
        engine = center_sums(centers, n)
        discordant = (n_pairs(n) - engine.products(chunk.rankings)) / 2
        log_partition = log_partitions(lam, lam.new_zeros(1, n - 1)).mT
        log_likelihood, shares = memberships((log_shares - lam * discordant - log_partition).mT, chunk.weights)
        return self._of_total(chunk, engine, shares, log_likelihood)

    def of_shares(self, chunk: Chunk, shares: Tensor) -> MixtureStatistics:
        """Of given memberships ``(c, r)``, for a start."""
        nothing = shares.new_zeros(())
        if chunk.rankings.untied:
            engine = center_sums(shares.new_zeros(len(shares), n_pairs(self.n_items)), self.n_items)
            return self._of_total(chunk, engine, shares, nothing)

        def of_partial(part: Chunk, places: Tensor) -> MixtureStatistics:
            own = shares[:, places.to(shares.device)]
            return MixtureStatistics(own.sum(-1), self.points(part.rankings).moments(own, None, None), nothing)

        return self._summed(chunk, of_partial)

    def _of_total(self, chunk: Chunk, engine: CenterSums, shares: Tensor, log_likelihood: Tensor) -> MixtureStatistics:
        sums = engine.weighted_sums(chunk.rankings, shares.mT)
        moments = torch.cat([sums, sums.new_zeros(len(sums), self.n_items - 1)], -1)  # no groups without an order
        return MixtureStatistics(shares.sum(-1), moments, log_likelihood)

    def _of_partial(self, chunk: Chunk, parameters: MallowsParameters) -> MixtureStatistics:
        points = self.points(chunk.rankings)
        log_shares, centers, lam = parameters
        joint = log_shares[:, None] + points.log_probabilities(centers, lam)
        log_likelihood, shares = memberships(joint, chunk.weights)
        return MixtureStatistics(shares.sum(-1), points.moments(shares, centers, lam), log_likelihood)

    def _summed(self, chunk: Chunk, work: Callable[[Chunk, Tensor], MixtureStatistics]) -> MixtureStatistics:
        """What parts of the rows, few enough to keep their pair signs, add up to."""
        rows = max(1, _BLOCK_BYTES // (8 * n_pairs(self.n_items)))
        parts = [work(chunk.take(places), places) for places in torch.arange(len(chunk.weights)).split(rows)]
        return functools.reduce(operator.add, parts)
