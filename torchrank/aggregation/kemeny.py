"""Kemeny's central ranking: the one with the fewest disagreements."""

from __future__ import annotations

import time
from typing import Generic, get_args

import numpy as np
import torch
from torch import Tensor
from typing_extensions import NamedTuple

from torchrank.aggregation.local_search import local_order, order_cost
from torchrank.aggregation.preferences import ROUNDING, weighed_preferences
from torchrank.aggregation.subsets import MOST_ITEMS, best_orders
from torchrank.rankings.derivatives import not_followed, on_values, without_gradient
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Missing
from torchrank.rankings.orders import scores_of_order
from torchrank.rankings.validate import Scores, check_at_least, check_choice
from torchrank.typing import Array, KemenyMethod, Kind, Values

METHODS = get_args(KemenyMethod)
_WHAT = "Kemeny scores are"


class KemenyRanking(NamedTuple, Generic[Kind]):
    """A central ranking and what is proven of it. Without batch dimensions all but the scores have shape ``()``."""

    scores: Kind  # (..., n) whole numbers from n for the most preferred item to 1
    cost: Kind  # (...) weight of disagreements: over all rankings and pairs of items that they order the other way
    gap: Kind  # (...) how much cheaper a ranking might be at most, in the same unit; 0 if none is
    optimal: Kind  # (...) bool: whether no ranking is cheaper
    unique: Kind  # (...) bool: whether every other ranking is proven to be dearer


@isolated
def kemeny(
    X: Scores[Array],
    weights: Values | None = None,
    *,
    missing: Missing = None,
    method: KemenyMethod = "auto",
    time_limit: float = 60.0,
) -> KemenyRanking[Array]:
    r"""Kemeny's central ranking: the one with the fewest disagreements.

    It is the ranking y without ties that minimizes the weighted Kendall distance

    .. math:: \sum_r w_r\, n_d(x_r, y)

    with :math:`n_d` the number of item pairs that two rankings order oppositely (Kemeny, Daedalus 88, 1959). A pair
    that :math:`x_r` ties, or says nothing of, costs nothing whatever its order in y.

    Up to 16 items it is found by dynamic programming over subsets. Beyond, items are first divided into the strongly
    connected groups of the graph of majorities; between groups every optimal ranking keeps the majorities (Truchon,
    1998). Groups of more than 16 items are solved as linear-ordering programs by HiGHS. That is fast for rankings that
    have something in common, but takes exponential time at worst: when the time limit is reached, the best ranking
    found and its proven gap come back.

    Tie rule: of several optimal rankings, up to 16 items, the one whose order comes first in lexicographic order, so
    that items of smaller index are preferred. Beyond, this holds of each group of up to 16 items and, as far as
    majorities leave it open, of the order of groups; in larger groups it may be any.

    It returns a tuple and not scores alone, unlike :func:`torchrank.borda`, because whether a ranking was proven to be
    optimal, and the only one, is part of the answer.

    Args:
        X: ``(..., m, n)`` scores, one ranking a row: larger = preferred, equal = tied, NaN = unranked; or prepared
            rankings, :func:`torchrank.rank`.
        weights: ``(..., m)`` weights of the rankings, at least 0; None means those of a data set, or 1 each. Batch
            dimensions broadcast with those of ``X``: weights ``(k, m)`` of one set of rankings give k central rankings.
        missing: what unranked items mean, as for :func:`torchrank.aggregation.pair_preferences`: "raise", "pairwise",
            "interleaving" or "topk".
        method: "auto" as above, or "local" for local search alone, which proves nothing: single items are moved to
            their best places, from the orders by mean margins and by majorities won.
        time_limit: seconds for the linear-ordering programs of one set of rankings, greater than 0; may be infinite.

    Returns:
        :class:`KemenyRanking`. Scores have the dtype of ``X`` if floating, else the default; costs are float64. Arrays
        for NumPy input. Costs that differ by less than 1e-10 times the sum of weights are equal, in linear-ordering
        programs also those less than 1e-6 times the largest majority apart. Weights times a power of two give the same
        ranking.

    Raises:
        ValueError, TypeError: as :func:`torchrank.aggregation.pair_preferences`, and for a ``time_limit`` that is not
            positive.

    Example:
        >>> central = kemeny(np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [1.0, 3.0, 2.0]]))
        >>> central.scores.tolist(), float(central.cost), bool(central.unique)
        ([3.0, 2.0, 1.0], 2.0, True)
    """
    check_choice(method, "method", METHODS)
    check_at_least(time_limit, "time_limit", 0)
    if time_limit == 0:
        raise ValueError("time_limit=0 leaves no time; pass seconds, or method='local' for local search alone")
    preferences = weighed_preferences(X, weights, missing)
    central = KemenyRanking(
        *on_values(
            lambda matrix, total: tuple(kemeny_of_preferences(matrix, total, method=method, time_limit=time_limit)),
            preferences.matrix,
            preferences.total,
        )
    )
    central = central._replace(
        scores=without_gradient(
            central.scores.to(preferences.dtype), preferences.matrix, preferences.scores, what=_WHAT
        ),
        cost=_found(central.cost * preferences.unit, preferences.matrix, preferences.scores),
        gap=_found(central.gap * preferences.unit, preferences.matrix, preferences.scores),
    )
    origin = preferences.origin
    return KemenyRanking(origin.named(central.scores, "items"), *map(origin.wrap, central[1:]))


