"""Copeland's rule: pairwise majorities won, less those lost."""

from __future__ import annotations

from torchrank.aggregation.preferences import ROUNDING, weighed_preferences
from torchrank.rankings.derivatives import without_gradient
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Missing
from torchrank.rankings.validate import Scores, check_finite
from torchrank.typing import Array, Values


@isolated
def copeland(
    X: Scores[Array], weights: Values | None = None, *, missing: Missing = None, tolerance: float = ROUNDING
) -> Array:
    """Copeland's central ranking: of every item, the number of items that it beats less the number that beat it.

    An item beats another if the rankings that prefer it outweigh those that prefer the other; rankings that tie the
    two, or say nothing of them, count for neither (Copeland, A reasonable social welfare function, 1951).

    Args:
        X: ``(..., m, n)`` scores, one ranking a row: larger = preferred, equal = tied, NaN = unranked; or prepared
            rankings, :func:`torchrank.rank`.
        weights: ``(..., m)`` weights of the rankings, at least 0; None means 1 each. Their scale does not matter. Batch
            dimensions broadcast with those of ``X``.
        missing: what unranked items mean, as for :func:`torchrank.aggregation.pair_preferences`: "raise", "pairwise",
            "interleaving" or "topk".
        tolerance: a majority of at most this share of the sum of weights is a tie between the two items. The default
            covers rounding.

    Returns:
        ``(..., n)`` whole numbers from 1 - n to n - 1, scores of the central ranking: larger = preferred, equal = tied.
        Dtype of the scores if floating, else the default; NumPy for NumPy.

    Raises:
        ValueError, TypeError: as :func:`torchrank.aggregation.pair_preferences`, and for a ``tolerance`` negative,
            infinite or NaN.

    Example:
        >>> copeland(np.array([[3.0, 2.0, 1.0], [2.0, 3.0, 1.0]]), [0.4, 0.6]).tolist()
        [0.0, 2.0, -2.0]
    """
    check_finite(tolerance, "tolerance", 0)
    preferences = weighed_preferences(X, weights, missing)
    matrix = preferences.matrix.detach()
    beats = matrix - matrix.mT > tolerance * preferences.total[..., None, None].detach()
    won = (beats.sum(dim=-1) - beats.sum(dim=-2)).to(preferences.dtype)
    won = without_gradient(won, preferences.matrix, preferences.scores, what="Copeland scores are")
    return preferences.origin.named(won, "items")
