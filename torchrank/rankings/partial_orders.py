"""Partial orders of items, for what is no ranking with gaps or ties: comparisons of pairs."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchrank.rankings.arrays import Matrix, Origin
from torchrank.rankings.isolation import isolated
from torchrank.rankings.prepared import chosen_rows
from torchrank.rankings.unmapped import SHAPES, unmapped
from torchrank.rankings.validate import check_count


@dataclass(frozen=True, eq=False, repr=False)
class PartialOrders:
    """Partial orders, each standing for all total rankings that agree with it; made by :func:`from_preferences`.

    Accepted by :func:`torchrank.fit_mallows` and :class:`torchrank.MallowsMixture` in place of scores.
    """

    precedes: Tensor  # (m, n, n) bool, whether i is preferred to j, directly or through other items
    origin: Origin  # what results come back as

    @property
    def shape(self) -> torch.Size:
        """``(m, n)``."""
        return self.precedes.shape[:2]

    def __len__(self) -> int:
        return len(self.precedes)

    def __getitem__(self, rows: Any) -> "PartialOrders":
        """Some of the partial orders, by a slice, a mask or indices.

        Raises:
            IndexError: there is no such row.
        """
        return replace(self, precedes=self.precedes[chosen_rows(rows, len(self), self.precedes.device)])

    def __repr__(self) -> str:
        return f"PartialOrders(shape={tuple(self.shape)}, device={str(self.precedes.device)!r})"


@isolated
@unmapped(SHAPES)
def from_preferences(preferences: Matrix | Iterable[Any], n_items: int | None = None) -> PartialOrders:
    """Partial orders from comparisons of pairs of items.

    What follows from the comparisons of a ranker is added: who prefers a to b and b to c prefers a to c.

    Args:
        preferences: for each of m rankers a list of pairs (preferred item, other item), items counted from 0; or a
            bool array or tensor ``(m, n, n)`` whose ``[r, i, j]`` says that ranker r prefers item i to item j.
        n_items: number of items n; None means the largest item plus 1, or the n of the array.

    Returns:
        :class:`PartialOrders` of m rankers and n items, n at least 2.

    Raises:
        ValueError: preferences that go round in a circle, items below 0 or of ``n_items`` and above, an item compared
            with itself, another shape, no items.
        TypeError: items that are not integers.

    Example:
        >>> orders = from_preferences([[(0, 1), (1, 2)], [(2, 0)]])
        >>> orders.precedes[0].tolist()
        [[False, True, True], [False, False, True], [False, False, False]]
    """
    if n_items is not None:
        check_count(n_items, "n_items", 2)
    origin = Origin.of(preferences)
    if getattr(preferences, "dtype", None) in (torch.bool, np.dtype(bool)):
        precedes = _matrices(preferences, n_items)
    else:
        precedes = _of_pairs(preferences, n_items)
    return PartialOrders(_closed(precedes), origin)


def _matrices(preferences: Any, n_items: int | None) -> Tensor:
    precedes = preferences.clone() if isinstance(preferences, Tensor) else torch.from_numpy(np.array(preferences))
    n = precedes.shape[-1] if precedes.ndim else 0
    if precedes.ndim != 3 or precedes.shape[1] != n or n < 2 or n != (n_items or n):
        expected = "n, n), n at least 2" if n_items is None else f"{n_items}, {n_items})"
        raise ValueError(f"preferences has shape {tuple(precedes.shape)}; expected (rankers, {expected}")
    return precedes


def _of_pairs(preferences: Any, n_items: int | None) -> Tensor:
    if isinstance(preferences, str) or not hasattr(preferences, "__iter__"):
        raise TypeError(
            f"preferences is {type(preferences).__name__}; expected a list of pairs (preferred, other) for each ranker"
        )
    rankers = [[_pair(pair, r) for pair in pairs] for r, pairs in enumerate(preferences)]
    most = max((item for pairs in rankers for pair in pairs for item in pair), default=-1)
    n = most + 1 if n_items is None else n_items
    if n < 2:
        raise ValueError("preferences compares no items; pass n_items= to say how many there are")
    precedes = torch.zeros((len(rankers), n, n), dtype=torch.bool, device="cpu")
    for r, pairs in enumerate(rankers):
        for first, second in pairs:
            if max(first, second) >= n:
                raise ValueError(
                    f"preferences has the pair {(first, second)} for ranker {r}; items are numbered from 0 to {n - 1}"
                )
            precedes[r, first, second] = True
    return precedes


def _pair(pair: Any, ranker: int) -> tuple[int, int]:
    items = pair.tolist() if hasattr(pair, "tolist") else pair
    if not isinstance(items, (tuple, list)) or len(items) != 2:
        raise ValueError(f"preferences has {items!r} for ranker {ranker}; expected pairs (preferred item, other item)")
    for item in items:
        if isinstance(item, bool) or not isinstance(item, (int, np.integer)):
            raise TypeError(f"preferences has the item {item!r} for ranker {ranker}; items are integers, from 0 on")
        if item < 0:
            raise ValueError(f"preferences has the pair {tuple(items)} for ranker {ranker}; items are numbered from 0")
    return int(items[0]), int(items[1])


def _closed(precedes: Tensor) -> Tensor:
    """Add what follows by transitivity, item by item (Warshall); ``ValueError`` where there is a circle."""
    given = precedes.clone()
    for k in range(precedes.shape[-1]):
        precedes |= precedes[:, :, k, None] & precedes[:, None, k, :]
    round_about = precedes.diagonal(dim1=-2, dim2=-1)
    if bool(round_about.any()):
        row, item = (int(i) for i in round_about.nonzero()[0])
        if bool(given[row, item, item]):
            raise ValueError(f"preferences of ranker {row} compares item {item} with itself; leave the pair out")
        other = int((precedes[row, item] & precedes[row, :, item]).nonzero()[1])
        raise ValueError(
            f"preferences of ranker {row} go round in a circle: item {item} is preferred to {other} and {other} to "
            f"{item}, directly or through others; leave out one of these comparisons, or the ranker"
        )
    return precedes
