"""How probable a difference of concordant and discordant pairs is between rankings that are not associated.

Kendall, Rank Correlation Methods, 4th edition, Griffin 1970: the exact distribution for rankings without ties, and the
normal one, of the variance that ties leave, for others.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from scipy import special

from torchrank.rankings.pairs import n_pairs
from torchrank.typing import Alternative, TestMethod

ALTERNATIVES = get_args(Alternative)
METHODS = get_args(TestMethod)
EXACT_UP_TO = 33  # items, for which "auto" is exact; as in SciPy
MOST_EXACT = 170  # items: n! is a number of float64
_SLACK = 1e-6  # of standardized scores, far more than rounding


class TieMoments(NamedTuple):
    """Sums over groups of t tied items of a row, float64."""

    cubic: np.ndarray  # of t (t - 1) (t - 2)
    weighted: np.ndarray  # of t (t - 1) (2 t + 5)

    def of(self, rows: slice) -> "TieMoments":
        """Those of some rows."""
        return TieMoments(*(part[rows] for part in self))


def tie_moments(ranks: np.ndarray) -> TieMoments:
    """Moments ``(m,)`` of dense ranks ``(m, n)``, all items ranked."""
    m, n = ranks.shape
    found = [np.zeros(m), np.zeros(m)]
    step = max(1, 2**22 // max(1, n))
    for first in range(0, m, step):
        part = ranks[first : first + step]
        flat = part + n * np.arange(len(part))[:, None]
        t = np.bincount(flat.ravel(), minlength=part.size).reshape(len(part), n).astype(np.float64)
        twice = t * (t - 1)
        found[0][first : first + step] = (twice * (t - 2)).sum(1)
        found[1][first : first + step] = (twice * (2 * t + 5)).sum(1)
    return TieMoments(*found)


def tie_moments_among_common(x: np.ndarray, y: np.ndarray) -> TieMoments:
    """Moments ``(m, m2)`` of what rows of x tie among the items that rows of y rank too; ranks with -1 = unranked."""
    ranked = (y >= 0).T.astype(np.float64)
    cubic, weighted = np.zeros((2, len(x), len(y)))
    for row, ranks in enumerate(x):
        counts = np.bincount(ranks + 1, minlength=1)
        counts[0] = 0
        groups = (counts > 1).nonzero()[0]
        if len(groups):
            t = (ranks + 1 == groups[:, None]).astype(np.float64) @ ranked
            twice = t * (t - 1)
            cubic[row], weighted[row] = (twice * (t - 2)).sum(0), (twice * (2 * t + 5)).sum(0)
    return TieMoments(cubic, weighted)


class Rows(NamedTuple):
    """What is known of the rankings of one side, as numbers that broadcast to those of all pairs, float64."""

    strict: np.ndarray  # pairs of items that it does not tie
    moments: TieMoments


def p_values(score: np.ndarray, n: Any, x: Rows, y: Rows, alternative: str, method: str) -> np.ndarray:
    """Probabilities of ``score``, concordant minus discordant pairs, or one as far out.

    Args:
        score: ``(r, c)`` float64, whole numbers.
        n: items that are compared, for all pairs of rankings or for each.
        x: of the rows.
        y: of the columns.
        alternative: one of :data:`ALTERNATIVES`.
        method: one of :data:`METHODS`.

    Returns:
        ``(r, c)`` float64; NaN where one of both ties all items.

    Raises:
        ValueError: "exact" with ties, or for too many items.
    """
    nothing = nothing_to_test(x, y)
    if method == "exact":
        _check_exact(n, x, y)
        exact = np.broadcast_to(~nothing, score.shape)
    else:
        exact = _is_exact(score, n, x, y) & (method == "auto")
    result = np.full(score.shape, np.nan)
    some = ~exact & ~nothing
    if some.any():
        result = np.where(some, _tails(_standardized(score, n, x, y), alternative), result)
    if exact.any():
        sizes = np.broadcast_to(n, score.shape)
        for size in np.unique(sizes[exact]).tolist():
            here = exact & (sizes == size)
            result[here] = _exact(score[here], int(size), alternative)
    return result


def may_be_at_most(score: np.ndarray, n: Any, x: Rows, y: Rows, alternative: str, p: float) -> np.ndarray:
    """Where p-values of method "auto" may be at most ``p``, cheaply: ``(r, c)`` bool, true too often."""
    z = _standardized(score, n, x, y)
    z = np.abs(z) if alternative == "two-sided" else z if alternative == "greater" else -z
    far = z >= -special.ndtri(p / 2 if alternative == "two-sided" else p) - _SLACK
    return far | _is_exact(score, n, x, y)


def nothing_to_test(x: Rows, y: Rows) -> np.ndarray:
    """Where one of both ties all items."""
    return (x.strict == 0) | (y.strict == 0)


def _is_exact(score: np.ndarray, n: Any, x: Rows, y: Rows) -> np.ndarray:
    """Where "auto" is exact: no ties, and few items or at most one pair the other way, where the tail is not normal."""
    pairs = n_pairs(n)
    few = (np.asarray(n) <= EXACT_UP_TO) | (pairs - np.abs(score) <= 2)
    return few & (x.strict == pairs) & (y.strict == pairs) & ~nothing_to_test(x, y)


def _check_exact(n: Any, x: Rows, y: Rows) -> None:
    pairs = n_pairs(n)
    tied = ((x.strict < pairs) | (y.strict < pairs)) & ~nothing_to_test(x, y)
    if tied.any():
        row, column = np.argwhere(np.atleast_2d(tied))[0].tolist()
        raise ValueError(
            "method='exact' is for rankings without ties, and there are some, as in the pair of rows "
            f"({row}, {column}); pass 'auto' or 'asymptotic'"
        )
    if np.max(n, initial=0) > MOST_EXACT:
        raise ValueError(
            f"method='exact' takes up to {MOST_EXACT} items, and there are {int(np.max(n))}; pass 'asymptotic'"
        )


def _standardized(score: np.ndarray, n: Any, x: Rows, y: Rows) -> np.ndarray:
    n = np.float64(n) if np.ndim(n) == 0 else n
    ordered = n * (n - 1)
    of_pairs = (ordered * (2 * n + 5) - x.moments.weighted - y.moments.weighted) / 18
    both = (n_pairs(n) - x.strict) * (n_pairs(n) - y.strict)
    triples = x.moments.cubic * y.moments.cubic
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = of_pairs + 2 * both / ordered + np.where(triples > 0, triples / (9 * ordered * (n - 2)), 0)
        return score / np.sqrt(variance)


def _tails(z: np.ndarray, alternative: str) -> np.ndarray:
    if alternative == "two-sided":
        return 2 * special.ndtr(-np.abs(z))
    return special.ndtr(-z if alternative == "greater" else z)


def _exact(score: np.ndarray, n: int, alternative: str) -> np.ndarray:
    """Of rankings of n items without ties."""
    discordant = ((n_pairs(n) - score) / 2).round().astype(np.int64)
    if alternative == "less":
        discordant = n_pairs(n) - discordant
    if alternative == "two-sided":
        return np.minimum(2 * _at_most(n, np.minimum(discordant, n_pairs(n) - discordant)), 1.0)
    return _at_most(n, discordant)


def _at_most(n: int, discordant: np.ndarray) -> np.ndarray:
    """The probability of at most so many discordant pairs."""
    if n <= MOST_EXACT:
        return np.array(_distribution(n))[discordant]
    # All other pairs are the same way; "auto" asks for no others.
    factorial = -special.gammaln(n + 1)
    few = np.exp(factorial + np.log(np.where(discordant == 0, 1.0, float(n))))
    rest = n_pairs(n) - discordant  # 1 - P(at most rest - 1 of the others)
    return np.where(discordant <= 1, few, 1 - np.where(rest == 0, 0.0, np.exp(factorial)))


@lru_cache(maxsize=64)
def _distribution(n: int) -> tuple[float, ...]:
    """For each number of discordant pairs the share of permutations of n items with at most so many, rounded once.

    The numbers of permutations with so many inversions are the coefficients of the product of 1 + q + ... + q^(j - 1).
    """
    counts = [1]
    for j in range(2, n + 1):
        sums, total = [], 0
        for k in range(len(counts) + j - 1):
            total += counts[k] if k < len(counts) else 0
            total -= counts[k - j] if k >= j else 0
            sums.append(total)
        counts = sums
    whole, total, shares = math.factorial(n), 0, []
    for number in counts:
        total += number
        shares.append(total / whole)
    return tuple(shares)


def rows_of(strict: torch.Tensor, ranks: torch.Tensor) -> Rows:
    """Of complete rankings: strict pairs ``(m,)`` and dense ranks ``(m, n)``."""
    return Rows(strict.cpu().numpy().astype(np.float64), tie_moments(ranks.cpu().numpy()))
