"""What a fit that did not end leaves behind: nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """If the body ends by an error or by Ctrl-C, the estimator has the attributes that it had before, and no others.

    So an estimator that was fitted still predicts as it did, and one that was not says so.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
