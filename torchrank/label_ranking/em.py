"""Passes of expectation-maximization for MM-PL: rows one by one on the CPU, or batches in plain torch anywhere."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from torchrank.cpu.mm_pl_job import Bounds, SweepMixture, SweepRows, SweepSums, Updates
from torchrank.distributions.choices import Choices, ChoiceStatistics, choice_statistics, log_prob, mm_update
from torchrank.label_ranking.gates import PrototypeMixture, prototype_shares
from torchrank.label_ranking.training import TrainingRows

BOUNDS = Bounds(step=1.0, logit=6.0)


@dataclass(frozen=True)
class ChoosingRows(TrainingRows):
    """Rows of untied rankings, with the choices that they tell of."""

    choices: Choices  # (N, L)
    n_made: Tensor  # (N,) choices of a row
    n_offered: Tensor  # (N,) labels to choose from
    taught: np.ndarray  # which rows have something to teach: they make a choice


@dataclass(frozen=True)
class Plan:
    """What one pass does."""

    updates: Updates  # one for each batch
    batch_size: int
    mm: bool  # scores by one step of Hunter's MM at the end
    prior: float


def run_pass(rows: ChoosingRows, mixture: PrototypeMixture, plan: Plan) -> tuple[PrototypeMixture, float]:
    """The mixture after a pass, and the mean log-likelihood of the rows, each before its update."""
    if plan.batch_size == 1 and rows.X.device.type == "cpu":
        return _compiled_pass(rows, mixture, plan)
    return _batched_pass(rows, mixture, plan)


def _compiled_pass(rows: ChoosingRows, mixture: PrototypeMixture, plan: Plan) -> tuple[PrototypeMixture, float]:
    from torchrank.cpu.mm_pl import sweep  # numba takes half a second to import

    prototypes = mixture.prototypes.T.to(torch.float64, copy=True).contiguous()
    logits = mixture.logits.to(torch.float64, copy=True)
    wins, rates = torch.zeros((2, *logits.shape), dtype=torch.float64)
    features = rows.X.to(torch.float64).contiguous()
    total = sweep(
        SweepRows(features.numpy(), rows.choices.order.numpy(), rows.n_made.numpy(), rows.n_offered.numpy()),
        plan.updates,
        BOUNDS,
        SweepMixture(prototypes.numpy(), mixture.membership.numpy(), logits.numpy()),
        SweepSums(wins.numpy(), rates.numpy()),
    )
    if plan.mm:
        logits = _mm_logits(ChoiceStatistics(wins, rates, wins.new_zeros(len(wins))), logits, plan.prior)
    after = mixture._replace(
        prototypes=prototypes.T.to(mixture.prototypes),
        logits=logits.to(mixture.logits),
        sigma=mixture.sigma.new_tensor(plan.updates.sigma[-1]),
    )
    return after, total / len(plan.updates.rows)


def _batched_pass(rows: ChoosingRows, mixture: PrototypeMixture, plan: Plan) -> tuple[PrototypeMixture, float]:
    order, sigma, rate, score_rate = plan.updates
    order = torch.from_numpy(order).to(rows.X.device)
    total = rows.X.new_zeros(())
    summed: ChoiceStatistics | None = None
    for update, batch in enumerate(order.split(plan.batch_size)):
        part = Choices(*(table[batch] for table in rows.choices))
        mixture = mixture._replace(sigma=rows.X.new_tensor(sigma[update]))
        mixture, statistics, log_likelihood = em_step(
            rows.X[batch], part, mixture, float(rate[update]), float(score_rate[update])
        )
        total += log_likelihood
        summed = statistics if summed is None or not plan.mm else summed + statistics
    if plan.mm and summed is not None:
        mixture = mixture._replace(logits=_mm_logits(summed, mixture.logits, plan.prior))
    return mixture, float(total) / len(order)


def em_step(
    X: Tensor,  # (B, d)
    choices: Choices,  # (B, L)
    mixture: PrototypeMixture,
    rate: float,
    score_rate: float,
) -> tuple[PrototypeMixture, ChoiceStatistics, Tensor]:
    """One update by a batch: the new mixture, statistics for the MM step, and the log-likelihood before.

    The E-step is in logarithms. With h and g the probabilities of a cluster after and before its ranking is known, and
    t those of its prototypes among themselves, w (h/g - 1) = t (h - g): the corrected step of equation 30 without a
    quotient of small numbers.
    """
    gates, share = prototype_shares(X, mixture)
    joint = gates + log_prob(choices, mixture.logits[:, None, :]).T
    posterior = joint.softmax(-1)
    pull = rate * share * (posterior - gates.exp())[:, mixture.membership]
    pull = pull * (BOUNDS.step / pull.abs().sum(0).clamp(min=BOUNDS.step))
    prototypes = mixture.prototypes + pull.T @ X - pull.sum(0)[:, None] * mixture.prototypes
    worths = mixture.logits.exp()
    statistics = choice_statistics(choices, worths, posterior.T)
    slope = statistics.wins - worths * statistics.rates
    # Many rows of one cluster push alike: together they go as far as their mean does with a step of 1.
    step = score_rate / (score_rate * posterior.sum(0)).clamp(min=1)
    logits = (mixture.logits + step[:, None] * slope).clamp(-BOUNDS.logit, BOUNDS.logit)
    return mixture._replace(prototypes=prototypes, logits=logits), statistics, joint.logsumexp(-1).sum()


def _mm_logits(statistics: ChoiceStatistics, logits: Tensor, prior: float) -> Tensor:
    updated = mm_update(statistics, logits.exp(), prior).log()
    return updated - updated.mean(-1, keepdim=True)
