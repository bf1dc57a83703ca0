r"""Plackett-Luce with ties: at every choice a set of items is chosen, mostly of one.

.. math:: P(S \mid A) = \frac{f(S)}{\sum_{T \subseteq A,\, |T| \le D} f(T)}, \qquad
          f(S) = \delta_{|S|} \Bigl(\prod_{i \in S} e^{\theta_i}\Bigr)^{1 / |S|}, \qquad \delta_1 = 1

(Davidson, J. Am. Stat. Assoc. 65, 1970, for two items; Turner, van Etten, Firth and Kosmidis, Comput. Stat. 35, 2020).
The sum over all sets of t items is the elementary symmetric polynomial of order t in :math:`e^{\theta_i / t}`, which is
found for the items from each place on by adding one item at a time; nothing is subtracted.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from torchrank.distributions.choices import any_from_here, count_from_here, relative_logits


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


def log_sums(logits: Tensor, sizes: Tensor, log_delta: Tensor) -> Tensor:
    """Logarithm of the sum of f over the sets of items from each place on, ``(..., L)``.

    Args:
        logits: ``(..., L)`` of the items in their order, the lowest number where there is none.
        sizes: ``(t,)`` sizes of ties that have a parameter.
        log_delta: ``(t,)`` or ``(..., t)`` their parameters.
    """
    terms = [_log_polynomial(logits, 1)]
    for size, parameter in zip(sizes.tolist(), log_delta.unbind(-1), strict=True):
        terms.append(parameter[..., None] + _log_polynomial(logits / size, size))
    return torch.stack(torch.broadcast_tensors(*terms)).logsumexp(0)


def _log_polynomial(log_x: Tensor, order: int) -> Tensor:
    """The logarithm of :func:`polynomial`, which is exact where numbers of later items are as good as 0."""
    lowest = torch.finfo(log_x.dtype).min
    found = _log_sum_from_here(log_x)
    for _ in range(1, order):
        behind = torch.nn.functional.pad(found[..., 1:], (0, 1), value=lowest)
        found = _log_sum_from_here((log_x + behind).clamp(min=lowest))
    return found


def _log_sum_from_here(logits: Tensor) -> Tensor:
    """Logarithms of the sums of exponentials from each place ``(..., L)`` on, with derivatives of every order.

    Second ones of ``logcumsumexp`` go through logarithms of gradients, and are NaN here.
    """
    lowest, step = torch.finfo(logits.dtype).min, 1
    while step < logits.shape[-1]:  # sums of 1, 2, 4, ... places
        behind = torch.nn.functional.pad(logits[..., step:], (0, step), value=lowest)
        above = logits >= behind
        large, small = torch.where(above, logits, behind), torch.where(above, behind, logits)
        top = large.detach()
        logits = top + ((large - top).expm1() + (small - top).exp()).log1p()  # small parts keep their digits
        step *= 2
    return logits


def _log_sums_of_equals(count: Tensor, sizes: Tensor, log_delta: Tensor) -> Tensor:
    """The same from the place ``(..., L)`` on from which ``count`` items are left, all of worth 0: as of equal ones."""
    terms = [count.log()]
    for size, parameter in zip(sizes.tolist(), log_delta.unbind(-1), strict=True):
        rest = count - size
        sets = (count + 1).lgamma() - (rest.clamp(min=0) + 1).lgamma() - math.lgamma(size + 1)
        terms.append(torch.where(rest >= 0, parameter[..., None] + sets, -torch.inf))
    return torch.stack(torch.broadcast_tensors(*terms)).logsumexp(0)


def polynomial(log_x: Tensor, offered: Tensor, order: int) -> Tensor:
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
    theta, worthy = relative_logits(theta, choices.offered)
    left = any_from_here(worthy)
    of_worthless = (choices.starts & ~left).cumsum(-1) > 0  # sets that are chosen when nothing else is left
    won = torch.where(worthy, theta, torch.where(of_worthless, 0, -torch.inf))
    of_equals = _log_sums_of_equals(count_from_here(choices.offered), sizes, log_delta)
    totals = torch.where(left, log_sums(theta, sizes, log_delta), of_equals)
    return log_prob_of_sets(choices, won, totals, sizes, log_delta)


def log_prob_of_sets(choices: TiedChoices, theta: Tensor, totals: Tensor, sizes: Tensor, log_delta: Tensor) -> Tensor:
    """From logits and logarithms of sums over all sets ``(..., L)``."""
    by_size = theta.new_full((*log_delta.shape[:-1], max(2, int(sizes.max()) + 1 if len(sizes) else 2)), -torch.inf)
    by_size[..., :2] = 0
    by_size = by_size.index_copy(-1, sizes, log_delta).expand(*theta.shape[:-1], -1)
    won = torch.where(choices.size > 0, theta / choices.size.clamp(min=1), 0)
    size = choices.size.clamp(max=by_size.shape[-1] - 1).expand(theta.shape)
    at_start = by_size.gather(-1, size) - totals
    return (won + torch.where(choices.starts, at_start, 0)).sum(-1)


def sample(logits: Tensor, sizes: Tensor, log_delta: Tensor) -> Tensor:
    """Rankings drawn for logits ``(..., n)``: ``(..., n)`` scores n for the best items, n - 1 for the next, and so on.

    At each choice the size of the set is drawn first. Then the items are asked in turn whether they are in it, with
    their probability given the answers before.
    """
    n = logits.shape[-1]
    theta = (logits - logits.amax(-1, keepdim=True).clamp(min=torch.finfo(logits.dtype).min)).reshape(-1, n)
    left, scores = torch.ones_like(theta, dtype=torch.bool), torch.zeros_like(theta)
    sizes = torch.cat([sizes.new_ones(1), sizes])
    log_delta = torch.cat([log_delta.new_zeros(1), log_delta])
    for place in range(n):
        if not bool(left.any()):
            break
        top = torch.where(left, theta, -torch.inf).amax(-1, keepdim=True)
        # Of what is left, so that nothing underflows; where that has worth 0, all are equal.
        shifted = torch.where(left & (top > -torch.inf), theta - top, 0)
        mass = [
            parameter.exp() * polynomial(shifted / size, left, size)[:, 0]
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
    polynomials = [torch.ones_like(x), *(polynomial(log_x, offered, k) for k in range(1, size + 1))]
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
