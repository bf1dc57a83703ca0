"""Nested cross-validation of Jiao and Vert (2018), section 8: 14 classifiers from one Gram matrix a kernel and set.

Kernels are centered on the training samples and scaled to unit norm, also within inner folds. Support vector machines
choose C, those on the genes of top scoring pairs C and the number of pairs, k-TSP the number of pairs, each by 5 inner
folds and the smallest value among equals. What the paper leaves open is said where it is decided.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.svm import SVC

from benchmarks.papers.classification_data import Samples
from torchrank import center_gram, kendall_gram, normalize_gram
from torchrank.classification import (
    all_pairs_margins,
    fisher_discriminant,
    paired_items,
    top_scoring_pairs,
    vote_margins,
)

KERNELS = ("linear", "poly", "rbf", "kdt")
TOP_KERNELS = ("linear", "poly", "kdt")
SCORES = ("accuracy", "auc", "balanced")


@dataclass(frozen=True)
class Grid:
    """What inner folds choose from."""

    costs: tuple[float, ...] = tuple(10.0 ** np.arange(-2, 4))
    ks: tuple[int, ...] = (1, 3, 7, 17, 44, 114, 293, 755, 1940, 5000)
    seed: int = 0


QUICK = Grid(costs=(0.01, 1.0, 100.0), ks=(1, 20, 400))


class Split(NamedTuple):
    """Numbers of training and test samples."""

    train: np.ndarray
    test: np.ndarray


def splits(samples: Samples, repeats: int, seed: int) -> list[Split]:
    """The given split where there is one, else 5 stratified folds, ``repeats`` times; the same for the same seed."""
    if samples.test is not None:
        return [Split(np.flatnonzero(~samples.test), np.flatnonzero(samples.test))]
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=seed)
    return [Split(*fold) for fold in folds.split(samples.X, samples.y)]


class Kernels:
    """Kernel matrices of all samples on some of their features."""

    def __init__(self, X: np.ndarray) -> None:
        self.X = X

    @cached_property
    def products(self) -> np.ndarray:
        """Inner products."""
        return self.X @ self.X.T

    @cached_property
    def kendall(self) -> np.ndarray:
        """The Kendall kernel, variant b."""
        return kendall_gram(self.X)

    def matrix(self, kernel: str, train: np.ndarray) -> np.ndarray:
        """The kernel matrix; the RBF's width is the median distance between training samples."""
        if kernel == "kdt":
            return self.kendall
        if kernel == "linear":
            return self.products
        if kernel == "poly":
            return self.products**2
        norms = self.products.diagonal()
        squares = np.maximum(norms[:, None] + norms - 2 * self.products, 0)
        width = np.median(squares[np.ix_(train, train)][np.triu_indices(len(train), 1)])
        return np.exp(-squares / (2 * width))

    def blocks(self, kernel: str, split: Split) -> tuple[np.ndarray, np.ndarray]:
        """Training and test block, centered on the training samples and scaled to unit norm."""
        train, test = split
        K = self.matrix(kernel, train)
        K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
        centered = center_gram(K_train)
        norms = K[test, test] - 2 * K_test.mean(axis=1) + K_train.mean()  # of the test samples' centered features
        scaled = normalize_gram(centered)
        return scaled, normalize_gram(center_gram(K_test, K_train), np.maximum(norms, 0), centered.diagonal())


