"""Convolution Kendall kernels of short lists out of very many items, without a matrix of rankings and items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np
import torch
from torch import Tensor

from torchrank.kernels.all_pairs import all_pairs
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.quantities import Quantity
from torchrank.ops.rank import SparsePair
from torchrank.rankings.arrays import Origin
from torchrank.rankings.convert import as_orders
from torchrank.rankings.isolation import isolated
from torchrank.rankings.listed import flat_table
from torchrank.rankings.missing import PARTIAL, Missing, meaning_of, refuse_batches
from torchrank.rankings.sparse import SparseRankings, from_lists
from torchrank.rankings.unmapped import CHECKS, unmapped
from torchrank.rankings.validate import check_choice, check_count
from torchrank.typing import Array, Variant

Orders = Tensor | np.ndarray | Sequence[Sequence[int]]
_MOST_ITEMS = 2**53


@isolated
@unmapped(CHECKS)
def partial_kendall_gram(
    orders: Orders,
    orders_y: Orders | None = None,
    *,
    n_items: int,
    missing: Missing = "interleaving",
    missing_y: Missing = None,
    variant: Variant = "a",
    workspace: int = WORKSPACE,
) -> Array:
    """Kernel of ``kendall_gram(..., missing=missing)`` between lists of preferred items, for any number of items.

    Two lists are compared in time that grows with their lengths alone, and memory with the number of lists and of
    different items in them: 10,000 lists of 50 out of 10,000,000 items are fine. The same as the kernel of
    :meth:`torchrank.SparseRankings.from_orders`, in float64.

    Args:
        orders: ``(m, L)`` item indices, most preferred first, padded at the end with -1; or lists of any lengths.
        orders_y: ``(m2, L2)``; None means ``orders``, and a symmetric result.
        n_items: number of items, listed or not.
        missing: "interleaving" if items that a list leaves out may stand anywhere among its own, "topk" if below all of
            them; one word, or one for each list.
        missing_y: the same for ``orders_y``; None means ``missing``, if that is one word.
        variant: "a" for the mean Kendall kernel over all total rankings that agree with the lists, "b" for its cosine.
        workspace: bytes of memory to use at most beside the lists and the result.

    Returns:
        ``(m, m2)`` float64; a NumPy array unless one of the two sides is a tensor.

    Raises:
        ValueError: an item listed twice, an index out of range, fewer than two items or more than 2^53, an unknown
            word or numbers of words that do not fit.
        TypeError: indices that are not integers.
    """
    check_choice(variant, "variant", get_args(Variant))
    check_count(n_items, "n_items", least=2)
    if n_items > _MOST_ITEMS:
        raise ValueError(f"n_items={n_items} is too large; beyond 2^53 float64 does not tell numbers of items apart")
    x = _rankings(orders, "orders", n_items, missing, "missing")
    y = None
    if orders_y is None:
        if missing_y is not None:
            raise ValueError("missing_y is for orders_y, which is None: missing speaks of the lists in orders")
    else:
        if missing_y is None and not isinstance(missing, str):
            raise ValueError("missing has a word for each list of orders; pass missing_y for those of orders_y")
        y = _rankings(orders_y, "orders_y", n_items, missing if missing_y is None else missing_y, "missing_y")
        if x.ranks.device != y.ranks.device:
            raise ValueError(f"orders is on {x.ranks.device} and orders_y on {y.ranks.device}; move one of them")
    pair = SparsePair(x, y, torch.float64, Origin.of(orders, orders_y))
    return pair.origin.wrap(all_pairs(pair, Quantity(variant), method="auto", workspace=workspace)[0])


def _rankings(orders: Orders, name: str, n_items: int, missing: Missing, word: str) -> SparseRankings:
    table = as_orders(orders, name, n_items)
    meaning = meaning_of(missing, len(table), word, table.device, PARTIAL)
    refuse_batches(meaning, word)
    return from_lists(*flat_table(table), n_items, meaning, Origin.of(orders))
