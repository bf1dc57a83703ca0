"""Borda's count of complete, tied and partial rankings."""

from __future__ import annotations

from typing import get_args

import torch
from torch import Tensor

from torchrank.aggregation.ties import merge_close
from torchrank.ops.rank import as_rankings
from torchrank.rankings.derivatives import without_gradient
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Meaning, MissingVotes
from torchrank.rankings.orders import centered_mid_ranks
from torchrank.rankings.powers import unit_of
from torchrank.rankings.validate import Scores, as_weights
from torchrank.typing import Array, Values, VoteWord

_LEGAL = get_args(VoteWord)
_REMEDY = 'pass missing="interleaving" if unranked items may be anywhere, or "topk" if they are below all ranked ones'
_ROUNDING = 1e-10  # of n votes: mean votes closer than this are equal, up to the order of summation


@isolated
def borda(X: Scores[Array], weights: Values | None = None, *, missing: MissingVotes = None) -> Array:
    r"""Borda's central ranking: the mean votes of every item, between 1 and n.

    A complete ranking gives its first item n votes, the next n - 1, and the last one vote; tied items share the mean of
    their votes. A partial ranking gives the votes that an item can expect from a total ranking that agrees with it,

    .. math:: \text{votes}_i = \frac{n + 1}{2} + \frac{1}{2} \sum_{j \ne i} \operatorname{E} \operatorname{sign}(i - j)

    With ``missing="interleaving"`` the item in place j of L ranked ones out of n gets
    :math:`(L - j + 1)(n + 1) / (L + 1)` votes and an unranked one (n + 1)/2, the modified count of Cheng, Hühn and
    Hüllermeier (2009). With ``missing="topk"`` ranked items get what they would get in a complete ranking, and the
    others share the mean of the rest.

    Args:
        X: ``(..., m, n)`` scores, one ranking a row: larger = preferred, equal = tied, NaN = unranked; or prepared
            rankings, :func:`torchrank.rank`.
        weights: ``(..., m)`` weights of the rankings, at least 0; None means those of a data set, or 1 each. Batch
            dimensions broadcast with those of ``X``: weights ``(k, m)`` of one set of rankings give k central rankings.
        missing: what unranked items mean: "raise" (an error; the default for scores), "interleaving" (anything) or
            "topk" (less preferred than all ranked items, in any order); or one of the last two for each ranking,
            ``(..., m)``.

    Returns:
        ``(..., n)`` mean votes, scores of the central ranking: larger = preferred. Items whose mean votes differ by no
        more than rounding (1e-10 n) are exactly equal, which means tied. Dtype of the scores if floating, else the
        default; NumPy for NumPy, a series for a data frame. Differentiable in ``weights``.

    Raises:
        ValueError: unranked items with ``missing="raise"``, no rankings, weights that are negative, not finite or
            all 0, shapes that do not fit.
        TypeError: scores or weights that are not real numbers.
        RuntimeError: backward through the scores, in which votes are piecewise constant.

    Example:
        >>> borda(np.array([[3.0, 2.0, 1.0], [3.0, 1.0, 2.0]])).tolist()
        [3.0, 1.5, 1.5]
    """
    rankings = as_rankings(X, missing=missing, remedy=_REMEDY, legal=_LEGAL)
    weight = as_weights(weights, rankings)
    n = rankings.shape[-1]
    weight = weight / unit_of(weight.detach().amax(dim=-1, keepdim=True))  # so that weights of any size have sums
    total = (weight[..., None, :] @ expected_sign_sums(rankings.ranks, rankings.meaning)).squeeze(-2)
    votes = (n + 1) / 2 + total / weight.sum(dim=-1, keepdim=True) / 2
    votes = merge_close(votes, _ROUNDING * n).to(torch.promote_types(rankings.result_dtype, torch.float32))
    return rankings.origin.named(without_gradient(votes, rankings.scores, what="Borda scores are"), "items")


def expected_sign_sums(
    ranks: Tensor,  # (..., m, n) dense ranks, -1 = unranked
    meaning: Meaning,
) -> Tensor:
    """The number of items that each item can expect below it, less the number above it; ``(..., m, n)`` float64."""
    n = ranks.shape[-1]
    among_ranked = centered_mid_ranks(ranks).to(torch.float64)
    if not meaning.partial:
        return among_ranked
    ranked = (ranks >= 0).sum(dim=-1, keepdim=True)
    interleaved = among_ranked * (n + 1) / (ranked + 1)
    last = torch.where(ranks >= 0, among_ranked + (n - ranked), -ranked)
    if meaning.topk is None:
        return interleaved if meaning.word == "interleaving" else last
    return torch.where(meaning.topk[..., None], last, interleaved)
