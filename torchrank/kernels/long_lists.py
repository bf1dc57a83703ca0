"""Convolution Kendall kernels of short lists out of very many items, without a matrix of rankings and items."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from torchrank.ops.engines import why_missing
from torchrank.ops.expected_signs import (
    ITEM_BYTES,
    PAIR_BYTES,
    PartialRankings,
    RowKinds,
    expected_signs_product,
    partial_rankings,
)
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.tiles import plan_tiles, square_side
from torchrank.rankings.arrays import Matrix, Origin
from torchrank.rankings.convert import as_orders
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import PARTIAL, Missing, meaning_of
from torchrank.rankings.validate import check_choice, check_count, check_workspace

Orders = Tensor | np.ndarray | Sequence[Sequence[int]]
_MOST_ITEMS = 2**53
_BLOCK_ROWS = 64


@isolated
def partial_kendall_gram(
    orders: Orders,
    orders_y: Orders | None = None,
    *,
    n_items: int,
    missing: Missing = "interleaving",
    missing_y: Missing = None,
    variant: str = "a",
    workspace: int = WORKSPACE,
) -> Matrix:
    """Kernel of ``kendall_gram(..., missing=missing)`` between lists of preferred items, for any number of items.

    Two lists are compared in time that grows with their lengths alone, and memory with the number of lists and of
    different items in them: 10,000 lists of 50 out of 10,000,000 items are fine.

    Args:
        orders: ``(m, L)`` item indices, most preferred first, padded at the end with -1; or lists of any lengths.
        orders_y: ``(m2, L2)``; None means ``orders``, and a symmetric result.
        n_items: number of items, listed or not.
        missing: "interleaving" if items that a list leaves out may stand anywhere among its own, "topk" if below all of
            them; one word, or one for each list.
        missing_y: the same for ``orders_y``; None means ``missing``, if that is one word.
        variant: "a" for the mean Kendall kernel over all total rankings that agree with the lists, "b" for its cosine.
        workspace: bytes up to which dense matrices of lists and different items are used, which are faster for few
            items.

    Returns:
        ``(m, m2)`` float64; a NumPy array unless one of the two sides is a tensor.

    Raises:
        ValueError: an item listed twice, an index out of range, fewer than two items or more than 2^53, an unknown
            word or numbers of words that do not fit.
        TypeError: indices that are not integers.
    """
    check_choice(variant, "variant", ("a", "b"))
    workspace = check_workspace(workspace)
    check_count(n_items, "n_items", least=2)
    if n_items > _MOST_ITEMS:
        raise ValueError(f"n_items={n_items} is too large; beyond 2^53 float64 does not tell numbers of items apart")
    origin = Origin.of(orders, orders_y)
    x = as_orders(orders, "orders", n_items)
    kinds_x = _kinds_of_lists(missing, x, "missing")
    y, kinds_y = None, kinds_x
    if orders_y is None:
        if missing_y is not None:
            raise ValueError("missing_y is for orders_y, which is None: missing speaks of the lists in orders")
    else:
        y = as_orders(orders_y, "orders_y", n_items)
        if x.device != y.device:
            raise ValueError(f"orders is on {x.device} and orders_y on {y.device}; move one of them")
        if missing_y is None and not isinstance(missing, str):
            raise ValueError("missing has a word for each list of orders; pass missing_y for those of orders_y")
        kinds_y = _kinds_of_lists(missing if missing_y is None else missing_y, y, "missing_y")
    pairs = n_items * (n_items - 1) / 2
    self_x, self_y = _self_kernels(x, kinds_x, n_items), _self_kernels(x if y is None else y, kinds_y, n_items)
    numbered_x, numbered_y, columns = _numbered(x, y)
    side = max(len(x), 0 if y is None else len(y), 1)
    if square_side(ITEM_BYTES * columns, PAIR_BYTES, workspace // 2) >= side:
        product = _dense_product(numbered_x, kinds_x, numbered_y, kinds_y, columns, n_items, workspace)
    elif x.device.type == "cpu" and not why_missing("cpu"):
        from torchrank.cpu.partial_orders import partial_orders  # numba takes half a second to import

        product = partial_orders(numbered_x, kinds_x.top, numbered_y, kinds_y.top, columns, n_items)
    else:
        product = _tiled_product(x, kinds_x, y, kinds_y, n_items, workspace)
    if y is None:
        product.diagonal().copy_(self_x)
    for start in range(0, len(x), _BLOCK_ROWS):  # the matrix can be large: in place, and no second one
        block = slice(start, start + _BLOCK_ROWS)
        product[block] /= (self_x[block, None] * self_y).sqrt().clamp(min=1) if variant == "b" else pairs
    return origin.wrap(product)


def _kinds_of_lists(missing: Missing, orders: Tensor, name: str) -> RowKinds:
    meaning = meaning_of(missing, len(orders), name, orders.device, PARTIAL)
    top = meaning.topk_rows(len(orders), orders.device)
    if top.ndim != 1:
        raise ValueError(f"{name} has shape {tuple(top.shape)}; expected one word, or one for each list")
    return RowKinds(top, meaning.word == "interleaving")


def _numbered(x: Tensor, y: Tensor | None) -> tuple[Tensor, Tensor | None, int]:
    """Items by their place among the listed ones, padding as it is; and the number of different items listed."""
    listed = torch.cat([part[part >= 0] for part in (x, y) if part is not None]).unique()

    def number(orders: Tensor) -> Tensor:
        return torch.where(orders >= 0, torch.searchsorted(listed, orders.contiguous()), -1)

    return number(x), None if y is None else number(y), max(1, len(listed))


def _self_kernels(orders: Tensor, kinds: RowKinds, n: int) -> Tensor:
    """K(R, R) times n(n-1)/2 in closed form: C(k, 2) strict pairs, and n - k others against each listed item."""
    k = (orders >= 0).sum(dim=-1).to(torch.float64)
    against = torch.where(kinds.top, k, k * (k - 1).clamp(min=0) / (3 * (k + 1)))  # sum of r^2
    return k * (k - 1).clamp(min=0) / 2 + (n - k) * against


def _dense_product(
    x: Tensor, kinds_x: RowKinds, y: Tensor | None, kinds_y: RowKinds, columns: int, n: int, workspace: int
) -> Tensor:
    """By matrices of rankings and listed items, whose numbers are below ``columns``."""

    def prepare(orders: Tensor, kinds: RowKinds) -> PartialRankings:
        k = (orders >= 0).sum(dim=-1, keepdim=True)
        places = torch.arange(orders.shape[1], device=orders.device)
        ranks = torch.full((len(orders), columns + 1), -1, dtype=torch.int32, device=orders.device)
        ranks.scatter_(1, torch.where(orders >= 0, orders, columns), (k - 1 - places).to(torch.int32))
        strict, batched = (k * (k - 1) // 2).mT, kinds._replace(top=kinds.top[None])
        return partial_rankings(ranks[None, :, :columns].contiguous(), strict, batched, n)

    one, two = prepare(x, kinds_x), None if y is None else prepare(y, kinds_y)
    return expected_signs_product(one, two, "auto", workspace, False)[0]


def _tiled_product(x: Tensor, kinds_x: RowKinds, y: Tensor | None, kinds_y: RowKinds, n: int, workspace: int) -> Tensor:
    """By matrices of a few rankings and the items that they list."""
    other = x if y is None else y
    product = torch.empty((len(x), len(other)), dtype=torch.float64, device=x.device)
    items = max(1, x.shape[1] + other.shape[1])  # different ones for each row of a tile, and so for each pair
    pair_bytes = PAIR_BYTES + 2 * ITEM_BYTES * items
    shape = (1, len(x), len(other))
    for tile in plan_tiles(shape, symmetric=y is None, row_bytes=0, pair_bytes=pair_bytes, room=workspace // 2):
        rows, columns = tile.rows, tile.columns
        diagonal = y is None and tile.on_diagonal
        one, two, listed = _numbered(x[rows], None if diagonal else other[columns])
        of_one, of_two = (kinds._replace(top=kinds.top[part]) for kinds, part in ((kinds_x, rows), (kinds_y, columns)))
        part = _dense_product(one, of_one, two, of_two, listed, n, max(1, workspace // 2))
        product[rows, columns] = part
        if tile.mirrored:
            product[columns, rows] = part.mT
    return product
