"""Silhouettes at the borders: what is no matrix of distances, and rows that weigh nothing or several."""

import numpy as np
import pytest
import torch

from tests.strategies import random_scores
from torchrank import kendall_distance, mallows_gram
from torchrank.metrics import silhouette_samples, silhouette_score

LINE = np.array([0.0, 1.0, 10.0, 12.0])
APART = np.abs(LINE[:, None] - LINE)


def silhouettes(D: np.ndarray, labels: np.ndarray) -> list[float]:
    """Rousseeuw's definition, row by row."""
    found = []
    for i in range(len(D)):
        own = [j for j in range(len(D)) if labels[j] == labels[i] and j != i]
        others = [np.flatnonzero(labels == k) for k in set(labels.tolist()) - {labels[i]}]
        a, b = (np.mean(D[i, own]) if own else None), min(D[i, rows].mean() for rows in others)
        found.append(0.0 if a is None or max(a, b) == 0 else (b - a) / max(a, b))
    return found


@pytest.mark.parametrize("measure", [silhouette_samples, silhouette_score])
@pytest.mark.parametrize(
    ("distances", "message"),
    [
        ([[1, 2, 9], [2, 1, 9], [9, 9, 1]], r"distances\[0, 0\] is 1"),
        ([[0, 2, 9], [2, 0, 9], [9, 9, 0.5]], r"distances\[2, 2\] is 0.5"),
        ([[0, 2, 9], [2, 0, 8], [9, 9, 0]], r"not symmetric: \[1, 2\] is 8 and \[2, 1\] 9"),
        ([[0, 2, 9], [2, 0, 9], [8, 9, 0]], r"not symmetric: \[0, 2\] is 9 and \[2, 0\] 8"),
        ([[0, 2, -0.5], [2, 0, 9], [-0.5, 9, 0]], r"distances\[0, 2\] is -0.5"),
    ],
)
def test_a_matrix_of_something_else_is_named(measure, distances, message):
    for given in (np.array(distances), torch.tensor(distances, dtype=torch.float32)):
        with pytest.raises(ValueError, match=message):
            measure(given, [0, 0, 1])


def test_a_gram_matrix_is_refused():
    X = random_scores(np.random.default_rng(0), "total", 6, 4)
    with pytest.raises(ValueError, match=r"the diagonal must be 0.*similarities"):
        silhouette_samples(mallows_gram(X, lam=0.1), np.arange(6) % 2)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_rounding_is_let_pass_and_does_not_count(dtype):
    eps = torch.finfo(dtype).eps
    D = torch.tensor(APART).to(dtype)
    noisy = D + 20 * eps * torch.tensor([[1.0, 2, 0, 1], [0, 1, 3, 0], [2, 0, 5, 1], [0, 1, 0, 2]])
    noisy[0, 0] = -3 * eps
    found = silhouette_samples(noisy.to(dtype), [0, 0, 1, 1])
    torch.testing.assert_close(found, silhouette_samples(D, [0, 0, 1, 1]), rtol=0, atol=1e3 * eps)
    assert noisy[0, 0] != 0  # the caller's matrix stays as it is


def test_distances_in_extended_precision_are_numbers():
    exact = silhouette_samples(APART, [0, 0, 1, 1])
    np.testing.assert_array_equal(silhouette_samples(APART.astype(np.longdouble), [0, 0, 1, 1]), exact)
    weights = np.array([0.5, 2.0, 1.0, 3.0])
    np.testing.assert_array_equal(
        silhouette_samples(APART, [0, 0, 1, 1], weights.astype(np.longdouble)),
        silhouette_samples(APART, [0, 0, 1, 1], weights),
    )
    with pytest.raises(TypeError, match=r"distances has dtype torch.complex128"):
        silhouette_samples(torch.zeros(3, 3, dtype=torch.complex128), [0, 0, 1])


def test_a_row_of_weight_0_is_a_row_that_is_not_there():
    found = silhouette_samples(APART, [0, 0, 1, 2], [2, 2, 1, 0])
    np.testing.assert_allclose(found, [1 - 1 / 15, 1 - 2 / 27, 0, 0], rtol=1e-15)
    assert silhouette_score(APART, [0, 0, 1, 2], [2, 2, 1, 0]) == pytest.approx((28 / 15 + 50 / 27) / 5, rel=1e-15)
    with pytest.raises(ValueError, match="labels name 1 clusters of 2 rows"):
        silhouette_samples(APART, [0, 0, 1, 2], [1, 1, 0, 0])


@pytest.mark.parametrize("seed", range(6))
def test_weights_are_repetitions_and_0_is_once_more_beside_the_rest(seed):
    rng = np.random.default_rng(seed)
    X, labels, weights = random_scores(rng, "tied", 14, 5), rng.integers(0, 4, 14), rng.integers(0, 4, 14)
    labels[:3], weights[:3], labels[13], weights[13] = [0, 1, 2], [2, 1, 3], 9, 0  # nobody counts in cluster 9
    D = kendall_distance(X)
    found = silhouette_samples(D, labels, weights)
    copies = np.repeat(np.arange(14), weights)
    np.testing.assert_allclose(found[copies], silhouettes(D[np.ix_(copies, copies)], labels[copies]), atol=1e-14)
    for row in np.flatnonzero(weights == 0):
        joined = np.append(copies, row)
        expected = silhouettes(D[np.ix_(joined, joined)], labels[joined])[-1]
        assert found[row] == pytest.approx(expected, abs=1e-14)
    there = weights > 0
    np.testing.assert_array_equal(
        found[there], silhouette_samples(D[np.ix_(there, there)], labels[there], weights[there])
    )
