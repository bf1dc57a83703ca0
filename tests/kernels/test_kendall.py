"""Kendall kernel, distance, counts and features: against the brute force, against SciPy, and under symmetries."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from tests.oracles import kernels as oracle
from tests.oracles.pair_counts import pair_classes
from tests.strategies import random_scores, score_arrays, score_tensors
from torchrank import kendall_distance, kendall_features, kendall_gram, mallows_gram, pair_counts

TOLERANCE = {torch.float16: 2**-11, torch.bfloat16: 2**-8, torch.float32: 2**-24, torch.float64: 2**-53}


@given(score_arrays(), st.sampled_from("ab"))
def test_gram_of_arrays(X, variant):
    expected = oracle.gram(oracle.kendall, X, variant=variant)
    K = kendall_gram(X, variant=variant)
    assert K.shape == (len(X), len(X))
    np.testing.assert_allclose(K, expected, rtol=0, atol=2 * _rounding(K.dtype))
    assert np.array_equal(K, K.T)
    assert np.abs(K).max(initial=0) <= 1


@given(score_tensors(), st.sampled_from("ab"))
def test_gram_of_tensors(X, variant):
    K = kendall_gram(X, variant=variant)
    expected = torch.from_numpy(oracle.gram(oracle.kendall, X, variant=variant))
    torch.testing.assert_close(K.double(), expected, rtol=0, atol=2 * TOLERANCE[K.dtype])


@given(
    st.integers(2, 10).flatmap(lambda n: st.tuples(*[score_arrays(items=n, dtypes=("float64", "int64", "uint8"))] * 2))
)
def test_cross_gram_counts_and_distances(pair):
    X, Y = pair
    K = kendall_gram(X, Y)
    np.testing.assert_allclose(K, oracle.gram(oracle.kendall, X, Y), rtol=0, atol=1e-15)
    assert np.array_equal(K, kendall_gram(Y, X).T)
    for p in (0.0, 0.25, 0.5):
        for normalize in (False, True):
            D = kendall_distance(X, Y, tie_penalty=p, normalize=normalize)
            expected = oracle.gram(oracle.distance, X, Y, tie_penalty=p, normalize=normalize)
            np.testing.assert_allclose(D, expected, rtol=1e-15, atol=0)
    counts = pair_counts(X, Y)
    n = X.shape[1]
    for index, count in enumerate(counts):
        assert count.dtype == np.int64
        assert np.array_equal(count, oracle.gram(lambda x, y, k=index: pair_classes(x, y)[k], X, Y))
    assert (sum(counts) == n * (n - 1) // 2).all()


@given(score_arrays(rows=(1, 4), dtypes=("int64", "float32", "bool", "longdouble")), st.randoms())
def test_relabeling_items_changes_nothing(X, random):
    items = random.sample(range(X.shape[1]), X.shape[1])
    assert np.array_equal(kendall_gram(X[:, items]), kendall_gram(X))


@given(score_arrays(rows=3, dtypes=("float64",)))
def test_reversing_rankings(X):
    K = kendall_gram(X)
    assert np.array_equal(kendall_gram(-X), K)
    assert np.array_equal(kendall_gram(X, -X), -K)


@given(score_arrays(rows=3, dtypes=("int8", "uint16", "bool")))
def test_monotone_transforms_change_nothing(X):
    K = kendall_gram(X.astype(np.float64))
    assert np.array_equal(kendall_gram(X), K)
    assert np.array_equal(kendall_gram(X.astype(np.float64) ** 3 + 5), K)
    assert np.array_equal(kendall_gram(np.arctan(X.astype(np.float64) / 2**10)), K)


@given(score_arrays())
def test_self_kernel_is_exactly_one_unless_constant(X):
    K = kendall_gram(X)
    constant = np.array([len(set(row)) == 1 for row in X.tolist()], dtype=bool)
    assert np.array_equal(np.diag(K), np.where(constant, 0.0, 1.0))


@given(score_arrays(rows=(1, 8), dtypes=("int8", "float64")))
def test_gram_is_positive_semidefinite(X):
    for variant in "ab":
        assert np.linalg.eigvalsh(kendall_gram(X, variant=variant)).min() > -1e-12


@pytest.mark.parametrize("kind", ["total", "tied"])
@pytest.mark.parametrize("n", [5, 60, 700])
def test_equals_scipy(kind, n):
    rng = np.random.default_rng(n)
    X, Y = random_scores(rng, kind, 6, n), random_scores(rng, kind, 4, n)
    expected = [[kendalltau(x, y).statistic for y in Y] for x in X]
    for method in ("signs", "inversions", "reference"):
        np.testing.assert_allclose(kendall_gram(X, Y, method=method), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["total", "tied"])
def test_variants_agree_without_ties_only(kind):
    X = random_scores(np.random.default_rng(1), kind, 5, 30)
    assert np.array_equal(kendall_gram(X, variant="a"), kendall_gram(X, variant="b")) == (kind == "total")


@given(score_arrays(dtypes=("float64", "int8")))
def test_features_reproduce_the_gram(X):
    for variant in "ab":
        features = kendall_features(X, variant=variant)
        n = X.shape[1]
        assert features.shape == (len(X), n * (n - 1) // 2)
        np.testing.assert_allclose(features @ features.T, kendall_gram(X, variant=variant), rtol=0, atol=1e-14)


def test_features_are_scaled_signs_in_the_documented_order():
    X = [[3, 1, 1, 2]]
    scaled = kendall_features(X) * math.sqrt(6)
    np.testing.assert_allclose(scaled, [oracle.sign_features(X[0])], rtol=0, atol=1e-15)
    assert np.array_equal(kendall_features([[2, 2, 2]], variant="b"), [[0, 0, 0]])


@given(score_arrays(rows=(1, 4), dtypes=("float64", "int8")))
def test_a_quarter_per_one_sided_tie_is_the_squared_feature_distance(X):
    n = X.shape[1]
    features = kendall_features(X)
    squared = ((features[:, None] - features[None]) ** 2).sum(-1)
    np.testing.assert_allclose(kendall_distance(X), squared * n * (n - 1) / 8, rtol=0, atol=1e-12)


@pytest.mark.parametrize("function", [kendall_distance, mallows_gram])
def test_penalties_are_not_rounded_to_float32(function):
    p, X = 0.92187081572453, np.array([[0, 0], [0, 1]])
    result = function(X, tie_penalty=p)[0, 1]
    assert result == (p if function is kendall_distance else pytest.approx(np.exp(-p), rel=1e-15))


def test_ties_beyond_what_float32_counts():
    n = 8002
    X = np.stack([np.zeros(n), np.arange(n)])
    assert kendall_distance(X, tie_penalty=0.5)[0, 1] == 32_012_001 / 2  # n(n-1)/2 pairs tied in one of them


@given(score_arrays(rows=3, dtypes=("int8",)), st.floats(0.5, 1))
def test_distance_is_a_metric_from_a_half_on(X, p):
    D = kendall_distance(X, tie_penalty=p)
    assert (np.diag(D) == 0).all()
    assert D[0, 2] <= D[0, 1] + D[1, 2] + 1e-12


@pytest.mark.parametrize("method", ["signs", "inversions", "reference", "auto"])
@pytest.mark.parametrize("missing", ["raise", "pairwise"])
def test_batches_broadcast_as_in_cdist(method, missing):
    rng = np.random.default_rng(2)
    share = 0.3 if missing == "pairwise" else 0.0
    X = random_scores(rng, "tied", 2, 1, 5, 9, missing=share)
    for batch in ((), (1,), (3,), (2, 3), (2, 1), (1, 1)):
        Y = random_scores(rng, "tied", *batch, 4, 9, missing=share)
        K = kendall_gram(X, Y, missing=missing, method=method)
        D = kendall_distance(X, Y, tie_penalty=0.5, missing=missing, method=method)
        shape = np.broadcast_shapes((2, 1), batch)
        assert K.shape == D.shape == (*shape, 5, 4)
        Xs, Ys = np.broadcast_to(X, (*shape, 5, 9)), np.broadcast_to(Y, (*shape, 4, 9))
        for index in np.ndindex(*shape):
            np.testing.assert_allclose(K[index], oracle.gram(oracle.kendall, Xs[index], Ys[index]), rtol=0, atol=1e-15)
            expected = oracle.gram(oracle.distance, Xs[index], Ys[index], tie_penalty=0.5)
            assert np.array_equal(D[index], expected)
    for index in np.ndindex(2, 1):
        own = kendall_gram(X, missing=missing, method=method)[index]
        assert np.array_equal(own, kendall_gram(X[index], missing=missing, method=method))


@pytest.mark.parametrize("batch", [(0,), (2, 0), (3,)])
@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("missing", ["raise", "pairwise"])
def test_empty_batches(batch, rows, missing):
    X = torch.zeros(*batch, rows, 4, dtype=torch.float64)
    assert kendall_gram(X, missing=missing).shape == (*batch, rows, rows)
    assert kendall_gram(X, torch.ones(5, 4), missing=missing).shape == (*batch, rows, 5)
    assert kendall_distance(X, X[..., :0, :], missing=missing).shape == (*batch, rows, 0)
    assert kendall_features(X).shape == (*batch, rows, 6)
    for count in pair_counts(X, torch.ones(5, 4), missing=missing):
        assert count.shape == (*batch, rows, 5)


def test_results_wider_than_one_block_of_rows():
    rng = np.random.default_rng(3)
    X, Y = random_scores(rng, "tied", 1100, 4), random_scores(rng, "tied", 1000, 4)  # 1.1e6 results
    K, D = kendall_gram(X, Y), kendall_distance(X, Y, tie_penalty=0.5)
    for rows in (slice(0, 3), slice(1045, 1055), slice(1098, 1100)):
        np.testing.assert_allclose(K[rows, :5], oracle.gram(oracle.kendall, X[rows], Y[:5]), rtol=0, atol=1e-15)
        assert np.array_equal(D[rows, :5], oracle.gram(oracle.distance, X[rows], Y[:5], tie_penalty=0.5))


def _rounding(dtype):
    return np.finfo(dtype).eps / 2
