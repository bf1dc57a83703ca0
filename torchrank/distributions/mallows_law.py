r"""The Mallows law of distances: normalizer, mean, variance, and the concentration that belongs to a mean.

They hold for every concentration, 0 and negative ones among them.

.. math:: Z(\lambda) = \sum_\sigma e^{-\lambda n_d(\sigma, \sigma_0)}
          = \prod_{j=1}^n \frac{1 - e^{-j\lambda}}{1 - e^{-\lambda}}

(Fligner and Verducci, J. R. Stat. Soc. B 48(3), 1986). Near 0, where this is 0/0, it is written with
:math:`t = \lambda/2` as :math:`e^{-(j-1)t}\, j\, s(jt)/s(t)`, s(t) being sinh(t)/t, whose logarithm is even, smooth
and has the Langevin function coth(t) - 1/t as its derivative.

Of a ranking that leaves groups of items unordered only the pairs of different groups are known. Pairs within groups and
pairs between them are independent given the groups, so that a group of k items divides by the normalizer of k items,

.. math:: Z(\lambda) \Big/ \prod_g Z_{|g|}(\lambda)
          = \prod_{j=2}^n \Bigl(\frac{1 - e^{-j\lambda}}{1 - e^{-\lambda}}\Bigr)^{1 - c_j}

with c_j the number of groups of at least j items: the law of inversions of a multiset. All functions take c, or its
mean over rankings, as ``groups`` (..., n - 1); None is no groups.
"""

from functools import lru_cache

import torch
from torch import Tensor

_MOST_STEPS = 200  # far more than halving an interval of float64 down to neighbors takes
_LAST_STEP = 1e-8  # beside lam: after a step of Newton's method the error is about its square
MOST_LAM = 50.0  # beyond, rankings other than the center hardly have a probability
_NEAR = 0.5  # below, series in t^2; they converge for |t| < pi


def _langevin_series(count: int) -> list[float]:
    """Coefficients of t, t^3, t^5, ... in L(t) = coth(t) - 1/t, which solves L' + 2 L / t = 1 - L^2."""
    a: list[float] = []
    for k in range(1, count + 1):
        a.append(((k == 1) - sum(x * y for x, y in zip(a, reversed(a), strict=True))) / (2 * k + 1))
    return a


_LANGEVIN = _langevin_series(13)  # the last ones are below rounding
_LOG_SINHC = [a / (2 * k) for k, a in enumerate(_LANGEVIN, start=1)]
_LANGEVIN_SLOPE = [a * (2 * k - 1) for k, a in enumerate(_LANGEVIN, start=1)]


def log_partition(lam: Tensor, n: int, groups: Tensor | None = None) -> Tensor:
    """Logarithm of Z for n items; same shape as ``lam``. All derivatives exist and are those of the formula."""
    return _sum(_log_partition_terms(lam, n), groups)


def log_partitions(lam: Tensor, groups: Tensor) -> Tensor:
    """The same ``(..., u)`` for every ``lam`` ``(...)`` and all of ``groups`` ``(u, n - 1)``."""
    terms = _log_partition_terms(lam, groups.shape[-1] + 1)
    return terms.sum(dim=-1)[..., None] - terms @ groups.mT


def _log_partition_terms(lam: Tensor, n: int) -> Tensor:
    """Logarithms of the factors for j = 2, ..., n, ``(..., n - 1)``."""
    j, near, t, a = _prepare(lam, n)
    terms = _log_sinhc(j * t) - _log_sinhc(t) - (j - 1) * t + j.log()
    far_terms = (-(-j * a).exp()).log1p() - (-(-a).exp()).log1p()
    # Z(-lam) is Z(lam) e^(lam pairs): the reversed ranking is the center then.
    return torch.where(near[..., None], terms, far_terms + (j - 1) * (-lam).clamp(min=0)[..., None])


