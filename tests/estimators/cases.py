"""Every public estimator with data that suit it, for the tests of what all of them promise."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

import torchrank
from torchrank import EMSettings, estimators
from torchrank.conditional import ConditionalSplit

Table = tuple[np.ndarray, Any]
OUTPUTS = (
    "predict",
    "predict_cluster",
    "predict_proba",
    "predict_cluster_proba",
    "decision_function",
    "score_samples",
    "transform",
)


@dataclass(frozen=True)
class Case:
    """An estimator, what it learns from, and what goes before and after it in a pipeline."""

    estimator: Any
    data: Callable[[], Table]
    grid: dict[str, list[Any]]  # of parameters, for a search
    scale: bool = False  # whether columns may be scaled: not where their order within a row is what counts
    learner: Any = None  # behind a transformer
    scoring: str | None = None  # where the estimator has no score of its own
    shows_progress: bool = True  # where it is verbose

    @property
    def name(self) -> str:
        return type(self.estimator).__name__

    @property
    def needs_target(self) -> bool:
        return self.estimator.__sklearn_tags__().target_tags.required

    @property
    def square(self) -> bool:
        """Whether rows are those of a Gram matrix."""
        return self.data is gram

    def rows(self, X: np.ndarray, which: Any) -> np.ndarray:
        """Some rows to fit to; of a Gram matrix their columns too."""
        return X[which][:, which] if self.square else X[which]

    def first_step(self) -> Any:
        return StandardScaler() if self.scale else FunctionTransformer(feature_names_out="one-to-one")

    def searched(self) -> tuple[Any, dict[str, list[Any]]]:
        """What is searched over, and the grid with the names that the parameters have there."""
        if self.learner is None:
            return self.estimator, self.grid
        model = make_pipeline(self.estimator, self.learner)
        return model, {f"{self.name.lower()}__{name}": values for name, values in self.grid.items()}


def outputs(model: Any, X: Any) -> dict[str, np.ndarray]:
    """What a fitted estimator says about rows, by the name of the method."""
    return {name: getattr(model, name)(X) for name in OUTPUTS if hasattr(model, name)}


def rankings() -> Table:
    """Noisy copies of two rankings of five items, and which."""
    rng = np.random.default_rng(0)
    centers = rng.permuted(np.tile(np.arange(5.0), (2, 1)), axis=1)
    noisy = np.repeat(centers, 15, axis=0) + 1.5 * rng.normal(size=(30, 5))
    return noisy.argsort(1).argsort(1).astype(float), np.repeat([0, 1], 15)


def classes() -> Table:
    """Samples of two classes, which the order of the first two items tells apart."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(24, 6)), np.arange(24) % 2
    X[:, 0] += 2 * y
    return X, np.array(["no", "yes"])[y]


def gram() -> Table:
    """The Kendall kernel of samples of two classes."""
    X, y = classes()
    return torchrank.kendall_gram(X), y


def labels() -> Table:
    """Features and scores of four labels, some of them unranked."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    Y = np.outer(X[:, 0], [2.0, 1.0, -1.0, -2.0]) + 0.3 * rng.normal(size=(60, 4))
    Y[rng.random(Y.shape) < 0.1] = np.nan
    return X, Y


def edges() -> Table:
    """Edges between six start and seven end nodes with two features each, all but five of them."""
    rng = np.random.default_rng(3)
    start, end = rng.normal(size=(6, 2)), rng.normal(size=(7, 2))
    rows = np.array([np.concatenate([one, other]) for one in start for other in end])[:-5]
    return rows, rows[:, 0] * rows[:, 2] + 0.1 * rng.normal(size=len(rows))


def worths() -> Table:
    """Features of 30 items and ten rankings of them, each of a few."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 3))
    y = (X @ [1.0, -2.0, 0.0])[:, None] + rng.gumbel(size=(30, 10))
    y[rng.random(y.shape) < 0.3] = np.nan
    return X, y


