"""How many rankings prefer one item to another, for all pairs of items."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from torchrank.ops.rank import as_rankings
from torchrank.rankings.arrays import Origin
from torchrank.rankings.derivatives import without_gradient
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Meaning, Missing
from torchrank.rankings.orders import centered_mid_ranks
from torchrank.rankings.powers import unit_of
from torchrank.rankings.validate import Scores, as_weights
from torchrank.typing import Array, Values

REMEDY = (
    'pass missing="pairwise" to count the rankings that rank both items, "interleaving" if unranked items may be '
    'anywhere, or "topk" if they are below all ranked ones'
)
ROUNDING = 1e-10  # of the sum of weights: majorities below this are ties, up to the order of summation
_BLOCK_BYTES = 32 * 2**20


@isolated
def pair_preferences(X: Scores[Array], weights: Values | None = None, *, missing: Missing = None) -> Array:
    """Weight of the rankings that prefer item i to item j, for all pairs of items.

    Args:
        X: ``(..., m, n)`` scores, one ranking a row: larger = preferred, equal = tied, NaN = unranked; or prepared
            rankings, :func:`torchrank.rank`.
        weights: ``(..., m)`` weights of the rankings, at least 0; None means those of a data set, or 1 each. Batch
            dimensions broadcast with those of ``X``: weights ``(k, m)`` of one set of rankings give k matrices.
        missing: what unranked items mean; None leaves it to prepared rankings, and is "raise" for scores.

            * "raise": an error.
            * "pairwise": a ranking says nothing of pairs that it does not rank.
            * "interleaving": anything; a ranking counts as the share of the total rankings agreeing with it that prefer
              i to j.
            * "topk": less preferred than all ranked items, in any order; shares likewise.

            Or one of the last two for each ranking, ``(..., m)``.

    Returns:
        ``(..., n, n)`` float64, 0 on the diagonal and for ties. Whole weights give exact counts, except for
        "interleaving". Differentiable in ``weights``. An array for NumPy input.

    Raises:
        ValueError: unranked items with ``missing="raise"``, no rankings, weights that are negative, not finite or all
            0, shapes that do not fit.
        TypeError: scores or weights that are not real numbers.

    Example:
        >>> X = np.array([[3.0, 2.0, 1.0], [1.0, 3.0, 2.0], [2.0, 2.0, 1.0]])
        >>> pair_preferences(X).tolist()
        [[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [1.0, 0.0, 0.0]]
    """
    preferences = weighed_preferences(X, weights, missing)
    matrix = preferences.matrix * preferences.unit[..., None, None]
    matrix = without_gradient(matrix, preferences.scores, what="preferences are")
    return preferences.origin.named(matrix, "items", "items")


class Preferences(NamedTuple):
    """Pair preferences as a tensor, and what the results made of them need."""

    matrix: Tensor  # (..., n, n) float64, in units
    total: Tensor  # (...) sum of weights, in units
    unit: Tensor  # (...) a power of two, so that weights of any size have sums, and those times a power the same ones
    dtype: torch.dtype  # of scores made of them
    origin: Origin
    scores: Tensor | None  # where a derivative in them may be asked for


def weighed_preferences(X: Scores[Array], weights: Values | None, missing: Missing) -> Preferences:
    """Check the arguments and count, as :func:`pair_preferences` says."""
    rankings = as_rankings(X, missing=missing, remedy=REMEDY)
    ranks, meaning = rankings.ranks, rankings.meaning
    given = as_weights(weights, rankings)
    unit = unit_of(given.detach().amax(dim=-1))
    weight = given / unit[..., None]
    matrix = _among_ranked(ranks, weight)
    if meaning.partial:
        matrix = matrix + _across_ranked(ranks, weight, meaning)
        matrix = matrix * (1 - torch.eye(ranks.shape[-1], dtype=torch.float64, device=ranks.device))
    dtype = torch.promote_types(rankings.result_dtype, torch.float32)
    return Preferences(matrix, weight.sum(dim=-1), unit, dtype, rankings.origin, rankings.scores)


def _among_ranked(ranks: Tensor, weights: Tensor) -> Tensor:
    """Preferences between items that are both ranked, in blocks of first items."""
    n = ranks.shape[-1]
    over = torch.where(ranks < 0, n, ranks)  # nothing is preferred to an unranked item, which is preferred to nothing
    step = max(1, _BLOCK_BYTES // (9 * max(1, ranks.numel())))
    rows = []
    for start in range(0, n, step):
        prefers = ranks[..., start : start + step, None] > over[..., None, :]  # [..., m, step, n]
        row = weights[..., None, :] @ prefers.flatten(-2).to(torch.float64)
        rows.append(row.squeeze(-2).unflatten(-1, (-1, n)))
    return torch.cat(rows, dim=-2)


def _across_ranked(ranks: Tensor, weights: Tensor, meaning: Meaning) -> Tensor:
    """Expected preferences between items that are not both ranked."""
    ranked = (ranks >= 0).to(torch.float64)
    unranked = 1 - ranked
    ends = ranked.sum(dim=-1, keepdim=True) + 1
    top = meaning.topk_rows(ranks.shape[-2], ranks.device)[..., None]
    against = torch.where(top, ranked, centered_mid_ranks(ranks) / ends)  # expected sign against unranked ones
    above, below = ranked * (1 + against) / 2, ranked * (1 - against) / 2  # shares that put an item above, below those
    weighted = weights[..., None] * unranked
    return above.mT @ weighted + weighted.mT @ (below + unranked / 2)
