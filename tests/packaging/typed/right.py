"""A user's program that checkers accept; comments say what they reveal, names without modules."""

from pathlib import Path

import numpy as np
import torch
from typing_extensions import reveal_type

import torchrank as tr
from torchrank import estimators

tensor, array, lists = torch.rand(4, 3), np.random.default_rng(0).random((4, 3)), [[1, 2, 3], [3, 2, 1]]
square = np.eye(4)

# What comes in decides what goes out.
reveal_type(tr.kendall_gram(tensor))  # Tensor
reveal_type(tr.kendall_gram(array))  # ndarray
reveal_type(tr.kendall_gram(lists, array))  # ndarray
reveal_type(tr.kendall_gram([tensor[0], tensor[1]]))  # Tensor
reveal_type(tr.kendall_gram(tensor, tensor, variant="a", missing="topk", method="signs"))  # Tensor
reveal_type(tr.kendall_gram(tensor, missing=["topk", "topk", "interleaving", "topk"]))  # Tensor
reveal_type(tr.kendall_gram(array, out=Path("gram.npy")))  # Any
reveal_type(tr.kendall_distance(array, tie_penalty=0.5))  # ndarray
reveal_type(tr.mallows_gram(tensor, lam=torch.tensor(2.0)))  # Tensor
reveal_type(tr.pair_counts(tensor))  # PairCounts[Tensor]
reveal_type(tr.pair_counts(lists).tied_xy)  # ndarray
reveal_type(tr.smoothed_kendall_gram(tensor, window=1.0, noise="gaussian"))  # Tensor
reveal_type(tr.smoothed_features(array, window=1.0))  # ndarray
reveal_type(tr.monte_carlo_kendall_gram(array, window=1.0, n_samples=2))  # ndarray
reveal_type(tr.monte_carlo_samples(4, lam=1.0, excess=0.1))  # int
reveal_type(tr.monte_carlo_bound(4))  # float
reveal_type(tr.weighted_kendall_gram(tensor, pairs=torch.ones(3, 3)))  # Tensor
reveal_type(tr.pair_weights([1.0, 2.0, 3.0], scheme="sum"))  # ndarray
reveal_type(tr.spearman_gram(array))  # ndarray
reveal_type(tr.diffusion_gram(tensor, beta=1.0))  # Tensor
reveal_type(tr.partial_kendall_gram([[0, 1], [2]], n_items=3))  # ndarray
reveal_type(tr.multivariate_gram([tensor, tensor]))  # Tensor
reveal_type(tr.kendall_features(array))  # ndarray
reveal_type(tr.polynomial_gram(square, degree=2, scale=1.0))  # ndarray
reveal_type(tr.center_gram(torch.eye(4)))  # Tensor
reveal_type(tr.normalize_gram(square))  # ndarray

# Rankings remember it.
reveal_type(tr.rank(tensor))  # Rankings[Tensor]
reveal_type(tr.rank(lists)[:1])  # Rankings[ndarray]
reveal_type(tr.kendall_gram(tr.rank(tensor)))  # Tensor
reveal_type(tr.SparseRankings.from_orders([[1, 2], [0]]))  # SparseRankings[Any]
sparse = tr.SparseRankings.from_orders([[1, 2], [0]])
reveal_type(tr.kendall_gram(sparse))  # Any
reveal_type(tr.kendall_neighbors(sparse, 1))  # Neighbors[Any]
reveal_type(tr.fit_plackett_luce(sparse).logits)  # Any
reveal_type(tr.borda(sparse, missing=["topk", "topk"]))  # Any
reveal_type(tr.from_orders(lists))  # ndarray
reveal_type(tr.from_positions(tensor, ties="raise"))  # Tensor
reveal_type(tr.to_orders(array))  # ndarray
reveal_type(tr.to_positions(tensor, ties="min"))  # Tensor
reveal_type(tr.from_preferences([[(0, 1)]]))  # PartialOrders

