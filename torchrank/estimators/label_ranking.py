"""What estimators for label ranking share: features ``X``, label scores ``Y``, clusters with central rankings."""

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted
from torch import Tensor
from typing_extensions import Self

from torchrank.estimators.border import RANK, check_features, refuse_other_forms, refuse_words
from torchrank.estimators.data_sets import NamedTable, columns_in, features_of, names_of, refuse_weights, scores_of
from torchrank.estimators.fitting import all_or_nothing, keep_evidence, on_device
from torchrank.evidence import Evidence
from torchrank.metrics.label_ranking import label_ranking_tau
from torchrank.rankings.arrays import is_data_set, to_numpy
from torchrank.rankings.isolation import isolated
from torchrank.rankings.names import check_same_names


@isolated
class LabelRanker(BaseEstimator):
    """What the estimators share: rankings of L labels predicted from features, by K regions with a ranking each.

    ``X`` is ``(N, d)`` and finite. ``Y`` is ``(N, L)`` scores, larger = preferred, NaN = not ranked; rows without any
    label are allowed. A data set has both, ``fit(data)``, or is one of them, ``fit(X, data)``. Orders (lists of labels,
    best first) are not scores, although ``0 ... L - 1`` would pass for them: convert them by
    :func:`torchrank.from_orders`, and ranks (1 = best) by :func:`torchrank.from_positions`. To tell what a table holds,
    look at a row whose favorite is known: in scores its column has the largest number, in ranks the smallest, and in
    orders its own index stands first.

    At the end of a ``Pipeline`` its ``predict`` gives the rankings and its ``score`` the mean Kendall tau, by which
    ``GridSearchCV`` and ``cross_val_score`` choose too; labels of ``Y`` that are NaN are left out of it.

    Attributes:
        model_: what was fitted, with methods for tensors of the same names.
        central_rankings_: ``(K, L)`` scores of the central rankings, K down to the number of regions found.
        labels_: ``(N,)`` clusters of the training rows.
        objective_: what was optimized, after each iteration of the start that was kept; empty without iterations.
        losses_: what each start came to, the lower the better.
        n_iter_: iterations of the start that was kept.
        converged_: whether it ended as it should, and not for want of iterations.
        reason_: why it ended: "tolerance", "max_iter", "closed form", or what the estimator says.
        n_features_in_: d.
        feature_names_in_: ``(d,)`` names of the features, where ``X`` has column names that are all strings.
        label_names_in_: ``(L,)`` names of the labels, where ``Y`` has column names that are all strings.
    """

    device: Any = None  # of the estimators that compute there

    def fit(self, X: Any, Y: Any = None) -> Self:
        """Learn from features and label scores.

        Args:
            X: ``(N, d)`` features, or a data set that has some.
            Y: ``(N, L)`` scores, larger = preferred, NaN = not ranked; or a data set. None is the scores of ``X``, a
                data set.

        Raises:
            ValueError: features that are not finite, weights of a data set, fewer than two labels, no row that ranks
                two labels, or ties where the model has none.
            RuntimeError: ``device`` is not there.

        Warns:
            ConvergenceWarning: scikit-learn's, of iterations that were cut short.
        """
        with all_or_nothing(self):
            X, Y = self._validated(X, _rankings_of(X, Y))
            seed = int(check_random_state(getattr(self, "random_state", None)).randint(2**31 - 1))
            features, scores = on_device(X, self.device), on_device(Y, self.device, "Y")
            self.model_, evidence = self._fitted(features, scores, torch.Generator().manual_seed(seed))
            keep_evidence(self, evidence)
            self.labels_ = to_numpy(self.model_.predict_cluster(features))
            self.central_rankings_ = self._central_scores()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Scores ``(N, L)`` of the rankings predicted for features ``(N, d)``, larger = preferred."""
        features = self._features(X)
        return to_numpy(self.model_.predict(features))

    def predict_cluster(self, X: Any) -> np.ndarray:
        """Clusters ``(N,)`` of features ``(N, d)``: rows of ``central_rankings_``."""
        features = self._features(X)
        return to_numpy(self.model_.predict_cluster(features))

    def score(self, X: Any, Y: Any = None) -> float:
        """Mean Kendall tau between true and predicted rankings, over pairs of labels that the true ones order.

        Args:
            X: ``(N, d)`` features, or a data set that has some.
            Y: ``(N, L)`` scores, or a data set; labels that are NaN, and rows that order no pair, are left out. None is
                the scores of ``X``, a data set.

        Returns:
            1 is perfect, 0 is chance, -1 is the reverse: 1 - 2 loss_LR.

        Raises:
            ValueError: labels other than those that were fitted, or in another order; weights of a data set.
        """
        predicted, Y = self.predict(X), _rankings_of(X, Y)
        self._refuse_weights(X, Y)
        self._check_label_names(Y)
        true = _label_scores(Y)
        if true.shape[1] != predicted.shape[1]:
            raise ValueError(
                f"Y has {true.shape[1]} labels, but {type(self).__name__} is expecting {predicted.shape[1]} labels as "
                "in fit; a label that no row ranks stays as a column of NaN"
            )
        return label_ranking_tau(true, predicted)

    @abstractmethod
    def _fitted(self, X: Tensor, Y: Tensor, generator: torch.Generator) -> tuple[Any, Evidence]:
        """A model with ``predict``, ``predict_cluster`` and ``central_orders``, and how its fit went."""

    def _validated(self, X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
        if Y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: pass the (N, L) label scores"
            )
        self._refuse_weights(X, Y)
        X = check_features(self, features_of(X), dtype=np.float64)
        self._keep_label_names(Y)
        Y = _label_scores(Y)
        check_consistent_length(X, Y)
        return np.asarray(X), Y

    def _keep_label_names(self, Y: Any) -> None:
        names, self._labels = names_of(Y), columns_in(Y)
        if names is not None:
            self.label_names_in_ = names
        elif hasattr(self, "label_names_in_"):
            del self.label_names_in_

    def _check_label_names(self, Y: Any) -> None:
        """Raise unless ``Y`` has the label names of fit, in their order, where both have names."""
        fitted, names = getattr(self, "label_names_in_", None), names_of(Y)
        if fitted is not None and names is not None and not np.array_equal(fitted, names):
            raise ValueError(
                f"Y has the labels {', '.join(names)}; expected those of fit in the same order: {', '.join(fitted)}. "
                "Y[model.label_names_in_] puts the columns of a DataFrame into it"
            )
        remedy = "bring them into that order, or pass Y.to_numpy() to take columns by their place"
        check_same_names(self._labels, columns_in(Y), "those that were fitted", "columns of Y", remedy)

    def _refuse_weights(self, X: Any, Y: Any) -> None:
        refuse_weights(self, X)
        refuse_weights(self, Y, "Y")

    def _features(self, X: Any) -> Tensor:
        check_is_fitted(self)
        return on_device(np.asarray(check_features(self, features_of(X), reset=False, dtype=np.float64)), self.device)

    def _central_scores(self) -> np.ndarray:
        orders = to_numpy(self.model_.central_orders)
        scores = np.empty(orders.shape)
        np.put_along_axis(scores, orders, np.arange(orders.shape[1], 0, -1.0)[None], axis=1)
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


def _label_scores(Y: Any) -> np.ndarray:
    """A matrix of at least two columns; NaN allowed. Integers stay integers, which beyond 2^53 no float tells apart."""
    Y = scores_of(Y)
    Y = Y.values if isinstance(Y, NamedTable) else Y
    refuse_other_forms(Y, "Y")
    refuse_words(Y, "Y", RANK)
    options: dict[str, Any] = {"ensure_all_finite": "allow-nan", "input_name": "Y"}
    scores = check_array(Y, ensure_2d=False, allow_nd=True, **options)
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise ValueError(
            f"Y has shape {scores.shape}; expected (N, L): scores of at least two labels, each in a column"
        )
    return scores


def _rankings_of(X: Any, Y: Any) -> Any:
    """``Y``, or where there is none the data set ``X``."""
    return X if Y is None and is_data_set(X) else Y
