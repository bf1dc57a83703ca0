"""Ratings and lists of items, checked: what sparse rankings are made of."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchrank.rankings.arrays import Matrix, as_tensor
from torchrank.rankings.convert import as_orders
from torchrank.rankings.forms import reader_of
from torchrank.rankings.validate import check_count


def as_indices(values: Matrix, name: str, scores: Tensor) -> Tensor:
    """Indices ``(N,)`` int64, one for each score; ``TypeError`` or ``ValueError`` if they are something else."""
    index, _ = as_tensor(values, name, "integers from 0 on")
    if (index.is_floating_point() or index.dtype == torch.bool) and index.numel():
        raise TypeError(f"{name} has dtype {index.dtype}; expected integers from 0 on")
    if index.shape != scores.shape:
        raise ValueError(f"{name} has shape {tuple(index.shape)} and scores {tuple(scores.shape)}; expected one each")
    return index.to(scores.device, torch.int64)


def check_shape(m: Any, n: Any, rows: Tensor | None, items: Tensor, lengths: Tensor | None = None) -> None:
    """Check numbers of rankings and of items, and indices against them; None where rows are known to be right.

    ``lengths`` ``(m,)`` are those of the lists that the items came in, for messages.
    """
    check_count(m, "shape[0]", least=0)
    check_count(n, "n_items", least=0)
    if n < 2:
        raise ValueError(f"there are {n} item(s); ranking needs at least 2 items")
    for index, most, name in ((rows, m, "rows"), (items, n, "items")):
        if index is None:
            continue
        wrong = (index < 0) | (index >= most)
        if bool(wrong.any()):
            place = int(wrong.nonzero()[0])
            if lengths is not None:
                row = int((lengths.cumsum(0) <= place).sum())
                where = f"row {row}, place {place - int(lengths[:row].sum())}"
                raise ValueError(f"orders has {int(index[place])} at {where}; expected an item from 0 to {most - 1}")
            raise ValueError(f"{name} has {int(index[place])} at {place}; expected an index from 0 to {most - 1}")


def refuse_repeated(row: Tensor, item: Tensor) -> None:
    """Raise where a row has an item twice."""
    by_item = item.argsort(stable=True)
    order = by_item[row[by_item].argsort(stable=True)]
    row, item = row[order], item[order]
    twice = ((row[1:] == row[:-1]) & (item[1:] == item[:-1])).nonzero()
    if len(twice):
        row_index, item_index = int(row[twice[0, 0]]), int(item[twice[0, 0]])
        raise ValueError(f"item {item_index} is there twice in row {row_index}; each item has one place in a ranking")


def starts_of(lengths: Tensor) -> Tensor:
    """Where rows of these lengths start, and the last one ends, ``(m + 1,)``."""
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])


def ranks_of(starts: Tensor, below: Tensor) -> Tensor:
    """Dense ranks from where in a row an item is strictly below the one before it."""
    lengths = starts.diff()
    depth = below.cumsum(0)  # over all rows
    last = depth[(starts[1:] - 1).clamp(min=0)] if len(depth) else depth.new_zeros(len(lengths))
    return (last.repeat_interleave(lengths) - depth).to(torch.int32)


def is_table(orders: Sequence[Any]) -> bool:
    """Whether rows are tensors, arrays or lists of one length, of which NumPy makes a matrix at once."""
    return len(orders) > 0 and all(isinstance(part, (Tensor, np.ndarray)) for part in orders)


def flat_orders(orders: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """Lengths of lists, and their items one after the other; padding is left out."""
    no_list = {kind for kind in {type(part) for part in orders} if not issubclass(kind, Sequence) or kind is str}
    if no_list:
        place = next(k for k, part in enumerate(orders) if type(part) in no_list)
        raise ValueError(
            f"orders has {orders[place]!r} in row {place}; expected a list of item indices{reader_of(orders)}"
        )
    lengths = np.fromiter(map(len, orders), np.int64, len(orders))
    flat = np.array([*chain.from_iterable(orders)])
    if flat.size and (flat.ndim != 1 or flat.dtype.kind not in "iu"):
        raise TypeError(f"orders has dtype {flat.dtype}; expected integer item indices, from 0 on")
    listed = torch.from_numpy(flat.astype(np.int64))
    if bool((listed == -1).any()):
        return flat_table(as_orders(orders, "orders", None))
    return torch.from_numpy(lengths), listed


def flat_table(orders: Tensor) -> tuple[Tensor, Tensor]:
    """The same of a padded table ``(m, L)``."""
    ranked = orders >= 0
    return ranked.sum(-1), orders[ranked]
