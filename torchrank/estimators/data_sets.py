"""Data sets of rankings as estimators take them: scores, names of items, weights and classes."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from torch import Tensor

from torchrank.rankings.arrays import is_data_set, to_numpy
from torchrank.rankings.names import check_same_names, check_same_rows, columns_of
from torchrank.rankings.prepared import Prepared, weights_said


class NamedTable(NamedTuple):
    """A matrix whose columns have names, as in a data frame."""

    values: Any  # (m, n)
    names: np.ndarray | None  # (n,); None where they are not all strings


def scores_of(X: Any) -> Any:
    """Scores ``(m, n)`` of a data set, sparse ones as ranks, with the names of its items; anything else as it is."""
    if not is_data_set(X):
        return X
    scores = np.asarray(X.scores) if isinstance(X.scores, Prepared) else X.scores
    return NamedTable(scores, names_of(X))


def features_of(X: Any) -> Any:
    """Features ``(m, d)`` of a data set with their names; anything else as it is.

    Raises:
        ValueError: a data set without features.
    """
    if not is_data_set(X):
        return X
    if X.features is None:
        raise ValueError(
            "X is a data set without features; expected what is known about the rankers: pass it as X, and the data "
            "set as Y"
        )
    return NamedTable(X.features, _strings(X.feature_names))


def target_of(X: Any, y: Any) -> Any:
    """``y``; where there is none the classes ``(m,)`` of a data set, by their names if they have some."""
    if y is not None or not is_data_set(X) or X.classes is None:
        return y
    return np.asarray(X.class_names)[X.classes] if X.class_names else X.classes


def weights_of(X: Any, weights: Any, rows: Any = None) -> Any:
    """``weights``; where there are none those of a data set ``(m,)``, unless all of them are 1.

    ``rows`` are names of the rankings where these are no rows of ``X``.
    """
    if weights is not None and rows is not None:
        check_same_rows(rows, weights)
        return weights
    if weights is not None:
        return weights_said(X, weights)
    own = weights_said(X, None)
    own = to_numpy(own) if isinstance(own, Tensor) else own
    return None if own is None or (own == 1).all() else own


def refuse_weights(estimator: BaseEstimator, X: Any, name: str = "X") -> None:
    """Raise ``ValueError`` for a data set with weights, which would be lost."""
    weights = weights_of(X, None)
    if weights is not None:
        row = int(np.flatnonzero(weights != 1)[0])
        raise ValueError(
            f"{name} is a data set whose row {row} has weight {weights[row]:g}; {type(estimator).__name__} counts "
            "every row once: repeat rows by data.expanded(), or pass data.scores to leave the weights out"
        )


def refuse_data_set(X: Any, name: str, expected: str, remedy: str) -> None:
    """Raise ``TypeError`` for a data set where something else than rankings is needed."""
    if is_data_set(X):
        raise TypeError(f"{name} is a data set of rankings; expected {expected}: {remedy}")


def check_columns(estimator: Any, columns: Any, *, reset: bool) -> None:
    """Learn the names of the columns of ``X`` at a fit; ``ValueError`` where others come later.

    scikit-learn compares those that are text.
    """
    if reset:
        estimator._columns = columns
        return
    remedy = "bring them into that order, or pass X.to_numpy() to take columns by their place"
    check_same_names(getattr(estimator, "_columns", None), columns, "those that were fitted", "columns of X", remedy)


def columns_in(table: Any) -> Any:
    """Names of the columns of a data frame or of the items of a data set, numbers too; None of anything else."""
    return table.items if is_data_set(table) else columns_of(table)


def names_of(table: Any) -> np.ndarray | None:
    """Names of the columns of a data frame, or of the items of a data set, where they are all strings."""
    return _strings(table.items if is_data_set(table) else getattr(table, "columns", ()))


def check_names(estimator: BaseEstimator, names: np.ndarray | None) -> bool:
    """Whether names are those of :meth:`fit`, in their order; scikit-learn's warning where the model has none.

    Raises:
        ValueError: other names, or another order.
    """
    fitted = getattr(estimator, "feature_names_in_", None)
    if names is not None and fitted is None and hasattr(estimator, "n_features_in_"):
        warnings.warn(
            f"X has feature names, but {type(estimator).__name__} was fitted without feature names", stacklevel=2
        )
    if names is None or fitted is None:
        return False
    if not np.array_equal(fitted, names):
        first, second = (", ".join(given[:5]) + ", ..." * (len(given) > 5) for given in (names, fitted))
        raise ValueError(
            "The feature names should match those that were passed during fit, in the same order: X is a data set of "
            f"{first}; expected {second}"
        )
    return True


def _strings(names: Any) -> np.ndarray | None:
    given = list(names)
    return np.array(given, dtype=object) if given and all(isinstance(name, str) for name in given) else None
