"""missing="pairwise": every two rankings are compared on the items that both rank; ties and missing items together."""

import numpy as np
import pytest
import torch
from hypothesis import given

from tests.engines import ENGINES
from tests.oracles import kernels as oracle
from tests.oracles.pair_counts import pair_classes
from tests.strategies import FLOATS, random_scores, score_array_pairs, score_arrays
from torchrank import kendall_distance, kendall_gram, mallows_gram, pair_counts


@given(score_array_pairs(dtypes=FLOATS, missing=True))
def test_equals_the_oracle_on_common_items(pair):
    X, Y = (scores.astype(np.float64) if scores.dtype.itemsize < 8 else scores for scores in pair)
    for A, B in ((X, None), (X, Y)):
        for variant in "ab":
            K = kendall_gram(A, B, variant=variant, missing="pairwise")
            np.testing.assert_allclose(K, oracle.gram(oracle.kendall, A, B, variant=variant), rtol=0, atol=1e-15)
        for index, count in enumerate(pair_counts(A, B, missing="pairwise")):
            assert np.array_equal(count, oracle.gram(lambda x, y, k=index: pair_classes(x, y)[k], A, B))
        settings = {"tie_penalty": 0.5, "normalize": True}
        D = kendall_distance(A, B, missing="pairwise", **settings)
        np.testing.assert_allclose(D, oracle.gram(oracle.distance, A, B, **settings), rtol=1e-15, atol=0)
        K = mallows_gram(A, B, lam=0.2, missing="pairwise", **settings)
        np.testing.assert_allclose(K, oracle.gram(oracle.mallows, A, B, lam=0.2, **settings), rtol=1e-13, atol=0)


@given(score_arrays(dtypes=("float32",), missing=True))
def test_symmetric_bit_for_bit(X):
    for result in (
        kendall_gram(X, missing="pairwise"),
        kendall_distance(X, tie_penalty=0.3, missing="pairwise", normalize=True),
    ):
        assert np.array_equal(result, result.T)


@pytest.mark.parametrize(("method", "device"), ENGINES)
def test_every_engine(method, device):
    X = random_scores(np.random.default_rng(0), "tied", 7, 40, missing=0.4)
    K = kendall_gram(torch.from_numpy(X).to(device), missing="pairwise", method=method).cpu()
    np.testing.assert_allclose(K, oracle.gram(oracle.kendall, X), rtol=0, atol=1e-15)


def test_complete_rankings_are_not_changed():
    X = random_scores(np.random.default_rng(1), "tied", 6, 20)
    for function in (kendall_gram, kendall_distance, mallows_gram):
        assert np.array_equal(function(X, missing="pairwise"), function(X))


def test_fewer_than_two_common_items():
    N = np.nan
    X = np.array([[1, 2, N, N], [N, N, 1, 2], [N, 1, 2, N], [N, N, N, N]])
    K = kendall_gram(X, missing="pairwise")
    assert np.array_equal(K, np.diag([1.0, 1.0, 1.0, 0.0]))
    assert not kendall_distance(X, missing="pairwise", normalize=True).any()
    assert (mallows_gram(X, missing="pairwise") == 1).all()
