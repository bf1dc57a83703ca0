"""Numbers of items at which 32-bit arithmetic ends: every quantity made of counts is right on both sides of each.

The largest n with n(n-1)/2 below 2^30 is 46,341, below 2^31 65,536, and n^2 passes 2^31 at 46,341 and 2^33 at 92,682.
"""

import math

import numpy as np
import pytest
import torch

import torchrank as tr

SIZES = (46_340, 46_341, 46_342, 65_535, 65_536, 65_537, 92_682)
METHODS = ("inversions", "signs")


def rows(n):
    """A ranking, its reverse, and its neighbor with three items moved, and the numbers of discordant pairs."""
    up = np.arange(n)
    near = up.copy()
    near[[0, 5]], near[[n - 2, n - 1]] = near[[5, 0]], near[[n - 1, n - 2]]
    d = 9 + 1  # 0 and 5 exchanged: 2 * 5 - 1 pairs; two neighbors exchanged: one
    N = n * (n - 1) // 2
    return np.stack([up, up[::-1], near]), np.array([[0, N, d], [N, 0, N - d], [d, N - d, 0]]), N


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", SIZES)
def test_counts_and_what_is_made_of_them(n, method):
    X, D, N = rows(n)
    assert np.array_equal(tr.kendall_distance(X, method=method), D)
    assert np.array_equal(tr.kendall_distance(X, method=method, tie_penalty=0.5), D)
    assert np.array_equal(tr.kendall_distance(X, method=method, normalize=True), D / N)
    assert np.array_equal(tr.kendall_gram(X, method=method), (N - 2 * D) / N)
    counts = tr.pair_counts(X, method=method)
    assert np.array_equal(counts.discordant, D)
    assert np.array_equal(counts.concordant, N - D)
    assert not any(part.any() for part in counts[2:])
    np.testing.assert_allclose(tr.mallows_gram(X, lam=1e-3, method=method), np.exp(-1e-3 * D), rtol=1e-14)
    np.testing.assert_allclose(
        tr.mallows_gram(X, lam=3.0, normalize=True, method=method), np.exp(-3 * D / N), rtol=1e-14
    )


@pytest.mark.parametrize("n", SIZES)
def test_ties_and_pairwise_at_the_edges(n):
    X, D, N = rows(n)
    half = n // 2
    tied = np.stack([np.arange(n) // 2, np.r_[np.zeros(half), np.ones(n - half)]])
    pairs_0, pairs_1 = half, math.comb(half, 2) + math.comb(n - half, 2)
    counts = tr.pair_counts(tied)
    assert counts.tied_xy.diagonal().tolist() == [pairs_0, pairs_1]
    assert np.array_equal(
        counts.concordant + counts.discordant + counts.tied_x + counts.tied_y + counts.tied_xy, [[N] * 2] * 2
    )
    assert not counts.discordant.any()
    gap = X.astype(float)
    gap[1, 7] = np.nan
    common = (n - 1) * (n - 2) // 2
    distance = tr.kendall_distance(gap, missing="pairwise")
    assert distance[0, 1] == common
    assert distance[0, 2] == D[0, 2]
    assert tr.kendall_gram(gap, missing="pairwise")[0, 1] == -1


@pytest.mark.parametrize("n", SIZES)
def test_distributions_and_modules_at_the_edges(n):
    X, D, N = rows(n)
    assert tr.MallowsKernel(lam=1.0, normalize=True)(X).diagonal().tolist() == [1, 1, 1]
    law = tr.Mallows(torch.from_numpy(X[0].copy()).double(), 1e-8)
    assert law.distance(torch.from_numpy(X.copy())).tolist() == D[0].tolist()
    log_prob = law.log_prob(torch.from_numpy(X.copy()))
    assert float(log_prob[0] - log_prob[1]) == pytest.approx(1e-8 * N, rel=1e-6)
    fit = tr.fit_mallows(X, center=X[0])
    assert float(fit.mean_distance) == D[0].sum() / 3
