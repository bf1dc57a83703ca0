"""Equal rows counted once: votes repeat, and what repeats has to be computed only once."""

from typing import NamedTuple

import torch
from torch import Tensor


class DistinctRows(NamedTuple):
    """The u different rows among m, in an order that depends on the rows alone."""

    first: Tensor  # (u,) where each stands for the first time
    inverse: Tensor  # (m,) which of them every row is

    def total(self, weights: Tensor) -> Tensor:
        """Weights ``(m,)`` added up over equal rows, ``(u,)``."""
        return weights.new_zeros(len(self.first)).index_add_(0, self.inverse, weights)


def distinct_rows(rows: Tensor) -> DistinctRows:
    """Find the different rows of ``(m, q)`` numbers; NaN equals NaN and 0.0 equals -0.0."""
    if rows.is_floating_point():
        unknown = rows.isnan()
        rows = torch.cat([torch.where(unknown, 0, rows), unknown.to(rows.dtype)], dim=-1)
    _, inverse = torch.unique(rows, dim=0, return_inverse=True)
    m = len(rows)
    u = int(inverse.max()) + 1 if m else 0
    places = torch.arange(m, device=rows.device)
    first = places.new_full((u,), m).scatter_reduce_(0, inverse, places, "amin")
    return DistinctRows(first, inverse)


def places_among(known: Tensor, rows: Tensor) -> Tensor:
    """Where each of ``rows`` (m, q) stands for the first time among ``known`` (u, q) ones, ``(m,)``; -1 for nowhere."""
    distinct = distinct_rows(torch.cat([known, rows]))
    first = distinct.first[distinct.inverse[len(known) :]]
    return torch.where(first < len(known), first, -1)
