"""Metrics compute in float64 whatever dtype came, and lose no digits far from the origin."""

import numpy as np
import pytest
import torch

from tests.oracles import label_ranking as oracle
from torchrank.metrics import (
    concordance_index,
    conditional_ranking_error,
    d_feat,
    d_knh,
    delta_rank,
    label_ranking_loss,
    silhouette_score,
)

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32, torch.uint32, torch.int64, torch.uint64]


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("shift", [0.0, 1e7, 1.7e9])
def test_neighbours_are_found_by_differences(shift, squared):
    X = np.random.default_rng(0).standard_normal((100, 3)) + shift
    labels = np.random.default_rng(1).integers(0, 2, 100)
    if squared:
        expected = oracle.neighborhood_distance(X, labels, 3)
    else:
        apart = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
        np.fill_diagonal(apart, np.inf)
        groups = [np.flatnonzero(labels == k) for k in (0, 1)]
        expected = np.mean([np.sort(apart[np.ix_(rows, rows)], axis=1)[:, :3].mean() for rows in groups])
    assert d_knh(X, labels, squared=squared) == pytest.approx(expected, rel=1e-13)


def test_two_groups_of_rows_far_apart_keep_their_digits():
    """No common origin is near to both."""
    X = np.random.default_rng(0).standard_normal((100, 2))
    X[50:] += 1e9
    assert d_knh(X, np.zeros(100, int)) == pytest.approx(oracle.neighborhood_distance(X, np.zeros(100), 3), rel=1e-13)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_any_dtype_gives_what_float64_gives(dtype):
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.integers(0, 100, (300, 2))).to(dtype)
    labels = torch.from_numpy(rng.integers(0, 3, 300))
    D = torch.from_numpy(np.abs(rng.integers(0, 100, 300)[:, None] - rng.integers(0, 100, 300)))
    D = torch.maximum(D, D.mT).fill_diagonal_(0).to(dtype)
    y, f, Y = X[:, 0], X[:, 1], torch.from_numpy(rng.permuted(np.tile(np.arange(5), (40, 1)), axis=1)).to(dtype)
    for measure in (
        lambda to: d_feat(to(X), labels),
        lambda to: d_knh(to(X), labels),
        lambda to: silhouette_score(to(D), labels),
        lambda to: conditional_ranking_error(to(y), to(f), labels).pooled,
        lambda to: concordance_index(to(y), to(f)),
        lambda to: label_ranking_loss(to(Y), to(Y.flip(0))),
        lambda to: delta_rank(to(Y), labels[:40], to(Y[:3])),
    ):
        assert measure(lambda x: x) == measure(lambda x: x.double())


def test_features_in_extended_precision_are_numbers_and_others_are_refused():
    X, labels = np.array([[0.0], [2.0], [10.0]]), np.array([0, 0, 1])
    assert d_knh(X.astype(np.longdouble), labels) == d_knh(X, labels) == 2
    assert d_feat(X.astype(np.longdouble), labels) == d_feat(X, labels) == 1
    for measure in (d_feat, d_knh):
        with pytest.raises(TypeError, match=r"X has dtype torch.complex128"):
            measure(torch.zeros(3, 1, dtype=torch.complex128), labels)
        with pytest.raises(ValueError, match="X has nan at row 1, feature 0"):
            measure(np.array([[0.0], [np.nan], [1.0]]), labels)
