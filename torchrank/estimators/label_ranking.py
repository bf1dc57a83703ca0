"""Supervised clustering of label rankings as scikit-learn estimators: features ``X``, label scores ``Y``."""

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data
from torch import Tensor

from torchrank import linalg
from torchrank.clustering.label_ranking_baselines import (
    kmeans_then_rank,
    naive_kmeans,
    one_rank,
    rank_clustering_tree,
)
from torchrank.clustering.rank_tree import LOOKAHEAD, pruned_rank_tree, rank_tree
from torchrank.metrics.label_ranking import label_ranking_tau
from torchrank.models.mm_pl import MMPL
from torchrank.models.mm_pl_settings import EMSettings
from torchrank.rankings.validate import check_choice, from_array

TREES = ("iterative", "pruned")


class LabelRankingClusterer(BaseEstimator):
    """What the estimators share: K regions of feature space with a central ranking of L labels each.

    ``X`` is ``(N, d)`` and finite. ``Y`` is ``(N, L)`` scores, larger = preferred, NaN = not ranked; rows without any
    label are allowed. Orders (lists of labels, best first) are not scores, although ``0 ... L - 1`` would pass for
    them: convert them by :func:`torchrank.from_orders`, and ranks (1 = best) by :func:`torchrank.from_positions`. To
    tell what a table holds, look at a row whose favourite is known: in scores its column has the largest number, in
    ranks the smallest, and in orders its own index stands first.

    Attributes:
        central_rankings_: ``(K, L)`` scores of the central rankings, K down to the number of regions found.
        labels_: ``(N,)`` clusters of the training rows.
        n_features_in_: d.
    """

    def fit(self, X: Any, Y: Any) -> "LabelRankingClusterer":
        """Learn from features and label scores.

        Raises:
            ValueError: features that are not finite, fewer than two labels, no row that ranks two labels, or ties where
                the model has none.
        """
        X, Y = self._validated(X, Y)
        seed = int(check_random_state(getattr(self, "random_state", None)).randint(2**31 - 1))
        features = from_array(X, "X")
        self.model_ = self._fitted(features, from_array(Y, "Y"), seed)
        self.labels_ = self.model_.predict_cluster(features).numpy()
        self.central_rankings_ = self._central_scores()
        return self

    def fit_predict(self, X: Any, Y: Any) -> np.ndarray:
        """Learn, and return the clusters ``(N,)`` of the same rows."""
        return self.fit(X, Y).labels_

    def predict(self, X: Any) -> np.ndarray:
        """Clusters ``(N,)`` of features, by the features alone."""
        features = self._features(X)
        return self.model_.predict_cluster(features).numpy()

    def predict_ranking(self, X: Any) -> np.ndarray:
        """Scores ``(N, L)`` of predicted rankings, larger = preferred."""
        features = self._features(X)
        return self.model_.predict(features).detach().numpy()

    def score(self, X: Any, Y: Any) -> float:
        """Mean Kendall tau between true and predicted rankings, over pairs of labels that the true ones order."""
        return label_ranking_tau(_label_scores(Y), self.predict_ranking(X))

    @abstractmethod
    def _fitted(self, X: Tensor, Y: Tensor, seed: int) -> Any:
        """A model with ``predict``, ``predict_cluster`` and ``central_orders``."""

    def _validated(self, X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
        if Y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: pass the (N, L) label scores"
            )
        X = validate_data(self, X, dtype=np.float64)
        Y = _label_scores(Y)
        check_consistent_length(X, Y)
        return np.asarray(X), Y

    def _features(self, X: Any) -> Tensor:
        check_is_fitted(self)
        return from_array(np.asarray(validate_data(self, X, reset=False, dtype=np.float64)), "X")

    def _central_scores(self) -> np.ndarray:
        orders = self.model_.central_orders.numpy()
        scores = np.empty(orders.shape)
        np.put_along_axis(scores, orders, np.arange(orders.shape[1], 0, -1.0)[None], axis=1)
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        return tags