def inner_splits(train: np.ndarray, y: np.ndarray, seed: int) -> Iterator[Split]:
    """Five stratified folds of training samples."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    for inner, held_out in folds.split(train, y[train]):
        yield Split(train[inner], train[held_out])


def svm_decisions(kernels: Kernels, kernel: str, split: Split, y: np.ndarray, costs: Sequence[float]) -> np.ndarray:
    """Decision values of the test samples for each C; ``(costs, test)``."""
    K_train, K_test = kernels.blocks(kernel, split)
    machines = (SVC(C=cost, kernel="precomputed").fit(K_train, y[split.train]) for cost in costs)
    return np.array([machine.decision_function(K_test) for machine in machines])


def fisher_decision(kernels: Kernels, kernel: str, split: Split, y: np.ndarray, **options: Any) -> np.ndarray:
    """Decision values of the test samples."""
    K_train, K_test = kernels.blocks(kernel, split)
    return fisher_discriminant(K_train, y[split.train], n_classes=2, **options).decision(K_test)


class Pairs:
    """Top scoring pairs of the training samples, and the features in them."""

    def __init__(self, samples: Samples, split: Split, ks: Sequence[int]) -> None:
        self.samples, self.split, self.ks = samples, split, ks
        X, n = samples.X, samples.X.shape[1]
        self.found = top_scoring_pairs(X[split.train], samples.y[split.train], max(ks))
        self.features = paired_items(self.found, n, ks)

    def margins(self) -> np.ndarray:
        """Votes of the test samples for each number of pairs; ``(ks, test)``."""
        return vote_margins(self.samples.X[self.split.test], self.found, self.ks)

    def kernels(self, index: int) -> Kernels:
        """Kernels on the features in the ``ks[index]`` best pairs."""
        return Kernels(self.samples.X[:, self.features[index]])


def evaluate(samples: Samples, kernels: Kernels, split: Split, grid: Grid) -> dict[str, np.ndarray]:
    """Decision values of the test samples by every method of Table 2.

    Beside them ``KFD...mid``, the discriminants with this library's defaults, and ``APMVhalf``, with a neutral vote.
    """
    y, decisions = samples.y, {}
    inner = list(inner_splits(split.train, y, grid.seed))
    for kernel in KERNELS:
        correct = sum(right(svm_decisions(kernels, kernel, fold, y, grid.costs), y, fold) for fold in inner)
        cost = grid.costs[int(np.argmax(correct))]
        decisions[f"SVM{kernel}ALL"] = svm_decisions(kernels, kernel, split, y, [cost])[0]
        # The text adds the ridge to the kernel matrix, the authors' program to the scatter, with a threshold of 0.
        decisions[f"KFD{kernel}ALL"] = fisher_decision(kernels, kernel, split, y, ridge_on="scatter", threshold="zero")
        decisions[f"KFD{kernel}mid"] = fisher_decision(kernels, kernel, split, y)
    decisions |= pair_decisions(samples, split, inner, grid)
    X = samples.X
    rankings = X[split.train], y[split.train], X[split.test]
    decisions["APMV"] = all_pairs_margins(*rankings, ties="strict")
    decisions["APMVhalf"] = all_pairs_margins(*rankings)
    return decisions


def inner_counts(samples: Samples, inner: list[Split], grid: Grid) -> dict[str, np.ndarray]:
    """Right predictions in inner folds: for kTSP ``(ks,)``, for the SVM on features of top pairs ``(ks, costs)``."""
    shape = (len(grid.ks), len(grid.costs))
    counts = {"kTSP": np.zeros(shape[0])} | {f"SVM{kernel}TOP": np.zeros(shape) for kernel in TOP_KERNELS}
    for fold in inner:
        pairs = Pairs(samples, fold, grid.ks)
        counts["kTSP"] += right(pairs.margins(), samples.y, fold)
        for index in range(len(grid.ks)):
            kernels = pairs.kernels(index)
            for kernel in TOP_KERNELS:
                decisions = svm_decisions(kernels, kernel, fold, samples.y, grid.costs)
                counts[f"SVM{kernel}TOP"][index] += right(decisions, samples.y, fold)
    return counts


def pair_decisions(samples: Samples, split: Split, inner: list[Split], grid: Grid) -> dict[str, np.ndarray]:
    """TSP, k-TSP, and support vector machines on the features of top scoring pairs."""
    counts = inner_counts(samples, inner, grid)
    pairs = Pairs(samples, split, grid.ks)
    margins = pairs.margins()
    decisions = {"TSP": margins[0], "kTSP": margins[int(np.argmax(counts["kTSP"]))]}
    for kernel in TOP_KERNELS:
        name = f"SVM{kernel}TOP"
        index, cost = np.unravel_index(np.argmax(counts[name]), counts[name].shape)
        kernels = pairs.kernels(int(index))
        decisions[name] = svm_decisions(kernels, kernel, split, samples.y, [grid.costs[cost]])[0]
    return decisions


def scores(decision: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Accuracy, area under the ROC curve and balanced accuracy, in per cent."""
    predicted = decision > 0
    parts = (predicted == y).mean(), roc_auc_score(y, decision), balanced_accuracy_score(y, predicted)
    return tuple(round(100 * float(part), 4) for part in parts)  # type: ignore[return-value]


def right(decisions: np.ndarray, y: np.ndarray, split: Split) -> np.ndarray:
    """Right predictions of held-out samples for each row of decision values."""
    return ((decisions > 0) == y[split.test]).sum(axis=1)
