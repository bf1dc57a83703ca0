"""Label ranking: rankings of labels predicted from features, by clusters of rows whose rankings are alike."""

from torchrank.label_ranking.baselines import (
    FeatureClusters,
    kmeans_then_rank,
    naive_kmeans,
    one_rank,
    rank_clustering_tree,
)
from torchrank.label_ranking.fit import MMPLFit
from torchrank.label_ranking.mm_pl import MMPL
from torchrank.label_ranking.pruned_rank_tree import pruned_rank_tree
from torchrank.label_ranking.rank_tree import RankTree, rank_tree
from torchrank.label_ranking.settings import EMSettings

__all__ = [  # noqa: RUF022 - in the order of sorted()
    "EMSettings",
    "FeatureClusters",
    "MMPL",
    "MMPLFit",
    "RankTree",
    "kmeans_then_rank",
    "naive_kmeans",
    "one_rank",
    "pruned_rank_tree",
    "rank_clustering_tree",
    "rank_tree",
]