def mean_distance(lam: Tensor, n: int, groups: Tensor | None = None) -> Tensor:
    """Expected number of pairs ordered otherwise than in the center, from all down to 0; minus d log Z / d lam."""
    j, near, t, a = _prepare(lam, n)
    pairs = known_pairs(n, groups)
    terms = (_langevin(t) - j * _langevin(j * t)) / 2
    far = _sum(_planck(a) - j * _planck(j * a), groups)
    return torch.where(near, pairs / 2 + _sum(terms, groups), torch.where(lam < 0, pairs - far, far))


def mean_distance_within(lam: Tensor, n: int, groups: Tensor) -> Tensor:
    """The part of :func:`mean_distance` that is of pairs within groups, which data leave open."""
    return mean_distance(lam, n) - mean_distance(lam, n, groups)


def mean_scores(lam: Tensor, scores: Tensor) -> Tensor:
    r"""Expected scores ``(..., n)`` of a ranking of items whose scores in the center are ``scores``, from 1 to n.

    Of two items with k - 1 others between them in the center the better one is preferred with probability
    :math:`h_{k+1} - h_k`, with :math:`h_k = k / (1 - e^{-k\lambda}) = 1/\lambda + k/2 + k\, L(k\lambda/2) / 2`, and the
    sum over all others leaves

    .. math:: \frac{n + 1}{2} + \frac{s\, L(s\lambda/2) - (n + 1 - s)\, L((n + 1 - s)\lambda/2)}{2}
    """
    n, t = scores.shape[-1], lam[..., None] / 2
    rest = n + 1 - scores
    return (n + 1 + scores * _langevin(scores * t) - rest * _langevin(rest * t)) / 2


def variance_distance(lam: Tensor, n: int, groups: Tensor | None = None) -> Tensor:
    """Variance of the distance; minus the derivative of :func:`mean_distance`."""
    j, near, t, a = _prepare(lam, n)
    terms = (j.square() * _langevin_slope(j * t) - _langevin_slope(t)) / 4
    far = _bose(a) - j.square() * _bose(j * a)
    return torch.where(near, _sum(terms, groups), _sum(far, groups))


def _sum(terms: Tensor, groups: Tensor | None) -> Tensor:
    """Sum over j = 2, ..., n."""
    return (terms if groups is None else terms * (1 - groups)).sum(dim=-1)


def known_pairs(n: int, groups: Tensor | None) -> float | Tensor:
    """Pairs of items, but for those within groups."""
    pairs = n * (n - 1) / 2
    if groups is None:
        return pairs
    return pairs - groups @ torch.arange(1, n, dtype=groups.dtype, device=groups.device)


def lam_of_mean_distance(
    mean: Tensor,  # (...) float64
    n: int,
    max_lam: float = MOST_LAM,
    start: Tensor | None = None,  # (...) concentrations that are near, if any are known
    groups: Tensor | None = None,  # (..., n - 1) means over the rankings
) -> Tensor:
    """The maximum-likelihood concentrations for these mean distances from the center, from 0 to ``max_lam``.

    Those under which n items have these expected distances, by Newton's method for their logarithm, within bounds that
    close in; 0 where a mean is half the pairs or more, and ``max_lam`` where no smaller concentration is close enough.
    """
    groups = None if groups is None or not bool(groups.any()) else groups
    least = _least_mean(n, max_lam) if groups is None else mean_distance(torch.full_like(mean, max_lam), n, groups)
    flat = mean >= known_pairs(n, groups) / 2
    capped = ((mean <= least) | (mean == 0)) & ~flat  # the least may be one number, where it underflows
    low, high = torch.zeros_like(mean), torch.full_like(mean, max_lam)
    lam = (torch.ones_like(mean) if start is None else start).clamp(0, max_lam)
    for _ in range(_MOST_STEPS):
        expected, variance = _moments(lam, n, groups)  # the mean falls as lam grows, exponentially in the end
        low, high = torch.where(expected > mean, lam, low), torch.where(expected > mean, high, lam)
        step = (expected / mean).log() * expected / variance
        inside = (lam + step >= low) & (lam + step <= high)
        following = torch.where(inside, lam + step, (low + high) / 2)
        settled = step.abs() <= _LAST_STEP * lam.clamp(min=1)
        if groups is None:
            settled &= inside  # with groups rounding may have crossed the bounds
        lam = following
        if bool((settled | capped | flat).all()):
            break
    lam = torch.where(flat, 0, lam)
    return torch.where(capped, max_lam, lam)


