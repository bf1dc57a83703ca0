"""Central rankings of MM-PL after training: by the votes of the rows that clusters win."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from torchrank.label_ranking.em import ChoosingRows
from torchrank.label_ranking.gates import PrototypeMixture, nearest
from torchrank.label_ranking.start import mm_logits
from torchrank.label_ranking.training import TrainingRows
from torchrank.rankings.orders import total_scores
from torchrank.stream.sums import Sums

_REASSIGNMENTS = 10
_TIE = 1e-4  # least difference of logits of a central ranking
_BLOCK = 2**18  # entries of a table of label pairs; it stays in a processor's cache


@dataclass(frozen=True)
class CellSums(Sums):
    """What is known of the rows nearest to each prototype."""

    rows: Tensor  # (M,) how many
    votes: Tensor  # (M, L) sums of Borda votes
    prefers: Tensor  # (M, L, L) rows that prefer one label to another, each divided by the pairs that it orders

    @classmethod
    def of(cls, rows: TrainingRows, cell: Tensor, n_prototypes: int) -> "CellSums":
        """Those of some rows by their nearest prototypes ``(N,)``."""
        N, L = rows.ranks.shape
        votes = rows.votes.new_zeros(n_prototypes, L).index_add_(0, cell, rows.votes)
        prefers = votes.new_zeros(n_prototypes, L * L)
        weight = 1 / rows.pairs.clamp(min=1).double()
        size = max(1, _BLOCK // max(1, L * L))
        for places in torch.arange(N, device=cell.device).split(size):
            ranks = rows.ranks[places]
            below = ranks[:, None, :]
            above = (ranks[:, :, None] > below) & (below >= 0)
            prefers.index_add_(0, cell[places], above.flatten(1) * weight[places, None])
        return cls(cell.bincount(minlength=n_prototypes).double(), votes, prefers.view(-1, L, L))

    def losses(self, centers: Tensor) -> Tensor:
        """``(M, K)`` sums over rows of the share of their pairs that central rankings ``(K, L)`` order otherwise."""
        against = (centers[:, None, :] > centers[:, :, None]).flatten(1).to(torch.float64)
        return self.prefers.flatten(1) @ against.T

    def central_scores(self, membership: Tensor, otherwise: Tensor) -> Tensor:
        """Borda rankings of the rows of each cluster; those of ``otherwise`` (K, L) for a cluster without rows."""
        sums = torch.zeros_like(otherwise).index_add_(0, membership, self.votes)
        rows = self.rows.new_zeros(len(otherwise)).index_add_(0, membership, self.rows)[:, None]
        return torch.where(rows > 0, total_scores(sums / rows.clamp(min=1)), otherwise)


def recenter(rows: ChoosingRows, mixture: PrototypeMixture, prior: float) -> PrototypeMixture:
    """Central rankings by the Borda votes of the rows that a cluster wins, and prototypes to the clusters they fit.

    By turns, as long as the loss falls. Then scores are fitted to the same rows and sorted into the order of the votes.
    """
    cell = nearest(rows.X, mixture.prototypes)
    membership, centers = reassigned(CellSums.of(rows, cell, len(mixture.prototypes)), mixture)
    fitted = mm_logits(rows.choices, membership[cell], len(mixture.logits), prior)
    return in_order(mixture, membership, centers, fitted)


def reassigned(cells: CellSums, mixture: PrototypeMixture) -> tuple[Tensor, Tensor]:
    """Clusters of prototypes ``(M,)``, and central rankings ``(K, L)``, that fit each other."""
    membership, centers = mixture.membership, total_scores(mixture.logits)
    filled, total = cells.rows > 0, float(cells.rows.sum())
    best, least = (membership, centers), math.inf
    for _ in range(_REASSIGNMENTS):
        centers = cells.central_scores(membership, centers)
        by_cell = cells.losses(centers)
        loss = float(by_cell.gather(1, membership[:, None]).sum()) / total
        if loss >= least * (1 - 1e-12):  # sums of fractions differ by as much with the order of rows
            break
        best, least = (membership, centers), loss
        membership = torch.where(filled, by_cell.argmin(1), membership)
    return best


def in_order(mixture: PrototypeMixture, membership: Tensor, centers: Tensor, fitted: Tensor) -> PrototypeMixture:
    """The mixture with these clusters, and fitted logits sorted into the order of their centers."""
    # Logits that are equal would forget the order.
    apart = _TIE * torch.arange(centers.shape[1], dtype=torch.float64, device=centers.device)
    order = centers.argsort(dim=-1, descending=True, stable=True)
    logits = torch.empty_like(fitted).scatter_(1, order, fitted.sort(-1, descending=True).values - apart)
    return mixture._replace(membership=membership, logits=logits.to(mixture.logits))
