"""Maximum-likelihood fit of the Mallows model."""

from __future__ import annotations

from typing import Any, Generic

import torch
from torch import Tensor
from typing_extensions import NamedTuple

from torchrank._repr import short_repr
from torchrank._warnings import warn
from torchrank.aggregation.kemeny import kemeny
from torchrank.distributions.agreeing import N_SAMPLES
from torchrank.distributions.mallows import COMPLETE, UNTIED
from torchrank.distributions.mallows_law import (
    MOST_LAM,
    lam_of_mean_distance,
    log_partition,
    mean_distance_within,
    variance_distance,
)
from torchrank.distributions.partial_fit import Problem, search
from torchrank.distributions.partial_rows import TIES, PartialRows, partial_rows
from torchrank.kernels.kendall import kendall_distance
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.rankings.arrays import as_tensor
from torchrank.rankings.derivatives import not_followed
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Missing
from torchrank.rankings.names import check_same_items, index_of
from torchrank.rankings.pairs import n_pairs
from torchrank.rankings.partial_orders import PartialOrders
from torchrank.rankings.unmapped import SEARCHES, unmapped
from torchrank.rankings.validate import (
    Scores,
    as_scores,
    as_weights,
    check_choice,
    check_count,
    check_generator,
    check_positive,
    refuse_ties,
)
from torchrank.typing import Array, Kind, MallowsTies, Values

REMEDY = (
    "Mallows rankings are complete: pass missing='topk' if unranked items are below all ranked ones, or "
    "'interleaving' if they may be anywhere"
)
TIED = "pass ties='unknown' if any order of tied items agrees with the row, or break the ties"


class MallowsFit(NamedTuple, Generic[Kind]):
    """A center and a concentration fitted to rankings. Without batch dimensions the numbers have shape ``()``."""

    center: Kind  # (..., n) scores of the center
    lam: Kind  # (...) concentration, at least 0
    standard_error: Kind  # (...) of lam, the center taken as known
    mean_distance: Kind  # (...) weighted mean of discordant pairs with the center, expected of pairs left open
    log_likelihood: Kind  # (...) of the weighted rankings
    optimal: Kind  # (...) bool: whether no center is proven to be better
    objective: Kind  # (..., steps + 1) log-likelihood at the start of a search and after its steps; else (..., 0)
    n_iter: Kind  # (...) int64 steps of the search for a center, 0 where there is a formula
    converged: Kind  # (...) bool: whether it ended before ``max_iter``
    effective_samples: Kind  # (...) samples that count, least over rows; infinite where nothing is sampled

    __repr__ = short_repr


