import math

import numpy as np
import pytest
import torch

from tests.label_ranking.rows import seeded
from tests.oracles import label_ranking as oracle
from torchrank import ConvergenceWarning, borda
from torchrank.datasets import circles, drop_labels
from torchrank.datasets.label_ranking import CENTRAL_ORDERS
from torchrank.label_ranking.baselines import (
    RANK_CLUSTERINGS,
    kmeans_then_rank,
    naive_kmeans,
    one_rank,
    rank_clustering_tree,
)
from torchrank.label_ranking.rank_clusters import ebms, k_o_means, most_frequent
from torchrank.label_ranking.training import TrainingRows
from torchrank.metrics import label_ranking_loss
from torchrank.rankings.orders import total_scores

NAN = math.nan


def blobs(missing=0.0, seed=0):
    """Three groups of features, each with a ranking of its own."""
    rng = np.random.default_rng(seed)
    group = np.arange(90) % 3
    X = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])[group] + rng.standard_normal((90, 2))
    Y = np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 1.0, 3.0]])[group]
    return torch.from_numpy(X), torch.from_numpy(drop_labels(Y, missing, seed=seed)), torch.from_numpy(Y)


def random_rows(seed, N=50, L=4, missing=0.3):
    rng = np.random.default_rng(seed)
    Y = rng.permuted(np.tile(np.arange(1.0, L + 1), (N, 1)), axis=1)
    Y[rng.random(Y.shape) < missing] = NAN
    Y[0] = np.arange(L)
    return torch.from_numpy(rng.standard_normal((N, 2))), torch.from_numpy(Y)


def test_one_rank_is_borda_of_all_rows():
    X, Y = random_rows(0)
    predicted = one_rank(X, Y).predict(X)
    assert len(predicted.unique(dim=0)) == 1
    assert torch.equal(predicted[0], total_scores(borda(Y, missing="interleaving")))


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("center", ["mallows", "plackett-luce"])
def test_kmeans_then_rank(center, missing):
    X, Y, true = blobs(missing)
    model = kmeans_then_rank(X, Y, 3, center=center, generator=seeded(0))
    assert label_ranking_loss(true, model.predict(X)) == 0
    for k, mean in enumerate(model.means):
        torch.testing.assert_close(mean, X[model.predict_cluster(X) == k].mean(0))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_naive_kmeans(missing):
    X, Y, true = blobs(missing)
    assert label_ranking_loss(true, naive_kmeans(X, Y, 3, generator=seeded(0)).predict(X)) == 0


