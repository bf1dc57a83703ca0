"""RT_prune: label ranking trees with a ranking of its own in every node, cut back until K rankings are left."""

import heapq
import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchrank.label_ranking.rank_tree import RankTree, closed_form
from torchrank.label_ranking.training import Nodes, TrainingRows
from torchrank.rankings.isolation import isolated
from torchrank.rankings.unmapped import SEARCHES, unmapped
from torchrank.rankings.validate import check_count, check_positive

MOST_LAM = 10.0
_GRID = 512  # thetas in the table of mean distances


class Spread(NamedTuple):
    """A table of Mallows' theta by the mean distance of rankings to their center."""

    distances: np.ndarray  # (G,) falling, as shares of all pairs
    thetas: np.ndarray  # (G,) rising, the last one is the cap

    @classmethod
    def up_to(cls, cap: float, n_labels: int) -> "Spread":
        """Thetas from 0 to a cap."""
        thetas = np.linspace(0, cap, _GRID)
        distances = np.array([mean_mallows_distance(theta, n_labels) for theta in thetas])
        return cls(distances / (n_labels * (n_labels - 1) / 2), thetas)


class NodeRankings(NamedTuple):
    """What a node's own rows make of it."""

    order: np.ndarray  # (nodes, L) their Borda ranking, most preferred first
    loss: np.ndarray  # (nodes,) their discordant pairs with it


@isolated
@unmapped(SEARCHES)
def pruned_rank_tree(
    X: Tensor, Y: Tensor, n_clusters: int, *, min_leaf: int = 5, max_lam: float = MOST_LAM
) -> RankTree:
    """RT_prune: the label ranking tree of Cheng, Hühn and Hüllermeier (2009), pruned to at most K rankings.

    Every node has its own Borda ranking, and splits make the rankings of both sides agree: they maximize the mean of
    Mallows' theta over rows (equation 16), capped since a side of equal rankings would decide alone. Then, as long as
    the leaves hold more than K different rankings, the two leaves under one parent that lower the loss least are cut
    off (equation 17). Where a node ranks no row's label, the label stays in the middle.

    Args:
        X: ``(N, d)`` features.
        Y: ``(N, L)`` scores, ties and NaN allowed.
        n_clusters: K.
        min_leaf: fewest rows of a leaf.
        max_lam: largest concentration, the theta of the publication, above 0.

    Returns:
        The tree, with as many central rankings as its leaves have different ones.

    Raises:
        ValueError: sizes that do not fit, features that are not finite, no row that ranks two labels, a
            ``max_lam`` that is not positive and finite.
    """
    from torchrank.cpu.rank_tree import grow_by_spread  # numba takes half a second to import

    check_count(n_clusters, "n_clusters", least=1)
    check_count(min_leaf, "min_leaf", least=1)
    check_positive(max_lam, "max_lam")
    rows, L = TrainingRows.on_cpu(X, Y), Y.shape[1]
    nodes = Nodes.room_for(len(rows.X), min_leaf)
    own = NodeRankings(np.zeros((len(nodes.feature), L), np.int64), np.zeros(len(nodes.feature)))
    votes, ranks, spread = rows.votes.numpy(), rows.ranks.numpy(), Spread.up_to(max_lam, L)
    n = grow_by_spread(rows.features, rows.by_feature.copy(), votes, ranks, min_leaf, spread, nodes, own)
    nodes, own = nodes.first(n), NodeRankings(own.order[:n], own.loss[:n])
    nodes = nodes._replace(feature=_cut_back(nodes, own, n_clusters))
    reached = _leaves(nodes)
    distinct, which = np.unique(own.order[reached], axis=0, return_inverse=True)
    nodes.cluster[reached] = which.reshape(-1)
    centers = np.empty(distinct.shape)
    np.put_along_axis(centers, distinct, np.arange(L, 0, -1.0)[None], axis=1)
    feature, threshold, children, cluster = (torch.from_numpy(array) for array in nodes)
    evidence = closed_form(float(own.loss[reached].sum()) / int(rows.pairs.sum()))
    tree = RankTree(feature, threshold, children, cluster, torch.from_numpy(centers), X.shape[1], evidence)
    return tree.to(X.device)


def _cut_back(nodes: Nodes, own: NodeRankings, n_clusters: int) -> np.ndarray:
    """Features of the splits that remain, -1 elsewhere."""
    order, loss = own
    feature = nodes.feature.copy()
    parent = np.full(len(feature), -1)
    inner = np.flatnonzero(feature >= 0)
    parent[nodes.children[inner]] = inner[:, None]

    def gain(node: int) -> float:
        return loss[node] - loss[nodes.children[node]].sum()

    def ends(node: int) -> bool:
        return bool((feature[nodes.children[node]] < 0).all())

    held: dict[bytes, int] = {}
    for leaf in _leaves(nodes):
        held[order[leaf].tobytes()] = held.get(order[leaf].tobytes(), 0) + 1
    queue = [(gain(node), node) for node in inner.tolist() if ends(node)]
    heapq.heapify(queue)
    while len(held) > n_clusters:
        _, node = heapq.heappop(queue)
        for leaf in nodes.children[node]:
            key = order[leaf].tobytes()
            held[key] -= 1
            if not held[key]:
                del held[key]
        held[order[node].tobytes()] = held.get(order[node].tobytes(), 0) + 1
        feature[node] = -1
        above = int(parent[node])
        if above >= 0 and ends(above):
            heapq.heappush(queue, (gain(above), above))
    return feature


def _leaves(nodes: Nodes) -> np.ndarray:
    """Leaves that the root reaches."""
    leaves, above = [], [0]
    while above:
        node = above.pop()
        if nodes.feature[node] < 0:
            leaves.append(node)
        else:
            above += nodes.children[node].tolist()
    return np.array(leaves)


def mean_mallows_distance(theta: float, n: int) -> float:
    """Mean number of discordant pairs of n items under the Mallows model with concentration ``theta`` of at least 0."""
    if theta < 1e-6:  # the limit; the difference below cancels
        return n * (n - 1) / 4
    j = np.arange(1, n + 1)
    return float(n * math.exp(-theta) / -math.expm1(-theta) - (j * np.exp(-j * theta) / -np.expm1(-j * theta)).sum())
