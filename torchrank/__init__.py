"""Learning from rankings in PyTorch: exact Kendall and Mallows kernels on CPU and GPU, and what is built on them."""

import typing as _typing

from torchrank._version import __version__
from torchrank._warnings import ConvergenceWarning
from torchrank.aggregation import borda, copeland, kemeny, smoothed_borda, smoothed_copeland
from torchrank.classification import (
    AllPairsMajorityVote,
    KernelFisherDiscriminant,
    TopScoringPairs,
    fisher_discriminant,
    top_scoring_pairs,
)
from torchrank.clustering import KernelKMeans, RankingKMeans
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
from torchrank.distributions import (
    Mallows,
    PlackettLuce,
    PlackettLuceRegression,
    RelaxedPlackettLuce,
    fit_mallows,
    fit_plackett_luce,
)
from torchrank.evidence import Evidence
from torchrank.kernels import (
    KendallKernel,
    LandmarkFeatures,
    MallowsKernel,
    MultivariateKernel,
    PairCounts,
    SmoothedKendallKernel,
    center_gram,
    diffusion_gram,
    kendall_distance,
    kendall_features,
    kendall_gram,
    mallows_gram,
    monte_carlo_bound,
    monte_carlo_kendall_gram,
    monte_carlo_samples,
    multivariate_gram,
    normalize_gram,
    pair_counts,
    pair_weights,
    partial_kendall_gram,
    polynomial_gram,
    smoothed_features,
    smoothed_kendall_gram,
    spearman_gram,
    weighted_kendall_gram,
)
from torchrank.label_ranking import (
    MMPL,
    EMSettings,
    RankTree,
    kmeans_then_rank,
    naive_kmeans,
    one_rank,
    pruned_rank_tree,
    rank_clustering_tree,
    rank_tree,
)
from torchrank.losses import KendallLoss, WindowSchedule, kendall_loss, soft_rank, soft_top_k, spearman_loss
from torchrank.mixtures import KernelGaussianMixture, KernelMallowsMixture, MallowsMixture, fit_mixtures
from torchrank.ops.rank import rank
from torchrank.rankings import (
    Batches,
    PartialOrders,
    Rankings,
    SparseRankings,
    from_orders,
    from_positions,
    from_preferences,
    to_orders,
    to_positions,
)
from torchrank.stream import kendall_blocks, kendall_graph, kendall_neighbors, kendall_test

__all__ = [  # noqa: RUF022 - in the order of sorted(), to which MMPL is a name like others
    "AllPairsMajorityVote",
    "Batches",
    "ConvergenceWarning",
    "EMSettings",
    "Evidence",
    "KendallKernel",
    "KendallLoss",
    "KernelFisherDiscriminant",
    "KernelGaussianMixture",
    "KernelKMeans",
    "KernelMallowsMixture",
    "KroneckerEigh",
    "KroneckerRLS",
    "LandmarkFeatures",
    "MMPL",
    "Mallows",
    "MallowsKernel",
    "MallowsMixture",
    "MultivariateKernel",
    "PairCounts",
    "PairKernel",
    "PartialOrders",
    "PlackettLuce",
    "PlackettLuceRegression",
    "RankTree",
    "RankingKMeans",
    "Rankings",
    "RelaxedPlackettLuce",
    "SmoothedKendallKernel",
    "SparseRankings",
    "TopScoringPairs",
    "WindowSchedule",
    "__version__",
    "borda",
    "center_gram",
    "copeland",
    "diffusion_gram",
    "fisher_discriminant",
    "fit_mallows",
    "fit_mixtures",
    "fit_plackett_luce",
    "from_orders",
    "from_positions",
    "from_preferences",
    "kemeny",
    "kendall_blocks",
    "kendall_distance",
    "kendall_features",
    "kendall_gram",
    "kendall_graph",
    "kendall_loss",
    "kendall_neighbors",
    "kendall_test",
    "kmeans_then_rank",
    "kron_edge_rls",
    "kron_iterative_rls",
    "kron_rank_rls",
    "kron_rls",
    "mallows_gram",
    "monte_carlo_bound",
    "monte_carlo_kendall_gram",
    "monte_carlo_samples",
    "multivariate_gram",
    "naive_kmeans",
    "normalize_gram",
    "one_rank",
    "pair_counts",
    "pair_weights",
    "partial_kendall_gram",
    "polynomial_gram",
    "pruned_rank_tree",
    "rank",
    "rank_clustering_tree",
    "rank_tree",
    "smoothed_borda",
    "smoothed_copeland",
    "smoothed_features",
    "smoothed_kendall_gram",
    "soft_rank",
    "soft_top_k",
    "spearman_gram",
    "spearman_loss",
    "to_orders",
    "to_positions",
    "top_scoring_pairs",
    "two_step_rls",
    "weighted_kendall_gram",
]

if _typing.TYPE_CHECKING:
    from torchrank import aggregation as aggregation
    from torchrank import classification as classification
    from torchrank import clustering as clustering
    from torchrank import conditional as conditional
    from torchrank import datasets as datasets
    from torchrank import distributions as distributions
    from torchrank import estimators as estimators
    from torchrank import kernels as kernels
    from torchrank import label_ranking as label_ranking
    from torchrank import losses as losses
    from torchrank import metrics as metrics
    from torchrank import mixtures as mixtures
    from torchrank import plots as plots
    from torchrank import rankings as rankings
    from torchrank import stream as stream
    from torchrank import typing as typing
else:

    def __getattr__(name: str):
        """Modules that need more than the rest, or that are seldom needed, when they are first named."""
        from importlib import import_module

        if name in ("datasets", "estimators", "metrics", "plots"):
            return import_module(f"torchrank.{name}")
        this = import_module(__name__)  # among whose names Python suggests one
        raise AttributeError(f"module 'torchrank' has no attribute {name!r}", name=name, obj=this)
