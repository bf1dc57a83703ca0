"""Maximum-likelihood and penalized fits of Plackett-Luce worths."""

from typing import NamedTuple

import torch
from torch import Tensor

from torchrank._repr import short_repr
from torchrank._warnings import warn_not_converged
from torchrank.distributions.choices import (
    MISSING,
    REMEDY,
    UNTIED,
    Choices,
    ChoiceStatistics,
    choice_statistics,
    choices_of,
    mm_update,
    worths_on_offer,
)
from torchrank.distributions.connectivity import refuse_no_maximum
from torchrank.ops.rank import as_rankings
from torchrank.rankings.arrays import Matrix
from torchrank.rankings.derivatives import not_followed, on_values
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Meaning, Missing, refuse_batches
from torchrank.rankings.validate import (
    Scores,
    as_weights,
    check_choice,
    check_count,
    check_finite,
    refuse_ties,
)

METHODS = ("newton", "mm")
_BLOCK_ELEMENTS = 2**14  # half of what makes torch wake its own threads
_LEAST_GAIN = 1e-4  # of what a Newton step promises, for its length to be accepted (Armijo)


class PlackettLuceFit(NamedTuple):
    """Worths fitted to rankings, and the evidence that the fit ended where it should."""

    logits: Matrix  # (n,) log-worths that add up to 0, larger = preferred
    covariance: Matrix  # (n, n) of the logits: inverse information, whose rows add up to 0 as the logits do
    standard_errors: Matrix  # (n,) of the logits
    log_likelihood: float  # of the weighted rankings, without the prior
    gradient: float  # largest derivative in a logit at the end, divided by the sum of weights
    objective: tuple[float, ...]  # before every step and at the end: log-likelihood plus log-prior, which rises
    losses: tuple[float, ...]  # minus the last objective
    n_iter: int
    converged: bool
    reason: str  # "tolerance" or "max_iter"

    __repr__ = short_repr


