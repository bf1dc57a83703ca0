"""RankTree: decision trees on features whose leaves hold one of K central rankings."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from torchrank._progress import show_starts, starts_bar
from torchrank._repr import short_repr
from torchrank.cpu.parallel import run_tiles
from torchrank.label_ranking.features import check_finite_features, check_n_features, check_validation
from torchrank.label_ranking.rankings import strict_scores
from torchrank.label_ranking.training import Nodes, Training
from torchrank.rankings.surroundings import in_plain_surroundings
from torchrank.rankings.validate import check_at_least, check_choice, check_count

STARTS = ("rows", "random")
LOOKAHEAD = 20.0


@dataclass(frozen=True)
class RankTree:
    """A decision tree that gives every row of features one of K central rankings.

    Node 0 is the root. Built on the CPU by :func:`rank_tree` and its kin, it can be moved and predicts on any device.
    Features ``(N, d)`` of another number than ``n_features`` or that are not finite are refused by ``ValueError``.
    """

    feature: Tensor  # (nodes,) int64, feature of the split; -1 in leaves
    threshold: Tensor  # (nodes,) float64, rows up to it go left
    children: Tensor  # (nodes, 2) int64
    cluster: Tensor  # (nodes,) int64
    centers: Tensor  # (K, L) float64 scores of the central rankings, larger = preferred
    n_features: int  # d
    losses: tuple[float, ...] = ()  # of the training rows after each iteration
    converged: bool = True  # the last iteration lowered the training loss by less than the tolerance

    __repr__ = short_repr

    @property
    def n_leaves(self) -> int:
        """Leaves that the root reaches."""
        leaves, nodes = 0, [0]
        while nodes:
            node = nodes.pop()
            if int(self.feature[node]) < 0:
                leaves += 1
            else:
                nodes += self.children[node].tolist()
        return leaves

    @property
    def central_orders(self) -> Tensor:
        """Central rankings ``(K, L)`` as orders, most preferred label first; ties go to the lower label."""
        return self.centers.argsort(dim=-1, descending=True, stable=True)

    def to(self, device: torch.device | str) -> "RankTree":
        """The same tree on another device; ``TypeError`` for a dtype, since rounded thresholds send rows elsewhere."""
        if isinstance(device, torch.dtype):
            raise TypeError(f"device is {device}; a tree keeps its dtypes and takes features of any: pass a device")
        tables = ("feature", "threshold", "children", "cluster", "centers")
        return replace(self, **{name: getattr(self, name).to(device) for name in tables})

    def predict_cluster(self, X: Tensor) -> Tensor:
        """Clusters ``(N,)`` of features ``(N, d)``, int64."""
        return self.cluster[self.leaves(X)]

    def leaves(self, X: Tensor) -> Tensor:
        """The leaf ``(N,)`` that each row falls into, as the number of its node."""
        check_finite_features(check_n_features(X, self.n_features))
        node = torch.zeros(len(X), dtype=torch.int64, device=X.device)
        rows = torch.arange(len(X), device=X.device)
        while True:
            split = self.feature[node]
            inner = split >= 0
            if not bool(inner.any()):
                return node
            right = X[rows, split.clamp(min=0)] > self.threshold[node]
            node = torch.where(inner, self.children[node, right.long()], node)

    def predict(self, X: Tensor) -> Tensor:
        """Scores ``(N, L)`` of the predicted rankings: those of the cluster's centre."""
        return self.centers[self.predict_cluster(X)]


def tree_with_centers(
    X: Tensor,
    Y: Tensor,
    centers: Tensor,
    *,
    min_leaf: int = 5,
    lookahead: float = LOOKAHEAD,
    validation: tuple[Tensor, Tensor] | None = None,
) -> RankTree:
    """Grow one tree whose leaves hold given central rankings: the second stage of rank clustering with a feature rule.

    Args:
        X: ``(N, d)`` features.
        Y: ``(N, L)`` scores, ties and NaN allowed.
        centers: ``(K, L)`` scores of the central rankings.
        min_leaf: fewest rows of a leaf.
        lookahead: see :func:`rank_tree`.
        validation: other features and scores, to prune by.
    """
    rows, growth = Training(X, Y), _Growth.checked(X, Y, min_leaf, lookahead, validation)
    tree, _ = _grow(rows, strict_scores(centers.cpu()), growth)
    return tree.to(X.device)


