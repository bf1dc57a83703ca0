"""Warnings speak of the line that called, not of a line within."""

import warnings

import numpy as np
import pytest
import torch

import torchrank as tr
from torchrank import estimators

SAME = np.array([[1.0, 2.0, 3.0]] * 4)
FEATURES = torch.tensor([[0.0, 1e6], [1.0, 2e6], [0.5, 3e6], [0.2, 1e6]], dtype=torch.float64)
LABELS = torch.tensor([[1.0, 2, 3], [3, 2, 1], [1, 2, 3], [2, 1, 3]], dtype=torch.float64)
INDEFINITE = torch.eye(3, dtype=torch.float64) - torch.diag(torch.tensor([0, 0, 1 + 1e-9], dtype=torch.float64))


@pytest.mark.parametrize(
    "call",
    [
        lambda: tr.from_orders([[1, 2], [2, 1]]),
        lambda: tr.fit_mallows(SAME),
        lambda: tr.KernelKMeans(2).fit(SAME),
        lambda: tr.KernelKMeans(5, max_iter=1, n_init=1).fit(np.random.default_rng(0).normal(size=(300, 6))),
        lambda: tr.MallowsMixture(3, 2).fit(SAME),
        lambda: tr.MallowsMixture(3, 1).fit(SAME),
        lambda: tr.MallowsMixture(3, 2, max_iter=1).fit(np.random.default_rng(0).permuted(SAME, axis=1)),
        lambda: tr.kmeans_then_rank(FEATURES, LABELS, 2),
        lambda: tr.MMPL(2, 3, 2, 2, dtype=torch.float64).fit(FEATURES, LABELS, tr.EMSettings(n_updates=10)),
        lambda: tr.rank_tree(torch.rand(60, 2), torch.rand(60, 4), 3, max_iter=1),
        lambda: tr.KroneckerEigh(INDEFINITE),
        lambda: tr.kron_iterative_rls(
            torch.eye(4).double() + 0.5, None, torch.arange(16.0).reshape(4, 4).double() ** 2, 1e-9, max_iter=1
        ),
        lambda: estimators.MMPL(2, 2, settings=tr.EMSettings(n_updates=10), random_state=0).fit(
            FEATURES.numpy(), LABELS.numpy()
        ),
    ],
)
def test_warnings_name_the_line_that_called(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    assert {warning.filename for warning in caught} == {__file__}