@isolated
def fit_plackett_luce(
    X: Scores,
    weights: Matrix | None = None,
    *,
    missing: Missing = None,
    prior: float = 0.0,
    method: str = "newton",
    tol: float = 1e-9,
    max_iter: int = 1000,
) -> PlackettLuceFit:
    r"""Fit Plackett-Luce worths :math:`v = e^{\theta}` to rankings.

    With the items of ranking r in order :math:`r_1, r_2, \dots` what is maximized is

    .. math:: \sum_r w_r \sum_i \Big(\theta_{r_i} - \log \sum_{j \ge i} e^{\theta_{r_j}}\Big)
              + \alpha \sum_c \Big(\theta_c - \log \sum_b e^{\theta_b}\Big)

    which is concave in the logits (Plackett, Appl. Statist. 24(2), 1975). The second sum is the prior: every item was
    chosen :math:`\alpha` more times, out of all n. It is the Gamma prior of shape :math:`\alpha + 1` on worths
    (Caron and Doucet, J. Comput. Graph. Stat. 21(1), 2012), whose rate only sets their scale, and with it there is
    always one maximum.

    Without it there is one only if the items can't be split in two groups of which one was never preferred to the
    other: where a chain of preferences leads from every item to every other (Hunter, Ann. Statist. 32(1), 2004).

    Args:
        X: ``(m, n)`` scores without ties, one ranking a row: larger = preferred, NaN = unranked.
        weights: ``(m,)`` at least 0; None means 1 each. Weighing a row is the same as repeating it.
        missing: what unranked items mean; None leaves it to prepared rankings, and is "raise" for scores.

            * "raise": an error.
            * "interleaving": anything. The items of a row were ranked among themselves (a sub-ranking).
            * "topk": less preferred than all ranked items: every choice was among all items not yet placed.

            Or one of the last two for each ranking, ``(m,)``.
        prior: :math:`\alpha`, at least 0, in the unit of the weights: multiply both to change the unit.
        method: "newton", or "mm" for Hunter's minorization-maximization, whose steps cost less and need no n x n
            matrix, but are many more.
        tol: stop when no derivative in a logit exceeds ``tol`` times the sum of weights.
        max_iter: steps at most.

    Returns:
        :class:`PlackettLuceFit`, arrays for NumPy and tensors for torch, float64. Standard errors are those of
        logits that add up to 0; a difference i - j has the variance ``C[i, i] + C[j, j] - 2 C[i, j]`` of the
        covariance C. Like the log-likelihood they count a weight as so many rankings.

    Raises:
        ValueError: tied items, unranked items with ``missing="raise"``, weights that are negative, not finite or all 0,
            and, without a prior, data for which there is no maximum; the message lists the groups of items within
            which there is one.
        TypeError: scores or weights that are not real numbers.

    Warns:
        ConvergenceWarning: the fit stopped before the derivatives were small enough.

    Example:
        >>> fit = fit_plackett_luce(np.array([[2.0, 1.0]] * 3 + [[1.0, 2.0]]))
        >>> np.exp(fit.logits[0] - fit.logits[1]).round(6).item()
        3.0
    """
    check_choice(method, "method", METHODS)
    check_finite(prior, "prior", 0)
    check_finite(tol, "tol", 0)
    check_count(max_iter, "max_iter", least=0)
    rankings = as_rankings(X, missing=missing, remedy=REMEDY, legal=MISSING)
    if rankings.ndim != 2:
        raise ValueError(f"X has shape {tuple(rankings.shape)}; expected one matrix (rankings, items)")
    refuse_batches(rankings.meaning, "missing")
    weight = as_weights(weights, rankings.ranks).detach()
    if weight.ndim != 1:
        raise ValueError(f"weights has shape {tuple(weight.shape)}; expected one weight for each ranking")
    found: list[PlackettLuceFit] = []

    def search(ranks: Tensor, weight: Tensor) -> Tensor:
        refuse_ties(ranks, "X", UNTIED)
        used = weight > 0
        topk = rankings.meaning.topk
        choices = choices_of(ranks[used], Meaning(rankings.meaning.word, None if topk is None else topk[used]))
        if prior == 0:
            refuse_no_maximum(choices)
        problem = _Problem(_in_blocks(choices, weight[used]), float(prior))
        n = ranks.shape[-1]
        worths = torch.full((n,), 1 / n, dtype=torch.float64, device=ranks.device)
        found.append(_ascend(problem, worths, method, float(weight.sum()), tol, max_iter))
        return found[0].logits

    logits = on_values(search, rankings.ranks, weight)
    fit = found[0]._replace(logits=not_followed(logits, X, weights, by="fit_plackett_luce"))
    return fit._replace(**{name: rankings.origin.wrap(getattr(fit, name)) for name in _ARRAYS})


_ARRAYS = ("logits", "covariance", "standard_errors")


class _Problem(NamedTuple):
    """What is maximized: the penalized log-likelihood, its gradient and its information in the logits."""

    blocks: list[tuple[Choices, Tensor]]  # (rows, n) and the weights (rows,) of some rankings
    prior: float

    def statistics(self, worths: Tensor) -> ChoiceStatistics:
        first, *others = (choice_statistics(choices, worths, weights) for choices, weights in self.blocks)
        return sum(others, start=first)

    def objective(self, statistics: ChoiceStatistics, worths: Tensor) -> float:
        log_prior = self.prior * (worths.log() - worths.sum().log()).sum()
        return float(statistics.log_likelihood + log_prior)

    def gradient(self, statistics: ChoiceStatistics, worths: Tensor) -> Tensor:
        share = worths / worths.sum()
        return statistics.wins - worths * statistics.rates + self.prior * (1 - worths.shape[0] * share)

    def information(self, statistics: ChoiceStatistics, worths: Tensor) -> Tensor:
        """Minus the second derivatives, ``(n, n)``: the covariance of each choice among those on offer, added up."""
        together = sum(_offered_together(choices, worths, weights) for choices, weights in self.blocks)
        share = worths / worths.sum()
        n = worths.shape[0]
        diagonal = worths * statistics.rates + self.prior * n * share
        return diagonal.diag() - worths * worths[:, None] * together - self.prior * n * share * share[:, None]


