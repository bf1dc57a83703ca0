r"""Plackett-Luce with ties: at every choice a set of items is chosen, mostly of one.

.. math:: P(S \mid A) = \frac{f(S)}{\sum_{T \subseteq A,\, |T| \le D} f(T)}, \qquad
          f(S) = \delta_{|S|} \Bigl(\prod_{i \in S} e^{\theta_i}\Bigr)^{1 / |S|}, \qquad \delta_1 = 1

(Davidson, J. Am. Stat. Assoc. 65, 1970, for two items; Turner, van Etten, Firth and Kosmidis, Comput. Stat. 35, 2020).
The sum over all sets of t items is the elementary symmetric polynomial of order t in :math:`e^{\theta_i / t}`, which is
found for the items from each place on by adding one item at a time; nothing is subtracted.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from torchrank.distributions.choice_lists import ChoiceLists
from torchrank.distributions.priors import LogPrior


class TiedChoices(NamedTuple):
    """Choices of sets of items; rows are rankings, and the items of a place and all later ones are on offer."""

    order: Tensor  # (..., L) items, most preferred first; anything for padding
    offered: Tensor  # (..., L) bool: whether there is an item at the place
    starts: Tensor  # (..., L) bool: whether a set is chosen at this place, from it on
    size: Tensor  # (..., L) int64 number of items of the set that the place belongs to; 0 for items never chosen


def tied_choices(order: Tensor, ranks: Tensor, offered: Tensor) -> TiedChoices:
    """The choices of items in this order with these ranks ``(..., L)``, -1 for items that are never chosen."""
    chosen = offered & (ranks >= 0)
    starts = chosen.clone()
    starts[..., 1:] &= ranks[..., 1:] != ranks[..., :-1]
    group = starts.cumsum(-1) - 1
    members = torch.zeros_like(group).scatter_add_(-1, group.clamp(min=0), chosen.long())
    return TiedChoices(order, offered, starts, torch.where(chosen, members.gather(-1, group.clamp(min=0)), 0))


def log_sums(logits: Tensor, offered: Tensor, sizes: Tensor, log_delta: Tensor) -> Tensor:
    """Logarithm of the sum of f over the sets of items from each place on, ``(..., L)``.

    Args:
        logits: ``(..., L)`` of the items in their order, the largest about 0.
        offered: ``(..., L)`` where there is an item.
        sizes: ``(t,)`` sizes of ties that have a parameter.
        log_delta: ``(t,)`` or ``(..., t)`` their parameters.
    """
    total = _polynomial(logits, offered, 1)
    for size, parameter in zip(sizes.tolist(), log_delta.exp().unbind(-1), strict=True):
        total = total + parameter[..., None] * _polynomial(logits / size, offered, size)
    return total.clamp(min=torch.finfo(total.dtype).tiny).log()


def _polynomial(log_x: Tensor, offered: Tensor, order: int) -> Tensor:
    """The elementary symmetric polynomial of the items from each place on, ``(..., L)``."""
    x = log_x.exp() * offered
    found = x.flip(-1).cumsum(-1).flip(-1)
    for _ in range(1, order):
        # e_k of the items from here on: with the item here, x e_{k-1} of those behind; or without
        behind = torch.nn.functional.pad(found[..., 1:], (0, 1))
        found = (x * behind).flip(-1).cumsum(-1).flip(-1)
    return found


def log_prob(choices: TiedChoices, logits: Tensor, sizes: Tensor, log_delta: Tensor) -> Tensor:
    """Log-probability of rankings ``(...)`` under logits ``(..., n)``; differentiable in them and in ``log_delta``."""
    shape = torch.broadcast_shapes(choices.order.shape[:-1], logits.shape[:-1])
    theta = logits.expand(*shape, -1).gather(-1, choices.order.expand(*shape, -1))
    return log_prob_in_order(choices, theta, sizes, log_delta)


def log_prob_in_order(choices: TiedChoices, theta: Tensor, sizes: Tensor, log_delta: Tensor) -> Tensor:
    """The same of logits ``(..., L)`` in the order of the places; ``log_delta`` (t,) or (..., t)."""
    lowest = torch.finfo(theta.dtype).min
    theta = theta - theta.detach().masked_fill(~choices.offered, lowest).amax(-1, keepdim=True).clamp(min=lowest)
    theta = theta.masked_fill(~choices.offered, 0)
    by_size = theta.new_full((*log_delta.shape[:-1], max(2, int(sizes.max()) + 1 if len(sizes) else 2)), -torch.inf)
    by_size[..., :2] = 0
    by_size = by_size.index_copy(-1, sizes, log_delta).expand(*theta.shape[:-1], -1)
    won = torch.where(choices.size > 0, theta / choices.size.clamp(min=1), 0)
    size = choices.size.clamp(max=by_size.shape[-1] - 1).expand(theta.shape)
    at_start = by_size.gather(-1, size) - log_sums(theta, choices.offered, sizes, log_delta)
    return (won + torch.where(choices.starts, at_start, 0)).sum(-1)


def sample(logits: Tensor, sizes: Tensor, log_delta: Tensor) -> Tensor:
    """Rankings drawn for logits ``(..., n)``: ``(..., n)`` scores n for the best items, n - 1 for the next, and so on.

    At each choice the size of the set is drawn first. Then the items are asked in turn whether they are in it, with
    their probability given the answers before.
    """
    n = logits.shape[-1]
    theta = (logits - logits.amax(-1, keepdim=True)).reshape(-1, n)
    left, scores = torch.ones_like(theta, dtype=torch.bool), torch.zeros_like(theta)
    sizes = torch.cat([sizes.new_ones(1), sizes])
    log_delta = torch.cat([log_delta.new_zeros(1), log_delta])
    for place in range(n):
        if not bool(left.any()):
            break
        top = torch.where(left, theta, -torch.inf).amax(-1, keepdim=True)
        shifted = torch.where(left, theta - top, 0)  # of what is left, so that nothing underflows
        mass = [
            parameter.exp() * _polynomial(shifted / size, left, size)[:, 0]
            for size, parameter in zip(sizes.tolist(), log_delta, strict=True)
        ]
        mass = torch.stack(mass, -1)
        mass[:, 0].masked_fill_(~left.any(-1), 1)  # rows with nothing left have to draw something too
        drawn = sizes[torch.multinomial(mass, 1)[:, 0]]
        for size in sizes.tolist():
            rows = ((drawn == size) & left.any(-1)).nonzero()[:, 0]
            chosen = _subset(shifted[rows] / size, left[rows], size)
            scores[rows] += (n - place) * chosen
            left[rows] &= ~chosen
    return scores.reshape(logits.shape)


def _subset(log_x: Tensor, offered: Tensor, size: int) -> Tensor:
    """Sets of items ``(r, n)`` bool, each with probability proportional to the product of its x."""
    x = log_x.exp() * offered
    polynomials = [torch.ones_like(x), *(_polynomial(log_x, offered, k) for k in range(1, size + 1))]
    polynomials = torch.nn.functional.pad(torch.stack(polynomials), (0, 1))  # [size + 1, r, n + 1]
    polynomials[0] = 1
    wanted = torch.full((len(x),), size, device=x.device)
    rows = torch.arange(len(x), device=x.device)
    chosen = torch.zeros_like(offered)
    for item in range(x.shape[-1]):
        with_it = x[:, item] * polynomials[(wanted - 1).clamp(min=0), rows, item + 1]
        share = torch.where(wanted > 0, with_it / polynomials[wanted, rows, item].clamp(min=1e-300), 0)
        chosen[:, item] = torch.rand_like(share) < share
        wanted = wanted - chosen[:, item].long()
    return chosen


class TiedObjective:
    """Log-likelihood of logits ``(n,)`` and logarithms of tie parameters behind them, and a prior of the logits.

    ``sizes`` are those of ties that have a parameter; None means those of the lists.
    """

    def __init__(self, lists: ChoiceLists, prior: LogPrior | None, sizes: Tensor | None = None) -> None:
        self.n, self.prior = lists.n_items, prior
        self.blocks = [*_blocks(lists)]
        none = lists.items.new_zeros(0)
        own = torch.cat([none, *(choices.size[choices.starts] for choices, _ in self.blocks)]).unique()
        self.sizes = own[own > 1] if sizes is None else sizes
        self.level = None
        if prior is None or not prior.fixes_level:
            self.level = (torch.arange(self.n + len(self.sizes), device=own.device) < self.n).double()

    def at(self, parameters: Tensor) -> "TiedPoint":
        """Evaluate it at logits."""
        return TiedPoint(self, parameters)


class TiedPoint:
    """The objective at some parameters.

    The logits of a list and the tie parameters are q = L + t numbers. Derivatives in these are taken for all lists of a
    block at once, and then added up.
    """

    def __init__(self, objective: TiedObjective, parameters: Tensor) -> None:
        self.objective, self.n, self.parameters = objective, objective.n, parameters
        self._prior = objective.prior
        self.value, self.gradient = 0.0, torch.zeros_like(parameters)
        for block in objective.blocks:
            own, value = self._value(block)
            (slope,) = torch.autograd.grad(value, own)
            self.value += float(value.detach())
            self.gradient.index_add_(0, self._places(block[0]).flatten(), slope.flatten())
        self.log_likelihood = self.value
        if self._prior is not None:
            self.value += float(self._prior.value(parameters[: self.n]))
            self.gradient[: self.n] += self._prior.gradient(parameters[: self.n])

    @cached_property
    def _second(self) -> list[tuple[Tensor, Tensor]]:
        """Of each block the information of its lists ``(b, q, q)``, and which parameters theirs are ``(b, q)``."""
        found = []
        for block in self.objective.blocks:
            own, value = self._value(block)
            with torch.enable_grad():
                (slope,) = torch.autograd.grad(value, own, create_graph=True)
                totals = slope.sum(0).unbind()  # lists are apart: each has its own part of a derivative
            columns = [torch.autograd.grad(total, own, retain_graph=True)[0] for total in totals]
            found.append((-torch.stack(columns, -1), self._places(block[0])))
        return found

    def product(self, x: Tensor) -> Tensor:
        """The information, minus the second derivatives, times ``x``."""
        result = torch.zeros_like(x)
        for information, places in self._second:
            result.index_add_(0, places.flatten(), (information @ x[places][..., None]).flatten())
        if self._prior is not None:
            result[: self.n] += self._prior.product(self.parameters[: self.n], x[: self.n, None])[:, 0]
        return result

    def diagonal(self) -> Tensor:
        """Of the information."""
        result = torch.zeros_like(self.parameters)
        for information, places in self._second:
            result.index_add_(0, places.flatten(), information.diagonal(dim1=-2, dim2=-1).flatten())
        if self._prior is not None:
            result[: self.n] += self._prior.diagonal(self.parameters[: self.n])
        return result

    def information(self) -> Tensor:
        """Minus the second derivatives, ``(q, q)``."""
        size = len(self.parameters)
        result = self.parameters.new_zeros(size, size)
        for information, places in self._second:
            pairs = places[:, :, None] * size + places[:, None, :]
            result.view(-1).index_add_(0, pairs.flatten(), information.flatten())
        if self._prior is not None:
            eye = torch.eye(self.n, dtype=result.dtype, device=result.device)
            result[: self.n, : self.n] += self._prior.product(self.parameters[: self.n], eye)
        return result

    def _value(self, block: tuple[TiedChoices, Tensor]) -> tuple[Tensor, Tensor]:
        """Parameters of each list ``(b, q)``, which derivatives are taken in, and the log-likelihood of the block."""
        choices, weights = block
        with torch.enable_grad():
            own = self.parameters[self._places(choices)].requires_grad_()
            length = choices.order.shape[-1]
            logs = log_prob_in_order(choices, own[:, :length], self.objective.sizes, own[:, length:])
            return own, (weights * logs).sum()

    def _places(self, choices: TiedChoices) -> Tensor:
        """Which of all parameters those of each list are, ``(b, L + t)``; padding has no part in any sum."""
        ties = torch.arange(self.n, len(self.parameters), device=choices.order.device)
        return torch.cat([choices.order, ties.expand(len(choices.order), -1)], -1)


def _blocks(lists: ChoiceLists) -> Iterator[tuple[TiedChoices, Tensor]]:
    """Blocks of lists of about one length, and their weights; open lists get all items that they do not list."""
    n = lists.n_items
    for block in lists.padded():
        opened = lists.open[block.rows]
        for part, whole in ((~opened, False), (opened, True)):
            if not bool(part.any()):
                continue
            rows, at, listed = block.rows[part], block.at[part], block.listed[part]
            order, ranks = lists.items[at], torch.where(listed, lists.ranks[at], -1)
            if whole:
                order, ranks, listed = _with_unlisted(order, ranks, listed, n)
            yield tied_choices(order, ranks, listed), lists.weights[rows]


def _with_unlisted(order: Tensor, ranks: Tensor, listed: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """The same lists with all other items behind them, never chosen."""
    by_item = torch.full((len(order), n), -1, dtype=ranks.dtype, device=ranks.device)
    row = torch.arange(len(order), device=order.device)[:, None].expand_as(order)
    by_item[row[listed], order[listed]] = ranks[listed]
    order = by_item.argsort(dim=-1, descending=True, stable=True)
    return order, by_item.gather(-1, order), torch.ones_like(order, dtype=torch.bool)
