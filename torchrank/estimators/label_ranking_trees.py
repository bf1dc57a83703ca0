"""Trees for label ranking as scikit-learn estimators."""

from typing import Any, get_args

import torch
from torch import Tensor

import torchrank.label_ranking as core
from torchrank.estimators.label_ranking import LabelRanker
from torchrank.evidence import Evidence
from torchrank.label_ranking.pruned_rank_tree import MOST_LAM
from torchrank.label_ranking.rank_tree import LOOKAHEAD
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import check_choice
from torchrank.typing import ClusterMethod, TreeInit, TreeMethod

METHODS = get_args(TreeMethod)


@isolated
class RankTree(LabelRanker):
    """A decision tree whose leaves hold one of K rankings: :func:`torchrank.rank_tree`.

    Ties in ``Y`` are fine: a tied pair of labels is not counted.

    Args:
        n_clusters: K.
        method: "iterative", RT_iter; or "pruned", RT_prune, which uses ``min_leaf`` and ``max_lam`` alone of what
            follows.
        min_leaf: fewest rows of a leaf; 20 to 80 for noisy rankings.
        lookahead: how much a split has to explain where none lowers the loss at once; 0 is the paper.
        init: "rows" starts from rankings of random rows, "random" from any rankings.
        n_init: starts, of which the best is kept, by the rows kept apart or else by the training rows.
        validation_fraction: share of the rows kept apart to prune the tree and choose among starts; 0 for none.
        tol: least fall of the training loss in an iteration.
        max_iter: most iterations.
        max_lam: largest Mallows concentration of a side that a split of "pruned" counts, above 0.
        random_state: seed or ``numpy.random.RandomState``.
        verbose: show a progress bar of the starts of "iterative", with the training loss.

    Attributes:
        model_: the :class:`torchrank.RankTree`.
        objective_: loss of the training rows after each iteration of the start that was kept; empty for "pruned".
        losses_: loss of each start, on the rows kept apart or else on the training rows.
    """

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        method: TreeMethod = "iterative",
        min_leaf: int = 5,
        lookahead: float = LOOKAHEAD,
        init: TreeInit = "rows",
        n_init: int = 5,
        validation_fraction: float = 0.0,
        tol: float = 1e-4,
        max_iter: int = 50,
        max_lam: float = MOST_LAM,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.min_leaf = min_leaf
        self.lookahead = lookahead
        self.init: TreeInit = init
        self.n_init = n_init
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.max_iter = max_iter
        self.max_lam = max_lam
        self.random_state = random_state
        self.verbose = verbose

    def _fitted(self, X: Tensor, Y: Tensor, generator: torch.Generator) -> tuple[core.RankTree, Evidence]:
        check_choice(self.method, "method", METHODS)
        if self.method == "pruned":
            tree = core.pruned_rank_tree(X, Y, self.n_clusters, min_leaf=self.min_leaf, max_lam=self.max_lam)
            return tree, tree.evidence
        rows, validation = self._split(X, Y, generator)
        tree = core.rank_tree(
            *rows,
            self.n_clusters,
            min_leaf=self.min_leaf,
            lookahead=self.lookahead,
            init=self.init,
            n_init=self.n_init,
            tol=self.tol,
            max_iter=self.max_iter,
            validation=validation,
            generator=generator,
            progress=bool(self.verbose),
        )
        return tree, tree.evidence

    def _split(
        self, X: Tensor, Y: Tensor, generator: torch.Generator
    ) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor] | None]:
        if not 0 <= self.validation_fraction < 1:
            raise ValueError(f"validation_fraction={self.validation_fraction!r} is out of range; expected 0 up to 1")
        apart = int(self.validation_fraction * len(X))
        if apart == 0:
            return (X, Y), None
        order = torch.randperm(len(X), generator=generator)
        rest, kept = order[apart:], order[:apart]
        return (X[rest], Y[rest]), (X[kept], Y[kept])


@isolated
class RankClusteringTree(LabelRanker):
    """Clusters of rankings found without features, then a tree on features: :func:`torchrank.rank_clustering_tree`.

    Args:
        n_clusters: K.
        method: "naive", the most frequent rankings; "ebms", blurring mean-shift; "k-o-means", K-means with Kendall
            distances and Borda centers.
        min_leaf: fewest rows of a leaf.
        lookahead: how much a split has to explain where none lowers the loss at once; 0 for no such splits.
        random_state: seed or ``numpy.random.RandomState``.
        verbose: show a progress bar of the bandwidths of "ebms", or of the iterations of "k-o-means".
    """

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        method: ClusterMethod = "k-o-means",
        min_leaf: int = 5,
        lookahead: float = LOOKAHEAD,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.method: ClusterMethod = method
        self.min_leaf = min_leaf
        self.lookahead = lookahead
        self.random_state = random_state
        self.verbose = verbose

    def _fitted(self, X: Tensor, Y: Tensor, generator: torch.Generator) -> tuple[core.RankTree, Evidence]:
        tree = core.rank_clustering_tree(
            X,
            Y,
            self.n_clusters,
            method=self.method,
            min_leaf=self.min_leaf,
            lookahead=self.lookahead,
            generator=generator,
            progress=bool(self.verbose),
        )
        return tree, tree.evidence