@in_plain_surroundings
def rank_tree(
    X: Tensor,
    Y: Tensor,
    n_clusters: int,
    *,
    min_leaf: int = 5,
    lookahead: float = LOOKAHEAD,
    start: str = "rows",
    n_starts: int = 5,
    tol: float = 1e-4,
    max_iter: int = 50,
    validation: tuple[Tensor, Tensor] | None = None,
    seed: int | None = None,
    progress: bool = False,
) -> RankTree:
    """RT_iter: grow a tree for K central rankings, recompute the rankings from its leaves, and repeat.

    Algorithm 1 of Grbovic et al. (2013): starts with random rankings; each split takes the least number of discordant
    pairs, each side with its own best ranking (equation 18); rankings are recomputed by Borda votes; ends when the
    training loss falls by less than ``tol``. The best tree of all iterations and starts is returned, by the loss on the
    validation rows if there are any, else on the training rows.

    Args:
        X: ``(N, d)`` features.
        Y: ``(N, L)`` scores, ties and NaN allowed.
        n_clusters: K.
        min_leaf: fewest rows of a leaf; 20 to 80 for noisy rankings.
        lookahead: where no split lowers the loss, as for a ring around a disc, take one that tells the distances to
            the central rankings apart: when it explains so many times the variance that chance would; 0 for never,
            as in the paper.
        start: "rows" takes rankings of random rows, "random" any rankings, as in the paper.
        n_starts: sets of rankings to start from; they run on all threads.
        tol: least fall of the training loss, a share of pairs.
        max_iter: most iterations of a start.
        validation: other features and scores: splits that they do not confirm are pruned after every iteration
            (equation 17), and they choose the tree.
        seed: of the random rankings.
        progress: show a progress bar of the starts, with the latest iteration of any and its training loss.

    Returns:
        The tree: ``predict`` gives scores of the central ranking of a row's leaf, ``predict_cluster`` its number. Its
        ``losses`` are those of the training rows after each iteration of the start that was kept.

    Raises:
        ValueError: sizes that do not fit, features that are not finite, no row that ranks two labels.
    """
    for name, value in {"n_clusters": n_clusters, "n_starts": n_starts, "max_iter": max_iter}.items():
        check_count(value, name, least=1)
    check_at_least(tol, "tol", 0)
    check_choice(start, "start", STARTS)
    rows, growth = Training(X, Y), _Growth.checked(X, Y, min_leaf, lookahead, validation)
    rng = np.random.default_rng(seed)
    if start == "rows":
        drawn = [rng.permutation(len(rows.X))[np.arange(n_clusters) % len(rows.X)] for _ in range(n_starts)]
        starts = strict_scores(rows.votes[torch.from_numpy(np.stack(drawn))])
    else:
        shape = (n_starts, n_clusters, Y.shape[1])
        starts = torch.from_numpy(rng.permuted(np.broadcast_to(np.arange(1.0, shape[2] + 1), shape), axis=-1))
    trees: list[tuple[float, RankTree] | None] = [None] * n_starts

    def run(number: int) -> None:
        trees[number] = _iterate(rows, starts[number], growth, tol, max_iter, bar)

    with starts_bar(n_starts, "RankTree", progress) as bar:
        run_tiles(range(n_starts), run, bar.update)
    return min((tree for tree in trees if tree is not None), key=lambda tree: tree[0])[1].to(X.device)


def _iterate(
    rows: Training, centers: Tensor, growth: "_Growth", tol: float, max_iter: int, bar: "tqdm[Any]"
) -> tuple[float, RankTree]:
    losses: list[float] = []
    best: tuple[float, RankTree] | None = None
    converged = False
    for _ in range(max_iter):
        tree, cluster = _grow(rows, centers, growth)
        centers = rows.central_scores(cluster, centers)
        tree = replace(tree, centers=centers)
        losses.append(_loss(rows, cluster, centers))
        show_starts(bar, len(losses), 0, losses[-1])
        judged = losses[-1]
        if (held_out := growth.held_out) is not None:
            judged = _loss(held_out, tree.predict_cluster(torch.from_numpy(held_out.X)), centers)
        if best is None or judged < best[0]:
            best = judged, tree
        converged = len(losses) > 1 and losses[-2] - losses[-1] < tol
        if converged:
            break
    assert best is not None
    return best[0], replace(best[1], losses=tuple(losses), converged=converged)


def _loss(rows: Training, cluster: Tensor, centers: Tensor) -> float:
    wrong = rows.distances(centers)[np.arange(len(cluster)), cluster.numpy()]
    return float(wrong.sum() / rows.pairs)


@dataclass(frozen=True)
class _Growth:
    """How trees with given central rankings grow."""

    min_leaf: int
    lookahead: float
    held_out: Training | None

    @classmethod
    def checked(
        cls, X: Tensor, Y: Tensor, min_leaf: int, lookahead: float, validation: tuple[Tensor, Tensor] | None
    ) -> "_Growth":
        check_count(min_leaf, "min_leaf", least=1)
        check_at_least(lookahead, "lookahead", 0)
        held_out = None if validation is None else Training(*check_validation(X, Y, validation))
        return cls(min_leaf, float(lookahead), held_out)


def _grow(rows: Training, centers: Tensor, growth: _Growth) -> tuple[RankTree, Tensor]:
    """A tree for given rankings, and the cluster of each row."""
    from torchrank.cpu import rank_tree as engine  # numba takes half a second to import

    nodes, leaf = Nodes.room_for(len(rows.X), growth.min_leaf), np.empty(len(rows.X), np.int64)
    n = engine.grow(
        rows.X, rows.by_feature.copy(), rows.distances(centers), growth.min_leaf, growth.lookahead, *nodes.arrays, leaf
    )
    nodes = nodes.first(n)
    if growth.held_out is not None:
        engine.prune(growth.held_out.X, growth.held_out.distances(centers), *nodes.arrays)
        leaf = engine.leaves_of(rows.X, nodes.feature, nodes.threshold, nodes.children)
    feature, threshold, children, cluster = (torch.from_numpy(array) for array in nodes.arrays)
    tree = RankTree(feature, threshold, children, cluster, centers, rows.X.shape[1])
    return tree, tree.cluster[torch.from_numpy(leaf)]
