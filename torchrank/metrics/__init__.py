"""How good a ranking, or a clustering, is."""

from torchrank.metrics.clustering import bootstrap_stability, rand_index, silhouette_samples, silhouette_score
from torchrank.metrics.conditional import ConditionalRankingError, concordance_index, conditional_ranking_error
from torchrank.metrics.label_ranking import (
    d_feat,
    d_knh,
    delta_rank,
    discordant_shares,
    label_ranking_loss,
    label_ranking_tau,
)

__all__ = [
    "ConditionalRankingError",
    "bootstrap_stability",
    "concordance_index",
    "conditional_ranking_error",
    "d_feat",
    "d_knh",
    "delta_rank",
    "discordant_shares",
    "label_ranking_loss",
    "label_ranking_tau",
    "rand_index",
    "silhouette_samples",
    "silhouette_score",
]
