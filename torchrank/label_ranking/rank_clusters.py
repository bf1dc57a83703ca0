"""Central rankings by clustering rankings alone: the first stage of the baselines with a feature rule."""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchrank._progress import progress_bar
from torchrank.kernels.kendall import kendall_distance
from torchrank.label_ranking.rankings import label_votes
from torchrank.label_ranking.training import TrainingRows
from torchrank.rankings.draws import numpy_generator
from torchrank.rankings.orders import total_scores

_NEIGHBORS = 20  # rows whose ranking completes a partial one
_DISTINCT = 2000  # rankings that blurring compares with each other
_BLURS = 50
_BANDWIDTHS = 10  # steps of the search for the bandwidth


class RankClusters(NamedTuple):
    """What a clustering of rankings found."""

    centers: Tensor  # (K, L) scores of the central rankings
    n_iter: int
    converged: bool


def most_frequent(
    rows: TrainingRows, n_clusters: int, generator: torch.Generator | None = None, progress: bool = False
) -> RankClusters:
    """The K most frequent rankings; partial ones are completed first, by their neighborhood."""
    orders = rows.votes.argsort(dim=-1, descending=True, stable=True)
    partial = (rows.ranks < 0).any(1)
    if bool(partial.any()):
        orders[partial] = _completed(rows, partial)
    distinct, counts = torch.unique(orders, dim=0, return_counts=True)
    top = distinct[counts.argsort(descending=True, stable=True)[:n_clusters]]
    points = torch.arange(orders.shape[1], 0, -1, dtype=torch.float64).expand_as(top)
    return RankClusters(torch.empty(top.shape, dtype=torch.float64).scatter_(1, top, points), 1, True)


def _completed(rows: TrainingRows, partial: Tensor) -> Tensor:
    """Orders of partial rankings with each unranked label put where it contradicts the neighbors' ranking least."""
    from scipy.spatial import KDTree

    from torchrank.cpu.completion import complete  # numba takes half a second to import

    X = rows.features
    neighbors = KDTree(X).query(X[partial.numpy()], k=min(_NEIGHBORS, len(X)))[1]
    votes = rows.votes[torch.from_numpy(neighbors.reshape(int(partial.sum()), -1))].mean(1)
    around = votes.argsort(dim=-1, descending=True, stable=True)
    orders = np.empty(around.shape, np.int64)
    complete(rows.ranks[partial].numpy(), around.numpy(), orders)
    return torch.from_numpy(orders)


def ebms(
    rows: TrainingRows, n_clusters: int, generator: torch.Generator | None = None, progress: bool = False
) -> RankClusters:
    """Exponential blurring mean-shift of Meilă and Bao (JMLR 11, 2010).

    Every ranking moves to the Borda ranking of all, weighted by exp(-lam * distance), until none moves. The smallest
    lam that leaves at least K places is searched for, and the Borda rankings of the rows that went to the K most
    populated ones are returned. More than 2,000 different rankings are sampled from.
    """
    ranks, counts = torch.unique(rows.ranks, dim=0, return_counts=True)
    if len(ranks) > _DISTINCT:
        drawn = numpy_generator(generator).choice(
            len(ranks), _DISTINCT, replace=False, p=(counts / counts.sum()).numpy()
        )
        ranks, counts = ranks[drawn], counts[drawn]
    scores = ranks.double().masked_fill(ranks < 0, torch.nan)
    votes = label_votes(ranks, "interleaving")
    low, high, home = 0.0, 8.0, torch.arange(len(ranks))
    for _ in progress_bar("blurring mean-shift", "bandwidth", range(_BANDWIDTHS), progress=progress):
        lam = (low + high) / 2
        found = _blurred(scores, votes, counts.double(), lam)
        if int(found.max()) + 1 >= n_clusters:
            high, home = lam, found
        else:
            low = lam
    sizes = torch.bincount(home, weights=counts.double())
    largest = sizes.argsort(descending=True, stable=True)[:n_clusters]
    sums = torch.zeros(len(sizes), ranks.shape[1], dtype=torch.float64).index_add_(0, home, votes * counts[:, None])
    return RankClusters(total_scores(sums / sizes[:, None])[largest], _BANDWIDTHS, True)


def _blurred(points: Tensor, votes: Tensor, weights: Tensor, lam: float) -> Tensor:
    """The number of the place where each ranking ends up; places are numbered from 0."""
    home = torch.arange(len(points))
    for _ in range(_BLURS):
        pull = weights * torch.exp(-lam * kendall_distance(points, tie_penalty=0.0, missing="pairwise"))
        moved = total_scores(pull @ votes / pull.sum(1, keepdim=True))
        if torch.equal(moved, points):
            break
        points, place = torch.unique(moved, dim=0, return_inverse=True)
        home, votes = place[home], points
        weights = torch.zeros(len(points), dtype=torch.float64).index_add_(0, place, weights)
    return home


def k_o_means(
    rows: TrainingRows,
    n_clusters: int,
    generator: torch.Generator | None = None,
    progress: bool = False,
    *,
    max_iter: int = 100,
) -> RankClusters:
    """K-o'means of Kamishima and Akaho (2009): Borda centers and Kendall distances by turns.

    Starts with a random division of the rows. A cluster that loses all its rows takes the row farthest from its center.
    """
    cluster = torch.from_numpy(numpy_generator(generator).permutation(np.arange(len(rows.X)) % n_clusters))
    centers = torch.zeros(n_clusters, rows.ranks.shape[1], dtype=torch.float64)
    n_iter, converged = 0, False
    for _ in progress_bar("k-o'means", "iteration", range(max_iter), progress=progress):
        n_iter += 1
        centers = rows.central_scores(cluster, centers)
        nearest, moved = rows.distances(centers).min(1)
        for k in (moved.bincount(minlength=n_clusters) == 0).nonzero()[:, 0]:
            farthest = int(nearest.argmax())
            moved[farthest], nearest[farthest] = k, -math.inf
        converged = torch.equal(moved, cluster)
        if converged:
            break
        cluster = moved
    return RankClusters(centers, n_iter, converged)