def _label_scores(Y: Any) -> np.ndarray:
    """A matrix of at least two columns; NaN allowed."""
    options: dict[str, Any] = {"ensure_all_finite": "allow-nan", "dtype": np.float64, "input_name": "Y"}
    return check_array(Y, ensure_min_features=2, **options)


class MMPLClusterer(LabelRankingClusterer):
    """MM-PL, the Plackett-Luce mixture gated by prototypes; see :class:`torchrank.MMPL`.

    Distances are Euclidean: put a scaler in front where features have different units.

    Args:
        n_clusters: K.
        n_prototypes: prototypes per cluster.
        settings: of expectation-maximisation; None means :class:`EMSettings`' defaults.
        missing: what an unranked label means: "interleaving", nothing; "topk", less preferred than all ranked ones.
        prediction: rankings by the "nearest" prototype's cluster, or expected under the whole "mixture".
        random_state: seed or ``numpy.random.RandomState``.

    Attributes:
        model_: the :class:`torchrank.MMPL` module.
        converged_: whether training came to its end; see :class:`EMSettings`.
        n_iter_: passes over the rows.
        log_likelihood_: mean log-likelihood in each pass.
    """

    def __init__(
        self,
        n_clusters: int = 10,
        n_prototypes: int = 10,
        *,
        settings: EMSettings | None = None,
        missing: str = "interleaving",
        prediction: str = "nearest",
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_prototypes = n_prototypes
        self.settings = settings
        self.missing = missing
        self.prediction = prediction
        self.random_state = random_state

    def predict_ranking(self, X: Any) -> np.ndarray:
        """Scores ``(N, L)`` of predicted rankings, larger = preferred."""
        features = self._features(X)
        return self.model_.predict(features, method=self.prediction).detach().numpy()

    def _fitted(self, X: Tensor, Y: Tensor, seed: int) -> MMPL:
        model = MMPL(X.shape[1], Y.shape[1], self.n_clusters, self.n_prototypes, dtype=torch.float64)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            evidence = model.fit(X, Y, self.settings, missing=self.missing, seed=seed)
        for warning in caught:
            kind = ConvergenceWarning if warning.category is linalg.ConvergenceWarning else warning.category
            warnings.warn(str(warning.message), kind, stacklevel=3)
        self.converged_, self.n_iter_ = evidence.converged, len(evidence.log_likelihood)
        self.log_likelihood_ = np.array(evidence.log_likelihood)
        return model


class RankTreeClusterer(LabelRankingClusterer):
    """A decision tree whose leaves hold one of K rankings; see :func:`torchrank.clustering.rank_tree.rank_tree`.

    Ties in ``Y`` are fine: a tied pair of labels is not counted.

    Args:
        n_clusters: K.
        method: "iterative", RT_iter; or "pruned", RT_prune, which uses ``min_leaf`` alone of what follows.
        min_leaf: fewest rows of a leaf; 20 to 80 for noisy rankings.
        lookahead: how much a split has to explain where none lowers the loss at once; 0 is the paper.
        start: "rows" or "random" rankings.
        n_starts: starts, of which the best on the training rows is kept.
        validation_fraction: share of the rows kept apart to prune the tree and choose among starts; 0 for none.
        tol: least fall of the training loss in an iteration.
        max_iter: most iterations.
        random_state: seed or ``numpy.random.RandomState``.

    Attributes:
        model_: the :class:`torchrank.RankTree`.
        converged_: whether the training loss fell by less than ``tol`` in the end.
        n_iter_: trees grown from the best start.
        losses_: loss of the training rows after each.
    """

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        method: str = "iterative",
        min_leaf: int = 5,
        lookahead: float = LOOKAHEAD,
        start: str = "rows",
        n_starts: int = 5,
        validation_fraction: float = 0.0,
        tol: float = 1e-4,
        max_iter: int = 50,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.min_leaf = min_leaf
        self.lookahead = lookahead
        self.start = start
        self.n_starts = n_starts
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fitted(self, X: Tensor, Y: Tensor, seed: int) -> Any:
        check_choice(self.method, "method", TREES)
        if self.method == "pruned":
            tree = pruned_rank_tree(X, Y, self.n_clusters, min_leaf=self.min_leaf)
        else:
            rows, validation = self._split(X, Y, seed)
            tree = rank_tree(
                *rows,
                self.n_clusters,
                min_leaf=self.min_leaf,
                lookahead=self.lookahead,
                start=self.start,
                n_starts=self.n_starts,
                tol=self.tol,
                max_iter=self.max_iter,
                validation=validation,
                seed=seed,
            )
        self.converged_, self.n_iter_, self.losses_ = tree.converged, max(1, len(tree.losses)), np.array(tree.losses)
        if not tree.converged:
            fall = tree.losses[-2] - tree.losses[-1] if self.n_iter_ > 1 else np.inf
            warnings.warn(
                f"RankTree did not converge in {self.n_iter_} iterations: the last one lowered the training loss by "
                f"{fall:.3g}, tol is {self.tol:.3g}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        return tree

    def _split(self, X: Tensor, Y: Tensor, seed: int) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor] | None]:
        if not 0 <= self.validation_fraction < 1:
            raise ValueError(f"validation_fraction={self.validation_fraction!r} is out of range; expected 0 up to 1")
        apart = int(self.validation_fraction * len(X))
        if apart == 0:
            return (X, Y), None
        order = torch.from_numpy(np.random.default_rng(seed).permutation(len(X)))
        rest, kept = order[apart:], order[:apart]
        return (X[rest], Y[rest]), (X[kept], Y[kept])


