"""Borda's count of complete, tied and partial rankings."""

import torch
from torch import Tensor

from torchrank.aggregation.preferences import power_of_two
from torchrank.aggregation.ties import merge_close
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.rankings.arrays import Matrix, to_numpy
from torchrank.rankings.derivatives import without_gradient
from torchrank.rankings.orders import centered_mid_ranks
from torchrank.rankings.surroundings import in_plain_surroundings
from torchrank.rankings.validate import Scores, as_scores, as_weights, check_choice, count_dtype

VARIANTS = ("ordinary", "interleaving", "topk")
_REMEDY = 'pass variant="interleaving" if unranked items may be anywhere, or "topk" if they are below all ranked ones'
_ROUNDING = 1e-10  # of n votes: mean votes closer than this are equal, up to the order of summation


@in_plain_surroundings
def borda(X: Scores, weights: Matrix | None = None, *, variant: str = "ordinary") -> Matrix:
    r"""Borda's central ranking: the mean votes of every item, between 1 and n.

    A complete ranking gives its first item n votes, the next n - 1, and the last one vote; tied items share the mean of
    their votes. A partial ranking gives the votes that an item can expect from a total ranking that agrees with it,

    .. math:: \text{votes}_i = \frac{n + 1}{2} + \frac{1}{2} \sum_{j \ne i} \operatorname{E} \operatorname{sign}(i - j)

    With ``variant="interleaving"`` the item in place j of L ranked ones out of n gets
    :math:`(L - j + 1)(n + 1) / (L + 1)` votes and an unranked one (n + 1)/2, the modified count of Cheng, Hühn and
    Hüllermeier (2009). With ``variant="topk"`` ranked items get what they would get in a complete ranking, and the
    others share the mean of the rest.

    Args:
        X: ``(..., m, n)`` scores, one ranking a row: larger = preferred, equal = tied, NaN = unranked.
        weights: ``(..., m)`` weights of the rankings, at least 0; None means 1 each. Batch dimensions broadcast with
            those of ``X``: weights ``(k, m)`` of one set of rankings give k central rankings.
        variant: what unranked items mean: "ordinary" (an error), "interleaving" (anything) or "topk" (less preferred
            than all ranked items, in any order).

    Returns:
        ``(..., n)`` mean votes, scores of the central ranking: larger = preferred. Items whose mean votes differ by no
        more than rounding (1e-10 n) are exactly equal, which means tied. Dtype of the scores if floating, else the
        default; NumPy for NumPy. Differentiable in ``weights``.

    Raises:
        ValueError: unranked items with ``variant="ordinary"``, no rankings, weights that are negative, not finite or
            all 0, shapes that do not fit.
        TypeError: scores or weights that are not real numbers.
        RuntimeError: backward through the scores, in which votes are piecewise constant.

    Example:
        >>> borda(np.array([[3.0, 2.0, 1.0], [3.0, 1.0, 2.0]])).tolist()
        [3.0, 1.5, 1.5]
    """
    check_choice(variant, "variant", VARIANTS)
    scores, foreign = as_scores(X, "X")
    weight = as_weights(weights, scores)
    ranks, _ = dense_ranks(scores, _REMEDY if variant == "ordinary" else "allow", "X")
    n = ranks.shape[-1]
    weight = weight / power_of_two(weight.detach().amax(dim=-1, keepdim=True))  # so that weights of any size have sums
    total = (weight[..., None, :] @ expected_sign_sums(ranks, variant)).squeeze(-2)
    votes = (n + 1) / 2 + total / weight.sum(dim=-1, keepdim=True) / 2
    votes = merge_close(votes, _ROUNDING * n).to(count_dtype(scores, foreign=foreign))
    votes = without_gradient(votes, scores, what="Borda scores are")
    return to_numpy(votes) if foreign else votes


def expected_sign_sums(
    ranks: Tensor,  # (..., n) dense ranks, -1 = unranked
    variant: str,
) -> Tensor:
    """The number of items that each item can expect below it, less the number above it; ``(..., n)`` float64."""
    n = ranks.shape[-1]
    among_ranked = centered_mid_ranks(ranks).to(torch.float64)
    if variant == "ordinary":
        return among_ranked
    ranked = (ranks >= 0).sum(dim=-1, keepdim=True)
    if variant == "interleaving":
        return among_ranked * (n + 1) / (ranked + 1)
    return torch.where(ranks >= 0, among_ranked + (n - ranked), -ranked)
