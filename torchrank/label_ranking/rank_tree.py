"""RankTree: decision trees on features whose leaves hold one of K central rankings."""

from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from torchrank._progress import NoBar, show_starts, starts_bar
from torchrank._repr import short_repr
from torchrank._warnings import warn_not_converged
from torchrank.cpu.parallel import run_tiles
from torchrank.evidence import Evidence
from torchrank.label_ranking.features import check_validation
from torchrank.label_ranking.training import Nodes, TrainingRows
from torchrank.rankings.draws import numpy_generator
from torchrank.rankings.features import check_finite_features, check_n_features
from torchrank.rankings.isolation import isolated
from torchrank.rankings.orders import total_scores
from torchrank.rankings.unmapped import SEARCHES, unmapped
from torchrank.rankings.validate import check_at_least, check_choice, check_count
from torchrank.typing import TreeInit

INITS = get_args(TreeInit)
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
    evidence: Evidence  # objectives are losses of the training rows, shares of pairs of labels

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
        """Scores ``(N, L)`` of the predicted rankings: those of the cluster's center."""
        return self.centers[self.predict_cluster(X)]


@dataclass(frozen=True)
class Growth:
    """How trees with given central rankings grow."""

    min_leaf: int
    lookahead: float = LOOKAHEAD
    held_out: TrainingRows | None = None

    @classmethod
    def checked(
        cls, X: Tensor, Y: Tensor, min_leaf: int, lookahead: float, validation: tuple[Tensor, Tensor] | None
    ) -> "Growth":
        """The same from what a user says."""
        check_count(min_leaf, "min_leaf", least=1)
        check_at_least(lookahead, "lookahead", 0)
        held_out = None if validation is None else TrainingRows.on_cpu(*check_validation(X, Y, validation))
        return cls(min_leaf, float(lookahead), held_out)


def tree_with_centers(rows: TrainingRows, centers: Tensor, growth: Growth) -> RankTree:
    """Grow one tree whose leaves hold given central rankings: the second stage of rank clustering with a feature rule.

    Args:
        rows: to grow from.
        centers: ``(K, L)`` scores of the central rankings.
        growth: how.
    """
    tree, cluster = _grow(rows, total_scores(centers), growth)
    return replace(tree, evidence=closed_form(rows.loss(cluster, tree.centers)))


def closed_form(loss: float) -> Evidence:
    """Of what is found without iterations."""
    return Evidence(objective=(), losses=(loss,), n_iter=1, converged=True, reason="closed form")