_MALLOWS = {"kernel__lam": [0.1, 0.5]}
_SEEDED = {"random_state": 0}
_GENERATOR = torch.Generator().manual_seed(0)
CASES = [
    Case(estimators.AllPairsMajorityVote(), classes, {"ties": ["half", "strict"]}),
    Case(
        estimators.GramNormalizer(self_kernel=1.0), gram, {"center": [True, False]}, learner=SVC(kernel="precomputed")
    ),
    Case(estimators.KMeansRank(2, **_SEEDED), labels, {"center": ["mallows", "plackett-luce"]}, scale=True),
    Case(estimators.KendallFeatures(), classes, {"variant": ["a", "b"]}, learner=LinearSVC()),
    Case(estimators.KernelFisherDiscriminant(), classes, {"ridge": [0.01, 1.0]}),
    Case(
        estimators.KernelFisherDiscriminant(kernel=torchrank.MallowsKernel(normalize=True)),
        classes,
        _MALLOWS,
        shows_progress=False,
    ),
    Case(estimators.KernelGaussianMixture(2, **_SEEDED), rankings, {"n_components": [1, 2]}),
    Case(
        estimators.KernelGaussianMixture(2, kernel=torchrank.MallowsKernel(), dimension=10, **_SEEDED),
        rankings,
        _MALLOWS,
    ),
    Case(estimators.KernelKMeans(2, **_SEEDED), rankings, {"n_clusters": [2, 3]}, scoring="adjusted_rand_score"),
    Case(
        estimators.KernelKMeans(2, kernel=torchrank.MallowsKernel(), **_SEEDED),
        rankings,
        _MALLOWS,
        scoring="adjusted_rand_score",
    ),
    Case(estimators.KernelMallowsMixture(2, n_init=2, **_SEEDED), rankings, {"ridge": [0.1, 1.0]}),
    Case(estimators.KroneckerRLS(kernel="rbf"), edges, {"alpha": [0.1, 1.0]}, scale=True),
    Case(estimators.KroneckerRLSCV([0.1, 1.0], kernel="rbf", **_SEEDED), edges, {"cv": ["edge", "start"]}, scale=True),
    Case(
        estimators.KroneckerRLSCV([0.1, 1.0], kernel="rbf", cv=ConditionalSplit(1, 2, generator=_GENERATOR)),
        edges,
        {"tol": [1e-8, 1e-4]},
        scale=True,
    ),
    Case(estimators.LandmarkFeatures(n_landmarks=8, **_SEEDED), classes, {"n_landmarks": [4, 8]}, learner=LinearSVC()),
    Case(estimators.LandmarkFeatures(torchrank.MallowsKernel(), 8, **_SEEDED), classes, _MALLOWS, learner=LinearSVC()),
    Case(
        estimators.MMPL(2, 3, settings=EMSettings(n_updates=2000), **_SEEDED),
        labels,
        {"settings": [EMSettings(n_updates=500), EMSettings(n_updates=1000)]},
        scale=True,
    ),
    Case(estimators.MallowsMixture(2, n_init=2, **_SEEDED), rankings, {"center": ["kemeny", "borda"]}),
    Case(estimators.PlackettLuceRegression(), worths, {"prior": [0.1, 1.0]}, scale=True),
    Case(estimators.NaiveKMeans(2, **_SEEDED), labels, {"n_clusters": [1, 2]}, scale=True),
    Case(estimators.OneRank(), labels, {}, scale=True),
    Case(estimators.RankClusteringTree(2, **_SEEDED), labels, {"method": ["k-o-means", "naive", "ebms"]}, scale=True),
    Case(estimators.RankTree(2, **_SEEDED), labels, {"n_clusters": [1, 2]}, scale=True),
    Case(
        estimators.RankTree(2, method="pruned"),
        labels,
        {"min_leaf": [5, 10]},
        scale=True,
        shows_progress=False,
    ),
    Case(
        estimators.RankingKMeans(2, **_SEEDED), rankings, {"center": ["kemeny", "borda"]}, scoring="adjusted_rand_score"
    ),
    Case(estimators.TSPSelector(3), classes, {"k": [1, 3]}, learner=SVC()),
    Case(estimators.TopScoringPairs(2), classes, {"k": [1, 2]}),
]
