"""Worths of items by their features as a scikit-learn estimator."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted
from typing_extensions import Self

import torchrank.distributions as distributions
from torchrank._docs import shares_arguments
from torchrank.estimators.border import RANK, check_features, refuse_other_forms, refuse_words
from torchrank.estimators.data_sets import NamedTable, refuse_weights, scores_of, weights_of
from torchrank.estimators.fitting import SETTINGS, all_or_nothing, keep_evidence, module_on_device, on_device
from torchrank.metrics.label_ranking import label_ranking_tau
from torchrank.rankings.arrays import is_data_set, to_numpy
from torchrank.rankings.isolation import isolated
from torchrank.rankings.names import check_same_names, columns_of, index_of
from torchrank.typing import MissingWord

_SAME_ITEMS = (
    "pass X.loc[y.index], or for a data set X.loc[list(data.items)]; or X.to_numpy() to take its rows by their place"
)


@isolated
@shares_arguments(SETTINGS)
class PlackettLuceRegression(BaseEstimator):
    """Plackett-Luce worths that depend on features of items; see :class:`torchrank.PlackettLuceRegression`.

    A row of ``X`` is an item, and a column of ``y`` a ranking of the items: larger = preferred, NaN = not ranked. So
    folds of a cross-validation are of items, and what is predicted are worths of items that were never ranked.

    Args:
        missing: what unranked items mean: "interleaving", that a ranking is one of the items that it ranks; or "topk",
            that they are less preferred than those.
        prior: variance of the normal prior of the coefficients; None for maximum likelihood. It is in units of the
            features: standardize them first.
        tol: largest derivative at the end, per unit of weight.
        max_iter: most steps of Newton's method.
        device: {device}

    Attributes:
        coef_: ``(d,)`` coefficients: what a unit of a feature adds to the logit of a worth.
        standard_errors_: ``(d,)`` of the coefficients.
        log_likelihood_: of the training rankings.
        objective_: log-likelihood plus log-prior, before each step and at the end.
        losses_: minus the last objective.
        n_iter_: steps.
        converged_: whether derivatives are as small as they should be.
        reason_: why it ended, "tolerance" or "max_iter".
        model_: the module.
        n_features_in_: d.
        feature_names_in_: ``(d,)`` names of the features, where ``X`` has column names that are all strings.
    """

    def __init__(
        self,
        *,
        missing: MissingWord = "interleaving",
        prior: float | None = 1.0,
        tol: float = 1e-10,
        max_iter: int = 100,
        device: Any = None,
    ) -> None:
        self.missing: MissingWord = missing
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.device = device

    def fit(self, X: Any, y: Any, weights: Any = None) -> Self:
        """Learn from items and their rankings.

        Args:
            X: ``(n_items, d)`` features.
            y: ``(n_items, m)`` scores, a ranking in each column, or ``(n_items,)`` for one: larger = preferred. Or a
                data set of m rankings, whose items are the rows of ``X`` in their order.
            weights: ``(m,)`` of the rankings; None is those of a data set, or 1 each. scikit-learn's ``sample_weight``
                would be that of rows, which are items.

        Raises:
            ValueError: features that are not finite, ties, and what the module refuses.
            RuntimeError: ``device`` is not there.

        Warns:
            ConvergenceWarning: scikit-learn's, of a fit that was cut short.
        """
        with all_or_nothing(self):
            weights = weights_of(y, weights, columns_of(y))
            features, scores = self._checked(X, y, reset=True)
            model = distributions.PlackettLuceRegression(features.shape[1], missing=self.missing, prior=self.prior)
            self.model_ = module_on_device(model, self.device)
            rankings, table = on_device(scores.T, self.device), on_device(features, self.device)
            fit = self.model_.fit(rankings, table, weights, tol=self.tol, max_iter=self.max_iter)
            keep_evidence(self, fit)
            self.coef_ = to_numpy(self.model_.coefficients)
            self.standard_errors_, self.log_likelihood_ = to_numpy(fit.standard_errors), fit.log_likelihood
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Logits ``(n_items,)`` of the worths of items with features ``(n_items, d)``, larger = preferred."""
        check_is_fitted(self)
        return self._logits(check_features(self, X, reset=False, dtype=np.float64))

    def score(self, X: Any, y: Any) -> float:
        """Mean Kendall tau between rankings ``y`` (n_items, m) and the order predicted, over the pairs they order.

        ``y`` may be a data set, without weights.
        """
        check_is_fitted(self)
        refuse_weights(self, y, "y")
        X, y = self._checked(X, y, reset=False)
        return label_ranking_tau(y.T, np.tile(self._logits(X), (y.shape[1], 1)))

    def _logits(self, X: np.ndarray) -> np.ndarray:
        return to_numpy(self.model_(on_device(X, self.device)))

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        if y is None:
            raise ValueError(
                "PlackettLuceRegression requires y to be passed, but the target y is None: pass rankings (n_items, m)"
            )
        items = y.items if is_data_set(y) else index_of(y)
        check_same_names(index_of(X), items, "the rows of X", "the items of y", _SAME_ITEMS)
        X = check_features(self, X, reset=reset, dtype=np.float64, ensure_min_samples=2)
        y = scores_of(y)
        y = y.values.T if isinstance(y, NamedTable) else y
        refuse_other_forms(y, "y")
        refuse_words(y, "y", RANK)
        options: dict[str, Any] = {"ensure_all_finite": "allow-nan", "input_name": "y"}
        scores = check_array(y, ensure_2d=False, allow_nd=True, **options)
        scores = scores[:, None] if scores.ndim == 1 else scores
        if scores.ndim != 2 or len(scores) != len(X):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {len(X)} items and y has shape "
                f"{scores.shape}; expected a row for each item and a column for each ranking"
            )
        return np.asarray(X), scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
