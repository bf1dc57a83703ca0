"""Mixtures of distributions of rankings, fitted by expectation-maximization or by gradients."""

from torchrank.mixtures.em import MixtureFit
from torchrank.mixtures.kernel_gaussian import KernelGaussianMixture
from torchrank.mixtures.kernel_mallows import KernelMallowsMixture
from torchrank.mixtures.mallows import MallowsMixture
from torchrank.mixtures.mixture import Mixture, MixtureStatistics
from torchrank.mixtures.selection import ComponentsFit, MixtureFits, fit_mixtures

__all__ = [
    "ComponentsFit",
    "KernelGaussianMixture",
    "KernelMallowsMixture",
    "MallowsMixture",
    "Mixture",
    "MixtureFit",
    "MixtureFits",
    "MixtureStatistics",
    "fit_mixtures",
]
