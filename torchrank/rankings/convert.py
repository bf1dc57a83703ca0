"""Conversions between scores, orders and positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor

from torchrank._warnings import warn
from torchrank.rankings.arrays import Origin, as_array, as_tensor, refuse_masks
from torchrank.rankings.derivatives import on_values, without_gradient
from torchrank.rankings.forms import reader_of
from torchrank.rankings.isolation import isolated
from torchrank.rankings.ties import dense_ranks, sortable
from torchrank.rankings.unmapped import CHECKS, unmapped
from torchrank.rankings.validate import (
    Scores,
    as_marks,
    as_scores,
    check_choice,
    check_count,
    check_number,
    place_of,
    real_dtype,
    refuse_ties,
)
from torchrank.typing import Array, GivenTies, PositionTies, Values

_LARGE = 2**27  # scores, 1 GiB in float64
_SPARSE = 1000  # scores for each that is not NaN
TIES = get_args(PositionTies)


@isolated
@unmapped(CHECKS)
def from_orders(orders: Values[Array], n_items: int | None = None) -> Array:
    """Scores of rankings given as orders: lists of items, most preferred first.

    Args:
        orders: ``(m, L)`` item indices from 0 on, padded at the end with -1; or a list of lists of any lengths.
        n_items: number of items n; None means the largest index plus 1.

    Returns:
        ``(m, n)`` scores: the last of k listed items gets 1, the first k; NaN for items that are not listed. float64
        for NumPy and lists, torch's default dtype for tensors.

    Raises:
        ValueError: an item listed twice, an index below -1 or of ``n_items`` and above, an item after padding; without
            ``n_items`` an index so large that the scores would take more than 1 GiB for next to nothing but NaN.
        TypeError: indices that are not integers.

    Warns:
        UserWarning: no order lists item 0 and ``n_items`` is not given, as where items are counted from 1.

    Example:
        >>> from_orders([[2, 0], [1, 2, 0]], n_items=3).tolist()
        [[1.0, nan, 2.0], [1.0, 3.0, 2.0]]
    """
    origin = Origin.of(orders)
    table = as_orders(orders, "orders", n_items)
    n = _item_count(table, n_items)
    if n_items is None:
        _refuse_empty_columns(table, n)
    if n_items is None and n and not bool((table == 0).any()):
        warn(f"orders never list item 0: if items are counted from 1, subtract 1; if not, pass n_items={n}")
    listed = table >= 0
    places = torch.arange(table.shape[1], device=table.device)
    dtype = torch.float64 if origin.numpy else torch.promote_types(torch.get_default_dtype(), torch.float32)
    score = (listed.sum(-1, keepdim=True) - places).to(dtype)
    scores = torch.full((table.shape[0], n + 1), torch.nan, dtype=dtype, device=table.device)
    scores.scatter_(1, torch.where(listed, table, n), score)  # padding goes to an item that is cut off
    scores = scores[:, :n].contiguous()
    return origin.wrap(scores)


@isolated
def to_orders(X: Scores[Array]) -> Array:
    """Orders of rankings: their items, most preferred first.

    Args:
        X: ``(..., m, n)`` scores without ties, larger = preferred, NaN = unranked.

    Returns:
        ``(..., m, n)`` int64 item indices, unranked items left out and the end padded with -1.

    Raises:
        ValueError: tied items, which no order can tell; the message names row and items.
        TypeError: scores that are not real numbers.
    """
    scores, origin = as_scores(X, "X")
    orders = on_values(_orders, scores)
    return origin.wrap(orders)


def _orders(scores: Tensor) -> Tensor:
    ranks, _ = dense_ranks(sortable(scores))
    refuse_ties(ranks, "X", "an order cannot express ties; break them first, or use to_positions")
    best_first = ranks.argsort(dim=-1, descending=True, stable=True)
    return torch.where(ranks.gather(-1, best_first) >= 0, best_first, -1)


@isolated
def from_positions(
    positions: Values[Array], *, unranked: float | Sequence[float] | None = None, ties: GivenTies = "allow"
) -> Array:
    """Scores of rankings given as positions: 1 for the most preferred item.

    Args:
        positions: ``(..., m, n)`` positions of at least 1; NaN = unranked. Equal positions are ties, and positions
            between whole ones (1.5 for two items sharing 1 and 2) are fine.
        unranked: another value that stands for unranked, such as 0, or a list of them.
        ties: "allow" or "raise".

    Returns:
        ``(..., m, n)`` float64 scores, n + 1 - position and NaN where unranked. A narrower dtype would tie positions
        that differ by little beside n.

    Raises:
        ValueError: a position below 1, or used twice with ``ties="raise"``; the message names row, item and value.
        TypeError: positions that are not real numbers.
    """
    check_choice(ties, "ties", get_args(GivenTies))
    marks = as_marks(unranked)
    for mark in marks:
        check_number(mark, "unranked")
    table, origin = as_scores(positions, "positions", ordinal=False)
    if table.element_size() == 1 and table.is_floating_point():
        table = table.to(torch.float32)  # numbers of 8 bits do not compare
    if not table.is_floating_point():
        table = table.to(torch.float64 if table.dtype == torch.uint64 else torch.int64)
    missing = table.isnan()
    for mark in marks:
        missing = missing | (table == mark)
    on_values(lambda table, missing: _check_positions(table, missing, marks), table, missing)
    scores = (table.shape[-1] + 1 - table.to(torch.float64)).masked_fill(missing, torch.nan)
    if ties == "raise":
        on_values(_check_untied, scores)
    return origin.named(scores, "rows", "items")


def _check_positions(table: Tensor, missing: Tensor, marks: tuple[float, ...]) -> Tensor:
    """Raise where a position is below 1; gives the table back."""
    wrong = ~missing & (table < 1)
    if bool(wrong.any()):
        *row, item = (int(i) for i in wrong.nonzero()[0])
        value = table[(*row, item)].item()
        hint = "" if marks else f"; if it means unranked, pass unranked={value:g}"
        if value % 1 > 0:
            hint = "; scores, larger = preferred, need no conversion"
        raise ValueError(f"positions has {value:g} at row {place_of(row)}, item {item}; the best is 1{hint}")
    return table


def _check_untied(scores: Tensor) -> Tensor:
    refuse_ties(dense_ranks(sortable(scores))[0], "positions", "pass ties='allow' if they are meant")
    return scores


@isolated
def to_positions(X: Scores[Array], *, ties: PositionTies = "average") -> Array:
    """Positions of the items of each ranking: 1 for the most preferred.

    Args:
        X: ``(..., m, n)`` scores, larger = preferred, NaN = unranked.
        ties: what tied items get: "average" or "min" of the positions they share, "dense" (no position left out after a
            tie), or "raise".

    Returns:
        ``(..., m, n)`` positions, NaN for unranked items; float64 for NumPy, for tensors the dtype of the scores if
        floating (float32 for narrower ones, which have too few whole numbers), else torch's default.

    Raises:
        ValueError: ties with ``ties="raise"``, or an unknown word.
        TypeError: scores that are not real numbers.
    """
    check_choice(ties, "ties", TIES)
    scores, origin = as_scores(X, "X")
    dtype = torch.float64 if origin.numpy else torch.promote_types(real_dtype(scores, origin), torch.float32)
    positions = on_values(lambda scores: _positions(scores, ties).to(dtype), scores)
    positions = without_gradient(positions, scores, what="positions are")
    return origin.named(positions, "rows", "items")


def _positions(scores: Tensor, ties: str) -> Tensor:
    """Positions in float64."""
    ranks, _ = dense_ranks(sortable(scores))
    if ties == "raise":
        refuse_ties(ranks, "X", "choose ties='average', 'min' or 'dense'")
    groups = ranks.to(torch.int64).clamp_(min=-1) + 1  # group 0 holds the unranked
    sizes = torch.zeros((*groups.shape[:-1], groups.shape[-1] + 1), dtype=torch.int64, device=groups.device)
    sizes.scatter_add_(-1, groups, torch.ones_like(groups))
    sizes[..., 0] = 0
    if ties == "dense":
        sizes = sizes.clamp_(max=1)
    above = sizes.flip(-1).cumsum(-1).flip(-1) - sizes  # ranked items, or groups, preferred to each group
    offset = (sizes + 1).to(torch.float64) / 2 if ties == "average" else torch.ones_like(sizes)
    return (above + offset).gather(-1, groups).to(torch.float64).masked_fill(ranks < 0, torch.nan)


def as_orders(orders: Any, name: str, n_items: int | None) -> Tensor:
    """Checked orders as an ``(m, L)`` int64 tensor, padded with -1.

    Raises:
        ValueError, TypeError: as :func:`from_orders`; messages speak of ``name``.
    """
    if n_items is not None:
        check_count(n_items, "n_items", least=0)
    table = as_tensor(orders, name)[0] if isinstance(orders, Tensor) else _padded(orders, name)
    if table.is_floating_point() or table.is_complex() or table.dtype == torch.bool:
        raise TypeError(f"{name} has dtype {table.dtype}; expected integer item indices, padded with -1")
    if table.ndim != 2:
        raise ValueError(f"{name} has shape {tuple(table.shape)}; expected (rankings, places)")
    whole = table.to(torch.int64)
    if table.dtype == torch.uint64 and bool((whole < 0).any()):
        row, place = (int(i) for i in (whole < 0).nonzero()[0])
        raise ValueError(
            f"{name} has {table[row, place].item()} at row {row}, place {place}; item indices end below 2^63, and what "
            "fills the ends of short rows is -1, for which uint64 has no place"
        )
    table = whole
    _check_orders(table, name, _item_count(table, n_items))
    return table


def _item_count(orders: Tensor, n_items: int | None) -> int:
    if n_items is not None:
        return n_items
    return int(orders.max()) + 1 if orders.numel() else 0


def _refuse_empty_columns(orders: Tensor, n: int) -> None:
    """Raise where scores of n items would be large and nearly all of them NaN: an index that is none made n."""
    size, listed = len(orders) * n, int((orders >= 0).sum())
    if size > max(_LARGE, _SPARSE * listed):
        row, place = (int(i) for i in (orders == n - 1).nonzero()[0])
        gib = 8 * size / 2**30
        raise ValueError(
            f"orders has {n - 1} at row {row}, place {place}, which makes {size} scores ({gib:.3g} GiB) and all but "
            f"{listed} of them NaN; number the items from 0 on (torchrank.datasets.ranking_data(orders, "
            f"form='orders') does so, and keeps their numbers as names), or pass n_items={n} if this is meant"
        )


def _padded(orders: np.ndarray | Sequence[Any], name: str) -> Tensor:
    """An array, or lists of any lengths padded with -1, as a tensor."""
    refuse_masks(orders, name)
    if hasattr(orders, "__array__") or not isinstance(orders, Sequence):  # an array, a data frame, or nothing of use
        return as_tensor(orders, name, "a matrix of item indices or a list of lists")[0]
    rows = [as_array(row, name) for row in orders]
    for index, row in enumerate(rows):
        if row.ndim != 1:
            raise ValueError(
                f"{name} has {orders[index]!r} in row {index}; expected a list of item indices{reader_of(orders)}"
            )
        if row.size and row.dtype.kind not in "iu":
            raise TypeError(
                f"{name} has dtype {row.dtype} in row {index}; expected integer item indices "
                "(torchrank.datasets.ranking_data(orders, form='orders') takes names)"
            )
    table = np.full((len(rows), max((row.size for row in rows), default=0)), -1, np.int64)
    for index, row in enumerate(rows):
        table[index, : row.size] = row
    return torch.from_numpy(table)


def _check_orders(orders: Tensor, name: str, n: int) -> None:
    """Refuse indices out of range, items after padding, and items listed twice."""
    wrong = (orders < -1) | (orders > n - 1)
    if bool(wrong.any()):
        row, place = (int(i) for i in wrong.nonzero()[0])
        raise ValueError(
            f"{name} has {int(orders[row, place])} at row {row}, place {place}; "
            f"expected an item from 0 to {n - 1}, or -1 as padding"
        )
    late = (orders[:, 1:] >= 0) & (orders[:, :-1] < 0)
    if bool(late.any()):
        row, place = (int(i) for i in late.nonzero()[0])
        raise ValueError(
            f"{name} has padding before the end of row {row}, at place {place}; -1 may only follow the last item"
        )
    in_order = orders.sort(dim=-1).values
    twice = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0)
    if bool(twice.any()):
        row, place = (int(i) for i in twice.nonzero()[0])
        raise ValueError(
            f"{name} lists item {int(in_order[row, place])} twice in row {row}; each item can be placed once"
        )
