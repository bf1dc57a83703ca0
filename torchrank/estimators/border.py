"""What comes in: scikit-learn's checks, and messages that speak of rankings."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data
from torch import nn

from torchrank.estimators.data_sets import NamedTable, check_columns, check_names, refuse_data_set, scores_of, target_of
from torchrank.rankings.arrays import as_array, as_tensor, is_sparse_matrix, refuse_masks, to_numpy
from torchrank.rankings.forms import reader_of, refuse_long_table
from torchrank.rankings.names import columns_of, names_in_series
from torchrank.rankings.partial_orders import PartialOrders

ENCODE = "encode categories as numbers first, as by sklearn.preprocessing.OneHotEncoder"
RANK = (
    "scores are numbers, one column for each item, larger = preferred; "
    "torchrank.datasets.ranking_data(table, form='orders').scores are those of lists of names"
)


def check_features(
    estimator: BaseEstimator, X: Any, *targets: Any, reset: bool = True, remedy: str = ENCODE, **options: Any
) -> Any:
    """``X`` of features, and what ``targets`` there are, by scikit-learn's ``validate_data`` with its options.

    ``remedy`` is what to do about words.

    Raises:
        TypeError: a data set of rankings.
        ValueError: what ``validate_data`` refuses.
    """
    refuse_data_set(X, "X", "a matrix of numbers", "pass its features, data.X, or its scores, data.scores")
    return _validated(estimator, X, targets, remedy, reset, options)


def check_scores(
    estimator: BaseEstimator, X: Any, *targets: Any, remedy: str | None, reset: bool = True, **options: Any
) -> Any:
    """``X`` of scores, and what ``targets`` there are, by scikit-learn's ``validate_data`` with its options.

    Infinite scores are refused, as everywhere in scikit-learn; torchrank itself takes them as extreme ones.

    Args:
        estimator: whose items are learned, or compared with those learned.
        X: ``(m, n)`` scores, or a data set.
        *targets: ``y``, where there is one; None is the classes of a data set.
        remedy: what to do about NaN, an unranked item; None where it is legal.
        reset: whether this is a fit.
        **options: of ``sklearn.utils.check_array``.

    Raises:
        ValueError: what ``validate_data`` refuses, fewer than two items, NaN, and integers beyond 2^53 beside NaN.
        TypeError: dictionaries, sets, dates, ballots and the like; the message names what reads them.
    """
    X, targets = scores_of(X), tuple(target_of(X, y) for y in targets)
    refuse_other_forms(X, "X")
    options |= {"ensure_all_finite": "allow-nan", "ensure_min_features": 2 if reset else 1}
    checked = _validated(estimator, X, targets, RANK, reset, options)
    scores = np.asarray(checked[0] if targets else checked)
    if remedy is not None and np.isnan(scores).any():
        row, item = np.argwhere(np.isnan(scores))[0]
        raise ValueError(f"X has NaN (an unranked item) at row {row}, item {item}; {remedy}")
    exact = _unrounded(X.values if isinstance(X, NamedTable) else X, scores)
    return (exact, *checked[1:]) if targets else exact


def refuse_other_forms(X: Any, name: str) -> None:
    """Raise for what is no matrix of scores, and say what reads it.

    Raises:
        TypeError: sparse matrices, masks, dictionaries, sets, dates, ballots and the like.
        ValueError: rows of different lengths; series of other names than the first.
    """
    X = X.values if isinstance(X, NamedTable) else X
    if isinstance(X, PartialOrders):
        raise TypeError(
            f"{name} are partial orders, which only fit_mallows and the module torchrank.MallowsMixture take"
        )
    if is_sparse_matrix(X):
        raise TypeError(
            f"{name} is a sparse matrix, and estimators take dense ones, in which unranked items are NaN; pass "
            f"np.asarray(torchrank.rank({name}, missing='pairwise')), not {name}.toarray(), in which they are scores "
            "of 0"
        )
    refuse_masks(X, name)
    refuse_long_table(X, name)
    reader = "" if getattr(getattr(X, "dtype", None), "kind", "O") in "biuf" else reader_of(X)
    if reader and not (isinstance(X, np.ndarray) and reader.startswith("; it holds")):  # scikit-learn has its own words
        raise TypeError(f"{name} is {type(X).__name__}, and no matrix of numbers{reader}")
    if isinstance(X, (list, tuple)):
        names_in_series(X, name)
        as_array(X, name)


def check_precomputed(estimator: BaseEstimator, K: Any, *targets: Any, reset: bool = True, **options: Any) -> Any:
    """A matrix of a kernel, and what ``targets`` there are, by scikit-learn's ``validate_data`` with its options.

    Raises:
        ValueError: what ``validate_data`` refuses, other columns than those of fit.
    """
    checked = validate_data(estimator, K, *targets, reset=reset, **options)
    check_columns(estimator, columns_of(K), reset=reset)
    return checked


def _validated(
    estimator: Any, X: Any, targets: tuple[Any, ...], remedy: str, reset: bool, options: dict[str, Any]
) -> Any:
    """``validate_data`` of a table; names of a data set's columns are learned and compared as those of a data frame."""
    table = X.values if isinstance(X, NamedTable) else X
    _refuse_masks(table, targets)
    refuse_words(table, "X", remedy)
    if not isinstance(X, NamedTable):
        checked = validate_data(estimator, X, *targets, reset=reset, **options)
        check_columns(estimator, columns_of(X), reset=reset)
        return checked
    if not reset and check_names(estimator, X.names):
        return check_array(table, input_name="X", estimator=estimator, **options)
    checked = validate_data(estimator, table, *targets, reset=reset, **options)
    check_columns(estimator, X.names, reset=reset)
    if reset and X.names is not None:
        estimator.feature_names_in_ = X.names
    return checked


def _refuse_masks(X: Any, targets: tuple[Any, ...]) -> None:
    if is_sparse_matrix(X):
        raise TypeError("X is a sparse matrix, and estimators take dense ones; pass X.toarray()")
    refuse_masks(X, "X")
    for target in targets:
        refuse_masks(target, "y")


def _unrounded(X: Any, checked: np.ndarray) -> np.ndarray:
    """Scores as scikit-learn checked them, or as the integers that it rounded to float64."""
    if checked.dtype != np.float64 or not (np.abs(checked) >= 2**53).any():
        return checked
    array = as_array(X, "X")
    if array.dtype.kind not in "Oiu":
        return checked
    if np.isnan(checked).any():
        raise ValueError("X has integers beyond 2^53 beside NaN, which float64 would tie; pass their ranks instead")
    return to_numpy(as_tensor(X, "X")[0])


def takes_unranked(kernel: Any) -> bool:
    """Whether a kernel has a rule for unranked items, or a kernel in it has one."""
    parts = kernel.modules() if isinstance(kernel, nn.Module) else [kernel]
    return any(getattr(part, "missing", "raise") not in (None, "raise") for part in parts)


def refuse_words(table: Any, name: str, remedy: str) -> None:
    """Raise if a cell of a table is a string that is not a number."""
    cells = np.asarray(table)
    if cells.dtype.kind in "Mm":
        raise TypeError(f"{name} has dtype {cells.dtype}; expected numbers")
    if cells.dtype.kind not in "OUST":
        return
    for (*row, column), cell in np.ndenumerate(np.atleast_1d(cells)):
        if isinstance(cell, str) and not _is_number(cell):
            where = f"row {row[0]}, column {column}" if row else f"place {column}"
            raise ValueError(f"{name} has {str(cell)!r} at {where}; expected numbers: {remedy}")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
