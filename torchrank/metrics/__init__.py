"""How good a ranking, or a clustering, is."""

from torchrank.metrics.clustering import bootstrap_stability, rand_index, silhouette_samples, silhouette_score
from torchrank.metrics.conditional import ConditionalRankingError, concordance_index, conditional_ranking_error

__all__ = [
    "ConditionalRankingError",
    "bootstrap_stability",
    "concordance_index",
    "conditional_ranking_error",
    "rand_index",
    "silhouette_samples",
    "silhouette_score",
]
