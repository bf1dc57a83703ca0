"""Adapters to scikit-learn, which this package alone of torchrank imports."""

try:
    import sklearn as _  # noqa: F401 - what the modules below are adapters to
except ModuleNotFoundError as _error:
    raise ModuleNotFoundError("torchrank.estimators needs scikit-learn: pip install scikit-learn") from _error

from torchrank.estimators.classification import AllPairsMajorityVote, TopScoringPairs, TSPSelector
from torchrank.estimators.classification_kernels import GramNormalizer, KernelFisherDiscriminant
from torchrank.estimators.clustering import KernelKMeans, RankingKMeans
from torchrank.estimators.features import KendallFeatures, LandmarkFeatures
from torchrank.estimators.kronecker import KroneckerRLS
from torchrank.estimators.kronecker_cv import KroneckerRLSCV
from torchrank.estimators.label_ranking_baselines import KMeansRank, NaiveKMeans, OneRank
from torchrank.estimators.label_ranking_mm_pl import MMPL
from torchrank.estimators.label_ranking_trees import RankClusteringTree, RankTree
from torchrank.estimators.mixtures import KernelGaussianMixture, KernelMallowsMixture, MallowsMixture
from torchrank.estimators.plackett_luce import PlackettLuceRegression

__all__ = [
    "MMPL",
    "AllPairsMajorityVote",
    "GramNormalizer",
    "KMeansRank",
    "KendallFeatures",
    "KernelFisherDiscriminant",
    "KernelGaussianMixture",
    "KernelKMeans",
    "KernelMallowsMixture",
    "KroneckerRLS",
    "KroneckerRLSCV",
    "LandmarkFeatures",
    "MallowsMixture",
    "NaiveKMeans",
    "OneRank",
    "PlackettLuceRegression",
    "RankClusteringTree",
    "RankTree",
    "RankingKMeans",
    "TSPSelector",
    "TopScoringPairs",
]
