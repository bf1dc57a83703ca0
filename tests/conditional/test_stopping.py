"""Early stopping of the edge solvers where nothing gets better."""

import pytest

from tests.oracles.conditional import random_kernel, random_labels
from torchrank.conditional import kron_iterative_rls


@pytest.mark.parametrize("patience", [1, 3])
def test_an_error_that_stays_the_same_is_no_improvement(patience):
    calls = []
    fit = kron_iterative_rls(
        random_kernel(6, 6, 1), None, random_labels(6, 6), 0.1, patience=patience,
        validation=lambda duals: calls.append(duals) or 1.0,
    )  # fmt: skip
    assert (fit.best_iter, fit.n_iter, fit.reason) == (1, 1 + patience, "validation")
    assert bool((fit.duals == calls[0]).all())
