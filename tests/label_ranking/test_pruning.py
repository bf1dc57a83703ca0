"""What trees keep: splits and leaves of the least size, splits confirmed further down, the order of cuts."""

import numpy as np
import pytest
import torch

from tests.label_ranking.rows import grown, random_rows, seeded
from tests.oracles.aggregation import borda_votes
from torchrank.label_ranking.pruned_rank_tree import pruned_rank_tree
from torchrank.label_ranking.rank_tree import RankTree, rank_tree

A, B = [2.0, 1.0], [1.0, 2.0]


def wrong(rankings: torch.Tensor, center) -> int:
    """Pairs of labels that rows and a central ranking order differently."""
    total = 0
    for y in rankings.tolist():
        total += sum((y[i] - y[j]) * (center[i] - center[j]) < 0 for i in range(len(y)) for j in range(i))
    return total


def rows_of_nodes(tree: RankTree, X: torch.Tensor) -> list[torch.Tensor]:
    """Which rows pass through each node."""
    rows = [torch.zeros(len(X), dtype=torch.bool) for _ in tree.feature]
    rows[0][:] = True
    for node in (tree.feature >= 0).nonzero()[:, 0].tolist():  # children come after their parents
        left = X[:, tree.feature[node]] <= tree.threshold[node]
        for child, side in zip(tree.children[node].tolist(), (left, ~left), strict=True):
            rows[child] = rows[node] & side
    return rows


def quadrants(counts: list[tuple[float, float, list[float], int]]) -> tuple[torch.Tensor, torch.Tensor]:
    X = [[x, z] for x, z, _, n in counts for _ in range(n)]
    Y = [y for *_, y, n in counts for _ in range(n)]
    return torch.tensor(X, dtype=torch.float64), torch.tensor(Y, dtype=torch.float64)


def test_a_split_is_confirmed_by_the_splits_below_it():
    """On the other rows the first split alone does harm, 10 wrong instead of 6; with those below it none is wrong."""
    training = quadrants([(0, 0, A, 10), (0, 1, B, 6), (1, 0, B, 10), (1, 1, A, 6)])
    others = quadrants([(0, 0, A, 1), (0, 1, B, 5), (1, 0, B, 1), (1, 1, A, 5)])
    tree = grown(*training, torch.tensor([A, B]), min_leaf=1, lookahead=0, validation=others)
    assert tree.n_leaves == 4
    assert torch.equal(tree.predict(others[0]), others[1])


@pytest.mark.parametrize("seed", range(6))
def test_no_way_of_pruning_is_better_on_the_other_rows(seed):
    X, Y = random_rows(seed, N=150, d=3)
    others = random_rows(seed + 100, N=150, d=3)
    centers = torch.from_numpy(np.random.default_rng(seed).permuted(np.tile(np.arange(1.0, 5), (4, 1)), axis=1))
    full = grown(X, Y, centers, min_leaf=2, lookahead=5)
    pruned = grown(X, Y, centers, min_leaf=2, lookahead=5, validation=others)
    rows = rows_of_nodes(full, others[0])

    def least(node: int) -> int:
        as_leaf = wrong(others[1][rows[node]], full.centers[full.cluster[node]].tolist())
        if full.feature[node] < 0:
            return as_leaf
        return min(as_leaf, sum(least(child) for child in full.children[node].tolist()))

    predicted = pruned.predict(others[0])
    assert sum(wrong(y[None], p.tolist()) for y, p in zip(others[1], predicted, strict=True)) == least(0)


@pytest.mark.parametrize("grow", [
    lambda X, Y, n: grown(X, Y, torch.tensor([A, B]), min_leaf=n, lookahead=0),
    lambda X, Y, n: grown(X, Y, torch.tensor([A]), min_leaf=n, lookahead=1.0),
    lambda X, Y, n: rank_tree(X, Y, 2, min_leaf=n, lookahead=0, generator=seeded(0)),
    lambda X, Y, n: pruned_rank_tree(X, Y, 2, min_leaf=n),
])  # fmt: skip
@pytest.mark.parametrize(("rows", "left"), [(12, 4), (12, 8), (8, 4)])
def test_a_leaf_may_have_just_the_least_rows(grow, rows, left):
    """Rows that part after the first 4, or before the last 4, or both: a leaf has to have 4, but not 5."""
    X = torch.arange(float(rows), dtype=torch.float64)[:, None]
    Y = torch.where(left > X, torch.tensor([A]), torch.tensor([B])).double()
    tree = grow(X, Y, 4)
    assert (tree.n_leaves, float(tree.threshold[0])) == (2, left - 0.5)
    assert (grow(X, Y, 5).threshold[0] != left - 0.5) or grow(X, Y, 5).n_leaves == 1


def borda_order(Y: torch.Tensor) -> tuple[int, ...]:
    votes = sum(borda_votes(y, "interleaving") for y in Y.tolist())
    return tuple(sorted(range(Y.shape[1]), key=lambda label: (-round(votes[label], 6), label)))


def cut_back(tree: RankTree, X: torch.Tensor, Y: torch.Tensor, K: int) -> list[bool]:
    """Which nodes are split after cutting, as long as that is called for, the two leaves that lower the loss least."""
    rows = rows_of_nodes(tree, X)
    orders = [borda_order(Y[r]) if bool(r.any()) else () for r in rows]
    places = [[-order.index(label) for label in range(Y.shape[1])] if order else [] for order in orders]
    losses = [wrong(Y[r], place) if bool(r.any()) else 0 for r, place in zip(rows, places, strict=True)]
    split, children = (tree.feature >= 0).tolist(), tree.children.tolist()

    def leaves(node=0):
        return leaves(children[node][0]) + leaves(children[node][1]) if split[node] else [node]

    while len({orders[leaf] for leaf in leaves()}) > K and len(leaves()) > K:
        ends = [n for n in range(len(split)) if split[n] and not any(split[child] for child in children[n])]
        split[min(ends, key=lambda n: (losses[n] - sum(losses[child] for child in children[n]), n))] = False
    return split


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_cuts_come_in_the_order_of_what_they_cost(seed, missing):
    X, Y = random_rows(seed, N=60, d=2, missing=missing)
    full = pruned_rank_tree(X, Y, len(X), min_leaf=3)
    assert full.n_leaves > 8
    for K in (1, 2, 3, 5, 8):
        tree = pruned_rank_tree(X, Y, K, min_leaf=3)
        assert (tree.feature >= 0).tolist() == cut_back(full, X, Y, K)
        rows = rows_of_nodes(tree, X)
        for leaf in tree.leaves(X).unique().tolist():
            center = tree.centers[tree.cluster[leaf]]
            assert tuple(center.argsort(descending=True).tolist()) == borda_order(Y[rows[leaf]])
