"""Adapters to scikit-learn, which this package alone of torchrank imports."""

from torchrank.estimators.clustering import KernelKMeans, RankingKMeans
from torchrank.estimators.kronecker import KroneckerRLS
from torchrank.estimators.kronecker_cv import KroneckerRLSCV
from torchrank.estimators.mixtures import KernelGaussianMixture, KernelMallowsMixture, MallowsMixture

__all__ = [
    "KernelGaussianMixture",
    "KernelKMeans",
    "KernelMallowsMixture",
    "KroneckerRLS",
    "KroneckerRLSCV",
    "MallowsMixture",
    "RankingKMeans",
]
