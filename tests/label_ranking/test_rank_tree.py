from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from tests.label_ranking.rows import NAN, grown, random_rows, seeded
from tests.oracles import label_ranking as oracle
from torchrank import ConvergenceWarning
from torchrank.datasets import circles
from torchrank.datasets.label_ranking import CENTRAL_ORDERS
from torchrank.label_ranking.pruned_rank_tree import pruned_rank_tree
from torchrank.label_ranking.rank_tree import rank_tree
from torchrank.label_ranking.training import TrainingRows
from torchrank.metrics import label_ranking_loss


def random_centers(seed, K, L):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.permuted(np.tile(np.arange(1.0, L + 1), (K, 1)), axis=1))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_root_split_is_the_best_of_all(seed, missing):
    X, Y = random_rows(seed, missing=missing)
    centers = random_centers(seed, 5, 4)
    distance = TrainingRows.on_cpu(X, Y).distances(centers).numpy()
    for min_leaf in (1, 15):
        tree = grown(X, Y, centers, min_leaf=min_leaf, lookahead=0)
        left = (
            X[:, tree.feature[0]] <= tree.threshold[0] if tree.feature[0] >= 0 else torch.ones(len(X), dtype=torch.bool)
        )
        sides = [distance[side].sum(0).min() for side in (left, ~left) if side.any()]
        assert sum(sides) == oracle.split_cost(X.numpy(), distance, min_leaf)


@pytest.mark.parametrize("lookahead", [0.0, 5.0])
def test_leaves_are_large_enough_and_have_the_best_ranking(lookahead):
    X, Y = random_rows(1, N=200, d=3, missing=0.2)
    centers = random_centers(1, 4, 4)
    tree = grown(X, Y, centers, min_leaf=7, lookahead=lookahead)
    distance = TrainingRows.on_cpu(X, Y).distances(centers).numpy()
    leaf = torch.zeros(len(X), dtype=torch.int64)
    for n, x in enumerate(X):
        node = 0
        while tree.feature[node] >= 0:
            node = int(tree.children[node, int(x[tree.feature[node]] > tree.threshold[node])])
        leaf[n] = node
    assert tree.n_leaves == len(leaf.unique()) > 2
    for node in leaf.unique():
        rows = leaf == node
        assert rows.sum() >= 7
        assert distance[rows].sum(0)[tree.cluster[node]] == distance[rows].sum(0).min()
    assert torch.equal(tree.predict_cluster(X), tree.cluster[leaf])
    assert torch.equal(tree.predict(X), tree.centers[tree.cluster[leaf]])


def test_lookahead_parts_a_ring_from_its_disc():
    data = circles(4000, seed=0)
    X, Y = torch.from_numpy(data.X), torch.from_numpy(data.Y)
    tree = rank_tree(X, Y, 3, generator=seeded(0))
    assert {tuple(order) for order in tree.central_orders.tolist()} == set(CENTRAL_ORDERS)
    assert label_ranking_loss(Y, tree.predict(X)) < 0.17
    centers = tree.centers
    assert grown(X, Y, centers, lookahead=0).n_leaves == 1  # both sides of every split like one ranking best


def test_lookahead_stays_away_from_noise():
    """Features without any information: a split is taken about as often as chance explains 20 times the variance."""
    X = torch.from_numpy(np.random.default_rng(0).standard_normal((2000, 3)))
    _, Y = random_rows(0, N=2000)
    center = random_centers(0, 1, 4)
    assert grown(X, Y, center, min_leaf=50).n_leaves == 1


@pytest.mark.parametrize("seed", range(3))
def test_iterations_lower_the_loss(seed):
    X, Y = random_rows(seed, N=300, d=3)
    tree = rank_tree(X, Y, 4, n_init=1, lookahead=0, init="random", generator=seeded(seed))
    assert tree.evidence.converged
    assert all(earlier - later >= 1e-4 for earlier, later in pairwise(tree.evidence.objective[:-1]))
    assert label_ranking_loss(Y, tree.predict(X)) == pytest.approx(min(tree.evidence.objective), abs=1e-12)
    more = rank_tree(X, Y, 4, n_init=6, lookahead=0, init="random", generator=seeded(seed))
    assert min(more.evidence.objective) <= min(tree.evidence.objective) + 1e-12


def test_thread_count_changes_nothing():
    X, Y = random_rows(3, N=300, d=3)
    before = torch.get_num_threads()
    trees = []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        trees.append(rank_tree(X, Y, 4, n_init=4, generator=seeded(0)))
    torch.set_num_threads(before)
    assert torch.equal(trees[0].predict_cluster(X), trees[1].predict_cluster(X))


