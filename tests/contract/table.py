"""Every public name of torchrank and how to call it. A name that is in neither table fails the suite."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

import torchrank as tr
from tests.contract.call import Call
from tests.contract.recipes import (
    EDGES,
    column,
    duals_of_edges,
    fisher_decisions,
    fitted,
    fitted_mm_pl,
    in_reverse,
    kronecker_scores,
    label_ranker,
    landmark_products,
    module,
    of_mallows,
    pair_kernel_of_weights,
    pair_kernel_products,
    parts,
    regression_log_probs,
    relaxed_sample,
    seeded,
    selected_items,
    together,
    voted_by_pairs,
)
from torchrank import aggregation, classification, conditional, estimators, linalg, metrics

RNG = np.random.default_rng(0)
N = np.nan
M, ITEMS = 8, 5
TOTAL = np.array([[1, 2, 3, 4, 5], [2, 1, 3, 4, 5], [1, 2, 3, 5, 4], [5, 4, 3, 2, 1], [5, 4, 3, 1, 2], [4, 5, 3, 2, 1]])
TOTAL = np.vstack([TOTAL, TOTAL[[0, 3]]]).astype(float)  # two of them twice
TIED = np.array([[0, 1, 2, 3, 3], [1, 0, 2, 2, 3], [0, 0, 0, 1, 1], [3, 2, 1, 0, 0], [2, 2, 1, 1, 0], [3, 3, 2, 0, 1]])
TIED = np.vstack([TIED, TIED[[1, 4]]]).astype(float)
OTHER = np.array([[3, 1, 2, 2, 0], [0, 1, 2, 3, 1], [1, 1, 0, 2, 3]], dtype=float)
WEIGHTS = np.array([2, 3, 1, 1, 1, 1, 2, 1], dtype=float)  # with one optimal ranking
CLASSES = np.array([0, 0, 0, 1, 1, 1, 0, 1])
FEATURES = np.where(CLASSES[:, None] == 0, -1.0, 1.0) + RNG.normal(size=(M, 2)) / 4
SCORES = RNG.normal(size=(M, ITEMS))
DISTANCES = np.abs(SCORES[:, None] - SCORES).sum(-1)
NODES = RNG.normal(size=(4, 3))
KERNEL = NODES @ NODES.T + np.eye(4)
LABELS = RNG.normal(size=(4, 4))
GRAM = SCORES @ SCORES.T + np.eye(M)
PAIRS = (lambda w: w + w.T)(np.triu(np.arange(25.0).reshape(5, 5), 1))
PARTIAL = TOTAL.copy()
PARTIAL[[0, 1, 3, 4], [0, 1, 4, 3]] = N


CALLS: dict[str, Call] = {
    # kernels, distances, features
    "kendall_gram": Call(
        lambda X, Y: (tr.kendall_gram(X), tr.kendall_gram(X, Y), tr.kendall_gram(X, variant="a")),
        {"X": TIED, "Y": OTHER},
        ("mm", "mk", "mm"),
        pointwise=True,
        vmap=True,
        compiles=True,
        derivative="refused",
        batches=True,
    ),
    "kendall_gram of partial rankings": Call(
        lambda X: tuple(tr.kendall_gram(X, missing=word) for word in ("pairwise", "interleaving", "topk")),
        {"X": PARTIAL},
        ("mm", "mm", "mm"),
        pointwise=True,
        half=False,
        batches=True,
        vmap=True,
        derivative="refused",
    ),
    "spearman_gram": Call(
        lambda X, Y: (tr.spearman_gram(X), tr.spearman_gram(X, Y)),
        {"X": TIED, "Y": OTHER},
        ("mm", "mk"),
        pointwise=True,
        batches=True,
        vmap=True,
        compiles=True,
        derivative="refused",
    ),
    "kendall_blocks": Call(
        lambda X: tuple(block.values for block in tr.kendall_blocks(X)) or (tr.kendall_gram(X),),  # no rows, no block
        {"X": TIED},
        ("mm",),
        pointwise=True,
        derivative="refused",
    ),
    "kendall_neighbors": Call(lambda X: tuple(tr.kendall_neighbors(X, 3)), {"X": TIED}, (None, "mz")),
    "kendall_test": Call(
        lambda X: (*tr.kendall_test(X), *tr.kendall_test(X, correction="fdr_bh")),
        {"X": TIED},
        ("mm", "mm", "mm", "mm"),
    ),
    "weighted_kendall_gram": Call(
        lambda X, K: tr.weighted_kendall_gram(X, pairs=K),
        {"X": TIED, "K": PAIRS},
        ("mm",),
        pointwise=True,
        compiles=True,
        derivative="refused",
        batches=True,
        vmap=True,
    ),
    "monte_carlo_kendall_gram": Call(
        lambda V: tr.monte_carlo_kendall_gram(V, window=1e-9, n_samples=2, generator=seeded()),
        {"V": SCORES},
        ("mm",),
        derivative="refused",
        batches=True,
        vmap=True,
    ),
    "kendall_distance": Call(
        lambda X: (
            tr.kendall_distance(X),
            tr.kendall_distance(X, tie_penalty=0.5),
            tr.kendall_distance(X, normalize=True),
        ),
        {"X": TIED},
        ("mm", "mm", "mm"),
        pointwise=True,
        batches=True,
        vmap=True,
        compiles=True,
        derivative="refused",
    ),
    "mallows_gram": Call(
        lambda X: tr.mallows_gram(X, lam=0.3),
        {"X": TIED},
        ("mm",),
        pointwise=True,
        batches=True,
        vmap=True,
        compiles=True,
        derivative="refused",
    ),
    "pair_counts": Call(
        lambda X: tuple(tr.pair_counts(X)),
        {"X": TIED},
        ("mm",) * 5,
        pointwise=True,
        batches=True,
        vmap=True,
        compiles=True,
    ),
    "kendall_features": Call(
        tr.kendall_features, {"X": TIED}, ("mp",), pointwise=True, batches=True, vmap=True, derivative="refused"
    ),
    "smoothed_kendall_gram": Call(
        lambda V: (tr.smoothed_kendall_gram(V, window=1.0), tr.smoothed_kendall_gram(V, window=1.0, noise="gaussian")),
        {"V": SCORES},
        ("mm", "mm"),
        pointwise=True,
        batches=True,
        vmap=True,
        compiles=True,
        derivative="smooth",
    ),
    "smoothed_features": Call(
        lambda V: tr.smoothed_features(V, window=1.0),
        {"V": SCORES},
        ("mp",),
        pointwise=True,
        batches=True,
        vmap=True,
        derivative="smooth",
    ),
    "diffusion_gram": Call(
        lambda X: tr.diffusion_gram(X, beta=0.2),
        {"X": TOTAL},
        ("mm",),
        pointwise=True,
        batches=True,
        vmap=True,
        derivative="refused",
    ),
    "partial_kendall_gram": Call(
        lambda z: tr.partial_kendall_gram(z, n_items=9), {"z": np.argsort(-TOTAL)[:, :3]}, ("mm",), pointwise=True
    ),
    "multivariate_gram": Call(
        lambda X: tr.multivariate_gram(parts(X)),
        {"X": TIED},
        ("mm",),
        pointwise=True,
        derivative="refused",
        items=False,
        batches=True,
        vmap=True,
    ),
    "polynomial_gram": Call(
        lambda K: tr.polynomial_gram(K, degree=2, scale=1.0),
        {"K": GRAM / 100},
        derivative="smooth",
        batches=True,
        vmap=True,
        batched=("K",),
    ),
    "center_gram": Call(
        lambda K: tr.center_gram(K),
        {"K": GRAM},
        derivative="smooth",
        compiles=True,
        batches=True,
        vmap=True,
        batched=("K",),
    ),
    "normalize_gram": Call(
        lambda K: tr.normalize_gram(K),
        {"K": GRAM},
        derivative="smooth",
        compiles=True,
        batches=True,
        vmap=True,
        batched=("K",),
    ),
    "KendallKernel": Call(
        lambda X: tr.KendallKernel()(X),
        {"X": TIED},
        ("mm",),
        pointwise=True,
        batches=True,
        vmap=True,
        compiles=True,
        derivative="refused",
    ),
    "MallowsKernel": Call(
        lambda X: tr.MallowsKernel(lam=0.3)(X),
        {"X": TIED},
        ("mm",),
        pointwise=True,
        derivative="refused",
        batches=True,
        vmap=True,
    ),
    "SmoothedKendallKernel": Call(
        lambda V: tr.SmoothedKendallKernel(window=1.0)(V),
        {"V": SCORES},
        ("mm",),
        pointwise=True,
        derivative="smooth",
        batches=True,
        vmap=True,
    ),
    "MultivariateKernel": Call(
        lambda X: tr.MultivariateKernel([tr.KendallKernel(), tr.MallowsKernel(lam=0.2)])([X, X]),
        {"X": TIED},
        ("mm",),
        pointwise=True,
        derivative="refused",
        batches=True,
        vmap=True,
    ),
    "LandmarkFeatures": Call(landmark_products(6), {"X": TIED, "w": WEIGHTS}, ("mm",)),
    "LandmarkFeatures of some rows": Call(
        landmark_products(3), {"X": TIED, "w": WEIGHTS}, ("mm",), items=False, half=False
    ),
    # training
    "kendall_loss": Call(
        lambda V, X: tuple(
            tr.kendall_loss(V, X, window=1.0, reduction="none", **words)
            for words in ({}, {"variant": "a", "noise": "gaussian"}, {"weights": "hyperbolic"})
        ),
        {"V": SCORES, "X": TIED},
        ("m", "m", None),  # equal targets are told apart by index
        pointwise=True,
        batches=True,
        vmap=True,
        compiles=True,
        derivative="smooth",
    ),
    "KendallLoss": Call(
        lambda V, X: tr.KendallLoss(0.7)(V, X),
        {"V": SCORES, "X": TIED},
        ("",),
        compiles=True,
        derivative="smooth",
        vmap=True,
    ),
    "soft_rank": Call(
        lambda V: tr.soft_rank(V, 1.0),
        {"V": SCORES},
        ("mn",),
        pointwise=True,
        batches=True,
        vmap=True,
        compiles=True,
        derivative="smooth",
    ),
    "soft_top_k": Call(
        lambda V: tr.soft_top_k(V, 2, 1.0),
        {"V": SCORES},
        ("mn",),
        pointwise=True,
        batches=True,
        vmap=True,
        compiles=True,
        derivative="smooth",
    ),
    "spearman_loss": Call(
        lambda V, X: tr.spearman_loss(V, X, window=1.0, reduction="none"),
        {"V": SCORES, "X": TIED},
        ("m",),
        pointwise=True,
        batches=True,
        vmap=True,
        compiles=True,
        derivative="smooth",
    ),
    # conversions
    "from_orders": Call(lambda z: tr.from_orders(z, 5), {"z": np.argsort(-TOTAL)}, ("mn",), pointwise=True),
    "from_positions": Call(
        lambda X: tr.from_positions(X), {"X": TOTAL}, ("mn",), pointwise=True, batches=True, vmap=True
    ),
    "to_orders": Call(tr.to_orders, {"X": TOTAL}, ("mp",), pointwise=True, batches=True, vmap=True),
    "to_positions": Call(tr.to_positions, {"X": TIED}, ("mn",), pointwise=True, batches=True, vmap=True),
    # aggregation
    "borda": Call(
        lambda X, w: tr.borda(X, w), {"X": TIED, "w": WEIGHTS}, ("n",), batches=True, vmap=True, derivative="refused"
    ),
    "copeland": Call(lambda X, w: tr.copeland(X, w), {"X": TIED, "w": WEIGHTS}, ("n",), batches=True, vmap=True),
    "kemeny": Call(
        lambda X, w: (lambda k: (k.scores, k.optimal))(tr.kemeny(X, w)),
        {"X": TOTAL, "w": WEIGHTS},
        ("n", ""),
        batches=True,
        vmap=True,
    ),
    "smoothed_borda": Call(
        lambda V, w: tr.smoothed_borda(V, w, window=0.7),
        {"V": SCORES, "w": WEIGHTS},
        ("n",),
        batches=True,
        vmap=True,
        derivative="smooth",
    ),
    "smoothed_copeland": Call(
        lambda V, w: tr.smoothed_copeland(V, w, window=0.7, margin_window=0.5),
        {"V": SCORES, "w": WEIGHTS},
        ("n",),
        batches=True,
        vmap=True,
        derivative="smooth",
    ),
    "aggregation.pair_preferences": Call(
        lambda X, w: aggregation.pair_preferences(X, w),
        {"X": TIED, "w": WEIGHTS},
        ("nn",),
        scales=True,
        batches=True,
        vmap=True,
    ),
    "aggregation.kemeny_of_preferences": Call(
        lambda K: tuple(aggregation.kemeny_of_preferences(K))[:1],
        {"K": np.triu(PAIRS) + PAIRS / 4},
        tensors=True,
        batches=True,
        vmap=True,
        batched=("K",),
    ),
    # distributions
    "Mallows": Call(
        of_mallows,
        {"X": TOTAL},
        ("m", "", "n"),
        tensors=True,
        reordered=False,
        batches=True,
        vmap=True,
    ),
    "PlackettLuce": Call(
        lambda X: tr.PlackettLuce(torch.linspace(0, 1, 5, dtype=torch.float64, device="cpu")).log_prob(X),
        {"X": TOTAL},
        ("m",),
        tensors=True,
        pointwise=True,
        items=False,
        batches=True,
        vmap=True,
    ),
    "PlackettLuce of laws of their own": Call(
        lambda X, V: (lambda law: (law.log_prob(X), law.worths, law.mode))(tr.PlackettLuce(V)),
        {"X": TOTAL, "V": SCORES},
        ("m", "mn", "mn"),
        tensors=True,
        pointwise=True,
        batches=True,
        vmap=True,
    ),
    "PlackettLuce with ties": Call(
        lambda X, V: tr.PlackettLuce(V, log_ties=torch.zeros(4, dtype=torch.float64, device="cpu")).log_prob(X),
        {"X": TIED, "V": SCORES},
        ("m",),
        tensors=True,
        pointwise=True,
        batches=True,
        vmap=True,
    ),
    "PlackettLuceRegression of several groups": Call(
        regression_log_probs,
        {"X": TOTAL, "F": NODES[[0, 1, 2, 3, 0]] / 2},
        ("m", "p"),
        pointwise=True,
        items=False,
        batches=True,
        vmap=True,
        batched=("X", "F"),
    ),
    "RelaxedPlackettLuce": Call(
        relaxed_sample,
        {"V": SCORES},
        ("mn",),
        tensors=True,
        reordered=False,
        items=False,
        vmap=True,
        derivative="smooth",
    ),
    "fit_mallows": Call(
        lambda X, w: (lambda f: (f.center, f.lam, f.mean_distance))(tr.fit_mallows(X, w)),
        {"X": TOTAL, "w": WEIGHTS},
        ("n", "", ""),
        batches=True,
    ),
    "PlackettLuceRegression": Call(
        lambda X, w: tuple(
            vars(tr.PlackettLuceRegression(1).fit(X, np.arange(5.0)[:, None] ** 2, w))[name]
            for name in ("log_likelihood", "covariance")
        ),
        {"X": TOTAL, "w": WEIGHTS},
        (None, None),
        scales=True,
        items=False,
    ),
    "fit_mallows of top lists": Call(
        lambda X, w: (lambda f: (f.center, f.lam, f.mean_distance))(tr.fit_mallows(X, w, missing="topk")),
        {"X": PARTIAL, "w": WEIGHTS},
        ("n", "", ""),
        half=False,
        batches=True,
    ),
    "fit_mallows of sub-rankings": Call(
        lambda X, w: (lambda f: (f.center, f.lam, f.mean_distance))(tr.fit_mallows(X, w, missing="interleaving")),
        {"X": PARTIAL, "w": WEIGHTS},
        ("n", "", ""),
        half=False,
    ),
    "fit_plackett_luce": Call(lambda X, w: tr.fit_plackett_luce(X, w).logits, {"X": TOTAL, "w": WEIGHTS}, ("n",)),
    # clusters and mixtures
    "KernelKMeans": Call(module(lambda: tr.KernelKMeans(2)), {"X": TIED, "w": WEIGHTS}, ("mm",)),
    "RankingKMeans": Call(module(lambda: tr.RankingKMeans(2)), {"X": TOTAL, "w": WEIGHTS}, ("mm",)),
    "MallowsMixture": Call(
        module(lambda: tr.MallowsMixture(5, 2), "log_prob"), {"X": TOTAL, "w": WEIGHTS}, ("mm", "m")
    ),
    "MallowsMixture of sub-rankings": Call(
        module(lambda: tr.MallowsMixture(5, 2, missing="interleaving", tol=1e-14), "log_prob"),
        {"X": PARTIAL, "w": WEIGHTS},
        ("mm", "m"),
        half=False,
    ),
    "fit_mixtures": Call(
        lambda X, w: (
            tr.fit_mixtures(lambda k: tr.MallowsMixture(5, k), X, [1, 2], w, generator=seeded()).best.criterion
        ),
        {"X": TOTAL, "w": WEIGHTS},
        ("",),
        scales=True,
    ),
    "KernelMallowsMixture": Call(
        module(lambda: tr.KernelMallowsMixture(5, 2), "log_prob"), {"X": TOTAL, "w": WEIGHTS}, ("mm", "m")
    ),
    "KernelGaussianMixture": Call(
        module(lambda: tr.KernelGaussianMixture(2, max_lam=50.0)), {"X": TOTAL, "w": WEIGHTS}, ("mm",)
    ),
    # label ranking
    "one_rank": Call(lambda V, X: tr.one_rank(V, X).predict(V), {"V": FEATURES, "X": TOTAL}, ("mp",), tensors=True),
    "kmeans_then_rank": Call(
        lambda V, X: together(tr.kmeans_then_rank(V, X, 2, generator=seeded(0)).predict(V)),
        {"V": FEATURES, "X": TOTAL},
        ("mm",),
        tensors=True,
    ),
    "naive_kmeans": Call(
        lambda V, X: together(tr.naive_kmeans(V, X, 2, generator=seeded(0)).predict(V)),
        {"V": FEATURES, "X": TOTAL},
        ("mm",),
        tensors=True,
    ),
    "rank_tree": Call(
        lambda V, X: tr.rank_tree(V, X, 2, min_leaf=1, generator=seeded(0)).predict(V),
        {"V": FEATURES, "X": TOTAL},
        (None,),
        tensors=True,
    ),
    "pruned_rank_tree": Call(
        lambda V, X: tr.pruned_rank_tree(V, X, 2, min_leaf=1).predict(V),
        {"V": FEATURES, "X": TOTAL},
        (None,),
        tensors=True,
    ),
    "rank_clustering_tree": Call(
        lambda V, X: tr.rank_clustering_tree(V, X, 2, min_leaf=1, generator=seeded(0)).predict(V),
        {"V": FEATURES, "X": TOTAL},
        (None,),
        tensors=True,
    ),
    "MMPL": Call(fitted_mm_pl, {"V": FEATURES, "X": TOTAL}, (None, None), tensors=True),
    # classification
    "top_scoring_pairs": Call(
        lambda X, z: tr.top_scoring_pairs(X, z, k=3), {"X": TIED, "z": CLASSES}, ("p", "p", "p", "p"), reordered=True
    ),
    "TopScoringPairs": Call(voted_by_pairs, {"X": TIED, "z": CLASSES}, ("m",), tensors=True),
    "AllPairsMajorityVote": Call(
        lambda X, z: tr.AllPairsMajorityVote(X, z)(X), {"X": TIED, "z": CLASSES}, ("m",), tensors=True
    ),
    "classification.all_pairs_margins": Call(
        lambda X, z: classification.all_pairs_margins(X, z, X), {"X": TIED, "z": CLASSES}, ("m",)
    ),
    "fisher_discriminant": Call(lambda K, z: tr.fisher_discriminant(K, z), {"K": GRAM, "z_": CLASSES}, (None, None)),
    "KernelFisherDiscriminant": Call(fisher_decisions, {"X": TIED, "z": CLASSES}, ("m", "m"), tensors=True, slack=2e-2),
    # conditional ranking
    "kron_rls": Call(
        lambda K, F: tr.kron_rls(K, None, F, 1.0), {"K": KERNEL, "F": LABELS}, batches=True, vmap=True, batched=("F",)
    ),
    "kron_rank_rls": Call(
        lambda K, F: tr.kron_rank_rls(K, None, F, 1.0),
        {"K": KERNEL, "F": LABELS},
        batches=True,
        vmap=True,
        batched=("F",),
    ),
    "kron_iterative_rls": Call(lambda K, F: tr.kron_iterative_rls(K, None, F, 1.0).duals, {"K": KERNEL, "F": LABELS}),
    "kron_edge_rls": Call(duals_of_edges, {"K": KERNEL, "F": LABELS}),
    "two_step_rls": Call(
        lambda K, F: tr.two_step_rls(K, None, F, 1.0, 1.0),
        {"K": KERNEL, "F": LABELS},
        batches=True,
        vmap=True,
        batched=("F",),
    ),
    "conditional.two_step_loo": Call(
        lambda K, F: conditional.two_step_loo(K, None, F, 1.0, 1.0),
        {"K": KERNEL, "F": LABELS},
        batches=True,
        vmap=True,
        batched=("F",),
    ),
    "KroneckerEigh": Call(
        lambda K, F: tr.KroneckerEigh(K).solve(F, 1.0),
        {"K": KERNEL, "F": LABELS},
        batches=True,
        vmap=True,
        batched=("F",),
    ),
    "PairKernel": Call(pair_kernel_products, {"K": KERNEL, "F": LABELS}, vmap=True, batched=("F",)),
    "PairKernel of several weights": Call(
        pair_kernel_of_weights,
        {"K": KERNEL, "F": LABELS},
        batches=True,
        vmap=True,
        batched=("F",),
    ),
    "KroneckerRLS": Call(kronecker_scores, {"K": KERNEL, "F": LABELS}, tensors=True),
    "conditional.conditional_rank_loss": Call(
        lambda V, X, z: conditional.conditional_rank_loss(column(V), column(X), z),
        {"V": SCORES, "X": TIED, "z": CLASSES},
        ("",),
        columns=True,
    ),
    "conditional.symmetrize": Call(conditional.symmetrize, {"F": LABELS}, batches=True, vmap=True, batched=("F",)),
    "conditional.antisymmetrize": Call(
        conditional.antisymmetrize, {"F": LABELS}, batches=True, vmap=True, batched=("F",)
    ),
    "conditional.observed_edges": Call(conditional.observed_edges, {"F": LABELS}),
    # linear algebra
    "linalg.kron_matmul": Call(
        lambda K, F: linalg.kron_matmul(K, K, F),
        {"K": KERNEL, "F": LABELS},
        tensors=True,
        batches=True,
        vmap=True,
        batched=("F",),
    ),
    "linalg.psd_eigh": Call(lambda K: linalg.psd_eigh(K).values, {"K": KERNEL}, tensors=True),
    "linalg.centered_eigh": Call(lambda K: linalg.centered_eigh(K).values, {"K": KERNEL}, tensors=True),
    "linalg.cg": Call(lambda K, F: linalg.cg(lambda v: K @ v, F[0]).x, {"K": KERNEL, "F": LABELS}, tensors=True),
    "linalg.bicgstab": Call(
        lambda K, F: linalg.bicgstab(lambda v: K @ v, F[0]).x, {"K": KERNEL, "F": LABELS}, tensors=True
    ),
    "linalg.as_double": Call(linalg.as_double, {"K": KERNEL}, tensors=True, vmap=True),
    "linalg.check_symmetric": Call(linalg.check_symmetric, {"K": KERNEL}, tensors=True),
    "linalg.check_psd": Call(linalg.check_psd, {"K": KERNEL}, tensors=True),
    # metrics
    "metrics.silhouette_samples": Call(
        lambda K, z, w: metrics.silhouette_samples(K, z, w), {"K": DISTANCES, "z_": CLASSES, "w_": WEIGHTS}
    ),
    "metrics.silhouette_score": Call(
        lambda K, z, w: metrics.silhouette_score(K, z, w), {"K": DISTANCES, "z_": CLASSES, "w_": WEIGHTS}
    ),
    "metrics.rand_index": Call(
        lambda z, w: metrics.rand_index(z, [0, 0, 1, 1, 1, 1, 0, 0], weights=w), {"z_": CLASSES, "w_": WEIGHTS}
    ),
    "metrics.d_feat": Call(lambda V, z: metrics.d_feat(V, z), {"V": FEATURES, "z": CLASSES}, ("",)),
    "metrics.d_knh": Call(lambda V, z: metrics.d_knh(V, z), {"V": FEATURES, "z": CLASSES}, ("",)),
    "metrics.concordance_index": Call(
        lambda X, V: metrics.concordance_index(column(X), column(V)),
        {"X": TIED, "V": SCORES},
        ("",),
        items=False,
        columns=True,
    ),
    "metrics.conditional_ranking_error": Call(
        lambda X, V: metrics.conditional_ranking_error(column(X), column(V)).pooled,
        {"X": TIED, "V": SCORES},
        ("",),
        items=False,
        columns=True,
    ),
    "metrics.label_ranking_loss": Call(lambda X: metrics.label_ranking_loss(X, in_reverse(X)), {"X": TOTAL}, (None,)),
    "metrics.label_ranking_tau": Call(lambda X: metrics.label_ranking_tau(X, X), {"X": TOTAL}, (None,)),
    "metrics.discordant_shares": Call(lambda X: metrics.discordant_shares(X, X), {"X": TOTAL}, (None,), vmap=True),
}


ESTIMATORS: dict[str, Call] = {
    "KendallFeatures": Call(fitted(estimators.KendallFeatures, "transform"), {"X": TIED}, ("mp",)),
    "LandmarkFeatures": Call(
        fitted(lambda: estimators.LandmarkFeatures(n_landmarks=6, random_state=0), "transform"),
        {"X": TIED, "w": WEIGHTS},
        ("mp",),
        items=False,
    ),
    "KernelKMeans": Call(
        fitted(lambda: estimators.KernelKMeans(2, random_state=0), "predict", clusters=True),
        {"X": TIED, "w": WEIGHTS},
        ("mm",),
    ),
    "RankingKMeans": Call(
        fitted(lambda: estimators.RankingKMeans(2, random_state=0), "predict", clusters=True),
        {"X": TOTAL, "w": WEIGHTS},
        ("mm",),
    ),
    "MallowsMixture": Call(
        fitted(lambda: estimators.MallowsMixture(2, random_state=0), "predict", "score_samples", clusters=True),
        {"X": TOTAL, "w": WEIGHTS},
        ("mm", "m"),
    ),
    "KernelMallowsMixture": Call(
        fitted(lambda: estimators.KernelMallowsMixture(2, random_state=0), "predict", clusters=True),
        {"X": TOTAL, "w": WEIGHTS},
        ("mm",),
    ),
    "KernelGaussianMixture": Call(
        fitted(lambda: estimators.KernelGaussianMixture(2, max_lam=50.0, random_state=0), "predict", clusters=True),
        {"X": TOTAL, "w": WEIGHTS},
        ("mm",),
    ),
    "AllPairsMajorityVote": Call(
        fitted(estimators.AllPairsMajorityVote, "predict", "decision_function"), {"X": TIED, "z": CLASSES}, ("m", "m")
    ),
    "TopScoringPairs": Call(
        fitted(lambda: estimators.TopScoringPairs(3), "predict"), {"X": TIED, "z": CLASSES}, ("m",)
    ),
    "TSPSelector": Call(selected_items, {"X": TIED, "z": CLASSES}, (None,)),
    "KernelFisherDiscriminant": Call(
        fitted(estimators.KernelFisherDiscriminant, "predict", "decision_function"),
        {"X": TIED, "z": CLASSES},
        ("m", "m"),
    ),
    "OneRank": Call(label_ranker(estimators.OneRank), {"V": FEATURES, "Y": TOTAL}, (None,)),
    "PlackettLuceRegression": Call(  # rows are items, and the one column of F ranks them
        lambda V, F: estimators.PlackettLuceRegression().fit(V, F).predict(V),
        {"V": FEATURES, "F": SCORES[:, 0]},
        (None,),
        reordered=False,
        items=False,
        half=False,
    ),
    "GramNormalizer": Call(lambda K: estimators.GramNormalizer().fit(K).transform(K), {"K": GRAM}),
}
_TREES: dict[str, Any] = {
    "KMeansRank": lambda: estimators.KMeansRank(2, random_state=0),
    "NaiveKMeans": lambda: estimators.NaiveKMeans(2, random_state=0),
    "RankClusteringTree": lambda: estimators.RankClusteringTree(2, min_leaf=1, random_state=0),
    "RankTree": lambda: estimators.RankTree(2, min_leaf=1, random_state=0),
    "MMPL": lambda: estimators.MMPL(2, 4, settings=tr.EMSettings(n_updates=200), random_state=0),
}

for _name, _make in _TREES.items():
    ESTIMATORS[_name] = Call(label_ranker(_make), {"V": FEATURES, "Y": TOTAL}, (None,))
ESTIMATORS["KroneckerRLS"] = Call(
    lambda z, F: estimators.KroneckerRLS(nodes=NODES).fit(z, F).predict(z), {"z_": EDGES, "F": LABELS.ravel()}
)
ESTIMATORS = {name: replace(call, arrays=True) for name, call in ESTIMATORS.items()}

ROOMS = {
    "torchrank": "",
    "torchrank.aggregation": "aggregation.",
    "torchrank.classification": "classification.",
    "torchrank.clustering": "clustering.",
    "torchrank.conditional": "conditional.",
    "torchrank.distributions": "distributions.",
    "torchrank.linalg": "linalg.",
    "torchrank.metrics": "metrics.",
}
_RESULT = "a result, made by what is in the table"
_ARGUMENTS = "takes settings or functions, and no arrays"
EXEMPT = {
    "kendall_graph": "gives a sparse matrix of SciPy; tests/stream/test_graph.py",
    "Neighbors": _RESULT,
    "AssociationTest": _RESULT,
    "Block": _RESULT,
    "WindowSchedule": _ARGUMENTS,
    "__version__": "a word",
    "Batches": _ARGUMENTS,
    "EMSettings": _ARGUMENTS,
    "monte_carlo_bound": _ARGUMENTS,
    "monte_carlo_samples": _ARGUMENTS,
    "PairCounts": _RESULT,
    "RankTree": "made by rank_tree and the others, which are in the table",
    "KemenyRanking": _RESULT,
    "FisherDiscriminant": _RESULT,
    "ScoredPairs": _RESULT,
    "KMeansFit": _RESULT,
    "FitState": _RESULT,
    "IterativeFit": _RESULT,
    "MallowsFit": _RESULT,
    "PlackettLuceFit": _RESULT,
    "RegressionFit": _RESULT,
    "GhostItem": _ARGUMENTS,
    "NormalPrior": _ARGUMENTS,
    "ConditionalRankingError": _RESULT,
    "Eigen": _RESULT,
    "Iteration": _RESULT,
    "KrylovSolution": _RESULT,
    "ConvergenceWarning": "a warning",
    "Evidence": _RESULT,
    "Rankings": "made by rank",
    "SparseRankings": "stands in for scores; tests/rankings/test_sparse.py and tests/kernels/test_sparse.py",
    "pair_weights": "takes a number for each item; tests/kernels/test_weighted.py",
    "rank": "gives what others take; tests/rankings/test_prepared.py",
    "PartialOrders": "made by from_preferences",
    "from_preferences": "gives what others take; tests/rankings/test_partial_orders.py",
    "ConditionalSplit": "splits edges by number; tests/conditional/test_splits.py",
    "check_leakage": "compares edges by number; tests/conditional/test_splits.py",
    "bootstrap_stability": _ARGUMENTS,
    "paired_items": "takes the result of top_scoring_pairs",
    "vote_margins": "takes the result of top_scoring_pairs; TopScoringPairs is in the table",
    "delta_rank": "takes a clustering; tests/metrics/test_label_ranking.py",
    "KroneckerRLSCV": "KroneckerRLS by cross-validation; tests/estimators/test_kronecker.py",
}
