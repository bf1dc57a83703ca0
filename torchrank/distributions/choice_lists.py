"""Rankings as lists of choices, each different one once: what Plackett-Luce fits are computed from.

The cost of all that is here is that of the items listed, whatever the number of items.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from torchrank._cached import cached_property
from torchrank.distributions.choices import MISSING, REMEDY
from torchrank.ops.rank import as_rankings, is_sparse, sparse_rankings
from torchrank.rankings.missing import Missing, refuse_batches
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.sparse import SparseRankings

_BLOCK_ELEMENTS = 2**22  # of a block of padded lists, or of lists and items
_MOST_KEY = 2**62


@dataclass(frozen=True)
class ChoiceLists:
    """Different lists of items, best first, with the weight of each.

    At place p of a list an item is chosen among those at places p, p + 1, ... and, where the list says so, among the
    items that are not on it. A choice among one item says nothing and is not counted.
    """

    starts: Tensor  # (u + 1,) int64
    items: Tensor  # (N,) int64
    ranks: Tensor  # (N,) int32 dense ranks in the list: equal ones were chosen together
    whole: Tensor  # (u,) bool: whether items that are not listed were on offer
    weights: Tensor  # (u,) float64, above 0
    n_items: int

    @cached_property
    def lengths(self) -> Tensor:
        """``(u,)`` number of items listed."""
        return self.starts.diff()

    @cached_property
    def rows(self) -> Tensor:
        """``(N,)`` the list that each place belongs to."""
        return torch.arange(len(self.weights), device=self.items.device).repeat_interleave(self.lengths)

    @cached_property
    def places(self) -> Tensor:
        """``(N,)`` places within the lists, from 0 on."""
        return torch.arange(len(self.items), device=self.items.device) - self.starts[self.rows]

    @cached_property
    def made(self) -> Tensor:
        """``(u,)`` choices of one item that each list makes."""
        return self.lengths - (~self.whole | (self.lengths == self.n_items)).long()

    @cached_property
    def open(self) -> Tensor:
        """``(u,)`` bool: whether there are items on offer that are not listed."""
        return self.whole & (self.lengths < self.n_items)

    @property
    def wins(self) -> Tensor:
        """``(n,)`` weight of the choices that each item won."""
        won = self.weights[self.rows] * (self.places < self.made[self.rows])
        return won.new_zeros(self.n_items).index_add_(0, self.items, won)

    def padded(self) -> Iterator["Padded"]:
        """Blocks of lists of about the same length as matrices."""
        by_length = self.lengths.argsort(stable=True)
        first = 0
        while first < len(by_length):
            shortest = max(1, int(self.lengths[by_length[first]]))
            last = min(len(by_length), first + max(1, _BLOCK_ELEMENTS // (2 * shortest)))
            longest = self.lengths[by_length[first:last]]
            last = first + int((longest <= 2 * shortest).sum())
            rows = by_length[first:last]
            width = max(1, int(self.lengths[rows[-1]]))
            places = torch.arange(width, device=rows.device)
            listed = places < self.lengths[rows, None]
            at = torch.where(listed, self.starts[rows, None] + places, 0)
            yield Padded(rows, at, listed)
            first = last


class Padded(NamedTuple):
    """Some lists as a matrix of places."""

    rows: Tensor  # (b,) which lists
    at: Tensor  # (b, L) where each place is among all; 0 for padding
    listed: Tensor  # (b, L) bool: no padding


def one_set(X: Any, missing: Missing) -> Rankings | SparseRankings:
    """One set of rankings ``(m, n)``, checked, with the word for unranked items that was said."""
    if is_sparse(X):
        return sparse_rankings(X, missing=missing, legal=MISSING)
    rankings = as_rankings(X, missing=missing, remedy=REMEDY, legal=MISSING)
    if rankings.ndim != 2:
        raise ValueError(f"X has shape {tuple(rankings.shape)}; expected one matrix (rankings, items)")
    refuse_batches(rankings.meaning, "missing")
    return rankings


def choice_lists(rankings: SparseRankings, weights: Tensor) -> ChoiceLists:
    """The lists of choices of rankings, equal ones merged, those without a choice or a weight left out."""
    whole = rankings.meaning.topk_rows(len(rankings), rankings.items.device)
    used = ((weights > 0) & (rankings.lengths > (~whole).long())).nonzero()[:, 0]
    rankings, whole, weights = rankings[used], whole[used], weights[used]
    first, inverse = _distinct(rankings, whole)
    kept = rankings[first]
    total = weights.new_zeros(len(first)).index_add_(0, inverse, weights)
    return ChoiceLists(kept.starts, kept.items, kept.ranks, whole[first], total, rankings.n_items)


def _distinct(rankings: SparseRankings, whole: Tensor) -> tuple[Tensor, Tensor]:
    """Which rankings are different: where each is first ``(u,)``, and which of them every one is ``(m,)``."""
    lengths, n = rankings.lengths, rankings.n_items
    key = 2 * lengths + whole
    key, count = _numbered(key)
    # A place at a time, the rankings that have one: two are equal if what was before is, and this place.
    for place in range(int(lengths.max()) if len(lengths) else 0):
        longer = (lengths > place).nonzero()[:, 0]
        at = rankings.starts[longer] + place
        tied = torch.zeros_like(at)
        if place:
            tied = (rankings.ranks[at] == rankings.ranks[at - 1]).long()
        if count * 2 * n >= _MOST_KEY:
            key, count = _numbered(key)
        key = key * (2 * n)
        key[longer] += 2 * rankings.items[at] + tied
        count *= 2 * n
    key, count = _numbered(key)
    places = torch.arange(len(key), device=key.device)
    first = places.new_full((count,), len(key)).scatter_reduce_(0, key, places, "amin")
    order = first.argsort()
    number = torch.empty_like(order)
    number[order] = torch.arange(count, device=key.device)
    return first[order], number[key]


def _numbered(key: Tensor) -> tuple[Tensor, int]:
    values, inverse = torch.unique(key, return_inverse=True)
    return inverse, len(values)


class ListSums(NamedTuple):
    """Of each item and list, under some worths; T is the worth on offer at a choice, w the weight of its list."""

    rates: Tensor  # (n,) sum of w / T over the choices that the item took part in
    squares: Tensor  # (n,) sum of w / T^2 over them
    log_likelihood: Tensor  # ()


class Engine(Protocol):
    """Sums over lists of choices under worths ``(n,)`` above 0; the largest worth is about 1."""

    def sums(self, worths: Tensor) -> ListSums:
        """What gradient and likelihood need."""
        ...

    def product(self, worths: Tensor, x: Tensor) -> Tensor:
        """The information in the logits times ``x`` (n,): the covariances of all choices added up."""
        ...

    def offered_together(self, worths: Tensor) -> Tensor:
        """``(n, n)`` sum of w / T^2 over the choices between two items and maybe others; the diagonal is of no use."""
        ...


class TorchEngine:
    """Plain torch on padded blocks of lists: the truth, and the way of devices without an engine of their own."""

    def __init__(self, lists: ChoiceLists) -> None:
        self.lists, self.wins = lists, lists.wins

    def sums(self, worths: Tensor) -> ListSums:
        """What gradient and likelihood need."""
        rates, squares, log_total = torch.zeros_like(worths), torch.zeros_like(worths), worths.new_zeros(())
        for block in self.lists.padded():
            items, total, share, unlisted = self._block(block, worths)
            for power, found in enumerate((rates, squares)):
                until = (share / total**power).cumsum(-1)
                found.index_add_(0, items[block.listed], until[block.listed])
                if unlisted is not None:
                    found += until[:, -1] @ unlisted
            log_total = log_total + (share * total * total.log()).sum()
        won = self.wins > 0
        return ListSums(rates, squares, (self.wins[won] * worths[won].log()).sum() - log_total)

    def product(self, worths: Tensor, x: Tensor) -> Tensor:
        """The information in the logits times ``x`` (n,)."""
        result = torch.zeros_like(worths)
        for block in self.lists.padded():
            items, total, share, unlisted = self._block(block, worths)
            weighted = (worths * x)[items] * block.listed
            beyond = 0 if unlisted is None else (unlisted @ (worths * x))[:, None]
            mean = (weighted.flip(-1).cumsum(-1).flip(-1) + beyond) / total
            rate, mean = share.cumsum(-1), (share * mean).cumsum(-1)
            found = worths[items] * (x[items] * rate - mean)
            result.index_add_(0, items[block.listed], found[block.listed])
            if unlisted is not None:
                result += worths * (x * (rate[:, -1] @ unlisted) - mean[:, -1] @ unlisted)
        return result

    def offered_together(self, worths: Tensor) -> Tensor:
        """``(n, n)`` sum of w / T^2 over the choices between two items and maybe others."""
        n = self.lists.n_items
        together = worths.new_zeros(n, n)
        for block in self.lists.padded():
            items, total, share, unlisted = self._block(block, worths)
            until = (share / total).cumsum(-1)
            for p in range(items.shape[1]):  # two items are on offer together until the first of them is placed
                both = block.listed[:, p, None] & block.listed[:, p + 1 :]
                pair = (items[:, p, None] * n + items[:, p + 1 :])[both]
                together.view(-1).index_add_(0, pair, until[:, p, None].expand(both.shape)[both])
            if unlisted is not None:
                # Half for either of two unlisted ones, so that nothing has to be subtracted.
                by_item = until[:, -1, None] / 2 * unlisted
                rows = torch.arange(len(items), device=items.device)[:, None].expand_as(items)
                by_item[rows[block.listed], items[block.listed]] = until[block.listed]
                together += by_item.mT @ unlisted
        return together + together.mT

    def _block(self, block: Padded, worths: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Items ``(b, L)``, worth on offer, weight / worth of choices that are made, and which items are not listed."""
        lists = self.lists
        items = lists.items[block.at]
        total = (worths[items] * block.listed).flip(-1).cumsum(-1).flip(-1)
        unlisted = None
        if bool(lists.open[block.rows].any()):
            unlisted = lists.open[block.rows, None].to(worths.dtype).repeat(1, lists.n_items)
            rows = torch.arange(len(items), device=items.device)[:, None].expand_as(items)
            unlisted[rows[block.listed], items[block.listed]] = 0
            total = total + (unlisted @ worths)[:, None]
        total = total.clamp(min=torch.finfo(worths.dtype).tiny)
        made = torch.arange(items.shape[1], device=items.device) < lists.made[block.rows, None]
        return items, total, made * lists.weights[block.rows, None] / total, unlisted
