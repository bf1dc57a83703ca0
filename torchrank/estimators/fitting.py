"""What every ``fit`` of an estimator runs in."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from torchrank._warnings import unconverged_as
from torchrank.evidence import Evidence


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


def keep_evidence(estimator: Any, evidence: Evidence) -> None:
    """Set the attributes that every fit of an estimator leaves."""
    estimator.objective_, estimator.losses_ = np.array(evidence.objective), np.array(evidence.losses)
    estimator.n_iter_, estimator.converged_, estimator.reason_ = evidence.n_iter, evidence.converged, evidence.reason


ATTRIBUTES = {
    "objective": "after each iteration of the start that was kept,",
    "losses": "what each start came to, the lower the better.",
    "n_iter": "iterations of the start that was kept.",
    "converged": "whether that start ended before ``max_iter``.",
    "reason": 'why it ended, "tolerance" or "max_iter".',
}
