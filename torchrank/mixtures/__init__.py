"""Mixtures of distributions of rankings, fitted by expectation-maximization or by gradients."""

from torchrank.mixtures.em import MixtureFit
from torchrank.mixtures.kernel_gaussian import KernelGaussianMixture
from torchrank.mixtures.kernel_mallows import KernelMallowsMixture
from torchrank.mixtures.mallows import MallowsMixture
from torchrank.mixtures.mixture import Mixture, MixtureStatistics

__all__ = [
    "KernelGaussianMixture",
    "KernelMallowsMixture",
    "MallowsMixture",
    "Mixture",
    "MixtureFit",
    "MixtureStatistics",
]
