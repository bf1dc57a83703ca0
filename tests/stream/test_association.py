"""Tests of association against SciPy's, pair by pair."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

import torchrank as tr
from torchrank.stream.p_values import _distribution

RNG = np.random.default_rng(2)
ALTERNATIVES = ("two-sided", "greater", "less")


def example(n, levels, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, n)) if levels is None else rng.integers(0, levels, (8, n)).astype(float)
    X[1] = np.sort(X[0])
    X[2], X[3] = X[1], X[1]
    X[3, :2] = X[3, 1::-1]  # one pair the other way
    X[4] = -X[1]
    X[5] = 1.0  # nothing to test
    return X


def by_scipy(X, Y, **settings):
    found = np.empty((2, len(X), len(Y)))
    for (i, x), (j, y) in itertools.product(enumerate(X), enumerate(Y)):
        both = ~np.isnan(x) & ~np.isnan(y)
        found[:, i, j] = stats.kendalltau(x[both], y[both], **settings) if both.sum() > 1 else np.nan
    return found


def check(found, expected):
    np.testing.assert_allclose(found.statistic, expected[0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.pvalue, expected[1], rtol=1e-12, atol=0)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("method", ["auto", "asymptotic"])
@pytest.mark.parametrize(
    ("n", "levels"),
    [(3, None), (6, None), (6, 3), (33, None), (34, None), (34, 4), (60, None), (170, None), (180, None), (200, 9)],
)
def test_p_values_are_scipys(n, levels, method, alternative):
    X = example(n, levels)
    expected = by_scipy(X, X, alternative=alternative, method=method)
    check(tr.kendall_test(X, alternative=alternative, method=method), expected)
    check(tr.kendall_test(X[:3], X, alternative=alternative, method=method), expected[:, :3])


# Data and p-values that SciPy's own tests of kendalltau hold (scipy/stats/tests/test_stats.py).
PUBLISHED = [
    ([5, 2, 1, 3, 6, 4, 7, 8], [5, 2, 6, 3, 1, 8, 7, 4], "exact", 0.0, 1.0),
    ([0, 5, 2, 1, 3, 6, 4, 7, 8], [5, 2, 0, 6, 3, 1, 8, 7, 4], "exact", 0.0, 1.0),
    ([5, 2, 1, 3, 6, 4, 7], [5, 2, 6, 3, 1, 7, 4], "exact", -0.14285714286, 0.77261904762),
    ([2, 1, 3, 6, 4, 7, 8], [2, 6, 3, 1, 8, 7, 4], "exact", 0.047619047619, 1.0),
    (list(range(10)), list(range(10)), "exact", 1.0, 5.511463844797e-07),
    (list(range(10)), [0, 2, 1, 3, 4, 6, 5, 7, 8, 9], "exact", 0.9111111111111, 2.976190476190e-05),
    (list(range(10)), list(range(9, -1, -1)), "exact", -1.0, 5.511463844797e-07),
    (list(range(10)), [9, 7, 8, 6, 5, 3, 4, 2, 1, 0], "exact", -0.9111111111111, 2.976190476190e-05),
    ([1, 1, 2], [1, 1, 2], "asymptotic", 1.0, 0.157299207050),
]


@pytest.mark.parametrize(("x", "y", "method", "statistic", "pvalue"), PUBLISHED)
def test_published_values(x, y, method, statistic, pvalue):
    found = tr.kendall_test([x], [y], method=method)
    np.testing.assert_allclose([found.statistic[0, 0], found.pvalue[0, 0]], [statistic, pvalue], rtol=1e-10, atol=1e-12)
    check(tr.kendall_test([x], [y], method=method), by_scipy(np.array([x]), np.array([y]), method=method))


@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_the_exact_distribution_counts_permutations(n):
    inversions = [sum(a > b for a, b in itertools.combinations(order, 2)) for order in itertools.permutations(range(n))]
    shares = np.cumsum(np.bincount(inversions)) / math.factorial(n)
    np.testing.assert_array_equal(_distribution(n), shares)


@pytest.mark.parametrize("levels", [None, 4])
def test_unranked_items_are_left_out_pair_by_pair(levels):
    X, Y = (np.where(RNG.random((8, 15)) < 0.3, np.nan, example(15, levels, seed)) for seed in (1, 2))
    Y[0], Y[1, 2:] = np.nan, np.nan
    check(tr.kendall_test(X, Y, missing="pairwise"), by_scipy(X, Y))
    check(tr.kendall_test(X, missing="pairwise"), by_scipy(X, X))
    row, item = (~np.isnan(X)).nonzero()
    sparse = tr.SparseRankings.from_triples(row, item, X[row, item], shape=X.shape)
    check(tr.kendall_test(sparse, Y, missing="pairwise"), by_scipy(X, Y))


@pytest.mark.parametrize("correction", ["fdr_bh", "fdr_by", "bonferroni"])
def test_corrections_count_each_pair_once(correction):
    X = example(20, None)
    plain, found = tr.kendall_test(X), tr.kendall_test(X, correction=correction)
    upper = np.triu_indices(8, 1)
    p = plain.pvalue[upper]
    known = ~np.isnan(p)
    if correction == "bonferroni":
        expected = np.minimum(p[known] * known.sum(), 1)
    else:
        expected = stats.false_discovery_control(p[known], method=correction[-2:])
    np.testing.assert_array_equal(found.pvalue[upper][known], expected)
    np.testing.assert_array_equal(found.pvalue, found.pvalue.T)
    np.testing.assert_array_equal(found.pvalue.diagonal(), plain.pvalue.diagonal())
    between, raw = tr.kendall_test(X[:3], X[6:], correction=correction), tr.kendall_test(X[:3], X[6:])
    expected = raw.pvalue * 6 if correction == "bonferroni" else None
    if expected is None:
        expected = stats.false_discovery_control(raw.pvalue.ravel(), method=correction[-2:]).reshape(3, 2)
    np.testing.assert_allclose(between.pvalue, np.minimum(expected, 1), rtol=1e-15)


def test_kinds_names_and_dtypes():
    X = example(10, 5)
    frame = pd.DataFrame(X, index=list("abcdefgh"))
    found = tr.kendall_test(frame, frame.iloc[:2])
    assert found.pvalue.index.tolist() == list("abcdefgh")
    assert found.statistic.columns.tolist() == ["a", "b"]
    tensors = tr.kendall_test(torch.from_numpy(X).float())
    assert (tensors.statistic.dtype, tensors.pvalue.dtype) == (torch.float32, torch.float64)
    known = [0, 1, 2, 3, 4, 6, 7]
    np.testing.assert_array_equal(tr.kendall_test(X).statistic[known][:, known], tr.kendall_gram(X[known]))
    assert tr.kendall_test(X[:0]).pvalue.shape == (0, 0)


def test_trend_is_association_with_time():
    series = RNG.normal(size=(3, 40)).cumsum(1)
    found = tr.kendall_test(series, np.arange(40.0)[None])
    check(found, by_scipy(series, np.arange(40.0)[None]))


def test_bad_arguments():
    X = example(10, 4)
    for settings, message in (
        ({"method": "exact"}, r"'exact' is for rankings without ties.*pair of rows \(0, 0\)"),
        ({"method": "normal"}, "method='normal' is unknown"),
        ({"alternative": "more"}, "alternative='more' is unknown"),
        ({"correction": "holm"}, "correction='holm' is unknown"),
        ({"missing": "topk"}, "missing='topk' gives expected signs, whose distribution is not known"),
    ):
        with pytest.raises(ValueError, match=message):
            tr.kendall_test(X, **settings)
    with pytest.raises(ValueError, match="takes up to 170 items, and there are 171"):
        tr.kendall_test(RNG.normal(size=(2, 171)), method="exact")
