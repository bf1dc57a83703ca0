"""Partial rankings as points of mixtures of Mallows distributions."""

from typing import NamedTuple

import torch
from torch import Tensor

from torchrank.distributions.agreeing import Agreeing, Sums
from torchrank.distributions.mallows_law import log_partitions
from torchrank.distributions.partial_rows import partial_rows
from torchrank.kernels.points import Groups
from torchrank.mixtures.total_rankings import WHY, check_shape, groups_of_rows, refuse_tied_rows
from torchrank.rankings.arrays import Matrix, Origin
from torchrank.rankings.missing import Missing
from torchrank.rankings.pairs import discordant_with_centers, item_pairs, ranks_of_signs
from torchrank.rankings.partial_orders import PartialOrders
from torchrank.rankings.prepared import weights_said
from torchrank.rankings.unmapped import refuse_mapped
from torchrank.rankings.validate import Scores

REMEDY = (
    f"{WHY}: pass missing='topk' if unranked items are below all ranked ones, or 'interleaving' if they may be "
    "anywhere; or complete the row, or use KernelGaussianMixture"
)
_TIED = (
    "pass ties='unknown' if any order of tied items agrees with the row, break the tie, or use KernelGaussianMixture"
)


class PartialPoints(NamedTuple):
    """What the probabilities of u partial rankings depend on."""

    signs: Tensor  # (u, p) of all pairs, 0 where a row does not order them
    groups: Tensor  # (u, n - 1) numbers of groups of at least 2, ..., n items without an order inside
    general: Tensor  # (g,) int64 rows that are no weak orders, which have no formula
    agreeing: Agreeing | None  # sums for those; None if there are none

    def log_probabilities(self, centers: Tensor, lam: Tensor) -> Tensor:
        """``(..., c, u)`` for total rankings ``centers`` ``(..., c, p)``, as signs, and ``lam`` ``(..., c)``."""
        discordant = discordant_with_centers(self.signs, centers)
        logs = -lam[..., None] * discordant - log_partitions(lam, self.groups)
        if self.agreeing is None:
            return logs
        refuse_mapped("laws of partial orders", "their sums go through the rankings that agree", centers, lam)
        log_sums = self.agreeing.log_sums(self._ranks(centers), lam.reshape(-1)).view(*lam.shape, -1)
        return logs.index_copy(-1, self.general, log_sums - log_partitions(lam, self.groups[self.general]))

    def moments(self, shares: Tensor, centers: Tensor | None, lam: Tensor | None) -> Tensor:
        """``(..., c, p + n - 1)`` sums over rows, weighted by ``shares`` (..., c, u), of signs and of groups.

        Signs of rows without a formula are those expected under centers and concentrations; None is all rankings alike.
        """
        groups = shares @ self.groups
        if self.agreeing is None:
            return torch.cat([shares @ self.signs, groups], dim=-1)
        batch, p = shares.shape[:-1], self.signs.shape[1]
        if centers is None or lam is None:
            centers, lam = shares.new_ones((*batch, p)), shares.new_zeros(batch)
        own = shares[..., self.general].reshape(-1, len(self.general))
        above = self.agreeing.preferences(self._ranks(centers), lam.reshape(-1), own)
        i, j = item_pairs(above.shape[-1], above.device)
        expected = (above[:, i, j] - above[:, j, i]).view(*batch, p)
        formula = shares.index_fill(-1, self.general, 0)
        return torch.cat([formula @ self.signs + expected, groups], dim=-1)

    def sums(self, centers: Tensor, lam: Tensor) -> Sums | None:
        """What is known of rows without a formula; None if there are none."""
        return None if self.agreeing is None else self.agreeing.sums(self._ranks(centers), lam.reshape(-1))

    def _ranks(self, centers: Tensor) -> Tensor:
        """Centers ``(b, n)`` as dense ranks."""
        return ranks_of_signs(centers, self.groups.shape[1] + 1).flatten(0, -2)


def partial_rankings(
    X: Scores | PartialOrders,
    n_items: int,
    weights: Matrix | None,
    *,
    missing: Missing,
    ties: str,
    n_samples: int,
    training: bool,
) -> tuple[PartialPoints, Groups, Origin]:
    """Partial rankings as points, the rows they stand for, and where those came from.

    Raises:
        ValueError: another number of items or dimensions, unranked items or ties that are not allowed.
        TypeError: scores that are not real numbers.
    """
    rows = partial_rows(X, missing, remedy=REMEDY, check=lambda ranks: check_rows(ranks, n_items, ties))
    check_shape(rows.weak.ranks, n_items)
    groups = groups_of_rows(rows.distinct, weights_said(X, weights), training=training)
    points = rows.of_rows(groups.first) if training else rows  # new rows are points as they come
    if len(points.precedes) == 0:  # as their shapes say, of which vmap knows
        nothing = torch.empty(0, dtype=torch.int64, device=points.groups.device)
        return PartialPoints(points.signs(), points.groups, nothing, None), groups, rows.origin
    general, agreeing = points.general.nonzero()[:, 0], Agreeing(points.precedes, n_samples)
    return PartialPoints(points.signs(), points.groups, general, agreeing), groups, rows.origin


def check_rows(ranks: Tensor, n_items: int, ties: str) -> None:
    """Raise ``ValueError`` unless dense ranks are ``(m, n_items)``, and without ties if these are not allowed."""
    check_shape(ranks, n_items)
    if ties == "raise":
        refuse_tied_rows(ranks, _TIED)
