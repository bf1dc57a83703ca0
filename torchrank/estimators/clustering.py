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
)
from torch import Tensor
from typing_extensions import Self

import torchrank.clustering as clustering
from torchrank._docs import shares_arguments
from torchrank.estimators.border import check_precomputed, check_scores, takes_unranked
from torchrank.estimators.data_sets import refuse_data_set, weights_of
from torchrank.estimators.fitting import (
    ATTRIBUTES,
    SETTINGS,
    all_or_nothing,
    keep_evidence,
    module_on_device,
    on_device,
)
from torchrank.kernels.points import CHOOSE_KERNEL
from torchrank.rankings.arrays import refuse_masks, to_numpy
from torchrank.rankings.isolation import isolated
from torchrank.rankings.labels import as_labels
from torchrank.typing import Center, MissingWord


@isolated
class RankingClusterer(ClusterMixin, BaseEstimator, ABC):
    """What the estimators of clusters and of mixtures share: fit a module, keep the evidence."""

    random_state: Any
    verbose: bool
    device: Any
    _learner: ClassVar[type]  # the module, whose settings are the estimator's
    _learner_counts_items: ClassVar[bool] = False  # whether it also has to know how many items there are
    _remedy: ClassVar[str] = CHOOSE_KERNEL  # what to do about unranked items

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find clusters of the rows of ``X``; ``y`` is ignored.

        Args:
            X: ``(m, n)`` scores, larger = preferred, or a data set; or a Gram matrix ``(m, m)`` for
                ``kernel="precomputed"``.
            y: ignored.
            sample_weight: ``(m,)`` how much each row counts, at least 0; None is the weights of a data set, or 1 each.

        Raises:
            RuntimeError: ``device`` is not there.

        Warns:
            ConvergenceWarning: ``max_iter`` was not enough.
            UserWarning: clusters stay empty, or a concentration reached its cap.
        """
        with all_or_nothing(self):
            X, weights = self._weighted_rows(X, sample_weight, reset=True)
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            self.model_ = module_on_device(self._module(X.shape[1]), self.device)
            fit = self.model_.fit(
                X, weights, generator=torch.Generator().manual_seed(seed), progress=bool(self.verbose)
            )
            keep_evidence(self, fit)
            self._keep(fit, X)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Labels ``(m2,)`` of rankings ``(m2, n)``; for ``kernel="precomputed"`` of ``(m2, m)``, new against old."""
        check_is_fitted(self)
        return to_numpy(self.model_.predict(self._validated(X, reset=False)))

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

    def _validated(self, X: Any, *, reset: bool) -> Tensor:
        """Rows where they are computed with."""
        if self._precomputed:
            refuse_masks(X, "X")
            refuse_data_set(X, "X", "a Gram matrix", "pass another kernel, or kernel(data, data)")
            return on_device(np.asarray(check_precomputed(self, X, reset=reset)), self.device)
        remedy = None if self._takes_unranked else self._remedy
        return on_device(np.asarray(check_scores(self, X, reset=reset, remedy=remedy)), self.device)

    def _weighted_rows(self, X: Any, sample_weight: Any, *, reset: bool = False) -> tuple[Tensor, np.ndarray | None]:
        """Rows, and their weights in float64 where there are some."""
        rows, weights = self._validated(X, reset=reset), weights_of(X, sample_weight)
        refuse_masks(weights, "sample_weight")
        return rows, None if weights is None else _check_sample_weight(weights, np.empty(rows.shape[:1]))

    def _module(self, n_items: int) -> Any:
        """The module with the estimator's settings."""
        settings = self.get_params(deep=False) | ({"n_items": n_items} if self._learner_counts_items else {})
        settings["init"] = _numbered(settings["init"])
        of_the_fit = ("random_state", "verbose", "device")
        return self._learner(**{name: value for name, value in settings.items() if name not in of_the_fit})

    @abstractmethod
    def _keep(self, fit: Any, X: Tensor) -> None:
        """Keep what this kind of fit has learned."""


def _numbered(init: Any) -> Any:
    """Labels to start from as integers, names by their places in order; words are choices."""
    return init if isinstance(init, str) else as_labels(init, "init")


class _KMeans(RankingClusterer):
    """What the two kinds of k-means learn."""

    def _keep(self, fit: clustering.KMeansFit, X: Tensor) -> None:
        self.labels_ = to_numpy(fit.labels)


@isolated
@shares_arguments(ATTRIBUTES, SETTINGS)
class KernelKMeans(_KMeans):
    """Kernel k-means on rankings; see :class:`torchrank.KernelKMeans` for what it minimizes.

    Args:
        n_clusters: number of clusters.
        kernel: a kernel module such as :class:`torchrank.MallowsKernel`, a function of two score matrices, or
            "precomputed"; None means the Kendall kernel. Modules are cloned with the estimator, and their settings are
            parameters, such as ``kernel__lam``.
        init: "k-means++" or "random", or labels ``(m,)`` or ``(starts, m)`` of all training rows: integers from 0
            on, or names, which are numbered in their order.
        n_init: starts, of which the best is kept.
        max_iter: most iterations of a start.
        random_state: seed of the starts.
        verbose: show a progress bar of the starts, with the iteration and the best objective.
        device: {device}

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
        device: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.device = device


@isolated
@shares_arguments(ATTRIBUTES, SETTINGS)
class RankingKMeans(_KMeans):
    """k-means with central rankings; see :class:`torchrank.RankingKMeans` for what it minimizes.

    Args:
        n_clusters: number of clusters.
        center: "kemeny", "borda" or "copeland".
        missing: "raise" refuses unranked items, NaN; "pairwise" lets pairs with them cost nothing.
        init: "k-means++" or "random", or labels ``(m,)`` or ``(starts, m)`` of all training rows: integers from 0
            on, or names, which are numbered in their order.
        n_init: starts, of which the best is kept.
        max_iter: most iterations of a start.
        random_state: seed of the starts.
        verbose: show a progress bar of the starts, with the iteration and the best objective.
        device: {device}

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
        center: Center = "kemeny",
        missing: MissingWord = "raise",
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
        verbose: bool = False,
        device: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.center = center
        self.missing = missing
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.device = device

    @property
    def _takes_unranked(self) -> bool:
        return self.missing != "raise"

    def _keep(self, fit: clustering.KMeansFit, X: Tensor) -> None:
        super()._keep(fit, X)
        self.cluster_centers_ = to_numpy(self.model_.centers)
