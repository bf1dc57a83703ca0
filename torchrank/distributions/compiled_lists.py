"""Sums over lists of choices by the compiled engine of the CPU."""

import numpy as np
import torch
from torch import Tensor

from torchrank._cached import cached_property
from torchrank.cpu import choice_lists as cpu
from torchrank.distributions.choice_lists import ChoiceLists, ListSums
from torchrank.rankings.listed import starts_of

_BLOCK_ELEMENTS = 2**22


class CompiledEngine:
    """See :class:`torchrank.distributions.choice_lists.Engine`."""

    def __init__(self, lists: ChoiceLists) -> None:
        self.lists = lists
        self._lists = cpu.Lists(*(part.numpy() for part in (lists.starts, lists.items, lists.made, lists.weights)))
        self._wins = lists.wins
        self._open = lists.open.numpy()
        self._any_open = bool(self._open.any())

    @cached_property
    def _by_list(self) -> tuple[np.ndarray, np.ndarray]:
        """Items of every open list in rising order."""
        starts, items, _ = self._open_lists
        rows = torch.arange(len(starts) - 1).repeat_interleave(starts.diff())
        order = items.argsort(stable=True)
        return starts.numpy(), items[order[rows[order].argsort(stable=True)]].numpy()

    @cached_property
    def _by_item(self) -> tuple[np.ndarray, np.ndarray]:
        """The open lists, numbered among themselves, that have each item."""
        starts, items, n = self._open_lists
        rows = torch.arange(len(starts) - 1).repeat_interleave(starts.diff())
        return starts_of(torch.bincount(items, minlength=n)).numpy(), rows[items.argsort(stable=True)].numpy()

    @cached_property
    def _open_lists(self) -> tuple[Tensor, Tensor, int]:
        lists = self.lists
        return starts_of(lists.lengths[lists.open]), lists.items[lists.open[lists.rows]], lists.n_items

    def _tail(self, values: np.ndarray) -> np.ndarray:
        """Sum over the unlisted items that each list offers, ``(u,)``."""
        tail = np.zeros(len(self._open))
        if self._any_open:
            tail[self._open] = cpu.complement_sums(*self._by_list, values)
        return tail

    def _unlisted(self, values: np.ndarray) -> np.ndarray:
        """Sum over the lists that offer each item without listing it, ``(n,)``."""
        return cpu.complement_sums(*self._by_item, values[self._open])

    def sums(self, worths: Tensor) -> ListSums:
        """What gradient and likelihood need."""
        found, _ = self._sums(worths)
        return found

    def _sums(self, worths: Tensor) -> tuple[ListSums, cpu.Sums]:
        v = worths.numpy()
        found = cpu.sums(self._lists, self._tail(v), v)
        rates, squares = found.rates, found.squares
        if self._any_open:
            rates, squares = (part + self._unlisted(rest) for part, rest in zip(found[:2], found.rest, strict=True))
        won = self._wins > 0
        log_likelihood = (self._wins[won] * worths[won].log()).sum() - found.log_total
        return ListSums(torch.from_numpy(rates), torch.from_numpy(squares), log_likelihood), found

    def product(self, worths: Tensor, x: Tensor) -> Tensor:
        """The information in the logits times ``x`` (n,)."""
        v, x_ = worths.numpy(), x.numpy()
        result, (rate, mean) = cpu.product(self._lists, self._tail(v), self._tail(v * x_), v, x_)
        if self._any_open:
            result += v * (x_ * self._unlisted(rate) - self._unlisted(mean))
        return torch.from_numpy(result)

    def offered_together(self, worths: Tensor) -> Tensor:
        """``(n, n)`` sum of w / T^2 over the choices between two items and maybe others."""
        _, found = self._sums(worths)
        together = torch.from_numpy(cpu.offered_together(self._lists, found.until, len(worths)))
        if self._any_open:
            until, rest = torch.from_numpy(found.until), torch.from_numpy(found.rest[1])
            together += self._open_together(until, rest)
        return together

    def _open_together(self, until: Tensor, rest: Tensor) -> Tensor:
        """The part of two items of which at least one is on offer without being listed."""
        lists, n = self.lists, self.lists.n_items
        together = torch.zeros(n, n, dtype=torch.float64)
        (rows,) = lists.open.nonzero(as_tuple=True)
        for block in rows.split(max(1, _BLOCK_ELEMENTS // n)):
            unlisted = torch.ones(len(block), n, dtype=torch.float64)
            lengths = lists.lengths[block]
            row = torch.arange(len(block)).repeat_interleave(lengths)
            at = torch.arange(len(row)) + (lists.starts[block] - starts_of(lengths)[:-1]).repeat_interleave(lengths)
            unlisted[row, lists.items[at]] = 0
            # Half for either of two unlisted ones, so that nothing has to be subtracted.
            by_item = rest[block, None] / 2 * unlisted
            by_item[row, lists.items[at]] = until[at]
            together += by_item.mT @ unlisted
        return together + together.mT
