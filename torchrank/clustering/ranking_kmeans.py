"""k-means whose centers are rankings."""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from torchrank._docs import shares_arguments
from torchrank.clustering.arguments import ARGUMENTS
from torchrank.clustering.batched_fit import RankingCenters, fit_in_batches
from torchrank.clustering.centers import CENTERS, centers_of_margins, improved
from torchrank.clustering.lloyd import (
    Clusters,
    Geometry,
    KMeansFit,
    labels_of_all,
    lloyd,
    nearest_centers,
    shares_of,
)
from torchrank.clustering.seeds import check_clustering, start_labels
from torchrank.kernels.points import grouped, row_weights
from torchrank.linalg.state import GrowingBuffers
from torchrank.ops.rank import as_rankings
from torchrank.processes import Group
from torchrank.rankings.batches import Batched, as_batches, refuse_weights, refuse_without_batches
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import MISSING
from torchrank.rankings.orders import total_scores
from torchrank.rankings.pairs import discordant_with_centers, pair_signs, ranks_of_signs
from torchrank.rankings.prepared import Rankings, weights_said
from torchrank.rankings.unmapped import SEARCHES, unmapped
from torchrank.rankings.validate import Scores, check_choice
from torchrank.stream.arguments import ARGUMENTS as OF_BATCHES
from torchrank.stream.passes import Chunk, Passes, read_rankings
from torchrank.typing import Array, Center, Init, MissingWord, Values

_LEGAL = ("raise", "pairwise")
_REMEDY = 'pass missing="pairwise" to let unranked items cost nothing'