# Streams, tests, centers and fits.
reveal_type([block.values for block in tr.kendall_blocks(tensor)])  # list[Tensor]
reveal_type(tr.kendall_neighbors(array, 2, sign="either"))  # Neighbors[ndarray]
reveal_type(tr.kendall_test(tensor, alternative="less", correction="fdr_bh").pvalue)  # Tensor
reveal_type(tr.borda(array))  # ndarray
reveal_type(tr.copeland(tensor, weights=[1, 2, 3, 4]))  # Tensor
reveal_type(tr.kemeny(array))  # KemenyRanking[ndarray]
reveal_type(tr.fit_mallows(tensor).center)  # Tensor
reveal_type(tr.fit_plackett_luce(array, method="mm"))  # PlackettLuceFit[ndarray]
reveal_type(tr.fit_mixtures(lambda c: tr.MallowsMixture(3, c), array, [1, 2]))  # MixtureFits
reveal_type(tr.kendall_loss(tensor, tensor, window=1.0, reduction="none"))  # Tensor
reveal_type(tr.spearman_loss(array, lists, window=1.0))  # ndarray
reveal_type(tr.kendall_loss(tensor, array, window=1.0))  # Tensor
reveal_type(tr.soft_rank(tensor, 1.0))  # Tensor
reveal_type(tr.soft_top_k(array, 2, 1.0))  # ndarray
reveal_type(tr.smoothed_borda(tensor, window=1.0))  # Tensor
reveal_type(tr.kron_rls(square, None, square, 1.0))  # ndarray
reveal_type(tr.kron_rank_rls(torch.eye(4), None, torch.eye(4), torch.tensor([1.0]), direction="incoming"))  # Tensor
reveal_type(tr.kron_iterative_rls(square, None, square, 1.0, method="bicgstab"))  # IterativeFit[ndarray]
reveal_type(tr.kron_edge_rls(torch.eye(4), None, [[0, 1]], [1.0], 1.0).duals)  # Tensor
reveal_type(tr.two_step_rls(square, square, square, 1.0, 1.0))  # ndarray
reveal_type(tr.fisher_discriminant(square, [0, 1, 0, 1]).decision(square))  # ndarray
reveal_type(tr.top_scoring_pairs(tensor, [0, 1, 0, 1]))  # ScoredPairs[Tensor]
reveal_type(tr.rank_tree(tensor, tensor, 2, init="random"))  # RankTree
reveal_type(tr.rank_clustering_tree(tensor, tensor, 2, method="ebms"))  # RankTree
reveal_type(tr.kmeans_then_rank(tensor, tensor, 2, center="mallows"))  # FeatureClusters

# Modules and estimators.
reveal_type(tr.KendallKernel(variant="b")(tensor))  # Tensor
reveal_type(tr.MallowsKernel(lam=2.0)(array, array))  # ndarray
reveal_type(tr.SmoothedKendallKernel(noise="gaussian").forward(tensor))  # Tensor
reveal_type(tr.MultivariateKernel([tr.KendallKernel()])([array]))  # ndarray
reveal_type(tr.KendallLoss(reduction="sum")(tensor, tensor))  # Tensor
reveal_type(tr.LandmarkFeatures(tr.KendallKernel(), 2)(array))  # ndarray
reveal_type(tr.KernelKMeans(2).fit(array).labels)  # ndarray
reveal_type(tr.KernelKMeans(2).predict(tensor))  # Tensor
reveal_type(tr.RankingKMeans(2, center="borda").fit(tr.Batches(array)))  # KMeansFit[ndarray]
reveal_type(tr.MallowsMixture(3, 2).fit(tensor))  # MixtureFit
reveal_type(tr.MallowsMixture(3, 2)(array))  # ndarray
reveal_type(tr.PlackettLuceRegression(2).fit(tensor, torch.ones(3, 2)).covariance)  # Tensor
reveal_type(tr.MMPL(2, 3, 4)(tensor))  # Tensor
reveal_type(tr.MMPL(2, 3, 4).fit(tensor, tensor, tr.EMSettings(init="tree")))  # MMPLFit
reveal_type(tr.TopScoringPairs().fit(tensor, [0, 1, 0, 1]))  # Evidence
reveal_type(tr.KroneckerEigh(square, loss="ranking").solve(square, 1.0))  # ndarray
reveal_type(tr.PairKernel(torch.eye(4)) @ torch.eye(4))  # Tensor
reveal_type(estimators.RankingKMeans(2).fit(array).predict(array))  # ndarray
reveal_type(estimators.KendallFeatures().fit(array))  # KendallFeatures
reveal_type(estimators.MMPL().fit(array, array))  # MMPL
reveal_type(tr.metrics.silhouette_score(square, [0, 0, 1, 1]))  # float
reveal_type(tr.plots.plot_gram(square, names=np.array(list("abcd"))))  # Axes