class OneRank(LabelRankingClusterer):
    """1-Rank: the Borda ranking of all rows for everyone."""

    def _fitted(self, X: Tensor, Y: Tensor, seed: int) -> Any:
        return one_rank(X, Y)


class KMeansRankClusterer(LabelRankingClusterer):
    """K-means on features, then a central ranking for each cluster.

    Args:
        n_clusters: K.
        center: "mallows", by Borda votes; or "plackett-luce", which refuses ties.
        n_starts: starts of K-means.
        random_state: seed or ``numpy.random.RandomState``.
    """

    def __init__(
        self, n_clusters: int = 10, *, center: str = "mallows", n_starts: int = 3, random_state: Any = None
    ) -> None:
        self.n_clusters = n_clusters
        self.center = center
        self.n_starts = n_starts
        self.random_state = random_state

    def _fitted(self, X: Tensor, Y: Tensor, seed: int) -> Any:
        return kmeans_then_rank(X, Y, self.n_clusters, center=self.center, n_starts=self.n_starts, seed=seed)


class NaiveKMeansClusterer(LabelRankingClusterer):
    """K-means on features and label positions together.

    Args:
        n_clusters: K.
        n_starts: starts of K-means.
        random_state: seed or ``numpy.random.RandomState``.
    """

    def __init__(self, n_clusters: int = 10, *, n_starts: int = 3, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.n_starts = n_starts
        self.random_state = random_state

    def _fitted(self, X: Tensor, Y: Tensor, seed: int) -> Any:
        return naive_kmeans(X, Y, self.n_clusters, n_starts=self.n_starts, seed=seed)


class RankClusteringTree(LabelRankingClusterer):
    """Clusters of rankings found without features, then a decision tree on the features.

    Args:
        n_clusters: K.
        method: "naive", "ebms" or "k-o-means"; see :func:`rank_clustering_tree`.
        min_leaf: fewest rows of a leaf.
        lookahead: see :class:`RankTreeClusterer`.
        random_state: seed or ``numpy.random.RandomState``.
    """

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        method: str = "k-o-means",
        min_leaf: int = 5,
        lookahead: float = LOOKAHEAD,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.min_leaf = min_leaf
        self.lookahead = lookahead
        self.random_state = random_state

    def _fitted(self, X: Tensor, Y: Tensor, seed: int) -> Any:
        return rank_clustering_tree(
            X, Y, self.n_clusters, method=self.method, min_leaf=self.min_leaf, lookahead=self.lookahead, seed=seed
        )