@isolated
def kemeny_of_preferences(
    preferences: Tensor,  # (..., n, n) weight that prefers i to j
    total: Tensor | None = None,  # (...) sum of the weights
    *,
    method: KemenyMethod = "auto",
    time_limit: float = 60.0,
) -> KemenyRanking[Tensor]:
    """The ranking of :func:`kemeny` for matrices of preferences, which may also come from comparisons of pairs.

    Args:
        preferences: ``(..., n, n)`` weight that prefers item i to item j, at least 0, such as
            :func:`torchrank.aggregation.pair_preferences` gives. It is not checked.
        total: ``(...)`` sum of the weights of the rankings that these come from, of which tolerances are shares; None
            means the largest weight of any pair, which is less where rankings tie items or leave them out.
        method: as for :func:`kemeny`.
        time_limit: seconds for the linear-ordering programs of one matrix, greater than 0; may be infinite.

    Returns:
        :class:`KemenyRanking` of tensors.
    """
    preferences = preferences.to(torch.float64)
    scores, gap, unique = on_values(
        lambda matrices, total: _search(matrices, total, method, time_limit), preferences, total
    )
    above = scores[..., :, None] > scores[..., None, :]
    cost = (preferences.mT * above).sum(dim=(-1, -2)).detach()
    optimal = gap == 0
    scores, cost, gap = (_found(part, preferences, total) for part in (scores, cost, gap))
    return KemenyRanking(scores, cost, gap, optimal, unique)


def _found(result: Tensor, *inputs: Tensor | None) -> Tensor:
    """A result of the search, whose derivative is refused."""
    return not_followed(result, *inputs, by="kemeny")


def _search(preferences: Tensor, total: Tensor | None, method: str, time_limit: float) -> tuple[Tensor, Tensor, Tensor]:
    """Scores ``(..., n)``, gaps and whether the ranking is the only one, ``(...)``."""
    batch, n = preferences.shape[:-2], preferences.shape[-1]
    flat = preferences.reshape(-1, n, n)
    margin = flat - flat.mT
    of_pairs = (flat + flat.mT).amax(dim=(-1, -2))
    tolerance = ROUNDING * (of_pairs if total is None else torch.maximum(total.expand(batch).reshape(-1), of_pairs))
    excess = torch.where(margin < -tolerance[:, None, None], -margin, 0)  # beyond the lesser cost of each pair
    if len(flat) == 0 or (method == "auto" and n <= MOST_ITEMS):
        order, unique = best_orders(excess, tolerance)
        gap = torch.zeros(len(flat), dtype=torch.float64, device=flat.device)
    else:
        parts = zip(excess.cpu().numpy(), tolerance.tolist(), strict=True)
        found = [_central_order(part, least, method, time_limit) for part, least in parts]
        order = torch.from_numpy(np.stack([o for o, _, _ in found])).to(flat.device)
        gap = torch.tensor([g for _, g, _ in found], dtype=torch.float64, device=flat.device)
        unique = torch.tensor([u for _, _, u in found], device=flat.device)
    return scores_of_order(order).reshape(*batch, n), gap.reshape(batch), unique.reshape(batch)


def _central_order(excess: np.ndarray, tolerance: float, method: str, seconds: float) -> tuple[np.ndarray, float, bool]:
    """The order for one matrix, how much it may cost too much, and whether it is unique up to ``tolerance``."""
    if method == "local":
        order = local_order(excess)
        return order, order_cost(excess, order), False
    from torchrank.aggregation.linear_ordering import best_order  # SciPy is slow to load
    from torchrank.aggregation.majority import components_in_order

    deadline = time.monotonic() + seconds
    orders, gap, unique = [], 0.0, True
    for group in components_in_order(excess):
        part = excess[np.ix_(group, group)]
        if len(group) <= MOST_ITEMS:
            best = best_orders(torch.from_numpy(part)[None], tolerance)
            order, only = best.order[0].numpy(), bool(best.unique[0])
        else:
            order, bound, only = best_order(part, deadline - time.monotonic(), tolerance)
            gap += order_cost(part, order) - bound
        orders.append(group[order])
        unique = unique and only
    order = np.concatenate(orders)
    # Neighbors that no majority orders could change places.
    swappable = (excess - excess.T)[order[:-1], order[1:]] == 0
    return order, gap, unique and not swappable.any()
