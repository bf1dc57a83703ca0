"""The penalized log-likelihood of Plackett-Luce logits and tie parameters, with its derivatives."""

from collections.abc import Iterator

import torch
from torch import Tensor

from torchrank._cached import cached_property
from torchrank.distributions.choice_lists import ChoiceLists
from torchrank.distributions.priors import LogPrior
from torchrank.distributions.ties import TiedChoices, log_prob_of_sets, polynomial, tied_choices


def log_likelihoods(choices: TiedChoices, theta: Tensor, sizes: Tensor, log_delta: Tensor) -> Tensor:
    """Of rankings, for fits: by finite logits ``(..., L)`` in the order of the places, ``log_delta`` (t,) or (..., t).

    Faster, and good while logits are less than 700 apart.
    """
    lowest = torch.finfo(theta.dtype).min
    theta = theta - theta.detach().masked_fill(~choices.offered, lowest).amax(-1, keepdim=True).clamp(min=lowest)
    theta = theta.masked_fill(~choices.offered, 0)
    total = polynomial(theta, choices.offered, 1)
    for size, parameter in zip(sizes.tolist(), log_delta.exp().unbind(-1), strict=True):
        total = total + parameter[..., None] * polynomial(theta / size, choices.offered, size)
    total = total.clamp(min=torch.finfo(total.dtype).tiny).log()
    return log_prob_of_sets(choices, theta, total, sizes, log_delta)


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

    def _slopes(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Of each block the parameters of its lists ``(b, q)``, the gradient in them, and their places."""
        for block in self.objective.blocks:
            own, value = self._value(block)
            with torch.enable_grad():
                (slope,) = torch.autograd.grad(value, own, create_graph=True)
            yield own, slope, self._places(block[0])

    @cached_property
    def _second(self) -> list[tuple[Tensor, Tensor]]:
        """Of each block the information of its lists ``(b, q, q)``, and which parameters theirs are ``(b, q)``."""
        found = []
        for own, slope, places in self._slopes():
            with torch.enable_grad():
                totals = slope.sum(0).unbind()  # lists are apart: each has its own part of a derivative
            columns = [torch.autograd.grad(total, own, retain_graph=True)[0] for total in totals]
            found.append((-torch.stack(columns, -1), places))
        return found

    def _products(self, x: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Of each block the information of its lists times their parts of ``x``, ``(b, q)``, and their places."""
        if "_second" in self.__dict__:
            yield from (((information @ x[places][..., None])[..., 0], places) for information, places in self._second)
            return
        for own, slope, places in self._slopes():  # one derivative more: a point of a batch is asked once
            yield -torch.autograd.grad(slope, own, x[places])[0], places

    def product(self, x: Tensor) -> Tensor:
        """The information, minus the second derivatives, times ``x``."""
        result = torch.zeros_like(x)
        for values, places in self._products(x):
            result.index_add_(0, places.flatten(), values.flatten())
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
            logs = log_likelihoods(choices, own[:, :length], self.objective.sizes, own[:, length:])
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
