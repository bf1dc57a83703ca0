"""Passes of expectation-maximisation for MM-PL: rows one by one on the CPU, or batches in plain torch anywhere."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from torchrank.distributions.choices import Choices, ChoiceStatistics, choice_statistics, log_prob, mm_update
from torchrank.label_ranking.gates import Mixture, prototype_shares

LARGEST_STEP = 1.0  # share of the way to its rows that a prototype goes in one update
LARGEST_LOGIT = 6.0


@dataclass(frozen=True)
class Rows:
    """Training data."""

    X: Tensor  # (N, d)
    ranks: Tensor  # (N, L) int32 dense ranks
    votes: Tensor  # (N, L) expected Borda votes
    choices: Choices  # (N, L)
    n_made: Tensor  # (N,) choices of a row
    n_offered: Tensor  # (N,) labels to choose from
    taught: np.ndarray  # which rows have something to teach: they make a choice


@dataclass(frozen=True)
class Plan:
    """What one pass does: the order of rows, and for every update its batch's width and steps."""

    rows: np.ndarray  # (n,)
    batch_size: int
    sigma: np.ndarray  # (updates,)
    rate: np.ndarray  # (updates,) step of prototypes per row
    score_rate: np.ndarray  # (updates,) step of scores per row; 0 with ``mm``
    mm: bool  # scores by one step of Hunter's MM at the end
    prior: float


def run_pass(rows: Rows, mixture: Mixture, plan: Plan) -> tuple[Mixture, float]:
    """The mixture after a pass, and the mean log-likelihood of the rows, each before its update."""
    if plan.batch_size == 1 and rows.X.device.type == "cpu":
        return _compiled_pass(rows, mixture, plan)
    return _batched_pass(rows, mixture, plan)


def _compiled_pass(rows: Rows, mixture: Mixture, plan: Plan) -> tuple[Mixture, float]:
    from torchrank.cpu.mm_pl import sweep  # numba takes half a second to import

    prototypes = mixture.prototypes.T.to(torch.float64, copy=True).contiguous()
    logits = mixture.logits.to(torch.float64, copy=True)
    wins, rates = torch.zeros((2, *logits.shape), dtype=torch.float64)
    total = sweep(
        rows.X.to(torch.float64).contiguous().numpy(),
        rows.choices.order.numpy(),
        rows.n_made.numpy(),
        rows.n_offered.numpy(),
        plan.rows,
        plan.sigma,
        plan.rate,
        plan.score_rate,
        LARGEST_STEP,
        LARGEST_LOGIT,
        prototypes.numpy(),
        mixture.membership.numpy(),
        logits.numpy(),
        wins.numpy(),
        rates.numpy(),
    )
    if plan.mm:
        logits = _mm_logits(ChoiceStatistics(wins, rates, wins.new_zeros(len(wins))), logits, plan.prior)
    after = mixture._replace(
        prototypes=prototypes.T.to(mixture.prototypes), logits=logits.to(mixture.logits), sigma=_last(plan, mixture)
    )
    return after, total / len(plan.rows)


def _batched_pass(rows: Rows, mixture: Mixture, plan: Plan) -> tuple[Mixture, float]:
    order = torch.from_numpy(plan.rows).to(rows.X.device)
    total = rows.X.new_zeros(())
    summed: ChoiceStatistics | None = None
    for update, batch in enumerate(order.split(plan.batch_size)):
        part = Choices(*(table[batch] for table in rows.choices))
        mixture = mixture._replace(sigma=rows.X.new_tensor(plan.sigma[update]))
        mixture, statistics, log_likelihood = em_step(
            rows.X[batch], part, mixture, float(plan.rate[update]), float(plan.score_rate[update])
        )
        total += log_likelihood
        summed = statistics if summed is None or not plan.mm else summed + statistics
    if plan.mm and summed is not None:
        mixture = mixture._replace(logits=_mm_logits(summed, mixture.logits, plan.prior))
    return mixture, float(total) / len(order)


def em_step(
    X: Tensor,  # (B, d)
    choices: Choices,  # (B, L)
    mixture: Mixture,
    rate: float,
    score_rate: float,
) -> tuple[Mixture, ChoiceStatistics, Tensor]:
    """One update by a batch: the new mixture, statistics for the MM step, and the log-likelihood before.

    The E-step is in logarithms. With h and g the probabilities of a cluster after and before its ranking is known, and
    t those of its prototypes among themselves, w (h/g - 1) = t (h - g): the corrected step of equation 30 without a
    quotient of small numbers.
    """
    gates, share = prototype_shares(X, mixture)
    joint = gates + log_prob(choices, mixture.logits[:, None, :]).T
    posterior = joint.softmax(-1)
    pull = rate * share * (posterior - gates.exp())[:, mixture.membership]
    pull = pull * (LARGEST_STEP / pull.abs().sum(0).clamp(min=LARGEST_STEP))
    prototypes = mixture.prototypes + pull.T @ X - pull.sum(0)[:, None] * mixture.prototypes
    worths = mixture.logits.exp()
    statistics = choice_statistics(choices, worths, posterior.T)
    slope = statistics.wins - worths * statistics.rates
    # Many rows of one cluster push alike: together they go as far as their mean does with a step of 1.
    step = score_rate / (score_rate * posterior.sum(0)).clamp(min=1)
    logits = (mixture.logits + step[:, None] * slope).clamp(-LARGEST_LOGIT, LARGEST_LOGIT)
    return mixture._replace(prototypes=prototypes, logits=logits), statistics, joint.logsumexp(-1).sum()


def _mm_logits(statistics: ChoiceStatistics, logits: Tensor, prior: float) -> Tensor:
    updated = mm_update(statistics, logits.exp(), prior).log()
    return updated - updated.mean(-1, keepdim=True)


def _last(plan: Plan, mixture: Mixture) -> Tensor:
    return mixture.sigma.new_tensor(plan.sigma[-1])
