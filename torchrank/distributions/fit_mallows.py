"""Maximum-likelihood fit of the Mallows model."""

from typing import NamedTuple

import torch
from torch import Tensor

from torchrank._repr import short_repr
from torchrank._warnings import warn
from torchrank.aggregation.kemeny import kemeny
from torchrank.distributions.mallows import COMPLETE, UNTIED
from torchrank.distributions.mallows_law import MOST_LAM, lam_of_mean_distance, log_partition, variance_distance
from torchrank.kernels.kendall import kendall_distance
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.ops.rank import as_rankings
from torchrank.rankings.arrays import Matrix
from torchrank.rankings.derivatives import not_followed
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import Scores, as_scores, as_weights, check_positive, refuse_ties


class MallowsFit(NamedTuple):
    """A center and a concentration fitted to rankings. Without batch dimensions the numbers have shape ``()``."""

    center: Matrix  # (..., n) scores of the center
    lam: Matrix  # (...) concentration, at least 0
    standard_error: Matrix  # (...) of lam, the center taken as known
    mean_distance: Matrix  # (...) weighted mean of discordant pairs with the center
    log_likelihood: Matrix  # (...) of the weighted rankings
    optimal: Matrix  # (...) bool: whether no center is proven to be better

    __repr__ = short_repr


@isolated
def fit_mallows(
    X: Scores,
    weights: Matrix | None = None,
    *,
    center: Scores | None = None,
    max_lam: float = MOST_LAM,
    time_limit: float = 60.0,
) -> MallowsFit:
    r"""Fit a Mallows distribution to rankings.

    The best center is Kemeny's ranking whatever the concentration, and the best concentration solves

    .. math:: \operatorname{E}_\lambda n_d = \bar d

    where :math:`\bar d` is the weighted mean distance from the center (Fligner and Verducci, J. R. Stat. Soc. B 48(3),
    1986). It is 0 where the mean distance is n(n-1)/4 or more.

    Args:
        X: ``(..., m, n)`` scores without ties, one ranking a row: larger = preferred, all items ranked.
        weights: ``(..., m)`` at least 0; None means 1 each. Weighing a row is the same as repeating it. Batch
            dimensions broadcast with those of ``X``: weights ``(k, m)`` of one set of rankings give k fits.
        center: ``(..., n)`` scores of a given center; None for Kemeny's ranking.
        max_lam: largest concentration, greater than 0. Rankings that all agree with the center have no finite maximum.
        time_limit: seconds for the center; see :func:`torchrank.kemeny`.

    Returns:
        :class:`MallowsFit`: float64, but the center in the dtype of the scores if floating; arrays for NumPy input.
        ``optimal`` is False for a center that was given. Standard errors and log-likelihood count a weight as so many
        rankings.

    Raises:
        ValueError: ties, unranked items, weights that are negative, not finite or all 0, shapes that do not fit.
        TypeError: scores or weights that are not real numbers.

    Warns:
        RuntimeWarning: a concentration was cut at ``max_lam``.

    Example:
        >>> X = np.array([[3.0, 2.0, 1.0]] * 3 + [[3.0, 1.0, 2.0]])
        >>> round(float(fit_mallows(X).lam), 4)
        2.0717
    """
    check_positive(max_lam, "max_lam")
    rankings = as_rankings(X, missing="raise", remedy=COMPLETE)
    origin, n = rankings.origin, rankings.shape[-1]
    weight = as_weights(weights, rankings.ranks).detach()
    refuse_ties(rankings.ranks, "X", UNTIED)
    if center is None:
        central = kemeny(rankings, weight, time_limit=time_limit)
        middle, optimal = torch.as_tensor(central.scores), torch.as_tensor(central.optimal)
    else:
        middle, _ = as_scores(center, "center", least_dims=1)
        if middle.shape[-1] != n:
            raise ValueError(f"center ranks {middle.shape[-1]} items and X ranks {n}")
        places, _ = dense_ranks(middle[..., None, :], COMPLETE, "center")
        refuse_ties(places, "center", UNTIED)
        optimal = None
    distance = torch.as_tensor(kendall_distance(rankings.in_float64(), middle[..., None, :].to(torch.float64))).squeeze(
        -1
    )
    total = weight.sum(dim=-1)
    mean = (weight * distance).sum(dim=-1) / total
    lam = lam_of_mean_distance(mean, n, max_lam)
    _warn_of_cap(lam, mean, max_lam)
    lam, mean = (not_followed(value, X, weights, by="fit_mallows") for value in (lam, mean))
    fit = MallowsFit(
        center=middle,
        lam=lam,
        standard_error=(total * variance_distance(lam, n)).rsqrt(),
        mean_distance=mean,
        log_likelihood=-total * (lam * mean + log_partition(lam, n)),
        optimal=torch.zeros_like(mean, dtype=torch.bool) if optimal is None else optimal,
    )
    return MallowsFit(*map(origin.wrap, fit))


def _warn_of_cap(lam: Tensor, mean: Tensor, max_lam: float) -> None:
    capped = lam >= max_lam
    if bool(capped.any()):
        warn(
            f"the concentration was cut at max_lam={max_lam:g}: the rankings hardly differ from the center (mean "
            f"distance {float(mean[capped].min()):.3g}), and the likelihood grows with lam without end",
            RuntimeWarning,
        )
