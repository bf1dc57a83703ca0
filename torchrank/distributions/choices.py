"""Rankings as sequences of choices: the best of all, the best of the rest, and so on."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from torchrank.rankings.missing import PARTIAL, Meaning
from torchrank.rankings.orders import best_first
from torchrank.stream.sums import Sums

MISSING = ("raise", *PARTIAL)
REMEDY = 'pass missing="interleaving" if unranked items may be anywhere, or "topk" if they are below all ranked ones'

_FARTHEST = 0.9  # of the largest number, so that rounding does not lead beyond it

UNTIED = "Plackett-Luce rankings have no ties: break them, for example at random, or leave items out (NaN)"
TIES_OR = UNTIED + ", or pass "


class Choices(NamedTuple):
    """Choices that rankings consist of. At place p an item is chosen among those at places p, p + 1, ...; ``(..., n)``.

    A choice among one item says nothing and is not counted.
    """

    order: Tensor  # item at each place, most preferred first; int64
    place: Tensor  # of each item; int64
    made: Tensor  # whether there is a choice at the place
    offered: Tensor  # whether the item at the place can be chosen at all; such places come first


def choices_of(
    ranks: Tensor,  # (..., n) dense ranks without ties, -1 = unranked
    meaning: Meaning,
) -> Choices:
    """The choices of rankings whose unranked items were not on offer ("interleaving") or not chosen ("topk").

    Leaving items out is the same as letting them be anywhere: the probability that Plackett-Luce gives to a ranking of
    some items is the sum over all total rankings that agree with it.
    """
    order = best_first(ranks)
    place = torch.empty_like(order).scatter(
        -1, order, torch.arange(ranks.shape[-1], device=ranks.device).expand_as(order)
    )
    ranked = ranks.gather(-1, order) >= 0
    if meaning.topk is None:
        offered = torch.ones_like(ranked) if meaning.word == "topk" else ranked
    else:
        offered = ranked | meaning.topk[..., None]
    last = offered.sum(dim=-1, keepdim=True) - 1
    made = ranked & (torch.arange(ranks.shape[-1], device=ranks.device) < last)
    return Choices(order, place, made, offered)


def log_prob(
    choices: Choices,  # (..., n)
    logits: Tensor,  # (..., n) that broadcasts with them; -inf is the worth 0
) -> Tensor:
    """Log-probability of each ranking, ``(...)``, at least float32; gradients of items not on offer are exactly 0.

    Arithmetic is in float64: beside a large logit the others would lose their differences in narrower dtypes.
    """
    shape = torch.broadcast_shapes(choices.order.shape, logits.shape)
    sorted_logits = logits.to(torch.float64).expand(shape).gather(-1, choices.order.expand(shape))
    theta, worthy = relative_logits(sorted_logits, choices.offered)
    log_total = theta.flip(-1).logcumsumexp(dim=-1).flip(-1)
    won = torch.where(worthy, theta - log_total, -torch.inf)
    won = torch.where(any_from_here(worthy), won, -count_from_here(choices.offered).log())
    return torch.where(choices.made, won, 0).sum(dim=-1).to(torch.promote_types(logits.dtype, torch.float32))


def relative_logits(logits: Tensor, offered: Tensor) -> tuple[Tensor, Tensor]:
    """Logits less the largest one on offer, and which items are on offer with a worth above 0; ``(..., L)``.

    Only differences count, and a large common part would cost them digits. Other items get the lowest number and not
    -inf, whose gradient is NaN: its exponential beside any other is 0 just as well. They have no gradient. Differences
    that float64 does not hold are as large as it nearly holds, with the gradients of all others.
    """
    lowest = torch.finfo(logits.dtype).min
    worthy = offered & (logits != -torch.inf)
    known = logits.masked_fill(~worthy, 0)
    largest = known.detach().masked_fill(~worthy, lowest).amax(-1, keepdim=True)
    least = torch.maximum(known.detach(), largest + _FARTHEST * lowest)
    known = known + (least - known.detach())
    return (known - largest.masked_fill(~worthy.any(-1, keepdim=True), 0)).masked_fill(~worthy, lowest), worthy


def any_from_here(flags: Tensor) -> Tensor:
    """Whether a flag is set at a place ``(..., L)`` or behind it."""
    return flags.flip(-1).cumsum(-1).flip(-1) > 0


def count_from_here(offered: Tensor) -> Tensor:
    """How many items are on offer at a place ``(..., L)`` and behind, float64, at least 1."""
    return offered.flip(-1).cumsum(-1).flip(-1).clamp(min=1).to(torch.float64)


@dataclass(frozen=True)
class ChoiceStatistics(Sums):
    """What an update of Plackett-Luce worths needs of a set of rankings; those of two sets add up.

    For the worths that they were computed with, ``wins - worth * rates`` is the gradient of the log-likelihood in the
    logits.
    """

    wins: Tensor  # (..., n) weight of the choices that each item won
    rates: Tensor  # (..., n) sum of weight / (total worth on offer) over the choices that each item took part in
    log_likelihood: Tensor  # (...)


def choice_statistics(
    choices: Choices,  # (m, n)
    worths: Tensor,  # (..., n) at least 0
    weights: Tensor,  # (..., m)
) -> ChoiceStatistics:
    """Weighted statistics of m rankings under worths; leading dimensions are, say, the components of a mixture."""
    made = choices.made.to(worths.dtype)
    tails = worths_on_offer(choices, worths)
    rates = (made / tails).cumsum(dim=-1)
    shape = rates.shape
    by_item = (rates * choices.offered).gather(-1, choices.place.expand(shape))
    log_prob = torch.where(choices.made, worths.log()[..., choices.order] - _log(tails), 0).sum(dim=-1)
    return ChoiceStatistics(
        wins=weights @ made.gather(-1, choices.place),
        rates=(weights[..., None, :] @ by_item).squeeze(-2),
        log_likelihood=torch.where(weights > 0, weights * log_prob, 0).sum(dim=-1),
    )


def _log(positive: Tensor) -> Tensor:
    """Logarithm; on the CPU by NumPy, since torch wakes its threads for as few as 2,048 numbers."""
    if positive.device.type != "cpu" or positive.requires_grad:
        return positive.log()
    return torch.from_numpy(np.log(positive.numpy()))


def worths_on_offer(choices: Choices, worths: Tensor) -> Tensor:
    """Total worth of the items from each place on, ``(..., m, n)``; never 0, so that it may be divided by."""
    on_offer = worths[..., choices.order] * choices.offered
    return on_offer.flip(-1).cumsum(dim=-1).flip(-1).clamp_(min=torch.finfo(worths.dtype).tiny)


def mm_update(
    statistics: ChoiceStatistics,
    worths: Tensor,  # (..., n) those of the statistics
    prior: float = 0.0,
) -> Tensor:
    r"""One step of Hunter's minorization-maximization (Ann. Statist. 32(1), 2004), never downhill.

    .. math:: v_c \leftarrow \frac{w_c + \alpha}{r_c + n \alpha / \sum_b v_b}

    with wins w, rates r and the prior's :math:`\alpha`, with which every item was chosen :math:`\alpha` times out of
    all n. Items that took part in no choice keep their worth.

    Returns:
        ``(..., n)`` worths that add up to 1.
    """
    total = worths.sum(dim=-1, keepdim=True)
    rates = statistics.rates + worths.shape[-1] * prior / total
    updated = torch.where(rates > 0, (statistics.wins + prior) / rates, worths)
    return updated / updated.sum(dim=-1, keepdim=True)
