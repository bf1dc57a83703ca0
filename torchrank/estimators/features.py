"""The feature map of the Kendall kernel as a scikit-learn transformer."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names_in,  # pyright: ignore[reportPrivateUsage] - what scikit-learn's own transformers call
    check_is_fitted,
)

from torchrank.estimators.border import check_scores
from torchrank.estimators.fitting import all_or_nothing
from torchrank.kernels.kendall import kendall_features
from torchrank.rankings.isolation import isolated

_COMPLETE = "complete or drop these rows, or leave the item out"


@isolated
class KendallFeatures(TransformerMixin, BaseEstimator):
    """Every pair of items as a feature: positive where the first is preferred, negative where the second is, 0 if tied.

    A linear model on these n(n-1)/2 features is one with the Kendall kernel, and its weights say which comparisons it
    goes by. See :func:`torchrank.kendall_features` for the scale. For many items use the kernel: 1,000 items have
    499,500 pairs.

    Args:
        variant: "a", or "b" for rows of unit norm.

    Attributes:
        n_features_in_: number of items.
        feature_names_in_: ``(n,)`` names of the items, where ``X`` has column names that are all strings.
    """

    n_features_in_: int

    def __init__(self, *, variant: str = "a") -> None:
        self.variant = variant

    def fit(self, X: Any, y: Any = None) -> "KendallFeatures":
        """Learn how many items there are, and their names, from scores ``(m, n)``; ``y`` is not used.

        Raises:
            ValueError: NaN, fewer than two items.
        """
        with all_or_nothing(self):
            check_scores(self, X, remedy=_COMPLETE)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Features ``(m, n(n-1)/2)`` of scores ``(m, n)``, in the order (0, 1), (0, 2), ..., (1, 2), ...

        Raises:
            ValueError: NaN, other items than in :meth:`fit`, or an unknown variant.
        """
        check_is_fitted(self)
        return kendall_features(np.asarray(check_scores(self, X, reset=False, remedy=_COMPLETE)), variant=self.variant)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names ``(n(n-1)/2,)`` such as "soup>cake", of items named in :meth:`fit` or here, else x0, x1, ...

        Raises:
            ValueError: names that are not those of :meth:`fit`, or not one for each item.
        """
        check_is_fitted(self)
        names = np.asarray(_check_feature_names_in(self, input_features))
        first, second = np.triu_indices(self.n_features_in_, 1)
        return np.array([f"{names[i]}>{names[j]}" for i, j in zip(first, second, strict=True)], dtype=object)
