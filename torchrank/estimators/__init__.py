"""Adapters to scikit-learn, which this package alone of torchrank imports."""

from torchrank.estimators.classification import AllPairsMajorityVote, TopScoringPairs, TSPSelector
from torchrank.estimators.classification_kernels import GramNormalizer, KernelFisherDiscriminant
from torchrank.estimators.clustering import KernelKMeans, RankingKMeans
from torchrank.estimators.kronecker import KroneckerRLS
from torchrank.estimators.kronecker_cv import KroneckerRLSCV
from torchrank.estimators.label_ranking import (
    KMeansRankClusterer,
    MMPLClusterer,
    NaiveKMeansClusterer,
    OneRank,
    RankClusteringTree,
    RankTreeClusterer,
)
from torchrank.estimators.mixtures import KernelGaussianMixture, KernelMallowsMixture, MallowsMixture

__all__ = [
    "AllPairsMajorityVote",
    "GramNormalizer",
    "KMeansRankClusterer",
    "KernelFisherDiscriminant",
    "KernelGaussianMixture",
    "KernelKMeans",
    "KernelMallowsMixture",
    "KroneckerRLS",
    "KroneckerRLSCV",
    "MMPLClusterer",
    "MallowsMixture",
    "NaiveKMeansClusterer",
    "OneRank",
    "RankClusteringTree",
    "RankTreeClusterer",
    "RankingKMeans",
    "TSPSelector",
    "TopScoringPairs",
]
