"""What MM-PL and trees are compared with, as scikit-learn estimators."""

from typing import Any

from torch import Tensor

from torchrank.estimators.label_ranking import LabelRankingClusterer
from torchrank.label_ranking.baselines import (
    kmeans_then_rank,
    naive_kmeans,
    one_rank,
    rank_clustering_tree,
)
from torchrank.label_ranking.rank_tree import LOOKAHEAD
from torchrank.rankings.surroundings import in_plain_surroundings


@in_plain_surroundings
class OneRank(LabelRankingClusterer):
    """1-Rank: the Borda ranking of all rows for everyone."""

    def _fitted(self, X: Tensor, Y: Tensor, seed: int) -> Any:
        return one_rank(X, Y)


@in_plain_surroundings
class KMeansRankClusterer(LabelRankingClusterer):
    """K-means on features, then a central ranking for each cluster.

    Args:
        n_clusters: K.
        center: "mallows", by Borda votes; or "plackett-luce", which refuses ties.
        n_starts: starts of K-means.
        random_state: seed or ``numpy.random.RandomState``.
    """

    def __init__(
        self, n_clusters: int = 10, *, center: str = "mallows", n_starts: int = 3, random_state: Any = None
    ) -> None:
        self.n_clusters = n_clusters
        self.center = center
        self.n_starts = n_starts
        self.random_state = random_state

    def _fitted(self, X: Tensor, Y: Tensor, seed: int) -> Any:
        return kmeans_then_rank(X, Y, self.n_clusters, center=self.center, n_starts=self.n_starts, seed=seed)


@in_plain_surroundings
class NaiveKMeansClusterer(LabelRankingClusterer):
    """K-means on features and label positions together.

    Args:
        n_clusters: K.
        n_starts: starts of K-means.
        random_state: seed or ``numpy.random.RandomState``.
    """

    def __init__(self, n_clusters: int = 10, *, n_starts: int = 3, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.n_starts = n_starts
        self.random_state = random_state

    def _fitted(self, X: Tensor, Y: Tensor, seed: int) -> Any:
        return naive_kmeans(X, Y, self.n_clusters, n_starts=self.n_starts, seed=seed)


@in_plain_surroundings
class RankClusteringTree(LabelRankingClusterer):
    """Clusters of rankings found without features, then a decision tree on the features.

    Args:
        n_clusters: K.
        method: "naive", "ebms" or "k-o-means"; see :func:`rank_clustering_tree`.
        min_leaf: fewest rows of a leaf.
        lookahead: see :class:`RankTreeClusterer`.
        random_state: seed or ``numpy.random.RandomState``.
        verbose: show a progress bar of the bandwidths of "ebms", or of the iterations of "k-o-means".
    """

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        method: str = "k-o-means",
        min_leaf: int = 5,
        lookahead: float = LOOKAHEAD,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.min_leaf = min_leaf
        self.lookahead = lookahead
        self.random_state = random_state
        self.verbose = verbose

    def _fitted(self, X: Tensor, Y: Tensor, seed: int) -> Any:
        return rank_clustering_tree(
            X,
            Y,
            self.n_clusters,
            method=self.method,
            min_leaf=self.min_leaf,
            lookahead=self.lookahead,
            seed=seed,
            progress=bool(self.verbose),
        )
