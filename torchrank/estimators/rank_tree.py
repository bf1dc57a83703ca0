"""Trees for label ranking as a scikit-learn estimator."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchrank._warnings import warn_not_converged
from torchrank.estimators.label_ranking import LabelRankingClusterer
from torchrank.label_ranking.pruned_rank_tree import THETA_CAP, pruned_rank_tree
from torchrank.label_ranking.rank_tree import LOOKAHEAD, rank_tree
from torchrank.rankings.surroundings import in_plain_surroundings
from torchrank.rankings.validate import check_choice

TREES = ("iterative", "pruned")


@in_plain_surroundings
class RankTreeClusterer(LabelRankingClusterer):
    """A decision tree whose leaves hold one of K rankings; see :func:`torchrank.label_ranking.rank_tree.rank_tree`.

    Ties in ``Y`` are fine: a tied pair of labels is not counted.

    Args:
        n_clusters: K.
        method: "iterative", RT_iter; or "pruned", RT_prune, which uses ``min_leaf`` and ``theta_cap`` alone of what
            follows.
        min_leaf: fewest rows of a leaf; 20 to 80 for noisy rankings.
        lookahead: how much a split has to explain where none lowers the loss at once; 0 is the paper.
        start: "rows" or "random" rankings.
        n_starts: starts, of which the best on the training rows is kept.
        validation_fraction: share of the rows kept apart to prune the tree and choose among starts; 0 for none.
        tol: least fall of the training loss in an iteration.
        max_iter: most iterations.
        theta_cap: largest Mallows' theta of a side that a split of "pruned" counts, above 0; see
            :func:`torchrank.pruned_rank_tree`.
        random_state: seed or ``numpy.random.RandomState``.
        verbose: show a progress bar of the starts of "iterative", with the training loss.

    Attributes:
        model_: the :class:`torchrank.RankTree`.
        converged_: whether the training loss fell by less than ``tol`` in the end.
        n_iter_: trees grown from the best start.
        losses_: loss of the training rows after each.
    """

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        method: str = "iterative",
        min_leaf: int = 5,
        lookahead: float = LOOKAHEAD,
        start: str = "rows",
        n_starts: int = 5,
        validation_fraction: float = 0.0,
        tol: float = 1e-4,
        max_iter: int = 50,
        theta_cap: float = THETA_CAP,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.min_leaf = min_leaf
        self.lookahead = lookahead
        self.start = start
        self.n_starts = n_starts
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.max_iter = max_iter
        self.theta_cap = theta_cap
        self.random_state = random_state
        self.verbose = verbose

    def _fitted(self, X: Tensor, Y: Tensor, seed: int) -> Any:
        check_choice(self.method, "method", TREES)
        if self.method == "pruned":
            tree = pruned_rank_tree(X, Y, self.n_clusters, min_leaf=self.min_leaf, theta_cap=self.theta_cap)
        else:
            rows, validation = self._split(X, Y, seed)
            tree = rank_tree(
                *rows,
                self.n_clusters,
                min_leaf=self.min_leaf,
                lookahead=self.lookahead,
                start=self.start,
                n_starts=self.n_starts,
                tol=self.tol,
                max_iter=self.max_iter,
                validation=validation,
                seed=seed,
                progress=bool(self.verbose),
            )
        self.converged_, self.n_iter_, self.losses_ = tree.converged, max(1, len(tree.losses)), np.array(tree.losses)
        if not tree.converged:
            fall = tree.losses[-2] - tree.losses[-1] if self.n_iter_ > 1 else np.inf
            warn_not_converged(
                f"RankTree did not converge in {self.n_iter_} iterations: the last one lowered the training loss by "
                f"{fall:.3g}, tol is {self.tol:.3g}; raise max_iter or tol"
            )
        return tree

    def _split(self, X: Tensor, Y: Tensor, seed: int) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor] | None]:
        if not 0 <= self.validation_fraction < 1:
            raise ValueError(f"validation_fraction={self.validation_fraction!r} is out of range; expected 0 up to 1")
        apart = int(self.validation_fraction * len(X))
        if apart == 0:
            return (X, Y), None
        order = torch.from_numpy(np.random.default_rng(seed).permutation(len(X)))
        rest, kept = order[apart:], order[:apart]
        return (X[rest], Y[rest]), (X[kept], Y[kept])
