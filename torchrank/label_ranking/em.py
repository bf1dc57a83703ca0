"""Passes of expectation-maximization for MM-PL: rows one by one on the CPU, or batches in plain torch anywhere."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from torchrank.cpu.mm_pl_job import Bounds, SweepMixture, SweepRows, SweepSums, Updates
from torchrank.distributions.choices import Choices, ChoiceStatistics, choice_statistics, log_prob, mm_update
from torchrank.label_ranking.gates import PrototypeMixture, prototype_shares
from torchrank.label_ranking.rankings import label_choices, label_votes
from torchrank.label_ranking.training import TrainingRows
from torchrank.processes import Group, rank_of, world_of
from torchrank.rankings.missing import Missing
from torchrank.stream.sums import Sums

BOUNDS = Bounds(step=1.0, logit=6.0)


@dataclass(frozen=True)
class ChoosingRows(TrainingRows):
    """Rows of untied rankings, with the choices that they tell of."""

    choices: Choices  # (N, L)
    n_made: Tensor  # (N,) choices of a row
    n_offered: Tensor  # (N,) labels to choose from
    taught: np.ndarray  # which rows have something to teach: they make a choice

    @classmethod
    def of_ranks(cls, X: Tensor, ranks: Tensor, missing: Missing) -> "ChoosingRows":
        """Features and untied dense ranks of the same rows."""
        choices = label_choices(ranks, missing)
        n_made, n_ranked = choices.made.sum(-1), (ranks >= 0).sum(-1)
        taught = n_made.nonzero()[:, 0].cpu().numpy()
        votes, pairs = label_votes(ranks, missing), n_ranked * (n_ranked - 1) // 2
        return cls(X.detach(), ranks, pairs, votes, choices, n_made, choices.offered.sum(-1), taught)


@dataclass(frozen=True)
class Plan:
    """What one pass does."""

    updates: Updates  # one for each batch
    batch_size: int
    mm: bool  # scores by one step of Hunter's MM at the end
    prior: float


def run_pass(rows: ChoosingRows, mixture: PrototypeMixture, plan: Plan) -> tuple[PrototypeMixture, float]:
    """The mixture after a pass, and the mean log-likelihood of the rows, each before its update."""
    mixture, statistics = run_updates(rows, mixture, plan)
    return end_pass(mixture, statistics, plan.mm, plan.prior), float(statistics.log_likelihood) / len(plan.updates.rows)


def end_pass(mixture: PrototypeMixture, statistics: ChoiceStatistics, mm: bool, prior: float) -> PrototypeMixture:
    """The mixture after all updates of a pass, and with ``mm`` the step of its scores."""
    if not mm:
        return mixture
    logits = mixture.logits.to(statistics.wins)
    updated = mm_update(statistics, logits.exp(), prior).log()
    return mixture._replace(logits=(updated - updated.mean(-1, keepdim=True)).to(mixture.logits))


def run_updates(
    rows: ChoosingRows, mixture: PrototypeMixture, plan: Plan, group: Group = None
) -> tuple[PrototypeMixture, ChoiceStatistics]:
    """The mixture after updates, and what the MM step needs of them, with the log-likelihood ().

    Processes of a group have the same rows, and do their share of every batch; one row at a time is for one process.
    """
    if plan.batch_size == 1 and rows.X.device.type == "cpu" and group is None:
        return _compiled_updates(rows, mixture, plan)
    return _batched_updates(rows, mixture, plan, group)


def _compiled_updates(
    rows: ChoosingRows, mixture: PrototypeMixture, plan: Plan
) -> tuple[PrototypeMixture, ChoiceStatistics]:
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
    after = mixture._replace(
        prototypes=prototypes.T.to(mixture.prototypes),
        logits=logits.to(mixture.logits),
        sigma=mixture.sigma.new_tensor(plan.updates.sigma[-1]),
    )
    return after, ChoiceStatistics(wins, rates, wins.new_tensor(total))


def _batched_updates(
    rows: ChoosingRows, mixture: PrototypeMixture, plan: Plan, group: Group
) -> tuple[PrototypeMixture, ChoiceStatistics]:
    order, sigma, rate, score_rate = plan.updates
    order = torch.from_numpy(order).to(rows.X.device)
    nothing = torch.zeros_like(mixture.logits)
    total = ChoiceStatistics(nothing, nothing, rows.X.new_zeros(()))
    for update, batch in enumerate(order.split(plan.batch_size)):
        own = batch[rank_of(group) :: world_of(group)]
        part = Choices(*(table[own] for table in rows.choices))
        mixture = mixture._replace(sigma=rows.X.new_tensor(sigma[update]))
        statistics = em_statistics(rows.X[own], part, mixture, float(rate[update])).over(group)
        mixture = em_update(statistics, mixture, float(score_rate[update]))
        total = total + statistics.choices
    return mixture, total


@dataclass(frozen=True)
class EMStatistics(Sums):
    """What an update needs of the rows of a batch."""

    pull: Tensor  # (M, d) sums of rows, by how much each pulls at a prototype
    pulls: Tensor  # (M,) how much all pull
    strength: Tensor  # (M,) the same of absolute values
    members: Tensor  # (K,) sums of posterior probabilities
    choices: ChoiceStatistics  # (K, L), and the log-likelihood () before the update


def em_step(
    X: Tensor,  # (B, d)
    choices: Choices,  # (B, L)
    mixture: PrototypeMixture,
    rate: float,
    score_rate: float,
) -> tuple[PrototypeMixture, ChoiceStatistics, Tensor]:
    """One update by a batch: the new mixture, statistics for the MM step, and the log-likelihood before."""
    statistics = em_statistics(X, choices, mixture, rate)
    return em_update(statistics, mixture, score_rate), statistics.choices, statistics.choices.log_likelihood


def em_statistics(X: Tensor, choices: Choices, mixture: PrototypeMixture, rate: float) -> EMStatistics:
    """The E-step of a batch.

    It is in logarithms. With h and g the probabilities of a cluster after and before its ranking is known, and t those
    of its prototypes among themselves, w (h/g - 1) = t (h - g): the corrected step of equation 30 without a quotient of
    small numbers.
    """
    gates, share = prototype_shares(X, mixture)
    joint = gates + log_prob(choices, mixture.logits[:, None, :]).T
    posterior = joint.softmax(-1)
    pull = rate * share * (posterior - gates.exp())[:, mixture.membership]
    made = choice_statistics(choices, mixture.logits.exp(), posterior.T)
    made = ChoiceStatistics(made.wins, made.rates, joint.logsumexp(-1).sum())
    return EMStatistics(pull.T @ X, pull.sum(0), pull.abs().sum(0), posterior.sum(0), made)


def em_update(statistics: EMStatistics, mixture: PrototypeMixture, score_rate: float) -> PrototypeMixture:
    """The M-step of a batch."""
    bound = (BOUNDS.step / statistics.strength.clamp(min=BOUNDS.step))[:, None]
    prototypes = mixture.prototypes + bound * (statistics.pull - statistics.pulls[:, None] * mixture.prototypes)
    worths, made = mixture.logits.exp(), statistics.choices
    slope = made.wins - worths * made.rates
    # Many rows of one cluster push alike: together they go as far as their mean does with a step of 1.
    step = score_rate / (score_rate * statistics.members).clamp(min=1)
    logits = (mixture.logits + step[:, None] * slope).clamp(-BOUNDS.logit, BOUNDS.logit)
    return mixture._replace(prototypes=prototypes, logits=logits)
