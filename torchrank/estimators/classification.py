"""Classifiers by pairs of items, and the selection of items in them, as scikit-learn estimators."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted
from typing_extensions import Self

from torchrank._docs import shares_arguments
from torchrank.classification import AllPairsMajorityVote as AllPairsMajorityVoteModule
from torchrank.classification import ScoredPairs, paired_items, top_scoring_pairs
from torchrank.classification import TopScoringPairs as TopScoringPairsModule
from torchrank.classification.labels import class_pairs
from torchrank.estimators.border import check_scores
from torchrank.estimators.data_sets import refuse_weights, target_of, weights_of
from torchrank.estimators.fitting import SETTINGS, all_or_nothing, module_on_device, on_device
from torchrank.rankings.arrays import is_data_set, refuse_masks, to_numpy
from torchrank.rankings.isolation import isolated
from torchrank.typing import VoteTies

COMPLETE = "pairs compare items of complete rankings: leave the item out, or fill in a score"


def encode_classes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The classes in ``y``, sorted, and the number of each sample's class.

    Raises:
        ValueError: labels of a regression problem, or only one class.
    """
    check_classification_targets(y)
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has one class only, {classes.tolist()[0]!r}; a classifier needs samples of at least two")
    return classes, numbers.reshape(-1)


class DecisionMixin(ClassifierMixin):
    """Prediction from decision values."""

    def predict(self: Any, X: Any) -> np.ndarray:
        """Classes ``(m,)`` of samples; the first of ``classes_`` among equals."""
        decision = self.decision_function(X)
        return self.classes_[(decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]

    def score(  # pyright: ignore[reportIncompatibleMethodOverride] - a stub there
        self: Any, X: Any, y: Any = None, sample_weight: Any = None
    ) -> float:
        """Share of the samples whose class is predicted.

        Args:
            X: ``(m, n)`` samples, or a data set.
            y: ``(m,)`` their classes; None is those of a data set.
            sample_weight: ``(m,)`` how much each sample counts; None is the weights of a data set, or 1 each.
        """
        return ClassifierMixin.score(self, X, target_of(X, y), weights_of(X, sample_weight))


@isolated
@shares_arguments(SETTINGS)
class TopScoringPairs(DecisionMixin, BaseEstimator):
    """Majority vote of the k pairs of features whose order tells classes apart best (TSP, k-TSP).

    Only the order of features within a sample matters. Several classes are decided one against one. See
    :func:`torchrank.classification.top_scoring_pairs` for scores, ties and sources.

    Args:
        k: pairs for each pair of classes.
        disjoint: no feature in two pairs.
        verbose: show a progress bar of tiles of the table of pairs while fitting.
        device: {device}

    Attributes:
        classes_: class labels, sorted.
        pairs_: ``(class pairs, k, 2)`` features: the first above the second speaks for the second class of the pair.
            Class pairs are ordered (0, 1), (0, 2), ..., (1, 2), ...
        scores_: ``(class pairs, k)`` scores of the pairs, from 0 to 1, best first.
        model_: the :class:`torchrank.classification.TopScoringPairs` module.
        n_features_in_: columns of ``X``.
    """

    def __init__(self, k: int = 1, *, disjoint: bool = False, verbose: bool = False, device: Any = None) -> None:
        self.k = k
        self.disjoint = disjoint
        self.verbose = verbose
        self.device = device

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose pairs for samples ``(m, n)`` and their classes ``(m,)``; a data set has both.

        Raises:
            ValueError: NaN, weights of a data set, only one class, or ``k`` larger than the number of pairs.
        """
        with all_or_nothing(self):
            refuse_weights(self, X)
            X, y = check_scores(self, X, y, remedy=COMPLETE)
            self.classes_, numbers = encode_classes(y)
            module = TopScoringPairsModule(self.k, n_classes=len(self.classes_), disjoint=self.disjoint)
            module = module_on_device(module, self.device)
            module.fit(on_device(X, self.device), numbers, progress=bool(self.verbose))
            self.model_ = module
            self.pairs_ = to_numpy(torch.stack([self.model_.above, self.model_.below], dim=2))
            self.scores_ = to_numpy(self.model_.score)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Votes for the second class minus votes for the first divided by k, ``(m,)``; ``(m, classes)`` for more.

        For more than two classes: how many other classes each wins against, plus less than 1/3 either way by margins.
        """
        check_is_fitted(self)
        scores = on_device(check_scores(self, X, reset=False, remedy=COMPLETE), self.device)
        return to_numpy(self.model_(scores))


@isolated
@shares_arguments(SETTINGS)
class AllPairsMajorityVote(DecisionMixin, BaseEstimator):
    """Majority vote of all pairs of features, each for the class in which its order is more frequent (APMV).

    The pairs are too many to keep, so they are scored again at every prediction: predict many samples at once.

    Args:
        ties: "half" is neutral; "strict" reproduces published accuracies, see
            :func:`torchrank.classification.all_pairs_margins`.
        verbose: show a progress bar of tiles of the table of pairs while predicting.
        device: {device}

    Attributes:
        classes_: class labels, sorted.
        model_: the :class:`torchrank.classification.AllPairsMajorityVote` module, which holds the training samples.
        n_features_in_: columns of ``X``.
    """

    def __init__(self, *, ties: VoteTies = "half", verbose: bool = False, device: Any = None) -> None:
        self.ties: VoteTies = ties
        self.verbose = verbose
        self.device = device

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep samples ``(m, n)`` and their classes ``(m,)``; a data set has both.

        Raises:
            ValueError: NaN, weights of a data set, or only one class.
        """
        with all_or_nothing(self):
            refuse_weights(self, X)
            X, y = check_scores(self, X, y, remedy=COMPLETE)
            self.classes_, numbers = encode_classes(y)
            self.model_ = AllPairsMajorityVoteModule(on_device(X, self.device), numbers, ties=self.ties)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Votes for the second class minus votes for the first, as a share of all pairs, ``(m,)``.

        ``(m, classes)`` for more than two classes, as for :class:`TopScoringPairs`.
        """
        check_is_fitted(self)
        scores = on_device(check_scores(self, X, reset=False, remedy=COMPLETE), self.device)
        return to_numpy(self.model_(scores, progress=bool(self.verbose)))


@isolated
@shares_arguments(SETTINGS)
class TSPSelector(SelectorMixin, BaseEstimator):
    """Keep the features in the k top scoring pairs, of every pair of classes (Shi et al., 2011).

    Args:
        k: pairs for each pair of classes.
        disjoint: no feature in two pairs; then 2 k features are kept.
        verbose: show a progress bar of tiles of the table of pairs, for every pair of classes.
        device: {device}

    Attributes:
        classes_: class labels, sorted.
        pairs_: ``(class pairs, k, 2)`` features, best pairs first.
        n_features_in_: columns of ``X``.

    References:
        Shi, Ray, Zhu and Kon, Top scoring pairs for feature selection in machine learning and applications to cancer
        outcome prediction, BMC Bioinformatics 12, 2011, doi:10.1186/1471-2105-12-375.
    """

    n_features_in_: int

    def __init__(self, k: int = 10, *, disjoint: bool = False, verbose: bool = False, device: Any = None) -> None:
        self.k = k
        self.disjoint = disjoint
        self.verbose = verbose
        self.device = device

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose features by samples ``(m, n)`` and their classes ``(m,)``; a data set has both.

        Raises:
            ValueError: NaN, weights of a data set, only one class, or ``k`` larger than the number of pairs.
        """
        with all_or_nothing(self):
            refuse_weights(self, X)
            X, y = check_scores(self, X, y, remedy=COMPLETE)
            self.classes_, numbers = encode_classes(y)
            options = {"disjoint": self.disjoint, "progress": bool(self.verbose)}
            scores, found = on_device(X, self.device), []
            for first, second in class_pairs(len(self.classes_)):
                of_two = (numbers == first) | (numbers == second)
                rows = on_device(of_two.nonzero()[0], self.device)
                best = top_scoring_pairs(scores[rows], numbers[of_two] == second, self.k, **options)
                found.append(ScoredPairs(*map(to_numpy, best)))
            self.pairs_ = np.stack([np.stack([pairs.above, pairs.below], axis=1) for pairs in found])
            self._scored = found
        return self

    def transform(self, X: Any) -> Any:
        """The features kept, ``(m, kept)``, of samples ``(m, n)``."""
        check_is_fitted(self)
        if is_data_set(X):
            return check_scores(self, X, reset=False, remedy=None)[:, self.get_support()]
        refuse_masks(X, "X")
        return super().transform(X)

    def inverse_transform(self, X: Any) -> Any:
        """Samples ``(m, n)`` with 0 for the features that were left out, of the features kept, ``(m, kept)``."""
        refuse_masks(X, "X")
        return super().inverse_transform(X)

    def supports(self, ks: Sequence[int]) -> np.ndarray:
        """Which features the first ``ks[0]`` pairs would keep, and so on: ``(len(ks), n)`` bool, from one fit.

        Raises:
            ValueError: a number of pairs that is not from 1 to ``k``.
        """
        check_is_fitted(self)
        return np.logical_or.reduce([paired_items(pairs, self.n_features_in_, ks) for pairs in self._scored])

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        return self.supports([self.pairs_.shape[1]])[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