@isolated
@unmapped(SEARCHES)
def fit_mallows(
    X: Scores[Array] | PartialOrders,
    weights: Values | None = None,
    *,
    missing: Missing = None,
    ties: MallowsTies = "raise",
    center: Scores | None = None,
    max_lam: float = MOST_LAM,
    time_limit: float = 60.0,
    n_samples: int = N_SAMPLES,
    max_iter: int = 100,
    generator: torch.Generator | None = None,
) -> MallowsFit[Array]:
    r"""Fit a Mallows distribution to rankings, complete or partial.

    The best center of complete rankings is Kemeny's ranking whatever the concentration, and the best concentration
    solves

    .. math:: \operatorname{E}_\lambda n_d = \bar d

    where :math:`\bar d` is the weighted mean distance from the center (Fligner and Verducci, J. R. Stat. Soc. B 48(3),
    1986). It is 0 where the mean distance is n(n-1)/4 or more.

    A partial ranking stands for all total rankings that agree with it, and its probability is the sum of theirs.

    * Groups of items without an order inside, as top-k lists (the unlisted items are a group below) and ties of unknown
      order. Pairs of items of different groups are independent of those within, so that

      .. math:: \log P = -\lambda\, n_d + \sum_g \log Z_{|g|}(\lambda) - \log Z_n(\lambda)

      with discordant pairs of different groups only. The fit is exact for any number of items: the best center is
      Kemeny's ranking of the pairs that are ordered, and the best concentration solves the equation above, in which the
      expected pairs within groups are subtracted on the left.
    * Partial orders of any other kind, as sub-rankings and comparisons of pairs. Here the center and the concentration
      are found by steps of expectation-maximization (Lu and Boutilier, JMLR 15, 2014), and by moves of single items;
      that no other center is better is not proven. Sums over agreeing rankings are exact, by dynamic programming over
      sets of items, where a row leaves at most 16,384 sets to go through: always for up to 14 items, and for up to 20
      where enough is ordered.
    * Beyond that sums are estimated from ``n_samples`` rankings a row that the sampler AMP of Lu and Boutilier draws
      around the center, weighted by Mallows probability over chance of being drawn. Estimates of the probability of a
      row are unbiased, with a relative error of about one over the root of the samples that count. No moves of items
      are tried then, and a search may end at a center that is worse than its neighbors by less than this error.

    Args:
        X: ``(..., m, n)`` scores, one ranking a row: larger = preferred, NaN = unranked. Or comparisons of pairs, as
            :func:`torchrank.from_preferences` prepares them, of which all that follows is used.
        weights: ``(..., m)`` at least 0; None means those of a data set, or 1 each. Weighing a row is the same as
            repeating it. Batch dimensions broadcast with those of ``X``: weights ``(k, m)`` of one set of rankings give
            k fits.
        missing: what unranked items mean; None leaves it to prepared rankings, and is "raise" for scores.

            * "raise": an error.
            * "interleaving": anything. The items of a row were ranked among themselves (a sub-ranking).
            * "topk": less preferred than all ranked items.

            Or one of the last two for each ranking, ``(..., m)``.
        ties: "raise", an error; or "unknown": tied items were not told apart, any order of them agrees.
        center: ``(..., n)`` scores of a given center; None for the best one.
        max_lam: largest concentration, greater than 0. Rankings that all agree with the center have no finite maximum.
        time_limit: seconds for the center, or each center of a search; see :func:`torchrank.kemeny`.
        n_samples: sampled rankings for each row, where sums are not exact.
        max_iter: most steps of a search for a center.
        generator: source of the samples; None is torch's own.

    Returns:
        :class:`MallowsFit`: float64, but the center in the dtype of the scores if floating; arrays for NumPy input.
        ``optimal`` is False for a center that was given or searched for. Standard errors and log-likelihood count a
        weight as so many rankings.

    Raises:
        ValueError: ties, unranked items that ``ties`` and ``missing`` do not allow, batch dimensions of sub-rankings,
            weights that are negative, not finite or all 0, shapes that do not fit.
        TypeError: scores or weights that are not real numbers.

    Warns:
        RuntimeWarning: a concentration was cut at ``max_lam``; hardly one of the samples of a row counts.
        ConvergenceWarning: ``max_iter`` was not enough.

    Example:
        >>> X = np.array([[3.0, 2.0, 1.0]] * 3 + [[3.0, 1.0, 2.0]])
        >>> round(float(fit_mallows(X).lam), 4)
        2.0717
        >>> nan = np.nan
        >>> ballots = np.array([[2.0, 1.0, nan, nan]] * 3 + [[nan, 1.0, nan, nan]])
        >>> round(float(fit_mallows(ballots, missing="topk").lam), 4)
        2.0596
    """
    check_positive(max_lam, "max_lam")
    check_choice(ties, "ties", TIES)
    check_count(n_samples, "n_samples", 2)
    check_count(max_iter, "max_iter", 1)
    check_generator(generator)
    rows = partial_rows(
        X, missing, remedy=REMEDY, check=lambda ranks: None if ties == "unknown" else refuse_ties(ranks, "X", TIED)
    )
    n = rows.weak.shape[-1]
    weight = as_weights(weights, rows.weak).detach()
    middle = None if center is None else _given_center(center, n, rows.origin.items)
    if bool((rows.general & (weight > 0)).any()):
        source = "cpu" if generator is None else generator.device
        seed = int(torch.randint(2**62, (), generator=generator, device=source))
        fit = _searched(rows, weight, middle, max_lam, time_limit, n_samples, max_iter, seed)
    else:
        fit = _closed_form(rows, weight, middle, max_lam, time_limit)
    _warn_of_cap(fit.lam, fit.mean_distance, max_lam)
    lam, mean = (not_followed(value, X, weights, by="fit_mallows") for value in (fit.lam, fit.mean_distance))
    fit = fit._replace(lam=lam, mean_distance=mean)
    return MallowsFit(rows.origin.named(fit.center, "items"), *map(rows.origin.wrap, fit[1:]))


