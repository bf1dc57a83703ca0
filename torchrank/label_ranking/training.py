"""What models of label rankings are trained on, and tables of nodes that trees are grown into."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchrank._cached import cached_property
from torchrank.label_ranking.features import check_features
from torchrank.label_ranking.rankings import discordant_pairs, label_votes
from torchrank.ops.rank import as_rankings
from torchrank.rankings.orders import total_scores


@dataclass(frozen=True)
class TrainingRows:
    """Features and label rankings of the same rows."""

    X: Tensor  # (N, d)
    ranks: Tensor  # (N, L) int32 dense ranks, -1 = unranked
    pairs: Tensor  # (N,) int64 pairs of labels that a row orders
    votes: Tensor  # (N, L) float64 expected Borda votes

    @classmethod
    def of(cls, X: Tensor, Y: Tensor, name: str = "Y") -> "TrainingRows":
        """Features and the rankings of scores, both checked before; ties and unranked labels mean nothing."""
        rankings = as_rankings(Y, name, missing="interleaving")
        if rankings.weights is not None:
            raise ValueError(
                f"{name} are rankings of a data set with weights, which this model does not take; repeat rows, "
                "data.expanded(), and those of X likewise"
            )
        return cls(X.detach(), rankings.ranks, rankings.strict, label_votes(rankings.ranks, "interleaving"))

    @classmethod
    def on_cpu(cls, X: Tensor, Y: Tensor) -> "TrainingRows":
        """As trees and baselines take them: in float64 on the CPU, some row ordering two labels."""
        check_features(X, Y)
        return cls.of(X, Y.to("cpu")).for_trees()

    def for_trees(self) -> "TrainingRows":
        """The same in float64 on the CPU; ``ValueError`` if no row orders two labels."""
        if int(self.pairs.sum()) == 0:
            raise ValueError("Y has no row that ranks two labels differently; there is nothing to learn from")
        ranks = self.ranks.cpu()
        return TrainingRows(
            self.X.to("cpu", torch.float64), ranks, self.pairs.cpu(), label_votes(ranks, "interleaving")
        )

    def distances(self, centers: Tensor) -> Tensor:
        """Pairs of labels ``(N, K)`` float64 that each row and each central ranking ``(K, L)`` order differently."""
        return discordant_pairs(self.ranks, centers.double())

    def shares(self, centers: Tensor) -> Tensor:
        """:meth:`distances` as shares of the pairs that a row orders; 0 for rows that order none."""
        return self.distances(centers) / self.pairs.clamp(min=1)[:, None]

    def loss(self, cluster: Tensor, centers: Tensor) -> float:
        """Share of all pairs that rows order otherwise than the central ranking of their cluster ``(N,)``."""
        wrong = self.distances(centers).gather(1, cluster[:, None])
        return float(wrong.sum() / self.pairs.sum())

    def central_scores(self, cluster: Tensor, otherwise: Tensor) -> Tensor:
        """Borda rankings of each cluster's rows; those of ``otherwise`` (K, L) for a cluster without rows."""
        sums = torch.zeros_like(otherwise).index_add_(0, cluster, self.votes)
        rows = cluster.bincount(minlength=len(otherwise))[:, None]
        return torch.where(rows > 0, total_scores(sums / rows.clamp(min=1)), otherwise)

    @cached_property
    def features(self) -> np.ndarray:
        """``X`` as engines take it."""
        return np.ascontiguousarray(self.X.numpy())

    @cached_property
    def by_feature(self) -> np.ndarray:
        """Rows in the order of each feature, ``(d, N)`` int32."""
        return np.ascontiguousarray(self.features.argsort(axis=0, kind="stable").T.astype(np.int32))


class Nodes(NamedTuple):
    """Nodes of a tree under construction; the fields are those of :class:`torchrank.RankTree`."""

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

    def first(self, n: int) -> "Nodes":
        """The first n nodes."""
        return Nodes(*(array[:n].copy() for array in self))
