"""Exact Kemeny rankings of few items, by dynamic programming over the subsets that are still to be placed."""

from typing import NamedTuple

import torch
from torch import Tensor

MOST_ITEMS = 16  # 2^16 subsets of 16 items: 8 MB for every matrix
_BLOCK_BYTES = 256 * 2**20


class BestOrders(NamedTuple):
    """The least costly orders of some matrices."""

    order: Tensor  # (b, n) int64 items, most preferred first
    unique: Tensor  # (b,) bool: whether no other order costs as little


def best_orders(
    excess: Tensor,  # (b, n, n) float64 cost of placing i above j
    tolerance: float | Tensor,  # (b,) costs that differ by no more are equal
) -> BestOrders:
    """The least costly order of n items for every matrix; of several the first in lexicographic order.

    With h(T) the least cost of ordering the items T, and the first of them being i,

        h(T) = min over i in T of [sum over j in T of excess(i, j)] + h(T without i)

    (Held and Karp, 1962, for orders). Subsets are bit masks, taken by size.
    """
    b, n = excess.shape[:2]
    step = max(1, _BLOCK_BYTES // (24 * n * 2**n))
    limit = torch.as_tensor(tolerance, dtype=torch.float64, device=excess.device).expand(b)
    if b == 0:
        empty = torch.empty((0, n), dtype=torch.int64, device=excess.device)
        return BestOrders(empty, empty.new_empty(0, dtype=torch.bool))
    blocks = [_best_orders(excess[s : s + step], limit[s : s + step]) for s in range(0, b, step)]
    return BestOrders(*(torch.cat(parts) for parts in zip(*blocks, strict=True)))


def _best_orders(excess: Tensor, tolerance: Tensor) -> BestOrders:
    b, n = excess.shape[:2]
    device = excess.device
    bits = 1 << torch.arange(n, device=device)
    subsets = torch.arange(2**n, device=device)
    member = (subsets[:, None] & bits) > 0  # [2^n, n]
    above_rest = member.to(torch.float64) @ excess.mT  # [b, 2^n, n]
    cost = torch.zeros((b, 2**n), dtype=torch.float64, device=device)
    ways = torch.ones((b, 2**n), dtype=torch.int64, device=device)  # number of best orders, 2 for more
    first = torch.zeros((b, 2**n), dtype=torch.int64, device=device)
    size = member.sum(dim=-1)
    for k in range(1, n + 1):
        chosen = (size == k).nonzero().squeeze(-1)
        inside = member[chosen]  # [c, n]
        rest = torch.where(inside, chosen[:, None] ^ bits, 0)
        by_first = (above_rest[:, chosen] + cost[:, rest]).masked_fill(~inside, torch.inf)
        least = by_first.amin(dim=-1)
        best = by_first <= (least + tolerance[:, None])[..., None]
        cost[:, chosen] = least
        ways[:, chosen] = (ways[:, rest] * best).sum(dim=-1).clamp_(max=2)
        first[:, chosen] = best.to(torch.uint8).argmax(dim=-1)  # the first of equal ones
    left = torch.full((b, 1), 2**n - 1, dtype=torch.int64, device=device)
    unique = ways.gather(-1, left).squeeze(-1) == 1
    order = []
    for _ in range(n):
        order.append(first.gather(-1, left))
        left = left ^ bits[order[-1]]
    return BestOrders(torch.cat(order, dim=-1), unique)