@pytest.mark.parametrize("method", ["naive", "ebms", "k-o-means"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_rank_clustering_trees(method, missing):
    X, Y, true = blobs(missing)
    tree = rank_clustering_tree(X, Y, 3, method=method, generator=seeded(1))
    assert label_ranking_loss(true, tree.predict(X)) < (0.05 if missing == 0 else 0.2)
    assert len(tree.centers) == 3


def test_most_frequent_counts_rankings():
    rankings = torch.tensor([[3.0, 2.0, 1.0]] * 4 + [[1.0, 3.0, 2.0]] * 3 + [[2.0, 1.0, 3.0]], dtype=torch.float64)
    rows = TrainingRows.on_cpu(torch.zeros(8, 1), rankings)
    assert most_frequent(rows, 2).centers.tolist() == [[3, 2, 1], [1, 3, 2]]
    assert len(most_frequent(rows, 10).centers) == 3


@pytest.mark.parametrize("seed", range(5))
def test_partial_rankings_are_completed_as_near_as_can_be(seed):
    from torchrank.cpu.completion import complete

    X, Y = random_rows(seed, N=30, L=5, missing=0.5)
    rng = np.random.default_rng(seed)
    around = rng.permuted(np.tile(np.arange(5), (30, 1)), axis=1)
    orders = np.empty((30, 5), np.int64)
    complete(TrainingRows.on_cpu(X, Y).ranks.numpy(), around, orders)
    for y, center, order in zip(Y.numpy(), around, orders, strict=True):
        assert sorted(order) == list(range(5))
        ranked = [label for label in order if not np.isnan(y[label])]
        assert ranked == sorted(ranked, key=lambda label: -y[label])
        place = {label: i for i, label in enumerate(center)}
        cost = sum(place[order[i]] > place[order[j]] for i in range(5) for j in range(i + 1, 5))
        assert cost == oracle.closest_completion_cost(y, center.tolist())


def test_k_o_means_ends_where_nothing_moves():
    data = circles(600, seed=0)
    rows = TrainingRows.on_cpu(torch.from_numpy(data.X), torch.from_numpy(data.Y))
    ends = {}
    for seed in range(6):
        centers, n_iter, converged = k_o_means(rows, 3, generator=seeded(seed))
        assert converged
        nearest = rows.distances(centers).argmin(1)
        for k in range(3):
            votes = borda(torch.from_numpy(data.Y)[nearest == k], missing="interleaving")
            assert torch.equal(total_scores(votes), centers[k])
        ends[rows.loss(nearest, centers)] = centers
        assert not k_o_means(rows, 3, generator=seeded(seed), max_iter=n_iter - 1).converged
    best = ends[min(ends)]  # single starts may end elsewhere
    assert {tuple(order) for order in best.argsort(dim=-1, descending=True).tolist()} == set(CENTRAL_ORDERS)


def test_k_o_means_that_is_cut_short_is_told(monkeypatch):
    X, Y = random_rows(0)
    monkeypatch.setitem(RANK_CLUSTERINGS, "k-o-means", lambda *options: k_o_means(*options, max_iter=1))
    with pytest.warns(ConvergenceWarning, match="method='k-o-means' did not converge in 1 iterations") as caught:
        tree = rank_clustering_tree(X, Y, 3, generator=seeded(0))
    assert caught[0].filename == __file__
    assert (tree.evidence.n_iter, tree.evidence.converged, tree.evidence.reason) == (1, False, "max_iter")


@pytest.mark.parametrize("baseline", [kmeans_then_rank, naive_kmeans])
def test_k_means_that_is_cut_short_is_told(baseline):
    X, Y = random_rows(0, N=300)
    with pytest.warns(ConvergenceWarning, match="K-means did not converge in 1 iterations") as caught:
        model = baseline(X, Y, 5, max_iter=1, generator=seeded(0))
    assert caught[0].filename == __file__
    assert (model.evidence.n_iter, model.evidence.converged) == (1, False)


def test_blurring_collapses_equal_rankings():
    rankings = torch.tensor([[4.0, 3.0, 2.0, 1.0]] * 5 + [[1.0, 2.0, 3.0, 4.0]] * 9, dtype=torch.float64)
    centers = ebms(TrainingRows.on_cpu(torch.zeros(14, 1), rankings), 2).centers
    assert centers.tolist() == [[1, 2, 3, 4], [4, 3, 2, 1]]


def test_more_clusters_than_rankings():
    X, Y, _ = blobs()
    for method in ("naive", "ebms", "k-o-means"):
        tree = rank_clustering_tree(X, Y, 20, method=method, generator=seeded(0))
        assert label_ranking_loss(Y, tree.predict(X)) < 0.05
    for model in (
        kmeans_then_rank(X[:4], Y[:4], 10, generator=seeded(0)),
        naive_kmeans(X[:4], Y[:4], 10, generator=seeded(0)),
    ):
        assert label_ranking_loss(Y[:4], model.predict(X[:4])) == 0


def test_ties_are_for_borda_and_not_for_plackett_luce():
    X, Y, _ = blobs()
    Y[30, 1] = Y[30, 0]
    kmeans_then_rank(X, Y, 3, generator=seeded(0))
    naive_kmeans(X, Y, 3, generator=seeded(0))
    with pytest.raises(ValueError, match="Y ties items 0 and 1 in row 30"):
        kmeans_then_rank(X, Y, 3, center="plackett-luce", generator=seeded(0))


def test_bad_input():
    X, Y, _ = blobs()
    with pytest.raises(ValueError, match="center='x'"):
        kmeans_then_rank(X, Y, 3, center="x")
    with pytest.raises(ValueError, match="method='x'"):
        rank_clustering_tree(X, Y, 3, method="x")
    with pytest.raises(ValueError, match="n_clusters=0"):
        naive_kmeans(X, Y, 0)
    for baseline in (kmeans_then_rank, naive_kmeans):
        with pytest.raises(ValueError, match="n_init=0"):
            baseline(X, Y, 2, n_init=0)
        with pytest.raises(ValueError, match="squared distances overflow"):
            baseline(X + 1e200, Y, 2)
    with pytest.raises(ValueError, match=r"X has shape \(.*, 1\)"):
        kmeans_then_rank(X, Y, 3, generator=seeded(0)).predict(X[:, :1])
    bad = X.clone()
    bad[4, 0] = NAN
    fits = [lambda X: one_rank(X, Y), *(lambda X, f=f: f(X, Y, 3) for f in (kmeans_then_rank, naive_kmeans))]
    for use in (*fits, lambda X: rank_clustering_tree(X, Y, 3), one_rank(X, Y).predict):
        with pytest.raises(ValueError, match="X has nan at row 4, feature 0"):
            use(bad)


@pytest.mark.parametrize("baseline", [kmeans_then_rank, naive_kmeans])
def test_unscaled_features(baseline):
    X, Y, _ = blobs()
    X[:, 0] *= 1e4
    with pytest.warns(UserWarning, match="standard deviations of the features run from .*: scale the") as caught:
        baseline(X, Y, 3, generator=seeded(0))
    assert caught[0].filename == __file__


@pytest.mark.parametrize("baseline", [kmeans_then_rank, naive_kmeans])
@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-8])
def test_tiny_features(baseline, scale):
    X, Y, _ = blobs()
    with pytest.warns(UserWarning, match="the features of any two rows differ by .*: scale the features") as caught:
        baseline(scale * X, Y, 3, generator=seeded(0))
    assert len(caught) == 1
    assert caught[0].filename == __file__