@lru_cache(maxsize=64)
def _least_mean(n: int, lam: float) -> float:
    return float(mean_distance(torch.tensor(lam, dtype=torch.float64, device="cpu"), n))


def _moments(lam: Tensor, n: int, groups: Tensor | None) -> tuple[Tensor, Tensor]:
    """Mean and variance of the distance for ``lam`` of at least 0, at once; of the variance some digits may be lost."""
    j = torch.arange(
        1, n + 1, dtype=lam.dtype, device=lam.device
    )  # the terms of 1, which others are compared with, are 0
    near = lam < 1
    t, a = j * torch.where(near, lam / 2, 0)[..., None], j * torch.where(near, 1, lam)[..., None]
    langevin, b = _langevin(t), 1 / a.expm1()
    # L' = 1 - L^2 - 2 L / t, which is 1/3 at 0
    slope = torch.where(t > 0, 1 - langevin.square() - 2 * langevin / t.clamp(min=1e-300), 1 / 3)
    if groups is not None:
        groups = torch.nn.functional.pad(groups, (1, 0))
    near_mean = known_pairs(n, None if groups is None else groups[..., 1:]) / 2 + (
        _sum(langevin[..., :1] - j * langevin, groups) / 2
    )
    near_variance = _sum(j.square() * slope - slope[..., :1], groups) / 4
    squares = b * (1 + b)
    far_mean = _sum(b[..., :1] - j * b, groups)
    far_variance = _sum(squares[..., :1] - j.square() * squares, groups)
    return torch.where(near, near_mean, far_mean), torch.where(near, near_variance, far_variance)


def _prepare(lam: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """2..n, where ``lam`` is near 0, and for both formulas arguments that are harmless where they do not apply."""
    j = torch.arange(2, n + 1, dtype=lam.dtype, device=lam.device)
    near = lam.abs() < 1
    return j, near, torch.where(near, lam / 2, 0)[..., None], torch.where(near, 1, lam.abs())[..., None]


def _log_sinhc(t: Tensor) -> Tensor:
    near = t.abs() < _NEAR
    a = torch.where(near, 1, t.abs())
    far = a + (-(-2 * a).exp()).log1p() - (2 * a).log()
    return torch.where(near, _power_series(_LOG_SINHC, torch.where(near, t, 0), 2), far)


def _langevin(t: Tensor) -> Tensor:
    near = t.abs() < _NEAR
    a = torch.where(near, 1, t)
    return torch.where(near, _power_series(_LANGEVIN, torch.where(near, t, 0), 1), 1 / a.tanh() - 1 / a)


def _langevin_slope(t: Tensor) -> Tensor:
    near = t.abs() < _NEAR
    a = torch.where(near, 1, t.abs())
    return torch.where(
        near, _power_series(_LANGEVIN_SLOPE, torch.where(near, t, 0), 0), 1 / a.square() - 4 * _bose(2 * a)
    )


def _planck(a: Tensor) -> Tensor:
    """1 / (e^a - 1) without overflow, which would make derivatives NaN."""
    return (-a).exp() / -(-a).expm1()


def _bose(a: Tensor) -> Tensor:
    """1 / (4 sinh(a/2)^2) without overflow."""
    return (-a).exp() / (-a).expm1().square()


def _power_series(coefficients: list[float], t: Tensor, lowest: int) -> Tensor:
    """Sum of c_k t^(2k + lowest), k = 0, 1, ..."""
    square, total = t.square(), torch.zeros_like(t)
    for c in reversed(coefficients):
        total = total * square + c
    return total * t**lowest
