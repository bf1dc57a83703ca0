"""Learning from rankings in PyTorch: exact Kendall and Mallows kernels on CPU and GPU, and what is built on them."""

from torchrank._version import __version__
from torchrank.kernels.kendall import PairCounts, kendall_distance, kendall_features, kendall_gram, pair_counts
from torchrank.kernels.long_lists import partial_kendall_gram
from torchrank.kernels.mallows import mallows_gram
from torchrank.kernels.modules import KendallKernel, MallowsKernel
from torchrank.kernels.normalize import center_gram, normalize_gram
from torchrank.kernels.weighted_pairs import polynomial_gram
from torchrank.rankings.convert import from_orders, from_positions, to_orders, to_positions

__all__ = [
    "KendallKernel",
    "MallowsKernel",
    "PairCounts",
    "__version__",
    "center_gram",
    "from_orders",
    "from_positions",
    "kendall_distance",
    "kendall_features",
    "kendall_gram",
    "mallows_gram",
    "normalize_gram",
    "pair_counts",
    "partial_kendall_gram",
    "polynomial_gram",
    "to_orders",
    "to_positions",
]