@isolated
@shares_arguments(ARGUMENTS, OF_BATCHES)
class RankingKMeans(GrowingBuffers, nn.Module):
    r"""k-means in which every cluster has a central ranking, and costs are pairs of items.

    Minimizes over clusters and central total rankings

    .. math:: \sum_j \sum_{i \in S_j} w_i\, n_d(x_i, \pi_j)

    (Jiao and Vert, IEEE TPAMI 40(7), 2018, equation 17) by Lloyd's algorithm from many starts at once. A pair of items
    that a ranking ties, or does not rank, costs nothing. Equal rankings are counted once. A cluster that becomes empty
    gets the ranking that costs most.

    With ``center="kemeny"`` every center is optimal for its cluster. Borda's and Copeland's need no search; they
    replace the center that was there only when they are better, so the objective never rises and the iteration ends.
    The signs of all pairs of items of the different rankings are held in memory, 4 n^2 bytes each.

    Args:
        n_clusters: c.
        center: "kemeny", "borda" or "copeland".
        missing: "raise" refuses unranked items, "pairwise" lets pairs with them cost nothing; None leaves it to
            prepared rankings, and is "raise" for scores.
        init: {init}
        n_init: {n_init}
        max_iter: {max_iter}

    Attributes:
        centers: ``(c, n)`` central rankings, int64 scores from 0 to n - 1, larger = preferred.
        filled: ``(c,)`` which centers have members.

    Raises:
        ValueError, TypeError: settings out of range.
    """

    centers: Tensor
    filled: Tensor

    def __init__(
        self,
        n_clusters: int,
        *,
        center: Center = "kemeny",
        missing: MissingWord | None = None,
        init: Init | Values = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
    ) -> None:
        super().__init__()
        check_clustering(n_clusters, init, n_init, max_iter)
        check_choice(center, "center", CENTERS)
        if missing in MISSING and missing not in _LEGAL:
            raise ValueError(
                f"missing={missing!r} is not for central rankings; choose 'raise' or 'pairwise', or cluster by "
                f"KernelKMeans({n_clusters!r}, kernel=KendallKernel(missing={missing!r}))"
            )
        if missing is not None:
            check_choice(missing, "missing", _LEGAL)
        self.n_clusters = n_clusters
        self.center: Center = center
        self.missing: MissingWord | None = missing
        self.init, self.n_init, self.max_iter = init, n_init, max_iter
        self.register_growing(centers=torch.empty((n_clusters, 0), dtype=torch.int64))
        self.register_buffer("filled", torch.zeros(n_clusters, dtype=torch.bool))

    @unmapped(SEARCHES)
    @torch.no_grad()
    def fit(
        self,
        X: Scores[Array] | Batched,
        weights: Values | None = None,
        *,
        generator: torch.Generator | None = None,
        progress: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        group: Group = None,
    ) -> KMeansFit[Array]:
        """Find clusters.

        Args:
            X: ``(m, n)`` rankings. {batches}
            weights: ``(m,)`` how much each counts, at least 0; None means 1 each. Those of batches come with them.
            generator: {generator}
            progress: {progress}
            checkpoint: {checkpoint}
            group: {group}

        Returns:
            The labels of all rows, and how they were reached. The objective counts weighted pairs of items. Rows in
            batches get no labels; the ``n_init`` starts are those of a sample of 16,384 rows, and the best goes on
            over all of them.

        Raises:
            ValueError: weights that are negative or all 0, unranked items with ``missing="raise"``, no rows.
            TypeError: scores that are not real numbers.

        Warns:
            ConvergenceWarning: ``max_iter`` was not enough.
            UserWarning: fewer different rows than clusters, so that some stay empty.
        """
        batches = as_batches(X)
        if batches is not None:
            refuse_weights(weights)
            passes = Passes(batches, self._chunk, group=group, title="k-means", progress=progress)
            return self._fit_in_batches(passes, generator, checkpoint)
        refuse_without_batches(checkpoint=checkpoint, group=group)
        rankings = self._ranks(X)
        ranks = rankings.ranks
        groups = grouped(ranks, row_weights(weights_said(X, weights), ranks))
        geometry = _RankingGeometry(ranks[groups.first], groups.weights, self.center)
        labels = start_labels(geometry, groups, self.n_clusters, self.init, self.n_init, generator)
        best = lloyd(geometry, labels, self.n_clusters, self.max_iter, progress)
        fit = best.fit.times(groups.unit)
        fit.warn_unless_sound(self.n_clusters, int(best.filled.sum()))
        self.centers, self.filled = best.centers.long(), best.filled
        self.remember(rankings.origin.items)
        labels = labels_of_all(fit.labels, groups, ranks, self._nearest)
        return replace(fit, labels=rankings.origin.wrap(labels))

    @torch.no_grad()
    def forward(self, X: Scores[Array]) -> Array:
        """Discordant pairs ``(m2, c)`` of rankings ``(m2, n)`` with the centers; infinite for those without members."""
        rankings = self._fitted_ranks(X)
        return rankings.origin.wrap(self._costs(rankings.ranks).mT.to(rankings.result_dtype))

    if TYPE_CHECKING:

        @override
        def __call__(self, X: Scores[Array]) -> Array: ...

    @torch.no_grad()
    def predict(self, X: Scores[Array]) -> Array:
        """Labels ``(m2,)`` int64 of the nearest centers, the first of equally near ones."""
        rankings = self._fitted_ranks(X)
        return rankings.origin.wrap(self._nearest(rankings.ranks))

    def extra_repr(self) -> str:
        """Settings, as ``print`` shows them."""
        return (
            f"n_clusters={self.n_clusters}, center={self.center!r}, missing={self.missing!r}, "
            f"n_init={self.n_init}, max_iter={self.max_iter}"
        )

    def _fit_in_batches(self, passes: Passes, generator: torch.Generator | None, checkpoint: Any) -> KMeansFit:
        def start(sample: Chunk) -> tuple[Tensor, Tensor]:
            other = copy.deepcopy(self)  # a fit that is broken off leaves this one as it was
            other.fit(sample.rankings, sample.weights, generator=generator)
            return pair_signs(other.centers), other.filled

        state, fit = fit_in_batches(
            passes,
            RankingCenters(self.center),
            start,
            init=self.init,
            n_clusters=self.n_clusters,
            max_iter=self.max_iter,
            generator=generator,
            checkpoint=checkpoint,
            plan={"model": "RankingKMeans", "center": self.center, "missing": self.missing, "n_init": self.n_init},
        )
        self.centers, self.filled = ranks_of_signs(state.centers, passes.first.shape[1]), state.filled
        self.remember(passes.first.origin.items)
        return fit

    def _chunk(self, X: Any, weights: Any) -> Chunk:
        return read_rankings(X, weights, missing=self.missing, remedy=_REMEDY, legal=_LEGAL)

    def _ranks(self, X: Any) -> Rankings:
        rankings = as_rankings(X, missing=self.missing, remedy=_REMEDY, legal=_LEGAL)
        if rankings.ndim != 2:
            raise ValueError(f"X has shape {tuple(rankings.shape)}; expected one matrix")
        return rankings

    def _fitted_ranks(self, X: Any) -> Rankings:
        if self.centers.shape[1] == 0:
            raise ValueError("this model has no clusters yet; call fit first")
        rankings = self._ranks(X)
        self.check_items(rankings.origin.items)
        if rankings.shape[1] != self.centers.shape[1]:
            raise ValueError(
                f"X has shape {tuple(rankings.shape)}; expected (rankings, {self.centers.shape[1]}), the items fitted"
            )
        return rankings

    def _costs(self, ranks: Tensor) -> Tensor:
        """``(c, m)`` discordant pairs, infinite for centers without members."""
        costs = discordant_with_centers(pair_signs(ranks), pair_signs(self.centers))
        return costs.masked_fill(~self.filled[:, None], torch.inf)

    def _nearest(self, ranks: Tensor) -> Tensor:
        return nearest_centers(self._costs(ranks), 0.0)[0]


class _RankingGeometry(Geometry):
    """Rankings by their pair signs; a center is a total ranking ``(n,)``."""

    def __init__(self, ranks: Tensor, weights: Tensor, method: str) -> None:
        self.ranks, self.weights, self.method = ranks, weights, method
        self.signs = pair_signs(ranks)
        self.tolerance = 0.0

    def points(self, rows: Tensor) -> Tensor:
        """Rankings by number as centers; what they tie is ordered by index."""
        return total_scores(self.ranks[rows], torch.int64)[:, None] - 1  # unranked items come last

    def centers(self, labels: Tensor, mass: Tensor, previous: Clusters | None) -> Tensor:
        """Central rankings of the clusters, or the previous ones where these are as good."""
        sums = shares_of(labels, mass.shape[1], self.weights) @ self.signs
        new = centers_of_margins(sums, mass, self.ranks.shape[-1], self.method)
        if previous is None:
            return new
        better = improved(pair_signs(new), pair_signs(previous.centers), sums)[1]
        return torch.where(better[..., None], new, previous.centers)

    def distances(self, centers: Tensor) -> Tensor:
        """Discordant pairs, whole numbers."""
        return discordant_with_centers(self.signs, pair_signs(centers))
