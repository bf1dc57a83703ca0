"""Fits of k-means to rankings in batches: where they start, and what their centers are."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torchrank._warnings import quietly
from torchrank.clustering.center_sums import CenterSums, Costs, center_sums, nearest_centers, relative_costs
from torchrank.clustering.centers import centers_of_margins, improved
from torchrank.clustering.lloyd import KMeansFit, masses
from torchrank.clustering.seeds import init_in_plan, one_set_of_labels
from torchrank.clustering.streamed import Centers, State, streamed_lloyd
from torchrank.processes import stacked
from torchrank.rankings.arrays import Matrix
from torchrank.rankings.orders import total_scores
from torchrank.rankings.pairs import n_pairs, pair_signs
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.validate import check_generator
from torchrank.stream.passes import Chunk, Passes

_SAMPLE = 16_384  # rows that starts are fitted to
_TOLERANCE = 1e-12  # of squared distances between vectors of norm 1


class KendallCenters(Centers):
    """Means of feature vectors of the Kendall kernel, pair signs divided by their norm, as :class:`Centers`.

    Sums are those of signs times the norm of an untied ranking: whole numbers where no row is tied or weighted.
    """

    tolerance = _TOLERANCE

    def __init__(self, variant: str) -> None:
        self.variant = variant

    def costs(self, rankings: Rankings, centers: Tensor) -> Costs:
        """Squared distances."""
        strict = rankings.strict.double()
        norm = self._norms(rankings)
        own = strict / torch.where(norm > 0, norm.square(), 1)
        lean = torch.where(norm > 0, 1 / norm, 0)
        return Costs(own, lean, centers.square().sum(-1))

    def load(self, chunk: Chunk) -> Tensor:
        """Weights, times the norm of an untied ranking divided by its own."""
        norm = self._norms(chunk.rankings)
        whole = math.sqrt(n_pairs(chunk.rankings.shape[1]))
        return chunk.weights * torch.where(norm > 0, whole / norm, 0)

    def of_sums(self, sums: Tensor, counts: Tensor, previous: Tensor | None) -> Tensor:
        """Means."""
        return sums / (torch.where(counts > 0, counts, 1) * math.sqrt(sums.shape[1]))[:, None]

    def of_ranks(self, ranks: Tensor) -> Tensor:
        """Feature vectors."""
        signs = pair_signs(ranks)
        norms = signs.square().sum(-1) if self.variant == "b" else torch.full_like(signs[:, 0], signs.shape[1])
        return signs / norms.clamp(min=1).sqrt()[:, None]

    def relative(self, rankings: Rankings, means: Tensor, norms: Tensor) -> Tensor:
        """Squared distances ``(r, c)`` to means of squared ``norms``, less k(x, x)."""
        return relative_costs(_engine(rankings, means), rankings, self.costs(rankings, means)._replace(offset=norms))

    def mean_of(self, rankings: Rankings, coefficients: Tensor) -> Tensor:
        """``(c, p)`` sums of the feature vectors of rankings, weighted by ``coefficients`` (c, r)."""
        nothing = coefficients.new_zeros(len(coefficients), n_pairs(rankings.shape[1]))
        lean = self.costs(rankings, nothing).lean
        return _engine(rankings, nothing).weighted_sums(rankings, (coefficients * lean).mT)

    def nearest(self, rankings: Rankings, means: Tensor, norms: Tensor) -> Tensor:
        """``(r,)`` the nearest of the means that have finite norms."""
        costs = self.costs(rankings, means)._replace(offset=norms)
        return nearest_centers(_engine(rankings, means), rankings, costs, self.tolerance)[0]

    def _norms(self, rankings: Rankings) -> Tensor:
        strict = rankings.strict.double()
        return strict.sqrt() if self.variant == "b" else torch.full_like(strict, n_pairs(rankings.shape[1])).sqrt()


def _engine(rankings: Rankings, centers: Tensor) -> CenterSums:
    return center_sums(centers, rankings.shape[1])


class RankingCenters(Centers):
    """Central rankings, as :class:`Centers`; costs are discordant pairs, whole numbers."""

    tolerance = 0.0

    def __init__(self, method: str) -> None:
        self.method = method

    def costs(self, rankings: Rankings, centers: Tensor) -> Costs:
        """Half of the pairs that a ranking orders, less half of the agreement."""
        own = rankings.strict.double() / 2
        return Costs(own, torch.full_like(own, 0.25), own.new_zeros(len(centers)))

    def load(self, chunk: Chunk) -> Tensor:
        """Weights."""
        return chunk.weights

    def of_sums(self, sums: Tensor, counts: Tensor, previous: Tensor | None) -> Tensor:
        """Central rankings, or the previous ones where these are as good."""
        n = (1 + math.isqrt(1 + 8 * sums.shape[1])) // 2
        return improved(pair_signs(centers_of_margins(sums, counts, n, self.method)), previous, sums)[0]

    def of_ranks(self, ranks: Tensor) -> Tensor:
        """Rankings, of which what they tie is ordered by index, and unranked items come last."""
        return pair_signs(total_scores(ranks, torch.int64))


def fit_in_batches(
    passes: Passes,
    kind: Centers,
    start: Callable[[Chunk], tuple[Tensor, Tensor]],
    *,
    init: str | Matrix,
    n_clusters: int,
    max_iter: int,
    generator: torch.Generator | None,
    checkpoint: Any,
    plan: dict[str, Any],
) -> tuple[State, KMeansFit]:
    """Fit to all rows from where a fit to a sample of them ends, or from labels.

    Args:
        passes: the rows.
        kind: what centers are.
        start: fits to a sample, and gives its centers ``(c, p)`` and which of them have members.
        init: words are for ``start``; or labels ``(m,)`` of all rows in the order in which they come.
        n_clusters: c.
        max_iter: most passes.
        generator: source of the sample and of its starts.
        checkpoint: file that the state is kept in after every pass, or None.
        plan: what a checkpoint has to agree in, beside the rows.
    """
    check_generator(generator)
    with passes, quietly():
        plan = plan | {"n_clusters": n_clusters, "init": init_in_plan(init)}
        labeled = not isinstance(init, str)
        facts, keeper, kept = passes.begin(plan, checkpoint, max_iter, generator, _SAMPLE, labeled=labeled)
        if kept is not None:
            state = State.of_dict(kept, passes.first.ranks.device)
        elif isinstance(init, str):
            centers, filled = start(facts.sample)
            group = passes.group  # of which each process may have drawn other starts
            state = State(stacked(centers, group)[0], stacked(filled, group)[0])
        else:
            state = _from_labels(passes, kind, one_set_of_labels(init, facts.n_rows, n_clusters), n_clusters)

        def save(state: State) -> None:
            keeper.save(state.as_dict(), generator)

        if kept is None:
            save(state)
        state, fit = streamed_lloyd(passes, kind, state, max_iter, save)
    fit.warn_unless_sound(n_clusters, int(state.filled.sum()))
    return state, fit


def _from_labels(passes: Passes, kind: Centers, labels: Tensor, n_clusters: int) -> State:
    """The centers of given clusters ``(m,)``."""
    sums, counts = None, None
    for chunk, own in passes.with_labels(labels):
        nothing = chunk.weights.new_zeros(n_clusters, n_pairs(chunk.rankings.shape[1]))
        part = _engine(chunk.rankings, nothing).sums(chunk.rankings, own, kind.load(chunk))
        count = masses(own[None], n_clusters, chunk.weights)[0]
        sums, counts = (part, count) if sums is None or counts is None else (sums + part, counts + count)
    assert sums is not None
    assert counts is not None
    return State(kind.of_sums(sums, counts, None), counts > 0)