def _offered_together(choices: Choices, worths: Tensor, weights: Tensor) -> Tensor:
    """Sum of weight / (total worth on offer)^2 over the choices between two items and maybe others, ``(n, n)``."""
    until = (choices.made / worths_on_offer(choices, worths)).square().cumsum(dim=-1) * choices.offered
    until = until.gather(-1, choices.place)
    # Two items are on offer together until the first of them is placed, and sums over places only grow.
    return torch.stack([weights @ torch.minimum(until, column[:, None]) for column in until.unbind(-1)])


def _in_blocks(choices: Choices, weights: Tensor) -> list[tuple[Choices, Tensor]]:
    """Blocks of rankings: on the CPU such that they stay in cache, and in the calling thread."""
    m, n = choices.order.shape
    step = max(1, _BLOCK_ELEMENTS // n) if weights.device.type == "cpu" else max(1, m)
    spans = [slice(start, start + step) for start in range(0, m, step)]
    return [(Choices(*(part[span] for part in choices)), weights[span]) for span in spans]


def _ascend(problem: _Problem, worths: Tensor, method: str, total: float, tol: float, max_iter: int) -> PlackettLuceFit:
    """Go uphill from ``worths`` until no derivative exceeds ``tol`` of the total weight."""
    tol = tol * total
    statistics = problem.statistics(worths)
    objective = [problem.objective(statistics, worths)]
    n_iter = 0
    while n_iter < max_iter and float(problem.gradient(statistics, worths).abs().max()) > tol:
        if method == "mm":
            worths = mm_update(statistics, worths, problem.prior)
            statistics = problem.statistics(worths)
        else:
            worths, statistics = _newton_step(problem, statistics, worths)
        objective.append(problem.objective(statistics, worths))
        n_iter += 1
    slope = float(problem.gradient(statistics, worths).abs().max())
    if slope > tol:
        warn_not_converged(
            f"Plackett-Luce did not converge in {n_iter} steps: the largest derivative is {slope:.3g}, "
            f"{tol:.3g} was asked for; raise max_iter or tol"
        )
    covariance = inverse_information(problem.information(statistics, worths))
    logits = worths.log()
    return PlackettLuceFit(
        logits=logits - logits.mean(),
        covariance=covariance,
        standard_errors=covariance.diagonal().sqrt(),
        log_likelihood=float(statistics.log_likelihood),
        gradient=slope / total,
        objective=tuple(objective),
        losses=(-objective[-1],),
        n_iter=n_iter,
        converged=slope <= tol,
        reason="tolerance" if slope <= tol else "max_iter",
    )


def _newton_step(problem: _Problem, statistics: ChoiceStatistics, worths: Tensor) -> tuple[Tensor, ChoiceStatistics]:
    """Worths after a Newton step in the logits, halved until the objective grows as it should, and their statistics."""
    gradient = problem.gradient(statistics, worths)
    step = inverse_information(problem.information(statistics, worths)) @ gradient
    here, promised = problem.objective(statistics, worths), float(gradient @ step)
    length = 1.0
    while True:
        logits = worths.log() + length * step
        there = (logits - logits.max()).exp()
        found = problem.statistics(there)
        gain = problem.objective(found, there) - here
        # At the maximum gains drown in rounding: then the full step is as good as any.
        if gain >= _LEAST_GAIN * length * promised or promised <= 1e-12 * abs(here) or length < 1e-6:
            return there, found
        length /= 2


def inverse_information(information: Tensor) -> Tensor:
    """Inverse on vectors that add up to 0; the information knows nothing of a constant added to all logits."""
    n = information.shape[-1]
    size = information.diagonal().mean().clamp(min=torch.finfo(information.dtype).tiny)
    inverse = torch.linalg.inv(information + size / n)
    return inverse - 1 / (n * size)
