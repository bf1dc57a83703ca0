"""Equal rows counted once: votes repeat, and what repeats has to be computed only once."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

_BITS = 62  # of a number made of columns


class DistinctRows(NamedTuple):
    """The u different rows among m, in an order that depends on the rows alone."""

    first: Tensor  # (u,) where each stands for the first time
    inverse: Tensor  # (m,) which of them every row is

    def total(self, weights: Tensor) -> Tensor:
        """Weights ``(m,)`` added up over equal rows, ``(u,)``."""
        return weights.new_zeros(len(self.first)).index_add_(0, self.inverse, weights)


def distinct_rows(rows: Tensor) -> DistinctRows:
    """Find the different rows of ``(m, q)`` numbers; NaN equals NaN and 0.0 equals -0.0."""
    rows = rows.detach()
    if rows.is_floating_point():
        unknown = rows.isnan()
        rows = torch.cat([torch.where(unknown, 0, rows), unknown.to(rows.dtype)], dim=-1)
    inverse = _places_in_order(rows)
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


def _places_in_order(rows: Tensor) -> Tensor:
    """Number ``(m,)`` of each row among the different ones, in lexicographic order.

    Whole numbers in a small range, as ranks are, are digits: as many columns as fit make one number, and numbers sort
    many times faster than rows.
    """
    whole = not rows.is_floating_point() or bool((rows == rows.floor()).all())
    least, most = map(float, rows.aminmax()) if whole and rows.numel() else (0.0, math.inf)
    base = most - least + 1
    if not base <= 2.0**_BITS:  # NaN where both are infinite
        return torch.unique(rows, dim=0, return_inverse=True)[1]
    base, least = int(base), int(least)
    places = None
    for columns in rows.split(max(1, _BITS // max(1, (base - 1).bit_length())), dim=1):
        key = torch.zeros(len(rows), dtype=torch.int64, device=rows.device)
        for column in columns.unbind(1):
            key = key * base + (column.to(torch.int64) - least)
        values, key = torch.unique(key, return_inverse=True)
        if places is not None:
            values, key = torch.unique(places * len(values) + key, return_inverse=True)
        places = key
        if len(values) == len(rows):
            break
    assert places is not None
    return places
