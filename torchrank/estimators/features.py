"""The feature map of the Kendall kernel as a scikit-learn transformer."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names_in,  # pyright: ignore[reportPrivateUsage] - what scikit-learn's own transformers call
    check_is_fitted,
)

from torchrank._docs import shares_arguments
from torchrank.estimators.border import check_scores
from torchrank.estimators.data_sets import refuse_weights
from torchrank.estimators.fitting import SETTINGS, all_or_nothing, usable
from torchrank.kernels.kendall import kendall_features
from torchrank.ops.rank import as_rankings
from torchrank.rankings.isolation import isolated

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

    def __init__(self, *, variant: str = "a", device: Any = None) -> None:
        self.variant = variant
        self.device = device

    def fit(self, X: Any, y: Any = None) -> "KendallFeatures":
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
