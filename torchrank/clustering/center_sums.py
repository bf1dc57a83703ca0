"""Costs of rankings at centers known by pair signs, and sums of pair signs by classes, without keeping any signs."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from torchrank.ops.engines import why_missing
from torchrank.rankings.pairs import n_pairs, pair_signs
from torchrank.rankings.prepared import Rankings

_BLOCK_BYTES = 2**25  # of pair signs that are held at a time
_MOST_TABLE = 2**27  # bytes of the compiled engine's tables, 32 for each pair and center


class Costs(NamedTuple):
    """What a ranking costs at a center: ``own + offset - 2 lean (its pair signs) . (those of the center)``."""

    own: Tensor  # (r,) float64
    lean: Tensor  # (r,)
    offset: Tensor  # (c,); infinite for centers without members


class CenterSums(Protocol):
    """A pass over rankings for given centers ``(c, p)``."""

    def products(self, rankings: Rankings) -> Tensor:
        """``(r, c)`` products of the pair signs of rankings with the centers."""
        ...

    def sums(self, rankings: Rankings, labels: Tensor, load: Tensor) -> Tensor:
        """``(c, p)`` sums of the pair signs of the rankings of each label, each times its ``load`` (r,)."""
        ...

    def weighted_sums(self, rankings: Rankings, shares: Tensor) -> Tensor:
        """``(c, p)`` sums of the pair signs of all rankings, each times its ``shares`` (r, c)."""
        ...


def center_sums(centers: Tensor, n: int) -> CenterSums:
    """The faster engine for centers given by ``(c, p)`` pair signs, or means of such, of n items."""
    small = 32 * centers.numel() <= _MOST_TABLE
    if centers.device.type == "cpu" and small and not why_missing("cpu"):
        return _Compiled(centers, n)
    return _InTorch(centers)


def relative_costs(engine: CenterSums, rankings: Rankings, costs: Costs) -> Tensor:
    """``(r, c)`` what rankings cost at centers, less their own."""
    return engine.products(rankings).mul_(-2 * costs.lean[:, None]).add_(costs.offset)


def nearest_centers(engine: CenterSums, rankings: Rankings, costs: Costs, tolerance: float) -> tuple[Tensor, Tensor]:
    """The first of the cheapest centers, costs within ``tolerance`` being equal, and its cost; both ``(r,)``."""
    relative = relative_costs(engine, rankings, costs)
    near = relative <= relative.amin(-1, keepdim=True) + tolerance
    labels = near.to(torch.uint8).argmax(-1)
    return labels, (costs.own + relative.gather(-1, labels[:, None])[:, 0]).clamp_(min=0)


class _Compiled:
    """By numba."""

    def __init__(self, centers: Tensor, n: int) -> None:
        from torchrank.cpu.center_sums import CenterSums as Engine  # numba takes half a second to import

        self.engine = Engine(n, centers.numpy())

    def products(self, rankings: Rankings) -> Tensor:
        return torch.from_numpy(self.engine.products(rankings.ranks.numpy(), bool(rankings.untied)))

    def sums(self, rankings: Rankings, labels: Tensor, load: Tensor) -> Tensor:
        found = self.engine.sums(rankings.ranks.numpy(), bool(rankings.untied), labels.numpy(), load.numpy())
        return torch.from_numpy(found)

    def weighted_sums(self, rankings: Rankings, shares: Tensor) -> Tensor:
        found = self.engine.weighted_sums(rankings.ranks.numpy(), bool(rankings.untied), shares.contiguous().numpy())
        return torch.from_numpy(found)


class _InTorch:
    """By products of matrices, block by block: the truth, and the way of devices without an engine of their own."""

    def __init__(self, centers: Tensor) -> None:
        self.centers = centers

    def products(self, rankings: Rankings) -> Tensor:
        found = self.centers.new_empty(len(rankings), len(self.centers))
        for some, signs in _blocks_of_signs(rankings):
            found[some] = signs @ self.centers.mT
        return found

    def sums(self, rankings: Rankings, labels: Tensor, load: Tensor) -> Tensor:
        clusters = torch.arange(len(self.centers), device=labels.device)
        return self.weighted_sums(rankings, (labels[:, None] == clusters) * load[:, None])

    def weighted_sums(self, rankings: Rankings, shares: Tensor) -> Tensor:
        found = torch.zeros_like(self.centers)
        for some, signs in _blocks_of_signs(rankings):
            found += shares[some].mT @ signs
        return found


def _blocks_of_signs(rankings: Rankings) -> Iterator[tuple[slice, Tensor]]:
    rows = max(1, _BLOCK_BYTES // (8 * max(1, n_pairs(rankings.shape[1]))))
    for start in range(0, len(rankings), rows):
        some = slice(start, start + rows)
        yield some, pair_signs(rankings.ranks[some])
