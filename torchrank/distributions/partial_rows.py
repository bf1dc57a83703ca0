"""Partial rankings as a distribution of total rankings reads them: each stands for all total rankings that agree.

Most are weak orders, groups of items that are ordered among each other but not within: top-k lists, whose unlisted
items are one group below, and tied items that were not told apart. The others are partial orders of any kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, get_args

import torch
from torch import Tensor

from torchrank.distributions.choices import MISSING
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.ops.rank import as_rankings
from torchrank.rankings.arrays import Origin
from torchrank.rankings.missing import Meaning, Missing
from torchrank.rankings.pairs import item_pairs, n_pairs, pair_signs
from torchrank.rankings.partial_orders import PartialOrders
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.unmapped import refuse_mapped
from torchrank.rankings.validate import Scores
from torchrank.typing import MallowsTies

TIES = get_args(MallowsTies)


class PartialRows(NamedTuple):
    """Partial rankings, checked."""

    weak: Rankings  # (..., m, n) groups of items as ties; a row that is no weak order has all items in one
    general: Tensor  # (..., m) bool, which rows are no weak orders
    precedes: Tensor  # (g, n, n) bool, which items those prefer to which
    distinct: Tensor  # (..., m, q) equal for rows that say the same
    origin: Origin

    @property
    def groups(self) -> Tensor:
        """``(..., m, n - 1)`` float64 numbers of groups of at least 2, 3, ..., n items; 0 for general rows."""
        ranks = self.weak.ranks.to(torch.int64)
        ones = torch.ones_like(ranks)
        sizes = torch.zeros_like(ranks).scatter_add_(-1, ranks, ones)
        number = ranks.new_zeros((*ranks.shape[:-1], ranks.shape[-1] + 1)).scatter_add_(-1, sizes, ones)
        at_least = number.flip(-1).cumsum(-1).flip(-1)[..., 2:]
        return at_least.to(torch.float64).masked_fill_(self.general[..., None], 0)

    def signs(self) -> Tensor:
        """``(m, n(n-1)/2)`` float64 signs of all pairs, 0 where a row does not order them."""
        signs = pair_signs(self.weak.ranks)
        if len(self.precedes) == 0:
            return signs
        i, j = item_pairs(self.weak.shape[-1], signs.device)
        signs[self.general] = self.precedes[:, i, j].to(torch.float64) - self.precedes[:, j, i].to(torch.float64)
        return signs

    def of_rows(self, rows: Tensor) -> PartialRows:
        """Some rows of one matrix, by number."""
        place = self.general.cumsum(0) - 1
        general = self.general[rows]
        return PartialRows(
            self.weak[rows], general, self.precedes[place[rows][general]], self.distinct[rows], self.origin
        )


def partial_rows(
    X: Scores | PartialOrders,
    missing: Missing,
    *,
    remedy: str,  # for unranked items
    check: Callable[[Tensor], None],  # of dense ranks, -1 = unranked
) -> PartialRows:
    """Read rankings, or partial orders; weak orders may have batch dimensions.

    Raises:
        ValueError: unranked items with "raise", other rows than weak orders with batch dimensions, and what ``check``
            raises.
        TypeError: scores that are not real numbers.
    """
    if isinstance(X, PartialOrders):
        if isinstance(missing, str) and missing == "topk":
            raise ValueError(
                "missing='topk' says that unranked items are below all ranked ones, and preferences leave open what "
                "they do not compare; pass rankings, or leave missing out"
            )
        return _of_orders(X)
    rankings = as_rankings(X, missing=missing, remedy=remedy, legal=MISSING)
    ranks, n = rankings.ranks, rankings.shape[-1]
    check(ranks)
    none = ranks.new_zeros(ranks.shape[:-1], dtype=torch.bool)
    nothing = torch.empty((0, n, n), dtype=torch.bool, device=ranks.device)
    unranked = ranks < 0
    some = unranked.any(dim=-1)
    if rankings.missing != "raise":
        refuse_mapped("laws of partial rankings", "they look for rows with unranked items", ranks)
    if rankings.missing == "raise" or not bool(some.any()):
        complete = replace(rankings, meaning=Meaning("raise"), complete=True)
        return PartialRows(complete, none, nothing, ranks, rankings.origin)
    top = rankings.meaning.topk_rows(ranks.shape[-2], ranks.device)
    empty = rankings.strict == 0
    general = some & ~top & ~empty
    filled = torch.where(some[..., None], ranks + 1, ranks)
    filled = torch.where((general | some & ~top)[..., None], 0, filled)
    listed = (n - unranked.sum(dim=-1)).to(torch.int64)
    below = torch.where(top, listed * (n - listed), 0)  # pairs of a listed item and one that is not
    weak = replace(
        rankings,
        ranks=filled,
        strict=torch.where(general, 0, rankings.strict + below),
        meaning=Meaning("raise"),
        complete=True,
        untied=None,
    )
    if bool(general.any()) and ranks.ndim > 2:
        raise ValueError(
            f"X has shape {tuple(ranks.shape)} and rankings in which unranked items may be anywhere; "
            "fit batches of those one by one"
        )
    precedes = nothing
    if bool(general.any()):
        own = ranks[general]
        precedes = (own[:, :, None] > own[:, None, :]) & (own >= 0)[:, None, :]
    distinct = torch.where(general[..., None], ranks, filled)
    return PartialRows(weak, general, precedes, distinct, rankings.origin)


def _of_orders(X: PartialOrders) -> PartialRows:
    """An order is weak where any item is preferred to as many items as those that it ties with."""
    precedes, n = X.precedes, X.shape[1]
    ranks, strict = dense_ranks(precedes.sum(dim=-1), "allow", "preferences")
    general = strict != precedes.sum(dim=(-1, -2))
    weak = Rankings(
        torch.where(general[:, None], 0, ranks),
        torch.where(general, 0, strict),
        Meaning("raise"),
        None,
        X.origin,
        complete=True,
        untied=not bool(general.any()) and bool((strict == n_pairs(n)).all()),
    )
    return PartialRows(weak, general, precedes[general], precedes.flatten(1).to(torch.int32), X.origin)