@isolated
@unmapped(SEARCHES)
def rank_tree(
    X: Tensor,
    Y: Tensor,
    n_clusters: int,
    *,
    min_leaf: int = 5,
    lookahead: float = LOOKAHEAD,
    init: TreeInit = "rows",
    n_init: int = 5,
    tol: float = 1e-4,
    max_iter: int = 50,
    validation: tuple[Tensor, Tensor] | None = None,
    generator: torch.Generator | None = None,
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
        init: "rows" starts from rankings of random rows, "random" from any rankings, as in the paper.
        n_init: sets of rankings to start from; they run on all threads.
        tol: least fall of the training loss, a share of pairs.
        max_iter: most iterations of a start.
        validation: other features and scores: splits that they do not confirm are pruned after every iteration
            (equation 17), and they choose the tree.
        generator: source of the random rankings.
        progress: show a progress bar of the starts, with the latest iteration of any and its training loss.

    Returns:
        The tree: ``predict`` gives scores of the central ranking of a row's leaf, ``predict_cluster`` its number. The
        objective of its ``evidence`` is the loss of the training rows after each iteration of the start that was kept;
        ``losses`` are the least of each start, on the validation rows if there are any.

    Raises:
        ValueError: sizes that do not fit, features that are not finite, no row that ranks two labels.

    Warns:
        ConvergenceWarning: ``max_iter`` was not enough.
    """
    for name, value in {"n_clusters": n_clusters, "n_init": n_init, "max_iter": max_iter}.items():
        check_count(value, name, least=1)
    check_at_least(tol, "tol", 0)
    check_choice(init, "init", INITS)
    tree = best_tree(
        TrainingRows.on_cpu(X, Y),
        n_clusters,
        Growth.checked(X, Y, min_leaf, lookahead, validation),
        init=init,
        n_init=n_init,
        tol=tol,
        max_iter=max_iter,
        rng=numpy_generator(generator),
        progress=progress,
    )
    trace = tree.evidence.objective
    if not tree.evidence.converged:
        fall = trace[-2] - trace[-1] if len(trace) > 1 else np.inf
        warn_not_converged(
            f"RankTree did not converge in {len(trace)} iterations: the last one lowered the training loss by "
            f"{fall:.3g}, tol is {tol:.3g}; raise max_iter or tol"
        )
    return tree.to(X.device)


def best_tree(
    rows: TrainingRows,
    n_clusters: int,
    growth: Growth,
    *,
    rng: np.random.Generator,
    n_init: int,
    init: TreeInit = "rows",
    tol: float = 1e-4,
    max_iter: int = 50,
    progress: bool = False,
) -> RankTree:
    """:func:`rank_tree` of checked rows on the CPU, without a warning."""
    starts = _start_rankings(rows, n_clusters, init, n_init, rng)
    trees: list[RankTree | None] = [None] * n_init
    judged = [np.inf] * n_init

    def run(number: int) -> None:
        judged[number], trees[number] = _iterate(rows, starts[number], growth, tol, max_iter, bar)

    with starts_bar(n_init, "RankTree", progress) as bar:
        run_tiles(range(n_init), run, bar.update)
    tree = trees[int(np.argmin(judged))]
    assert tree is not None
    return replace(tree, evidence=replace(tree.evidence, losses=tuple(judged)))


def _start_rankings(rows: TrainingRows, K: int, init: str, n_init: int, rng: np.random.Generator) -> Tensor:
    """Scores ``(n_init, K, L)`` of the central rankings to start from."""
    N, L = rows.votes.shape
    if init == "rows":
        drawn = [rng.permutation(N)[np.arange(K) % N] for _ in range(n_init)]
        return total_scores(rows.votes[torch.from_numpy(np.stack(drawn))])
    return torch.from_numpy(rng.permuted(np.broadcast_to(np.arange(1.0, L + 1), (n_init, K, L)), axis=-1))


def _iterate(
    rows: TrainingRows, centers: Tensor, growth: Growth, tol: float, max_iter: int, bar: "tqdm[Any] | NoBar[Any]"
) -> tuple[float, RankTree]:
    """The best tree of one start, and the loss that it was judged by."""
    trace: list[float] = []
    best: tuple[float, RankTree] | None = None
    converged = False
    for _ in range(max_iter):
        tree, cluster = _grow(rows, centers, growth)
        centers = rows.central_scores(cluster, centers)
        tree = replace(tree, centers=centers)
        trace.append(rows.loss(cluster, centers))
        show_starts(bar, len(trace), 0, trace[-1])
        judged = trace[-1]
        if (held_out := growth.held_out) is not None:
            judged = held_out.loss(tree.predict_cluster(held_out.X), centers)
        if best is None or judged < best[0]:
            best = judged, tree
        converged = len(trace) > 1 and trace[-2] - trace[-1] < tol
        if converged:
            break
    assert best is not None
    evidence = Evidence(
        objective=tuple(trace),
        losses=(best[0],),
        n_iter=len(trace),
        converged=converged,
        reason="tolerance" if converged else "max_iter",
    )
    return best[0], replace(best[1], evidence=evidence)


def _grow(rows: TrainingRows, centers: Tensor, growth: Growth) -> tuple[RankTree, Tensor]:
    """A tree for given rankings, and the cluster of each row; its evidence is another's to give."""
    from torchrank.cpu import rank_tree as engine  # numba takes half a second to import

    nodes, leaf = Nodes.room_for(len(rows.X), growth.min_leaf), np.empty(len(rows.X), np.int64)
    distance = rows.distances(centers).numpy()
    n = engine.grow(rows.features, rows.by_feature.copy(), distance, growth.min_leaf, growth.lookahead, nodes, leaf)
    nodes = nodes.first(n)
    if (held_out := growth.held_out) is not None:
        engine.prune(held_out.features, held_out.distances(centers).numpy(), nodes)
        leaf = engine.leaves_of(rows.features, nodes)
    feature, threshold, children, cluster = (torch.from_numpy(array) for array in nodes)
    tree = RankTree(feature, threshold, children, cluster, centers, rows.X.shape[1], closed_form(np.nan))
    return tree, tree.cluster[torch.from_numpy(leaf)]
