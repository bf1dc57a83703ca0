import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import label_ranking as oracle
from torchrank.metrics import (
    d_feat,
    d_knh,
    delta_rank,
    discordant_shares,
    label_ranking_loss,
    label_ranking_tau,
)

NAN = math.nan


def rankings(seed, N=12, L=5, missing=0.3, levels=4):
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, levels, (N, L)).astype(float)
    Y[rng.random(Y.shape) < missing] = NAN
    Y[0] = np.arange(L)
    return Y, rng.integers(0, levels, (N, L)).astype(float), rng


@given(seed=st.integers(0, 10_000), missing=st.sampled_from([0.0, 0.3, 0.9]))
def test_loss_and_tau_of_the_definition(seed, missing):
    Y, predicted, _ = rankings(seed, missing=missing)
    assert label_ranking_loss(Y, predicted) == pytest.approx(oracle.loss(Y, predicted), abs=1e-14)
    assert label_ranking_tau(Y, predicted) == pytest.approx(1 - 2 * oracle.loss(Y, predicted), abs=1e-14)
    expected = [oracle.discordant_share(y, p) for y, p in zip(Y, predicted, strict=True)]
    np.testing.assert_allclose(
        discordant_shares(Y, predicted), [NAN if e is None else e for e in expected], rtol=0, atol=1e-15
    )


def test_rows_without_pairs_are_left_out_of_averages():
    Y = np.array([[NAN, NAN, NAN], [NAN, 1.0, NAN], [1.0, 1.0, 1.0], [3.0, 2.0, 1.0]])
    predicted = np.array([[1.0, 2.0, 3.0]] * 4)
    assert label_ranking_loss(Y, predicted) == 1
    assert np.isnan(label_ranking_loss(Y[:3], predicted[:3]))
    assert np.isnan(label_ranking_tau(Y[:0], predicted[:0]))


def test_loss_does_not_shrink_with_missing_labels():
    Y = np.array([[5.0, 4.0, NAN, NAN, NAN]])
    assert label_ranking_loss(Y, np.array([[1.0, 2.0, 3.0, 4.0, 5.0]])) == 1


def test_torch_stays_torch():
    Y, predicted, _ = rankings(0)
    shares = discordant_shares(torch.from_numpy(Y), torch.from_numpy(predicted))
    assert isinstance(shares, torch.Tensor)
    assert shares.dtype == torch.float64
    np.testing.assert_array_equal(shares, discordant_shares(Y, predicted))


@given(seed=st.integers(0, 10_000))
def test_delta_rank_of_the_definition(seed):
    Y, _, rng = rankings(seed)
    labels, centers = rng.integers(0, 4, len(Y)), rng.permuted(np.tile(np.arange(5.0), (5, 1)), axis=1)
    expected = oracle.delta_rank(Y, labels, centers)
    assert delta_rank(Y, labels, centers, scale="share") == pytest.approx(expected, abs=1e-14)
    assert delta_rank(Y, labels, centers) == pytest.approx(2 * expected, abs=1e-14)


def test_delta_rank_in_pairs_as_printed():
    Y, _, rng = rankings(1, missing=0.0)
    Y = rng.permuted(np.tile(np.arange(5.0), (12, 1)), axis=1)
    labels, centers = np.arange(12) % 3, rng.permuted(np.tile(np.arange(5.0), (3, 1)), axis=1)
    assert delta_rank(Y, labels, centers, scale="count") == pytest.approx(10 * oracle.delta_rank(Y, labels, centers))


def test_features_within_clusters():
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((30, 3)), rng.integers(0, 4, 30)
    labels[labels == 3] = 7  # numbers need not be consecutive
    expected = np.mean([((X[labels == k] - X[labels == k].mean(0)) ** 2).sum() for k in np.unique(labels)])
    assert d_feat(X, labels) == pytest.approx(expected, abs=1e-12)
    assert d_feat(torch.from_numpy(X), torch.from_numpy(labels)) == d_feat(X, labels)
    for k in (1, 3, 20):
        assert d_knh(X, labels, k=k) == pytest.approx(oracle.neighborhood_distance(X, labels, k), abs=1e-12)


def test_neighborhood_of_small_clusters():
    X, labels = np.array([[0.0], [2.0], [10.0]]), np.array([0, 0, 1])
    assert d_knh(X, labels) == (4 + 0) / 2
    assert d_knh(X, labels, squared=False) == (2 + 0) / 2


def test_bad_input():
    Y, predicted, _ = rankings(0)
    with pytest.raises(ValueError, match=r"Y has shape \(12, 5\) and predicted \(12, 4\)"):
        label_ranking_loss(Y, predicted[:, :4])
    predicted[2, 3] = NAN
    with pytest.raises(ValueError, match=r"predicted has NaN .* at row 2, item 3"):
        label_ranking_loss(Y, predicted)
    with pytest.raises(ValueError, match="labels run from 0 to 3"):
        delta_rank(Y, np.arange(12) % 4, Y[:1].repeat(2, 0))
    with pytest.raises(ValueError, match="scale='x'"):
        delta_rank(Y, np.zeros(12, int), Y[:1], scale="x")
    with pytest.raises(TypeError, match="expected integers, or names as strings"):
        d_feat(Y, np.zeros(12))
    with pytest.raises(ValueError, match="expected one cluster for each of 12 rows"):
        d_feat(Y, np.zeros(11, int))
