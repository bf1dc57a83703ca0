"""loss_LR of MM-PL's nearest prototypes, of rows that may come in batches."""

from dataclasses import dataclass

import torch
from torch import Tensor

from torchrank.label_ranking.gates import PrototypeMixture, nearest
from torchrank.label_ranking.training import TrainingRows
from torchrank.rankings.orders import total_scores
from torchrank.stream.sums import Sums


@dataclass(frozen=True)
class Losses(Sums):
    """Sum over rows that order a pair, and how many these are."""

    sum: Tensor  # ()
    rows: Tensor  # ()

    @classmethod
    def of(cls, rows: TrainingRows, mixture: PrototypeMixture) -> "Losses":
        """Those of the nearest prototype's cluster."""
        cluster = mixture.membership[nearest(rows.X, mixture.prototypes)]
        shares = rows.shares(total_scores(mixture.logits)).gather(1, cluster[:, None])[:, 0]
        return cls(torch.where(rows.pairs > 0, shares, 0).sum(), (rows.pairs > 0).sum())

    def mean(self) -> float:
        """loss_LR; NaN if no row orders a pair."""
        return float(self.sum / self.rows)


def nearest_loss(rows: TrainingRows, mixture: PrototypeMixture) -> float:
    """loss_LR of the nearest prototype's cluster, over rows that order a pair."""
    return Losses.of(rows, mixture).mean()
