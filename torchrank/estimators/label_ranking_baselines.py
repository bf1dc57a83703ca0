"""What MM-PL and trees are compared with, as scikit-learn estimators."""

from typing import Any

import torch
from torch import Tensor

from torchrank.estimators.label_ranking import LabelRanker
from torchrank.evidence import Evidence
from torchrank.label_ranking.baselines import FeatureClusters, kmeans_then_rank, naive_kmeans, one_rank
from torchrank.rankings.isolation import isolated
from torchrank.typing import FeatureCenter


@isolated
class OneRank(LabelRanker):
    """1-Rank: the Borda ranking of all rows for everyone."""

    def _fitted(self, X: Tensor, Y: Tensor, generator: torch.Generator) -> tuple[FeatureClusters, Evidence]:
        model = one_rank(X, Y)
        return model, model.evidence


@isolated
class KMeansRank(LabelRanker):
    """K-means on features, then a central ranking for each cluster: :func:`torchrank.kmeans_then_rank`.

    Args:
        n_clusters: K.
        center: "mallows", by Borda votes; or "plackett-luce", which refuses ties.
        n_init: starts of K-means, of which the best is kept.
        max_iter: most iterations of a start.
        random_state: seed or ``numpy.random.RandomState``.
    """

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        center: FeatureCenter = "mallows",
        n_init: int = 3,
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.center: FeatureCenter = center
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _fitted(self, X: Tensor, Y: Tensor, generator: torch.Generator) -> tuple[FeatureClusters, Evidence]:
        model = kmeans_then_rank(
            X,
            Y,
            self.n_clusters,
            center=self.center,
            n_init=self.n_init,
            max_iter=self.max_iter,
            generator=generator,
        )
        return model, model.evidence


@isolated
class NaiveKMeans(LabelRanker):
    """K-means on features and label positions together: :func:`torchrank.naive_kmeans`.

    Args:
        n_clusters: K.
        n_init: starts of K-means, of which the best is kept.
        max_iter: most iterations of a start.
        random_state: seed or ``numpy.random.RandomState``.
    """

    def __init__(self, n_clusters: int = 10, *, n_init: int = 3, max_iter: int = 300, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _fitted(self, X: Tensor, Y: Tensor, generator: torch.Generator) -> tuple[FeatureClusters, Evidence]:
        model = naive_kmeans(X, Y, self.n_clusters, n_init=self.n_init, max_iter=self.max_iter, generator=generator)
        return model, model.evidence
