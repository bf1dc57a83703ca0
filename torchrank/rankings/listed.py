"""Ratings and lists of items, checked: what sparse rankings are made of."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchrank.rankings.arrays import Matrix, as_tensor
from torchrank.rankings.convert import as_orders
from torchrank.rankings.validate import check_count


def as_indices(values: Matrix, name: str, scores: Tensor) -> Tensor:
    """Indices ``(N,)`` int64, one for each score; ``TypeError`` or ``ValueError`` if they are something else."""
    index, _ = as_tensor(values, name, "integers from 0 on")
    if (index.is_floating_point() or index.dtype == torch.bool) and index.numel():
        raise TypeError(f"{name} has dtype {index.dtype}; expected integers from 0 on")
    if index.shape != scores.shape:
        raise ValueError(f"{name} has shape {tuple(index.shape)} and scores {tuple(scores.shape)}; expected one each")
    return index.to(scores.device, torch.int64)


def checked_shape(shape: Any, row: Tensor, item: Tensor) -> tuple[int, int]:
    """Numbers of rankings and of items, indices checked against them."""
    m, n = shape
    check_count(m, "shape[0]", least=0)
    check_count(n, "n_items", least=0)
    if n < 2:
        raise ValueError(f"there are {n} item(s); ranking needs at least 2 items")
    for index, most, name in ((row, m, "rows"), (item, n, "items")):
        wrong = (index < 0) | (index >= most)
        if bool(wrong.any()):
            place = int(wrong.nonzero()[0])
            raise ValueError(f"{name} has {int(index[place])} at {place}; expected an index from 0 to {most - 1}")
    return int(m), int(n)


def refuse_repeated(row: Tensor, item: Tensor, n: int) -> None:
    """Raise where a row has an item twice."""
    key = (row * n + item).sort().values if len(row) and (int(row.max()) + 1) * n < 2**63 else None
    if key is None:
        return
    twice = (key[1:] == key[:-1]).nonzero()
    if len(twice):
        row_index, item_index = divmod(int(key[twice[0, 0]]), n)
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
        raise ValueError(f"orders has {orders[place]!r} in row {place}; expected a list of item indices")
    lengths = np.fromiter(map(len, orders), np.int64, len(orders))
    flat = np.array([*chain.from_iterable(orders)])
    if flat.size and (flat.ndim != 1 or flat.dtype.kind not in "iu"):
        raise TypeError(f"orders has dtype {flat.dtype}; expected integer item indices, from 0 on")
    listed = torch.from_numpy(flat.astype(np.int64))
    if bool((listed == -1).any()):
        table = as_orders(orders, "orders", None)
        ranked = table >= 0
        return ranked.sum(-1), table[ranked]
    return torch.from_numpy(lengths), listed
