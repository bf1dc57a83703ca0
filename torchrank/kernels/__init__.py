"""The mathematics that users call: Gram matrices, distances and feature maps of rankings."""

from torchrank.kernels.diffusion import diffusion_gram
from torchrank.kernels.kendall import PairCounts, kendall_distance, kendall_features, kendall_gram, pair_counts
from torchrank.kernels.landmarks import LandmarkFeatures
from torchrank.kernels.long_lists import partial_kendall_gram
from torchrank.kernels.mallows import mallows_gram
from torchrank.kernels.modules import (
    KendallKernel,
    MallowsKernel,
    MultivariateKernel,
    RankKernel,
    SmoothedKendallKernel,
)
from torchrank.kernels.monte_carlo import monte_carlo_bound, monte_carlo_kendall_gram, monte_carlo_samples
from torchrank.kernels.multivariate import multivariate_gram
from torchrank.kernels.normalize import center_gram, normalize_gram
from torchrank.kernels.polynomial import polynomial_gram
from torchrank.kernels.smoothed import smoothed_features, smoothed_kendall_gram
from torchrank.kernels.spearman import spearman_gram
from torchrank.kernels.weighted import pair_weights, weighted_kendall_gram

__all__ = [
    "KendallKernel",
    "LandmarkFeatures",
    "MallowsKernel",
    "MultivariateKernel",
    "PairCounts",
    "RankKernel",
    "SmoothedKendallKernel",
    "center_gram",
    "diffusion_gram",
    "kendall_distance",
    "kendall_features",
    "kendall_gram",
    "mallows_gram",
    "monte_carlo_bound",
    "monte_carlo_kendall_gram",
    "monte_carlo_samples",
    "multivariate_gram",
    "normalize_gram",
    "pair_counts",
    "pair_weights",
    "partial_kendall_gram",
    "polynomial_gram",
    "smoothed_features",
    "smoothed_kendall_gram",
    "spearman_gram",
    "weighted_kendall_gram",
]
