"""Maximum-likelihood and penalized fits of Plackett-Luce worths."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchrank.distributions.ascent import Ascent, Point, ascend, solve_by_products
from torchrank.distributions.choice_lists import ChoiceLists, choice_lists, one_set
from torchrank.distributions.choices import TIES_OR, ChoiceStatistics, mm_update
from torchrank.distributions.connectivity import refuse_no_maximum
from torchrank.distributions.likelihood import PlackettLuceObjective
from torchrank.distributions.plackett_luce_fit import EXACT, PlackettLuceFit, as_fit, with_origin
from torchrank.distributions.priors import Gamma, LogPrior, Prior, log_prior
from torchrank.distributions.ties import TiedObjective
from torchrank.rankings.arrays import Matrix, as_array
from torchrank.rankings.derivatives import not_followed, on_values
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Missing
from torchrank.rankings.sparse import SparseRankings
from torchrank.rankings.sparse_forms import from_rankings
from torchrank.rankings.validate import Scores, as_weights, check_choice, check_count, check_finite

METHODS = ("auto", "newton", "cg", "mm")
TIES = ("raise", "davidson")
COVARIANCES = ("auto", "full", "diagonal", "none")
_MOST_MATRIX = 500  # items up to which steps by the matrix of second derivatives are the faster ones
_FLAT = 10  # times the largest derivative allowed at the end: a curvature that a maximum has more of


@isolated
def fit_plackett_luce(
    X: Scores,
    weights: Matrix | None = None,
    *,
    missing: Missing = None,
    ties: str = "raise",
    prior: Prior = 0.0,
    method: str = "auto",
    covariance: str | Sequence[Any] = "auto",
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> PlackettLuceFit:
    r"""Fit Plackett-Luce worths :math:`v = e^{\theta}` to rankings; of comparisons, Bradley-Terry strengths.

    With the items of ranking r in order :math:`r_1, r_2, \dots` what is maximized is

    .. math:: \sum_r w_r \sum_i \Big(\theta_{r_i} - \log \sum_{j \ge i} e^{\theta_{r_j}}\Big)
              + \alpha \sum_c \Big(\theta_c - \log \sum_b e^{\theta_b}\Big)

    which is concave in the logits (Plackett, Appl. Statist. 24(2), 1975). The second sum is the prior: every item was
    chosen :math:`\alpha` more times, out of all n. It is the Gamma prior of shape :math:`\alpha + 1` on worths
    (Caron and Doucet, J. Comput. Graph. Stat. 21(1), 2012), whose rate only sets their scale, and with it there is
    always one maximum.

    Without it there is one only if the items can't be split in two groups of which one was never preferred to the
    other: where a chain of preferences leads from every item to every other (Hunter, Ann. Statist. 32(1), 2004).

    With ``ties="davidson"`` sets of tied items are chosen together, and a parameter for each size of a tie is fitted
    too; see :class:`torchrank.PlackettLuce`. The fit is concave in the logits and in the logarithms of the parameters.

    Equal rankings are merged, and then the cost of a step is that of the items ranked, not of rankings times items.
    Many comparisons of many players come as ``SparseRankings.from_orders(pairs)``, which holds what was ranked only.

    Args:
        X: ``(m, n)`` scores, one ranking a row: larger = preferred, NaN = unranked; or sparse rankings,
            or a :class:`torchrank.datasets.RankingData`.
        weights: ``(m,)`` at least 0; None means those of a data set, or 1 each. Weighing a row is the same as
            repeating it.
        missing: what unranked items mean; None leaves it to prepared rankings, and is "raise" for scores.

            * "raise": an error.
            * "interleaving": anything. The items of a row were ranked among themselves (a sub-ranking).
            * "topk": less preferred than all ranked items: every choice was among all items not yet placed.

            Or one of the last two for each ranking, ``(m,)``.
        ties: "raise", an error; or "davidson" as above.
        prior: :math:`\alpha`, at least 0, in the unit of the weights: multiply both to change the unit; or
            :class:`torchrank.distributions.GhostItem`, :class:`torchrank.distributions.NormalPrior`.
        method: how to go uphill.

            * "newton": Newton's method; steps take the n x n matrix of second derivatives.
            * "cg": Newton's method whose steps are found by conjugate gradients, from products with that matrix.
            * "mm": Hunter's minorization-maximization, whose steps cost least, but are many more. It takes no ties, and
              a number as the prior.
            * "auto": "newton" for up to 500 items, "cg" beyond.
        covariance: "full"; "diagonal" for standard errors alone; "none"; or the indices of k items, or
            their names where they have some, of which there are to be covariances, found by conjugate gradients. "full"
            and "diagonal" invert an n x n matrix, for which they take 16 n^2 bytes and n^3 steps. "auto": "full" for up
            to 2,000 items, "none" beyond.
        tol: stop when no derivative in a parameter exceeds ``tol`` times the sum of weights.
        max_iter: steps at most.

    Returns:
        :class:`PlackettLuceFit`, arrays for NumPy, tensors for torch, series and frames with names for data frames;
        float64. Covariances are the inverse of the
        information, that of the prior included, for logits that add up to 0: a difference i - j has the variance
        ``C[i, i] + C[j, j] - 2 C[i, j]``. Like the log-likelihood they count a weight as so many rankings.

    Raises:
        ValueError: tied items with ``ties="raise"``, unranked items with ``missing="raise"``, weights that are
            negative, not finite or all 0, and, without a prior, data for which there is no maximum; the message lists
            the groups of items within which there is one.
        TypeError: scores or weights that are not real numbers, ``covariance`` that is neither a word nor indices.

    Warns:
        ConvergenceWarning: the fit stopped before the derivatives were small enough.

    Example:
        >>> fit = fit_plackett_luce(np.array([[2.0, 1.0]] * 3 + [[1.0, 2.0]]))
        >>> np.exp(fit.logits[0] - fit.logits[1]).round(6).item()
        3.0
    """
    check_choice(method, "method", METHODS)
    check_choice(ties, "ties", TIES)
    check_finite(tol, "tol", 0)
    check_count(max_iter, "max_iter", least=0)
    rankings = one_set(X, missing)
    covariance = _checked_covariance(covariance, rankings.shape[1], rankings.origin.items)
    weight = as_weights(weights, rankings).detach()
    if weight.ndim != 1:
        raise ValueError(f"weights has shape {tuple(weight.shape)}; expected one weight for each ranking")
    log_prior_ = log_prior(prior, rankings.shape[1], rankings.ranks.device)
    if method == "mm" and (ties != "raise" or not (log_prior_ is None or isinstance(log_prior_, Gamma))):
        raise ValueError('method="mm" takes no ties, and a number as the prior; pass method="auto"')
    found: list[PlackettLuceFit] = []

    def search(ranks: Tensor, weight: Tensor) -> Tensor:
        held = replace(rankings, ranks=ranks)
        sparse = held if isinstance(held, SparseRankings) else from_rankings(held, "X")
        if ties == "raise":
            sparse.refuse_ties("X", TIES_OR + 'ties="davidson"')
        lists, total = choice_lists(sparse, weight), float(weight.sum())
        found.append(_fit(lists, log_prior_, ties != "raise", total, method, covariance, tol, max_iter))
        return found[0].logits

    logits = on_values(search, rankings.ranks, weight)
    fit = found[0]._replace(logits=not_followed(logits, X, weights, by="fit_plackett_luce"))
    return with_origin(fit, rankings.origin, covariance)


def _checked_covariance(covariance: str | Sequence[Any], n: int, names: Any) -> str | list[int]:
    """A word, or indices of items, which may be names where items have some; an error for anything else."""
    if isinstance(covariance, str):
        check_choice(covariance, "covariance", COVARIANCES)
        return covariance
    items = as_array(covariance, "covariance")
    if names is not None and items.ndim == 1 and items.dtype.kind in "OU" and set(items.tolist()) <= set(names):
        items = np.array([list(names).index(name) for name in items.tolist()], dtype=np.int64)
    expected = f"a word, one of {', '.join(map(repr, COVARIANCES))}, or a list of different item indices, 0 to {n - 1}"
    if items.ndim != 1 or (len(items) and items.dtype.kind not in "iu"):
        raise TypeError(f"covariance is {covariance!r}; expected {expected}")
    chosen = items.tolist()
    if len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(n)):
        raise ValueError(f"covariance is {covariance!r}; expected {expected}")
    return chosen


def _fit(
    lists: ChoiceLists,
    prior: LogPrior | None,
    ties: bool,
    total: float,
    method: str,
    covariance: str | list[int],
    tol: float,
    max_iter: int,
) -> PlackettLuceFit:
    n = lists.n_items
    if prior is None:
        refuse_no_maximum(lists, ties=ties)
    if method == "auto":
        method = "newton" if n <= _MOST_MATRIX else "cg"
    if ties:
        objective = TiedObjective(lists, prior)
        sizes = objective.sizes
    else:
        objective = PlackettLuceObjective(lists, prior)
        sizes = lists.items.new_zeros(0)
    start = lists.weights.new_zeros(n + len(sizes))
    if method == "mm":
        assert isinstance(objective, PlackettLuceObjective)
        end = _minorize(objective, start, tol * total, max_iter)
    else:
        end = ascend(objective, start, method, tol * total, max_iter)
    if ties and _is_flat(end.point, objective.level, n, _FLAT * max(tol, EXACT) * total):
        raise ValueError(
            "Plackett-Luce with ties has no maximum of the likelihood for these rankings: worths or tie parameters "
            "grow without end, as where all choices are ties, or an item ties and wins but never loses; pass prior=0.5"
        )
    return as_fit(end, objective.level, n, sizes, total, covariance, tol)


def _is_flat(point: Point, level: Tensor | None, n: int, least: float) -> bool:
    """Whether the curvature in some direction is less than a maximum has.

    Where there is none, the likelihood grows ever less along some direction, and its curvature with it. Of very many
    items only directions with a tie parameter are looked at.
    """
    if n <= _MOST_MATRIX:
        curvature = torch.linalg.eigvalsh(point.information())
        return int((curvature < least).sum()) > (level is not None)
    units = torch.eye(len(point.parameters) - n, dtype=point.parameters.dtype, device=point.parameters.device)
    towards = (torch.cat([unit.new_zeros(n), unit]) for unit in units)
    return any(float(unit @ solve_by_products(point, unit, 1e-4)) > 1 / least for unit in towards)


def _minorize(objective: PlackettLuceObjective, start: Tensor, tol: float, max_iter: int) -> Ascent:
    """Go uphill by Hunter's steps until no derivative exceeds ``tol``."""
    alpha = objective.prior.alpha if isinstance(objective.prior, Gamma) else 0.0
    point, trace = objective.at(start), []
    while True:
        trace.append(point.value)
        slope = float(point.gradient.abs().max())
        if len(trace) > max_iter or slope <= tol:
            return Ascent(point, trace, len(trace) - 1, slope)
        sums = ChoiceStatistics(objective.wins, point.sums.rates, point.sums.log_likelihood)
        point = objective.at(mm_update(sums, point.worths, alpha).log())
