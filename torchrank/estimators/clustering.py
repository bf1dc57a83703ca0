"""Clusterings of rankings as scikit-learn estimators: samples are rankings, features are the scores of items."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,  # pyright: ignore[reportPrivateUsage] - scikit-learn's documented way for developers
    check_is_fitted,
    validate_data,
)

from torchrank import clustering
from torchrank._docs import shares_arguments
from torchrank.clustering.points import CHOOSE_KERNEL
from torchrank.estimators.border import check_scores, takes_unranked
from torchrank.estimators.fitting import ATTRIBUTES, all_or_nothing, keep_evidence
from torchrank.rankings.arrays import refuse_masks
from torchrank.rankings.isolation import isolated


@isolated
class RankingClusterer(ClusterMixin, BaseEstimator, ABC):
    """What the estimators of clusters and of mixtures share: fit a module, keep the evidence."""

    random_state: Any
    verbose: bool
    _learner: ClassVar[type]  # the module, whose settings are the estimator's
    _learner_counts_items: ClassVar[bool] = False  # whether it also has to know how many items there are
    _remedy: ClassVar[str] = CHOOSE_KERNEL  # what to do about unranked items

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find clusters of the rows of ``X``; ``y`` is ignored.

        Args:
            X: ``(m, n)`` scores, larger = preferred; or a Gram matrix ``(m, m)`` for ``kernel="precomputed"``.
            y: ignored.
            sample_weight: ``(m,)`` how much each row counts, at least 0.

        Warns:
            ConvergenceWarning: ``max_iter`` was not enough.
            UserWarning: clusters stay empty, or a concentration reached its cap.
        """
        with all_or_nothing(self):
            X = self._validated(X, reset=True)
            weights = self._checked_weights(X, sample_weight)
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            self.model_ = self._module(X.shape[1])
            fit = self.model_.fit(
                X, weights, generator=torch.Generator().manual_seed(seed), progress=bool(self.verbose)
            )
            keep_evidence(self, fit)
            self._keep(fit, X)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Labels ``(m2,)`` of rankings ``(m2, n)``; for ``kernel="precomputed"`` of ``(m2, m)``, new against old."""
        check_is_fitted(self)
        return self.model_.predict(self._validated(X, reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.allow_nan = self._takes_unranked
        return tags

    @property
    def _precomputed(self) -> bool:
        kernel = getattr(self, "kernel", None)
        return isinstance(kernel, str) and kernel == "precomputed"

    @property
    def _takes_unranked(self) -> bool:
        """Whether NaN, an unranked item, is legal."""
        return takes_unranked(getattr(self, "kernel", None))

    def _validated(self, X: Any, *, reset: bool) -> np.ndarray:
        if self._precomputed:
            refuse_masks(X, "X")
            return np.asarray(validate_data(self, X, reset=reset))
        remedy = None if self._takes_unranked else self._remedy
        return np.asarray(check_scores(self, X, reset=reset, remedy=remedy))

    @staticmethod
    def _checked_weights(X: np.ndarray, sample_weight: Any) -> np.ndarray | None:
        refuse_masks(sample_weight, "sample_weight")
        return None if sample_weight is None else _check_sample_weight(sample_weight, X)

    def _module(self, n_items: int) -> Any:
        """The module with the estimator's settings."""
        settings = self.get_params(deep=False) | ({"n_items": n_items} if self._learner_counts_items else {})
        of_the_fit = ("random_state", "verbose")
        return self._learner(**{name: value for name, value in settings.items() if name not in of_the_fit})

    @abstractmethod
    def _keep(self, fit: Any, X: np.ndarray) -> None:
        """Keep what this kind of fit has learned."""


class _KMeans(RankingClusterer):
    """What the two kinds of k-means learn."""

    def _keep(self, fit: clustering.KMeansFit, X: np.ndarray) -> None:
        self.labels_ = fit.labels


@isolated
@shares_arguments(ATTRIBUTES)
class KernelKMeans(_KMeans):
    """Kernel k-means on rankings; see :class:`torchrank.KernelKMeans` for what it minimizes.

    Args:
        n_clusters: number of clusters.
        kernel: a kernel module such as :class:`torchrank.MallowsKernel`, a function of two score matrices, or
            "precomputed"; None means the Kendall kernel. Modules are cloned with the estimator, and their settings are
            parameters, such as ``kernel__lam``.
        init: "k-means++" or "random", or integer labels ``(m,)`` or ``(starts, m)`` of all training rows.
        n_init: starts, of which the best is kept.
        max_iter: most iterations of a start.
        random_state: seed of the starts.
        verbose: show a progress bar of the starts, with the iteration and the best objective.

    Attributes:
        labels_: ``(m,)`` cluster of each training row.
        objective_: {objective} the weighted sum of squared distances to the centers.
        losses_: {losses}
        n_iter_: {n_iter}
        converged_: {converged}
        reason_: {reason}
        model_: the module.
        n_features_in_: columns of ``X``.
    """

    _learner = clustering.KernelKMeans

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        kernel: Any = None,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose


@isolated
@shares_arguments(ATTRIBUTES)
class RankingKMeans(_KMeans):
    """k-means with central rankings; see :class:`torchrank.RankingKMeans` for what it minimizes.

    Args:
        n_clusters: number of clusters.
        center: "kemeny", "borda" or "copeland".
        missing: "raise" refuses unranked items, NaN; "pairwise" lets pairs with them cost nothing.
        init: "k-means++" or "random", or integer labels ``(m,)`` or ``(starts, m)`` of all training rows.
        n_init: starts, of which the best is kept.
        max_iter: most iterations of a start.
        random_state: seed of the starts.
        verbose: show a progress bar of the starts, with the iteration and the best objective.

    Attributes:
        cluster_centers_: ``(n_clusters, n)`` central rankings, scores from 0 to n - 1.
        labels_: ``(m,)`` cluster of each training row.
        objective_: {objective} the weighted number of item pairs that rows and their centers order differently.
        losses_: {losses}
        n_iter_: {n_iter}
        converged_: {converged}
        reason_: {reason}
        model_: the module.
        n_features_in_: columns of ``X``.
    """

    _learner = clustering.RankingKMeans
    _remedy = "pass missing='pairwise' to let unranked items cost nothing"

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        center: str = "kemeny",
        missing: str = "raise",
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.center = center
        self.missing = missing
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _takes_unranked(self) -> bool:
        return self.missing != "raise"

    def _keep(self, fit: clustering.KMeansFit, X: np.ndarray) -> None:
        super()._keep(fit, X)
        self.cluster_centers_ = self.model_.centers.numpy()
