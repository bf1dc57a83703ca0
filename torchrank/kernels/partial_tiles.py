"""Products of expected signs of many partial rankings, tile by tile, so that memory stays within the workspace."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from tqdm import tqdm

from torchrank.kernels.partial import PartialRankings, RowKinds, expected_signs_product, partial_rankings

ITEM_BYTES = 75  # for each item of a row on both sides of a tile: one side is held, the other is being made
PAIR_BYTES = 100  # for each pair of rows in a tile


class PartialRows(NamedTuple):
    """Dense ranks and what belongs to them."""

    ranks: Tensor  # (b, m, n) int32, -1 = unranked
    strict: Tensor  # (b, m) pairs of items ordered strictly
    kinds: RowKinds  # (b, m)

    def prepare(self, batches: slice, rows: slice) -> PartialRankings:
        """Some of the rows, ready for the formula."""
        kinds = RowKinds(self.kinds.top[batches, rows], self.kinds.some_interleaved)
        return partial_rankings(self.ranks[batches, rows], self.strict[batches, rows], kinds, self.ranks.shape[-1])


class Expected(NamedTuple):
    """Sums over pairs of items, float64: n(n-1)/2 times kernels."""

    product: Tensor  # (b, m, m2) of E E'
    self_x: Tensor  # (b, m) of E^2
    self_y: Tensor  # (b, m2) of E'^2


def expected_signs(x: PartialRows, y: PartialRows | None, method: str, workspace: int, progress: bool) -> Expected:
    """Sums for all rows of x and y, within ``workspace`` bytes beside inputs and results; symmetric without ``y``."""
    (b, m, n), m2 = x.ranks.shape, (x if y is None else y).ranks.shape[1]
    if torch.compiler.is_compiling():  # sizes may be symbols, and the compiler plans memory itself
        one, two = x.prepare(slice(None), slice(None)), None if y is None else y.prepare(slice(None), slice(None))
        product = expected_signs_product(one, two, method, workspace, progress)
        return Expected(product, one.self_kernel, one.self_kernel if two is None else two.self_kernel)
    product = torch.empty((b, m, m2), dtype=torch.float64, device=x.ranks.device)
    self_x, self_y = product.new_empty((b, m)), product.new_empty((b, m2))
    side = tile_side(ITEM_BYTES * n, max(m, m2), workspace)
    step = max(1, workspace // 2 // (ITEM_BYTES * n * side + PAIR_BYTES * side**2))
    many = [slice(start, start + step) for start in range(0, b, step)]
    tiles = [(batches, *tile) for batches in many for tile in square_tiles(m, m2, side, symmetric=y is None)]
    for batches, rows, columns in tqdm(tiles, desc="partial rankings", disable=not progress or len(tiles) == 1):
        one = x.prepare(batches, rows)
        two = None if y is None and rows == columns else (x if y is None else y).prepare(batches, columns)
        tile = expected_signs_product(one, two, method, max(1, workspace // 2), progress and len(tiles) == 1)
        product[batches, rows, columns] = tile
        if y is None and two is not None:
            product[batches, columns, rows] = tile.mT
        self_x[batches, rows] = one.self_kernel
        if two is not None:
            self_y[batches, columns] = two.self_kernel
    return Expected(product, self_x, self_x if y is None else self_y)


def tile_side(item_bytes: int, most: int, workspace: int, pair_bytes: int = PAIR_BYTES) -> int:
    """The most rows on either side of a tile that take half the workspace: the engine gets the other half."""
    room = math.isqrt(item_bytes**2 + 2 * pair_bytes * workspace) - item_bytes
    return max(1, min(most, room // (2 * pair_bytes)))


def square_tiles(m: int, m2: int, side: int, *, symmetric: bool) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of each tile; without those above the diagonal if it is symmetric."""
    for row in range(0, m, side):
        for column in range(0, row + 1 if symmetric else m2, side):
            yield slice(row, row + side), slice(column, column + side)
