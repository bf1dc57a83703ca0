from itertools import combinations, permutations

import numpy as np
import pytest
import torch

from tests.label_ranking.rows import NAN, random_rows
from tests.oracles import label_ranking as oracle
from torchrank.label_ranking.pruned_rank_tree import mean_mallows_distance, pruned_rank_tree
from torchrank.label_ranking.training import TrainingRows
from torchrank.metrics import label_ranking_loss
from torchrank.rankings.orders import total_scores


@pytest.mark.parametrize("K", [1, 3, 6])
def test_pruned_tree_has_at_most_k_rankings(K):
    X, Y = random_rows(6, N=300, d=3, missing=0.2)
    tree = pruned_rank_tree(X, Y, K)
    held = {tuple(tree.centers[k].tolist()) for k in tree.predict_cluster(X)}
    assert len(held) <= K or tree.n_leaves <= K
    assert len(tree.centers) == len({tuple(center) for center in tree.centers.tolist()})


def test_pruned_tree_finds_a_clean_split():
    X = torch.arange(40.0, dtype=torch.float64)[:, None]
    Y = torch.where(X < 17, torch.tensor([[3.0, 2.0, 1.0]]), torch.tensor([[1.0, 2.0, 3.0]])).double()
    tree = pruned_rank_tree(X, Y, 2)
    assert tree.n_leaves == 2
    assert tree.threshold[0] == 16.5
    assert label_ranking_loss(Y, tree.predict(X)) == 0
    assert pruned_rank_tree(X, Y, 1).n_leaves == 1


@pytest.mark.parametrize("silent", [0, 8])
def test_first_split_of_the_pruned_tree_maximizes_the_spread(silent):
    X, Y = random_rows(7, N=30, d=2, L=4)
    Y[:silent] = NAN  # rows that order no pair count among the rows of a side
    Y[: silent // 2, 1] = 3.0
    tree = pruned_rank_tree(X, Y, 30, min_leaf=5)
    rows = TrainingRows.on_cpu(X, Y)
    table = np.linspace(0, 10, 512)
    shares = np.array([mean_mallows_distance(theta, 4) for theta in table]) / 6

    def spread(feature, threshold):
        total = 0.0
        for side in (X[:, feature] <= threshold, X[:, feature] > threshold):
            if side.sum() < 5:
                return -1.0
            if int(Y[side].isfinite().sum(1).max()) < 2:
                continue  # theta 0
            center = total_scores(rows.votes[side].sum(0, keepdim=True)).numpy()
            share = oracle.loss(Y[side].numpy(), center.repeat(int(side.sum()), 0))
            total += float(side.sum()) * np.interp(-share, -shares, table)
        return total

    best = max(spread(f, t) for f in range(2) for t in X[:, f].unique().tolist())
    assert spread(int(tree.feature[0]), float(tree.threshold[0])) == pytest.approx(best, rel=1e-9)


def test_mean_mallows_distance():
    for theta in (0.0, 1e-9, 0.3, 2.0):
        distances = np.array([sum(p[a] > p[b] for a, b in combinations(range(5), 2)) for p in permutations(range(5))])
        weights = np.exp(-theta * distances)
        assert mean_mallows_distance(theta, 5) == pytest.approx((weights * distances).sum() / weights.sum(), rel=1e-8)


def test_ties_rows_without_labels_and_unseen_labels():
    X, Y = random_rows(8, N=60)
    Y[:10, 1] = Y[:10, 0]
    Y[10], Y[11, 1:], Y[:, 3] = NAN, NAN, NAN
    tree = pruned_rank_tree(X, Y, 3)
    assert bool(tree.centers.isfinite().all())
    assert label_ranking_loss(Y, tree.predict(X)) < 0.5


def test_fewer_rows_than_two_leaves_need():
    X, Y = random_rows(9, N=3)
    assert pruned_rank_tree(X, Y, 10).n_leaves == 1


def test_bad_input():
    X, Y = random_rows()
    with pytest.raises(ValueError, match="max_lam=0"):
        pruned_rank_tree(X, Y, 2, max_lam=0)
    with pytest.raises(ValueError, match="n_clusters=0"):
        pruned_rank_tree(X, Y, 0)
    with pytest.raises(ValueError, match="min_leaf=0"):
        pruned_rank_tree(X, Y, 2, min_leaf=0)
    X[3, 1] = NAN
    with pytest.raises(ValueError, match="X has nan at row 3, feature 1"):
        pruned_rank_tree(X, Y, 2)