def _given_center(center: Scores, n: int, items: Any) -> Tensor:
    middle, origin = as_scores(center, "center", least_dims=1)
    check_same_items(items, index_of(center) if middle.ndim == 1 else origin.items, "X", "center")
    if middle.shape[-1] != n:
        raise ValueError(f"center ranks {middle.shape[-1]} items and X ranks {n}")
    places, _ = dense_ranks(middle[..., None, :], COMPLETE, "center")
    refuse_ties(places, "center", UNTIED)
    return middle


def _closed_form(
    rows: PartialRows, weight: Tensor, middle: Tensor | None, max_lam: float, time_limit: float
) -> MallowsFit:
    """The fit of weak orders, of which complete rankings are the finest."""
    rankings, n = rows.weak, rows.weak.shape[-1]
    if middle is None:
        central = kemeny(rankings, weight, time_limit=time_limit)
        middle, optimal = as_tensor(central.scores, "center")[0], torch.as_tensor(central.optimal)
    else:
        optimal = None
    distance = torch.as_tensor(kendall_distance(rankings.in_float64(), middle[..., None, :].to(torch.float64))).squeeze(
        -1
    )
    distance = distance - (n_pairs(n) - rankings.strict) / 4  # pairs within groups count a quarter each
    total = weight.sum(dim=-1)
    mean = (weight * distance).sum(dim=-1) / total
    groups = (weight[..., None] * rows.groups).sum(dim=-2) / total[..., None]
    lam = lam_of_mean_distance(mean, n, max_lam, groups=groups)
    return MallowsFit(
        center=middle,
        lam=lam,
        standard_error=(total * variance_distance(lam, n, groups)).rsqrt(),
        mean_distance=mean + mean_distance_within(lam, n, groups),
        log_likelihood=-total * (lam * mean + log_partition(lam, n, groups)),
        optimal=torch.zeros_like(mean, dtype=torch.bool) if optimal is None else optimal,
        objective=mean.new_zeros((*mean.shape, 0)),
        n_iter=torch.zeros_like(mean, dtype=torch.int64),
        converged=torch.ones_like(mean, dtype=torch.bool),
        effective_samples=torch.full_like(mean, torch.inf),
    )


def _searched(
    rows: PartialRows,
    weight: Tensor,
    middle: Tensor | None,
    max_lam: float,
    time_limit: float,
    n_samples: int,
    max_iter: int,
    seed: int,
) -> MallowsFit:
    """The fit where some partial orders have no formula."""
    for name, given in (("weights", weight), ("center", middle)):
        if given is not None and given.ndim != 1:
            raise ValueError(
                f"{name} has shape {tuple(given.shape)}, and in some rows unranked items may be anywhere; fit batches "
                "of those one by one"
            )
    problem = Problem.of(rows, weight, n_samples, seed)
    center = None if middle is None else middle.argsort().argsort()
    found = search(problem, center, max_lam=max_lam, time_limit=time_limit, max_iter=max_iter)
    values = found.values
    problem.agreeing.warn_of_few_samples(values.effective)
    dtype = torch.promote_types(rows.weak.result_dtype, torch.float32)
    device = weight.device
    return MallowsFit(
        center=(found.center + 1).to(dtype) if middle is None else middle,
        lam=found.lam,
        standard_error=values.information[0].clamp(min=0).rsqrt(),
        mean_distance=values.mean_distance[0],
        log_likelihood=values.log_likelihood[0],
        optimal=torch.tensor(False, device=device),
        objective=torch.tensor(found.objective, dtype=torch.float64, device=device),
        n_iter=torch.tensor(len(found.objective) - 1, device=device),
        converged=torch.tensor(found.converged, device=device),
        effective_samples=values.effective[0],
    )


def _warn_of_cap(lam: Tensor, mean: Tensor, max_lam: float) -> None:
    capped = lam >= max_lam
    if bool(capped.any()):
        warn(
            f"the concentration was cut at max_lam={max_lam:g}: the rankings hardly differ from the center (mean "
            f"distance {float(mean[capped].min()):.3g}), and the likelihood grows with lam without end",
            RuntimeWarning,
        )