def test_pruning_by_other_rows():
    X, Y = random_rows(4, N=300, d=3)
    other = random_rows(5, N=300, d=3)
    centers = random_centers(4, 4, 4)
    full = grown(X, Y, centers, min_leaf=2)
    pruned = grown(X, Y, centers, min_leaf=2, validation=other)
    assert pruned.n_leaves < full.n_leaves
    assert label_ranking_loss(other[1], pruned.predict(other[0])) < label_ranking_loss(other[1], full.predict(other[0]))
    # Each remaining split lowers the other rows' loss or leaves it: cutting any two sister leaves does not help.
    for node in (pruned.feature >= 0).nonzero()[:, 0]:
        feature = pruned.feature.clone()
        feature[node] = -1
        cut = replace(pruned, feature=feature)
        assert (
            label_ranking_loss(other[1], cut.predict(other[0]))
            >= label_ranking_loss(other[1], pruned.predict(other[0])) - 1e-12
        )


def test_ties_rows_without_labels_and_unseen_labels():
    X, Y = random_rows(8, N=60)
    Y[:10, 1] = Y[:10, 0]
    Y[10], Y[11, 1:], Y[:, 3] = NAN, NAN, NAN
    tree = rank_tree(X, Y, 3, generator=seeded(0))
    assert bool(tree.centers.isfinite().all())
    assert label_ranking_loss(Y, tree.predict(X)) < 0.5


def test_more_clusters_than_rows():
    X, Y = random_rows(9, N=3)
    assert label_ranking_loss(Y, rank_tree(X, Y, 10, min_leaf=1, generator=seeded(0)).predict(X)) < 0.5


def test_float32_features_predict_alike():
    X, Y = random_rows(10, N=100)
    tree = rank_tree(X, Y, 3, generator=seeded(0))
    assert torch.equal(tree.predict_cluster(X.float()), tree.predict_cluster(X))
    assert torch.equal(tree.to("cpu").predict(X), tree.predict(X))


def test_bad_input():
    X, Y = random_rows()
    with pytest.raises(ValueError, match=r"X has shape \(40, 2\) and Y \(39, 4\)"):
        rank_tree(X, Y[1:], 3)
    with pytest.raises(ValueError, match="validation X has 1 columns and X 2"):
        rank_tree(X, Y, 3, validation=(X[:, :1], Y))
    bad = X.clone()
    bad[2, 1] = NAN
    for use in (lambda features: rank_tree(features, Y, 3), rank_tree(X, Y, 3, generator=seeded(0)).predict):
        with pytest.raises(ValueError, match="X has nan at row 2, feature 1"):
            use(bad)
    for tree in (
        rank_tree(X, Y, 3, generator=seeded(0)),
        grown(X, Y, random_centers(0, 2, 4)),
        pruned_rank_tree(X, Y, 3),
    ):
        assert tree.n_features == 2
        for features in (X[:, :1], torch.cat([X, X], dim=1), X[0]):
            message = rf"X has shape \({features.shape[0]},.*\)"
            for use in (tree.predict, tree.predict_cluster, tree.leaves):
                with pytest.raises(ValueError, match=message):
                    use(features)
    with pytest.raises(TypeError, match="X is list"):
        tree.predict(X.tolist())
    with pytest.raises(ValueError, match="no row that ranks two labels differently"):
        rank_tree(X, torch.ones_like(Y), 3)
    for options, message in (
        ({"n_clusters": 0}, "n_clusters=0 is too small"),
        ({"n_clusters": 2, "min_leaf": 0}, "min_leaf=0 is too small"),
        ({"n_clusters": 2, "lookahead": -1.0}, "lookahead=-1.0 is out of range"),
        ({"n_clusters": 2, "init": "x"}, "init='x' is unknown"),
    ):
        with pytest.raises(ValueError, match=message):
            rank_tree(X, Y, **options)


@pytest.mark.parametrize("max_iter", [1, 3])
def test_a_tree_that_is_cut_short_is_told(max_iter):
    X, Y = random_rows(0, N=200, d=3)
    with pytest.warns(ConvergenceWarning, match=f"RankTree did not converge in {max_iter} iterations") as caught:
        tree = rank_tree(X, Y, 4, max_iter=max_iter, tol=0.0, n_init=3, generator=seeded(0))
    assert caught[0].filename == __file__
    evidence = tree.evidence
    assert (evidence.n_iter, evidence.converged, evidence.reason) == (max_iter, False, "max_iter")
    assert (len(evidence.objective), len(evidence.losses)) == (max_iter, 3)
    assert min(evidence.losses) == min(evidence.objective)


def test_evidence_without_iterations_is_the_loss():
    X, Y = random_rows(1, N=200, d=3, missing=0.2)
    rows = TrainingRows.on_cpu(X, Y)
    for tree in (pruned_rank_tree(X, Y, 4), grown(X, Y, random_centers(0, 4, 4))):
        loss = rows.loss(tree.predict_cluster(X), tree.centers)
        assert (tree.evidence.objective, tree.evidence.reason) == ((), "closed form")
        assert tree.evidence.losses == (pytest.approx(loss, rel=1e-12),)
