"""The diffusion kernel against dense exponentials, and beside the Mallows kernel on the same graph."""

import math

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import shortest_path

from tests.oracles.diffusion import adjacency, diffusion, rankings
from torchrank import kendall_distance, mallows_gram
from torchrank.kernels.diffusion import diffusion_gram

S4 = np.array(rankings(4), dtype=float)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("beta", [0, 0.01, 0.5, 3, 20.0])
def test_against_the_dense_exponential(beta, n):
    K = diffusion_gram(np.array(rankings(n), dtype=float), beta=beta)
    np.testing.assert_allclose(K, diffusion(n, beta), rtol=0, atol=1e-14)
    np.testing.assert_allclose(K.sum(1), 1, rtol=1e-12)
    assert np.array_equal(K, K.T)
    assert K.min() >= 0


def test_scores_count_by_their_order_only():
    X = np.array([[0.1, -3.0, 7.0, 2.0], [5, 4, 3, 2]])
    K = diffusion_gram(X, beta=0.7)
    ranks = [(1, 0, 3, 2), (3, 2, 1, 0)]
    numbers = [rankings(4).index(r) for r in ranks]
    np.testing.assert_allclose(K, diffusion(4, 0.7)[np.ix_(numbers, numbers)], rtol=0, atol=1e-14)


def test_heat_has_spread_evenly_in_the_end():
    for beta in (1e3, 1e300, math.inf, 10**400):
        np.testing.assert_allclose(diffusion_gram(S4, beta=beta), 1 / 24, rtol=1e-13)
    np.testing.assert_allclose(diffusion_gram(S4, beta=100), 1 / 24, rtol=1e-11)


def test_largest_number_of_items():
    X = np.random.default_rng(0).permuted(np.tile(np.arange(9.0), (4, 1)), axis=1)
    X[3] = X[0] + 1
    K = diffusion_gram(X, beta=0.3)
    assert np.linalg.eigvalsh(K[:3, :3]).min() > 0
    assert K[0, 3] == K[0, 0] == K[1, 1]
    first = 1 - math.exp(-8 * 0.3)  # in all, that much has left; at most an eighth of it to one neighbor
    neighbor = X[0].copy()
    neighbor[X[0] == 4], neighbor[X[0] == 5] = 5, 4
    assert 0 < diffusion_gram(X[:1], neighbor[None], beta=0.3).item() < first / 8


def test_renaming_items_changes_nothing_but_reordering_ranks_does():
    K = diffusion_gram(S4, beta=0.5)
    for items in ([1, 0, 2, 3], [3, 1, 0, 2]):
        np.testing.assert_allclose(diffusion_gram(S4[:, items], beta=0.5), K, rtol=0, atol=1e-16)
    other_ranks = np.array([2.0, 0.0, 3.0, 1.0])[S4.astype(int)]
    assert np.abs(diffusion_gram(other_ranks, beta=0.5) - K).max() > 0.05
    mallows = mallows_gram(S4, lam=0.5)
    assert np.abs(mallows_gram(other_ranks, lam=0.5) - mallows).max() > 0.5


def test_mallows_knows_the_shortest_path_and_diffusion_all_of_them():
    steps = shortest_path(adjacency(4), unweighted=True)
    assert np.array_equal(kendall_distance(S4), steps)
    assert steps.max() == 6
    np.testing.assert_allclose(mallows_gram(S4, lam=0.3), np.exp(-0.3 * steps), rtol=1e-14)
    at_two_steps = diffusion_gram(S4, beta=0.5)[steps == 2]
    assert at_two_steps.min() == pytest.approx(0.0335, abs=5e-5)
    assert at_two_steps.max() == pytest.approx(0.0644, abs=5e-5)


def test_positive_definite():
    for beta in (0.1, 1.0, 3.0):
        assert np.linalg.eigvalsh(diffusion_gram(S4, beta=beta)).min() == pytest.approx(math.exp(-6 * beta), rel=1e-6)


def test_gradients_of_scores_are_refused():
    X = torch.tensor([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]], requires_grad=True)
    with pytest.raises(RuntimeError, match="piecewise constant in the scores"):
        diffusion_gram(X, beta=0.5).sum().backward()


def test_batches_dtypes_and_kinds():
    X = torch.randn(3, 1, 4, 5, generator=torch.Generator().manual_seed(0))
    Y = torch.randn(2, 6, 5, generator=torch.Generator().manual_seed(1))
    K = diffusion_gram(X, Y, beta=0.4)
    assert (tuple(K.shape), K.dtype) == ((3, 2, 4, 6), torch.float32)
    torch.testing.assert_close(K[2, 1], diffusion_gram(X[2, 0], Y[1], beta=0.4))
    assert diffusion_gram(np.array([[2, 1, 0]]), beta=1).dtype == np.float64
    assert diffusion_gram(X[:, :, :0], Y, beta=0.4).shape == (3, 2, 0, 6)


@pytest.mark.parametrize(
    ("X", "beta", "error", "message"),
    [
        (
            np.arange(10.0)[None],
            1.0,
            ValueError,
            "X ranks 10 items",
        ),
        (S4, -0.1, ValueError, r"beta=-0\.1"),
        (S4, math.nan, ValueError, "beta=nan"),
        (S4, "hot", TypeError, r"beta must .* 'hot'"),
        (np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 2.0]]), 1.0, ValueError, "X has ties at row 1"),
        (np.array([[[1.0, 1.0]]]), 1.0, ValueError, r"X has ties at batch \(0,\), row 0"),
        (np.array([[1.0, np.nan]]), 1.0, ValueError, r"X has NaN .* at row 0, item 1"),
    ],
)
def test_refusals(X, beta, error, message):
    with pytest.raises(error, match=message):
        diffusion_gram(X, beta=beta)
