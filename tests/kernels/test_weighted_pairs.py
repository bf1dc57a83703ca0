"""Kendall kernels over some pairs of items, or over weighted ones, and the polynomial family."""

from itertools import combinations

import numpy as np
import pytest
import torch

from tests.oracles.pair_counts import sign
from tests.strategies import random_scores
from torchrank import kendall_gram, mallows_gram, polynomial_gram

RNG = np.random.default_rng(0)
X, Y = random_scores(RNG, "tied", 6, 7), random_scores(RNG, "total", 4, 7)
WEIGHTS = np.triu(RNG.random((7, 7)), 1) * (RNG.random((7, 7)) < 0.5)
WEIGHTS = WEIGHTS + WEIGHTS.T


def oracle(x, y, w, variant):
    def product(a, b):
        return sum(w[i, j] * sign(a[i], a[j]) * sign(b[i], b[j]) for i, j in combinations(range(len(a)), 2))

    scale = np.triu(w).sum() if variant == "a" else np.sqrt(product(x, x) * product(y, y))
    return product(x, y) / scale if scale else 0.0


@pytest.mark.parametrize("variant", ["a", "b"])
@pytest.mark.parametrize("pairs", [WEIGHTS, WEIGHTS > 0, np.zeros((7, 7))], ids=["weights", "mask", "none"])
def test_equals_the_definition(pairs, variant):
    for other in (None, Y):
        for workspace in (1 << 10, 1 << 27):
            K = kendall_gram(X, other, pairs=pairs, variant=variant, workspace=workspace)
            expected = [[oracle(x, y, pairs, variant) for y in (X if other is None else other)] for x in X]
            np.testing.assert_allclose(K, expected, rtol=0, atol=1e-15)
    K = kendall_gram(X, pairs=pairs, variant=variant)
    assert np.array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-14


def test_all_pairs_are_the_plain_kernel():
    pairs = ~np.eye(7, dtype=bool)
    for variant in "ab":
        assert np.array_equal(kendall_gram(X, pairs=pairs, variant=variant), kendall_gram(X, variant=variant))


def test_gradient_of_weights():
    weights = torch.from_numpy(np.triu(WEIGHTS, 1)[np.triu(WEIGHTS, 1) > 0]).requires_grad_()
    i, j = np.nonzero(np.triu(WEIGHTS, 1))

    def kernel(w):
        pairs = torch.zeros(7, 7, dtype=torch.float64).index_put((torch.tensor(i), torch.tensor(j)), w)
        return kendall_gram(torch.from_numpy(X[:3]), pairs=pairs + pairs.T, variant="a")

    assert torch.autograd.gradcheck(kernel, weights)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w[:6], r"pairs has shape \(6, 7\); expected \(7, 7\)"),
        (lambda w: w + np.eye(7), r"pairs has 1.0 at \(0, 0\); an item is not compared with itself"),
        (lambda w: -w, "weights must be finite and at least 0"),
        (lambda w: np.where(w > 0, np.nan, w), "pairs has nan at .* weights must be finite"),
        (lambda w: np.triu(w), "pairs must be symmetric"),
    ],
)
def test_refusals(change, message):
    with pytest.raises(ValueError, match=message):
        kendall_gram(X, pairs=change(WEIGHTS))


def test_only_for_complete_rankings():
    with pytest.raises(ValueError, match="pairs needs complete rankings"):
        kendall_gram(X, pairs=WEIGHTS, missing="topk")
    with pytest.raises(ValueError, match=r"X has NaN .* at row 0, item 0"):
        kendall_gram(np.full((1, 7), np.nan), pairs=WEIGHTS)


def test_polynomial_family():
    K = kendall_gram(Y)
    np.testing.assert_allclose(polynomial_gram(K, degree=1, scale=1e9), K, atol=1e-8)
    np.testing.assert_allclose(polynomial_gram(K, degree=2, scale=3), ((1 + 1.5 * K) / 2.5) ** 2, rtol=1e-15)
    limit = mallows_gram(Y, lam=4 * 2.0 / (7 * 6))
    np.testing.assert_allclose(polynomial_gram(K, degree=10**6, scale=2.0), limit, rtol=1e-5)
    assert np.linalg.eigvalsh(polynomial_gram(kendall_gram(X), degree=3, scale=2)).min() > -1e-14
    assert isinstance(polynomial_gram(torch.eye(2), degree=2, scale=1), torch.Tensor)
    for bad, message in (
        ({"degree": 0, "scale": 1}, "degree=0 is too small"),
        ({"degree": 1, "scale": -1}, "scale=-1"),
    ):
        with pytest.raises(ValueError, match=message):
            polynomial_gram(K, **bad)
