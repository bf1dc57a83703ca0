"""Sufficient statistics of EM, which add up over batches, devices and processes."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from torchrank.stream.sums import Sums

_SOFTNESS = 0.1  # share of every row that starts spread evenly over the components


@dataclass(frozen=True)
class MixtureStatistics(Sums):
    """Sufficient statistics of some rows for one M-step; those of several batches, or devices, add up."""

    counts: Tensor  # (..., c) weight of the rows that belong to each component
    moments: Tensor  # (..., c, q) weighted sums of what the components' distributions depend on
    log_likelihood: Tensor  # (...) weighted, under the parameters that gave the memberships

    def table(self) -> Tensor:
        """``(1, c, 1 + q)`` counts and moments."""
        return torch.cat([self.counts[:, None], self.moments], -1)[None]

    @classmethod
    def of_table(cls, table: Tensor) -> "MixtureStatistics":
        """The inverse of :meth:`table`, but for the log-likelihood."""
        return cls(table[0, :, 0], table[0, :, 1:], table.new_zeros(()))


def soft_members(labels: Tensor, n_components: int) -> Tensor:
    """Memberships ``(..., c, m)`` to start from, most of which are those of labels ``(..., m)``."""
    members = nn.functional.one_hot(labels, n_components).mT.to(torch.float64)
    return (1 - _SOFTNESS) * members + _SOFTNESS / n_components


def memberships(joint: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Weighted log-likelihood ``(...)``, and weights times memberships, of ``(..., c, m)`` log p_j f_j.

    A row of weight 0 counts nothing even if its probability is 0.
    """
    values = joint.logsumexp(-2) * weights
    return torch.where(weights > 0, values, 0).sum(-1), joint.softmax(-2) * weights
