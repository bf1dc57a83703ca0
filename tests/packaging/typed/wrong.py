"""A user's program with a fault in each line that says so."""

import numpy as np
import torch

import torchrank as tr
from torchrank import estimators

tensor, array = torch.rand(4, 3), np.random.default_rng(0).random((4, 3))

tr.kendall_gram(array, variant="c")  # fault
tr.kendall_gram("abc")  # fault
tr.kendall_gram(["abc", "bca"])  # fault
tr.kendall_gram(3.0)  # fault
tr.kendall_gram({"a": 1})  # fault
tr.kendall_gram(array, missing="top")  # fault
tr.kendall_gram(array, missing=["topk", "pairwise"])  # fault
tr.kendall_gram(array, method="fast")  # fault
tr.kendall_gram(array, varaint="a")  # fault
tr.kendall_gram(array, out="a.npy", variant="c")  # fault
tr.kendall_gram(array, out="a.npy", varaint="a")  # fault
tr.kendall_distance(array, out="a.npy", method="fast")  # fault
tr.mallows_gram(array, out="a.npy", lamda=2.0)  # fault
tr.smoothed_kendall_gram(array, out="a.npy")  # fault
tr.kendall_loss(tensor, tensor, window=1.0, weights="hyper")  # fault
tr.kendall_gram(array, tensor)  # fault
wrong_array: np.ndarray = tr.kendall_gram(tensor)  # fault
wrong_tensor: torch.Tensor = tr.borda(array)  # fault
wrong_prepared: torch.Tensor = tr.kendall_gram(tr.rank(array))  # fault
wrong_count: int = tr.pair_counts(tensor).concordant  # fault
tr.mallows_gram(array, lam="1")  # fault
tr.smoothed_kendall_gram(array, window=1.0, noise="normal")  # fault
tr.kendall_loss(tensor, tensor, window=1.0, reduction="average")  # fault
tr.KendallLoss(scheme="hyperbolic")  # fault
tr.pair_weights([1.0, 2.0], scheme="pairs")  # fault
tr.kendall_test(array, alternative="two_sided")  # fault
tr.kendall_graph(array, alpha=0.1, correction="holm")  # fault
tr.kendall_neighbors(array, 2, sign="both")  # fault
print(tr.kendall_neighbors(array, 2).labels)  # fault
tr.to_positions(array, ties="max")  # fault
tr.from_positions(array, ties="min")  # fault
tr.kemeny(array, method="exact")  # fault
tr.borda(array, missing="pairwise")  # fault
tr.fit_mallows(array, ties="davidson")  # fault
tr.fit_plackett_luce(array, method="bfgs")  # fault
tr.kron_rls(array, None, array, 1.0, relation="antisymmetric")  # fault
tr.kron_rank_rls(array, None, array, 1.0, direction="out")  # fault
tr.kron_iterative_rls(array, None, array, 1.0, method="gmres")  # fault
tr.KroneckerEigh(array, loss="hinge")  # fault
tr.fisher_discriminant(array, [0, 1], ridge_on="labels")  # fault
tr.rank_tree(tensor, tensor, 2, init="cells")  # fault
tr.EMSettings(stop="always")  # fault
tr.KendallKernel(variant="c")  # fault
tr.KendallKernel()("abc")  # fault
tr.KernelKMeans(2, init="kmeans++")  # fault
tr.KernelKMeans(2, kernel="kendal")  # fault
print(tr.KernelKMeans(2).fit(array).lables)  # fault
tr.RankingKMeans(2, center="mean")  # fault
tr.MallowsMixture(3, 2, missing="drop")  # fault
tr.MallowsMixture(3, 2).criterion(array, name="dic")  # fault
estimators.KroneckerRLS(loss="hinge")  # fault
wrong_labels: list[int] = estimators.RankingKMeans(2).fit(array).predict(array)  # fault
tr.kendal_gram(array)  # fault
tr.plots.plot_gram(array, names="abcd")  # fault
