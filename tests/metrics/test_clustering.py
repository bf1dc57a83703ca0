import numpy as np
import pytest
import torch

sklearn_metrics = pytest.importorskip("sklearn.metrics")

from tests.strategies import random_scores  # noqa: E402 - after the skip
from torchrank import RankingKMeans, kendall_distance  # noqa: E402
from torchrank.metrics import bootstrap_stability, rand_index, silhouette_samples, silhouette_score  # noqa: E402


def case(seed: int, m: int = 30, clusters: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, clusters, m)
    labels[:clusters] = np.arange(clusters)
    return kendall_distance(random_scores(rng, "tied", m, 6)), labels


@pytest.mark.parametrize("seed", range(5))
def test_silhouettes_are_those_of_scikit_learn(seed):
    D, labels = case(seed)
    labels[labels == 3] = np.where(np.arange((labels == 3).sum()) == 0, 3, 0)  # cluster 3 has one row
    expected = sklearn_metrics.silhouette_samples(D, labels, metric="precomputed")
    found = silhouette_samples(D, labels * 7 - 2)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    assert isinstance(found, np.ndarray)
    assert silhouette_score(D, labels) == pytest.approx(expected.mean(), abs=1e-13)
    on_torch = silhouette_samples(torch.from_numpy(D).float(), torch.from_numpy(labels))
    assert on_torch.dtype == torch.float64
    np.testing.assert_allclose(on_torch, expected, atol=1e-6)


def test_silhouette_of_clusters_at_one_place_is_0():
    D = np.zeros((4, 4))
    assert silhouette_samples(D, [0, 0, 1, 1]).tolist() == [0, 0, 0, 0]


def test_weights_of_silhouettes_count_as_copies():
    D, labels = case(7)
    weights = np.random.default_rng(0).integers(1, 4, 30)
    copies = np.repeat(np.arange(30), weights)
    expected = sklearn_metrics.silhouette_samples(D[np.ix_(copies, copies)], labels[copies], metric="precomputed")
    np.testing.assert_allclose(silhouette_samples(D, labels, weights)[copies], expected, atol=1e-13)
    assert silhouette_score(D, labels, weights) == pytest.approx(expected.mean(), abs=1e-13)


@pytest.mark.parametrize(
    ("distances", "labels", "error", "message"),
    [
        (np.zeros((3, 2)), [0, 1, 1], ValueError, r"distances have shape \(3, 2\)"),
        (np.zeros((3, 3)), [0, 1], ValueError, r"labels have shape \(2,\)"),
        (np.zeros((3, 3)), [0, 0, 0], ValueError, "labels name 1 clusters of 3 rows"),
        (np.zeros((3, 3)), [0, 1, 2], ValueError, "labels name 3 clusters of 3 rows"),
        (np.zeros((3, 3)), [0.0, 1.0, 1.0], TypeError, "labels have dtype torch.float64"),
        (
            np.zeros((3, 3)),
            ["a", "b", 2],
            TypeError,
            "labels have strings and 2 among them",
        ),
        (np.full((3, 3), np.nan), [0, 1, 1], ValueError, r"distances\[0, 0\] is nan"),
        (
            np.eye(3) - 0.5 * np.eye(3, k=1),
            [0, 1, 1],
            ValueError,
            r"distances\[0, 1\] is -0.5",
        ),
    ],
)
def test_silhouette_refuses(distances, labels, error, message):
    with pytest.raises(error, match=message):
        silhouette_samples(distances, labels)


@pytest.mark.parametrize("adjusted", [False, True])
def test_rand_index_is_that_of_scikit_learn(adjusted):
    rng = np.random.default_rng(1)
    first, second, weights = rng.integers(0, 3, 40), rng.integers(0, 4, 40), rng.integers(0, 4, 40)
    score = sklearn_metrics.adjusted_rand_score if adjusted else sklearn_metrics.rand_score
    assert rand_index(first, torch.from_numpy(second), adjusted=adjusted) == score(first, second)
    copies = np.repeat(np.arange(40), weights)
    weighted = rand_index(first, second, adjusted=adjusted, weights=weights)
    assert weighted == score(first[copies], second[copies])
    assert rand_index(first, 5 - first, adjusted=adjusted) == 1
    with pytest.raises(ValueError, match="others have shape"):
        rand_index(first, second[:3])
    with pytest.raises(ValueError, match="weights have fractions"):
        rand_index(first, second, weights=np.full(40, 0.5))


def test_stability_draws_as_many_rows_as_there_are():
    weights, seen = np.array([3, 1, 0, 6]), []

    def cluster(sample: torch.Tensor) -> list[int]:
        seen.append(sample)
        return [0, 0, 1, int(sample[0] > 3)]

    found = bootstrap_stability(cluster, weights, repeats=50, generator=torch.Generator().manual_seed(0))
    assert len(seen) == 100
    assert all(sample.sum() == 10 and sample[2] == 0 for sample in seen)
    assert torch.stack(seen).mean(0).tolist() == pytest.approx([3, 1, 0, 6], abs=0.6)
    same = np.array([(a[0] > 3) == (b[0] > 3) for a, b in zip(seen[::2], seen[1::2], strict=True)])
    assert found.tolist() == pytest.approx(np.where(same, 1, rand_index([0] * 4 + [1] * 6, [0] * 10)).tolist())


def test_clear_groups_are_stable():
    rng = np.random.default_rng(2)
    centers = np.array([[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]])
    X = (np.repeat(centers, 10, axis=0) + 0.8 * rng.normal(size=(20, 6))).argsort(1).argsort(1).astype(float)
    model, draws = RankingKMeans(2), torch.Generator().manual_seed(1)

    def cluster(sample: torch.Tensor) -> np.ndarray:
        model.fit(X, sample, generator=draws)
        return model.predict(X)

    assert bootstrap_stability(cluster, np.ones(20), repeats=5, adjusted=True, generator=draws).tolist() == [1] * 5
    with pytest.raises(ValueError, match="repeats=0"):
        bootstrap_stability(cluster, np.ones(20), repeats=0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda():
    D, labels = case(3)
    found = silhouette_samples(torch.from_numpy(D).cuda(), torch.from_numpy(labels).cuda())
    assert found.is_cuda
    np.testing.assert_allclose(found.cpu(), silhouette_samples(D, labels), atol=1e-12)
