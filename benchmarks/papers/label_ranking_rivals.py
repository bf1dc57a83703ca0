"""Label rankers that the paper does not have: weighted nearest neighbors, forests, and logistic regressions of pairs.

They are scikit-learn's, fitted to what rows tell of positions or of pairs of labels. A label that a row leaves out may
stand anywhere in it: it counts with its expected position, and its pairs not at all.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import torch
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from torch import Tensor

from torchrank import borda

TREES = 60
Predict = Callable[[np.ndarray], np.ndarray]


class Rival:
    """A function from features to scores of labels; it has no clusters."""

    def __init__(self, scores: Predict) -> None:
        self._scores = scores

    def predict(self, X: Tensor) -> Tensor:
        """Scores of labels, larger = preferred."""
        return torch.from_numpy(np.asarray(self._scores(X.numpy()), dtype=np.float64))


def neighbors(n_neighbors: int) -> Callable[[Tensor, Tensor, int, int], Rival]:
    """Mean of the nearest rows' expected Borda votes, with weights of one over the distance."""

    def fit(X: Tensor, Y: Tensor, n_clusters: int, seed: int) -> Rival:
        model = KNeighborsRegressor(min(n_neighbors, len(X)), weights="distance").fit(X.numpy(), votes(Y))
        return Rival(model.predict)

    return fit


def forest_of_positions(min_leaf: int) -> Callable[[Tensor, Tensor, int, int], Rival]:
    """A forest of the expected Borda votes of all labels at once."""

    def fit(X: Tensor, Y: Tensor, n_clusters: int, seed: int) -> Rival:
        return Rival(_forest(min_leaf, seed).fit(X.numpy(), votes(Y)).predict)

    return fit


def forest_of_pairs(min_leaf: int) -> Callable[[Tensor, Tensor, int, int], Rival]:
    """A forest of the signs of all pairs of labels at once; labels are ordered by the sums of the expected signs."""

    def fit(X: Tensor, Y: Tensor, n_clusters: int, seed: int) -> Rival:
        pairs, signs = pair_signs(Y.numpy())
        model = _forest(min_leaf, seed).fit(X.numpy(), np.nan_to_num(signs))
        return Rival(lambda new: _sums(model.predict(new).reshape(len(new), -1), pairs, Y.shape[1]))

    return fit


def logistic_pairs(C: float) -> Callable[[Tensor, Tensor, int, int], Rival]:
    """Ranking by pairwise comparison: a logistic regression for each pair of labels, over the rows that order it."""

    def fit(X: Tensor, Y: Tensor, n_clusters: int, seed: int) -> Rival:
        pairs, signs = pair_signs(Y.numpy())
        models = [_logistic(X.numpy(), sign, C) for sign in signs.T]

        def scores(new: np.ndarray) -> np.ndarray:
            return _sums(np.stack([model(new) for model in models], 1), pairs, Y.shape[1])

        return Rival(scores)

    return fit


def votes(Y: Tensor) -> np.ndarray:
    """Expected Borda votes ``(N, L)`` of each row alone."""
    return borda(Y[:, None], missing="interleaving").numpy()


def pair_signs(Y: np.ndarray) -> tuple[list[tuple[int, int]], np.ndarray]:
    """All pairs of labels, and ``(N, pairs)`` signs of their differences, NaN where a row leaves one out."""
    pairs = list(combinations(range(Y.shape[1]), 2))
    first, second = np.array(pairs).T
    return pairs, np.sign(Y[:, first] - Y[:, second])


def _forest(min_leaf: int, seed: int) -> RandomForestRegressor:
    return RandomForestRegressor(TREES, min_samples_leaf=min_leaf, max_features=1 / 3, n_jobs=1, random_state=seed)


def _logistic(X: np.ndarray, sign: np.ndarray, C: float) -> Predict:
    """Twice the probability of a positive sign, less one."""
    there = ~np.isnan(sign) & (sign != 0)
    if not there.any():
        return lambda new: np.zeros(len(new))
    wins = sign[there] > 0
    several = wins.any() and not wins.all()
    model = LogisticRegression(C=C, max_iter=500) if several else DummyClassifier(strategy="prior")
    model.fit(X[there], wins)
    column = list(model.classes_).index(True) if True in model.classes_ else None
    if column is None:
        return lambda new: np.full(len(new), -1.0)
    return lambda new: 2 * np.asarray(model.predict_proba(new))[:, column] - 1


def _sums(signs: np.ndarray, pairs: Sequence[tuple[int, int]], n_labels: int) -> np.ndarray:
    """Scores ``(N, L)``: sums of the expected signs of a label against all others."""
    scores = np.zeros((len(signs), n_labels))
    for column, (first, second) in zip(signs.T, pairs, strict=True):
        scores[:, first] += column
        scores[:, second] -= column
    return scores
