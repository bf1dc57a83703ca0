"""What trees are grown from and into: training rows, and tables of nodes."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from torchrank.aggregation.borda import expected_sign_sums
from torchrank.label_ranking.features import check_features
from torchrank.label_ranking.rankings import discordant_pairs, strict_scores
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.rankings.missing import Meaning


class Training:
    """Rows to grow trees from: features, their orders, rankings and votes."""

    def __init__(self, X: Tensor, Y: Tensor) -> None:
        check_features(X, Y)
        features = X.detach().to("cpu", torch.float64)
        self.X = np.ascontiguousarray(features.numpy())
        self.ranks, pairs = dense_ranks(Y.detach().cpu(), "allow", "Y")
        self.pairs = int(pairs.sum())  # that rows order
        self.votes = (Y.shape[1] + 1 + expected_sign_sums(self.ranks, Meaning("interleaving"))) / 2
        self.by_feature = np.ascontiguousarray(self.X.argsort(axis=0, kind="stable").T.astype(np.int32))
        if self.pairs == 0:
            raise ValueError("Y has no row that ranks two labels differently; there is nothing to learn from")

    def distances(self, centers: Tensor) -> np.ndarray:
        """Pairs of labels ``(N, K)`` that each row and each central ranking order differently."""
        return discordant_pairs(self.ranks, centers.double()).numpy()

    def central_scores(self, cluster: Tensor, otherwise: Tensor) -> Tensor:
        """Mean votes of each cluster's rows; those of ``otherwise`` (K, L) for a cluster without rows."""
        sums = torch.zeros_like(otherwise).index_add_(0, cluster, self.votes)
        rows = cluster.bincount(minlength=len(otherwise))[:, None]
        return torch.where(rows > 0, strict_scores(sums / rows.clamp(min=1)), otherwise)


@dataclass(frozen=True)
class Nodes:
    """Nodes of a tree under construction; see :class:`torchrank.RankTree`."""

    feature: np.ndarray
    threshold: np.ndarray
    children: np.ndarray
    cluster: np.ndarray

    @classmethod
    def room_for(cls, n_rows: int, min_leaf: int) -> "Nodes":
        """As many leaves as the nodes of the largest tree of so many rows."""
        size = 2 * max(1, n_rows // min_leaf) + 1
        return cls(
            np.full(size, -1), np.zeros(size), np.zeros((size, 2), dtype=np.int64), np.zeros(size, dtype=np.int64)
        )

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Features, thresholds, children and clusters."""
        return self.feature, self.threshold, self.children, self.cluster

    def first(self, n: int) -> "Nodes":
        """The first n nodes."""
        return Nodes(*(array[:n].copy() for array in self.arrays))
