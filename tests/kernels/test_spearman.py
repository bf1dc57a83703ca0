"""Spearman's correlation against SciPy's and against ranks in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy import stats

import torchrank as tr

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("levels", [None, 2, 6])
def test_it_is_scipys(levels):
    X = RNG.normal(size=(9, 20)) if levels is None else RNG.integers(0, levels, (9, 20)).astype(float)
    expected = stats.spearmanr(X, axis=1).statistic
    np.testing.assert_allclose(tr.spearman_gram(X), expected, atol=1e-15)
    np.testing.assert_allclose(tr.spearman_gram(X[:4], X[3:]), expected[:4, 3:], atol=1e-15)
    assert np.array_equal(tr.spearman_gram(X), tr.spearman_gram(X).T)
    assert (tr.spearman_gram(X).diagonal() == 1).all()


def test_sums_are_exact_for_long_rankings():
    n = 300_000
    x, y = RNG.permutation(n), RNG.permutation(n)
    d = int(((x - y).astype(object) ** 2).sum())
    expected = 1 - Fraction(6 * d, n * (n * n - 1))
    found = tr.spearman_gram(np.stack([x, y]))[0, 1]
    assert abs(Fraction(float(found)) - expected) <= abs(expected) * Fraction(1, 2**51)


def test_constant_rows_batches_and_dtypes():
    X = torch.from_numpy(RNG.integers(0, 3, (2, 5, 7))).float()
    X[0, 1] = 1
    K = tr.spearman_gram(X)
    assert K.shape == (2, 5, 5)
    assert K.dtype == torch.float32
    assert torch.equal(K[0, 1], torch.zeros(5))
    assert torch.equal(K[1], tr.spearman_gram(X[1]))


def test_unranked_items_are_refused():
    with pytest.raises(ValueError, match=r"X has NaN \(an unranked item\) at row 0, item 1; Spearman's correlation"):
        tr.spearman_gram([[1.0, np.nan, 2.0]])
