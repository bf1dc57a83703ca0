"""Learning from rankings in PyTorch: exact Kendall and Mallows kernels on CPU and GPU, and what is built on them."""

from torchrank._version import __version__
from torchrank.aggregation import borda, copeland, kemeny
from torchrank.classification import (
    AllPairsMajorityVote,
    KernelFisherDiscriminant,
    TopScoringPairs,
    fisher_discriminant,
    top_scoring_pairs,
)
from torchrank.clustering import KernelKMeans, RankingKMeans
from torchrank.clustering.label_ranking_baselines import kmeans_then_rank, naive_kmeans, one_rank, rank_clustering_tree
from torchrank.clustering.pruned_rank_tree import pruned_rank_tree
from torchrank.clustering.rank_tree import RankTree, rank_tree
from torchrank.conditional import (
    KroneckerEigh,
    KroneckerRLS,
    PairKernel,
    kron_edge_rls,
    kron_iterative_rls,
    kron_rank_rls,
    kron_rls,
    two_step_rls,
)
from torchrank.distributions import Mallows, PlackettLuce, fit_mallows, fit_plackett_luce
from torchrank.kernels.diffusion import diffusion_gram
from torchrank.kernels.kendall import PairCounts, kendall_distance, kendall_features, kendall_gram, pair_counts
from torchrank.kernels.long_lists import partial_kendall_gram
from torchrank.kernels.mallows import mallows_gram
from torchrank.kernels.modules import KendallKernel, MallowsKernel
from torchrank.kernels.multivariate import MultivariateKernel, multivariate_gram
from torchrank.kernels.normalize import center_gram, normalize_gram
from torchrank.kernels.smoothed import smoothed_features, smoothed_kendall_gram
from torchrank.kernels.smoothed_module import SmoothedKendallKernel
from torchrank.kernels.smoothed_sampling import monte_carlo_bound, monte_carlo_samples
from torchrank.kernels.weighted_pairs import polynomial_gram
from torchrank.models.kernel_gaussian_mixture import KernelGaussianMixture
from torchrank.models.kernel_mallows_mixture import KernelMallowsMixture
from torchrank.models.mallows_mixture import MallowsMixture
from torchrank.models.mm_pl import MMPL
from torchrank.models.mm_pl_settings import EMSettings
from torchrank.rankings.convert import from_orders, from_positions, to_orders, to_positions

__all__ = [  # noqa: RUF022 - in the order of sorted(), to which MMPL is a name like others
    "AllPairsMajorityVote",
    "EMSettings",
    "KendallKernel",
    "KernelFisherDiscriminant",
    "KernelGaussianMixture",
    "KernelKMeans",
    "KernelMallowsMixture",
    "KroneckerEigh",
    "KroneckerRLS",
    "MMPL",
    "Mallows",
    "MallowsKernel",
    "MallowsMixture",
    "MultivariateKernel",
    "PairCounts",
    "PairKernel",
    "PlackettLuce",
    "RankTree",
    "RankingKMeans",
    "SmoothedKendallKernel",
    "TopScoringPairs",
    "__version__",
    "borda",
    "center_gram",
    "copeland",
    "diffusion_gram",
    "fisher_discriminant",
    "fit_mallows",
    "fit_plackett_luce",
    "from_orders",
    "from_positions",
    "kemeny",
    "kendall_distance",
    "kendall_features",
    "kendall_gram",
    "kmeans_then_rank",
    "kron_edge_rls",
    "kron_iterative_rls",
    "kron_rank_rls",
    "kron_rls",
    "mallows_gram",
    "monte_carlo_bound",
    "monte_carlo_samples",
    "multivariate_gram",
    "naive_kmeans",
    "normalize_gram",
    "one_rank",
    "pair_counts",
    "partial_kendall_gram",
    "polynomial_gram",
    "pruned_rank_tree",
    "rank_clustering_tree",
    "rank_tree",
    "smoothed_features",
    "smoothed_kendall_gram",
    "to_orders",
    "to_positions",
    "top_scoring_pairs",
    "two_step_rls",
]
