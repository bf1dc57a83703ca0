"""Feature maps of kernels as scikit-learn transformers."""

from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_feature_names_in,  # pyright: ignore[reportPrivateUsage] - what scikit-learn's own transformers call
    _check_sample_weight,  # pyright: ignore[reportPrivateUsage] - scikit-learn's documented way for developers
    check_is_fitted,
)
from typing_extensions import Self

import torchrank.kernels as kernels
from torchrank._docs import shares_arguments
from torchrank.estimators.border import check_scores, takes_unranked
from torchrank.estimators.data_sets import refuse_weights, weights_of
from torchrank.estimators.fitting import SETTINGS, all_or_nothing, module_on_device, on_device, usable
from torchrank.kernels.kendall import kendall_features
from torchrank.kernels.points import CHOOSE_KERNEL
from torchrank.ops.rank import as_rankings
from torchrank.rankings.arrays import refuse_masks, to_numpy
from torchrank.rankings.isolation import isolated
from torchrank.typing import Variant

_COMPLETE = "complete or drop these rows, or leave the item out"


@isolated
@shares_arguments(SETTINGS)
class KendallFeatures(TransformerMixin, BaseEstimator):
    """Every pair of items as a feature: positive where the first is preferred, negative where the second is, 0 if tied.

    A linear model on these n(n-1)/2 features is one with the Kendall kernel, and its weights say which comparisons it
    goes by. See :func:`torchrank.kendall_features` for the scale. For many items use the kernel: 1,000 items have
    499,500 pairs.

    Args:
        variant: "a", or "b" for rows of unit norm.
        device: {device}

    Attributes:
        n_features_in_: number of items.
        feature_names_in_: ``(n,)`` names of the items, where ``X`` has column names that are all strings.
    """

    n_features_in_: int

    def __init__(self, *, variant: Variant = "a", device: Any = None) -> None:
        self.variant: Variant = variant
        self.device = device

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how many items there are, and their names, from scores ``(m, n)`` or a data set; ``y`` is not used.

        Raises:
            ValueError: NaN, weights of a data set, which features do not have, fewer than two items.
            RuntimeError: ``device`` is not there.
        """
        with all_or_nothing(self):
            refuse_weights(self, X)
            check_scores(self, X, remedy=_COMPLETE)
            usable(self.device)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Features ``(m, n(n-1)/2)`` of scores ``(m, n)``, in the order (0, 1), (0, 2), ..., (1, 2), ...

        Raises:
            ValueError: NaN, other items than in :meth:`fit`, or an unknown variant.
        """
        check_is_fitted(self)
        rankings = as_rankings(np.asarray(check_scores(self, X, reset=False, remedy=_COMPLETE)))
        return kendall_features(rankings.to(usable(self.device)), variant=self.variant)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names ``(n(n-1)/2,)`` such as "soup>cake", of items named in :meth:`fit` or here, else x0, x1, ...

        Raises:
            ValueError: names that are not those of :meth:`fit`, or not one for each item.
        """
        check_is_fitted(self)
        names = np.asarray(_check_feature_names_in(self, input_features))
        first, second = np.triu_indices(self.n_features_in_, 1)
        return np.array([f"{names[i]}>{names[j]}" for i, j in zip(first, second, strict=True)], dtype=object)


@isolated
@shares_arguments(SETTINGS)
class LandmarkFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The Nyström method for kernels of rankings: features whose products approximate the kernel.

    A linear model on them is one with the kernel, at a cost that grows with the number of rows and not with its square.
    See :class:`torchrank.LandmarkFeatures` for the equation. Kernel values are computed block by block, all pairs of a
    block at once, and not pair by pair as by ``sklearn.kernel_approximation.Nystroem``.

    Args:
        kernel: a kernel module such as :class:`torchrank.MallowsKernel`, or a function of two score matrices; None
            means the Kendall kernel. Modules are cloned with the estimator, and their settings are parameters, such as
            ``kernel__lam``.
        n_landmarks: number of training rows to compare with, and of features.
        random_state: seed of the draw.
        device: {device}

    Attributes:
        landmarks_: ``(u, n)`` the landmarks; u is ``n_landmarks``, or the number of different rows if that is less.
        model_: the module.
        n_features_in_: number of items.
        feature_names_in_: ``(n,)`` names of the items, where ``X`` has column names that are all strings.
    """

    def __init__(
        self, kernel: Any = None, n_landmarks: int = 100, *, random_state: Any = None, device: Any = None
    ) -> None:
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.device = device

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw landmarks from the different rows of ``X``; ``y`` is not used.

        Args:
            X: ``(m, n)`` scores, larger = preferred, or a data set.
            y: ignored.
            sample_weight: ``(m,)`` how much each row counts in the draw, at least 0; None is the weights of a data
                set, or 1 each.

        Raises:
            ValueError: NaN where the kernel has no rule for it; weights that are negative or all 0; fewer than two
                items; a kernel that is not positive semi-definite.
            RuntimeError: ``device`` is not there.

        Warns:
            UserWarning: fewer different rows than landmarks; all of them are taken, and the other features are 0.
        """
        with all_or_nothing(self):
            rows, weights = self._validated(X, reset=True), weights_of(X, sample_weight)
            refuse_masks(weights, "sample_weight")
            if weights is not None:
                weights = _check_sample_weight(weights, np.empty(rows.shape[:1]))
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            self.model_ = module_on_device(kernels.LandmarkFeatures(self.kernel, self.n_landmarks), self.device)
            self.model_.fit(rows, weights, generator=torch.Generator().manual_seed(seed))
            self.landmarks_ = to_numpy(self.model_.landmarks)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Features ``(m, n_landmarks)`` of scores ``(m, n)``.

        Raises:
            ValueError: NaN as in :meth:`fit`, or other items than there.
        """
        check_is_fitted(self)
        with torch.no_grad():
            return to_numpy(self.model_(self._validated(X, reset=False)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_unranked(self.kernel)
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.model_.n_landmarks

    def _validated(self, X: Any, *, reset: bool) -> torch.Tensor:
        """Rows where they are computed with; integers in float64, as NumPy's results are, unless it would tie them."""
        remedy = None if takes_unranked(self.kernel) else CHOOSE_KERNEL
        scores = np.asarray(check_scores(self, X, reset=reset, remedy=remedy))
        if scores.dtype.kind != "f":
            doubles = scores.astype(np.float64)
            scores = doubles if (np.abs(doubles) < 2**53).all() else scores
        return on_device(scores, self.device)
