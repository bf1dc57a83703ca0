"""What every ``fit`` of an estimator runs in."""

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from torchrank._warnings import unconverged_as


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """If the body ends by an error or by Ctrl-C, the estimator has the attributes that it had before, and no others.

    So an estimator that was fitted still predicts as it did, and one that was not says so. Iterations that are cut
    short warn by scikit-learn's ``ConvergenceWarning``.
    """
    before = dict(vars(estimator))
    try:
        with unconverged_as(ConvergenceWarning):
            yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
