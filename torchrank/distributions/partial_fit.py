"""Search for the Mallows distribution of partial orders whose probability has no formula."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from torchrank._warnings import warn_not_converged
from torchrank.aggregation.kemeny import kemeny_of_preferences
from torchrank.aggregation.preferences import pair_preferences
from torchrank.distributions.agreeing import Agreeing
from torchrank.distributions.mallows_law import log_partition, mean_distance, mean_distance_within, variance_distance
from torchrank.distributions.partial_rows import PartialRows
from torchrank.rankings.distinct import distinct_rows

_NEWTON_STEPS = 100
_LAST_STEP = 1e-10  # beside lam
_ROUGH_STEP = 1e-3  # in standard errors, where the score is an estimate that jumps
_FEW_ITEMS = 8  # of which all moves of one item are tried, and not only those by one place
_TRIALS = 3  # moves of each kind whose best concentration is looked for
_ROUNDING = 1e-12  # of the log-likelihood


class Values(NamedTuple):
    """What data say of b centers and concentrations, ``(b,)`` each."""

    log_likelihood: Tensor
    score: Tensor  # derivative of the log-likelihood in the concentration
    information: Tensor  # minus the second one
    mean_distance: Tensor
    effective: Tensor  # least samples that count


@dataclass(frozen=True)
class Problem:
    """Weighted partial rankings: weak orders by what is sufficient of them, and the others."""

    preferences: Tensor  # (n, n) weight of the weak orders that prefer i to j
    groups: Tensor  # (n - 1,) mean number of groups over all rows
    agreeing: Agreeing
    weights: Tensor  # (g,) of the other rows
    total: Tensor  # () sum of all weights

    @classmethod
    def of(cls, rows: PartialRows, weights: Tensor, n_samples: int, seed: int) -> "Problem":
        """Equal rows that are no weak orders are counted once, and those of weight 0 left out."""
        used = rows.of_rows((weights > 0).nonzero()[:, 0])
        weights = weights[weights > 0]
        distinct = distinct_rows(used.distinct[used.general])
        total = weights.sum()
        return cls(
            torch.as_tensor(pair_preferences(used.weak.in_float64(), weights)),
            weights @ used.groups / total,
            Agreeing(used.precedes[distinct.first], n_samples, seed),
            distinct.total(weights[used.general]),
            total,
        )

    def values(self, centers: Tensor, lam: Tensor) -> Values:
        """For ``centers`` ``(b, n)`` and ``lam`` ``(b,)``."""
        sums, n = self.agreeing.sums(centers, lam), centers.shape[-1]
        against = centers[:, :, None] < centers[:, None, :]
        distance = (self.preferences * against).sum(dim=(-1, -2)) + sums.mean @ self.weights
        known = self.total * log_partition(lam, n, self.groups)
        log_sums = sums.log_sum @ self.weights - lam * (self.preferences * against).sum(dim=(-1, -2))
        spread = self.total * variance_distance(lam, n, self.groups)
        return Values(
            log_sums - known,
            self.total * mean_distance(lam, n, self.groups) - distance,
            spread - sums.variance @ self.weights,
            distance / self.total + mean_distance_within(lam, n, self.groups),
            sums.effective.amin(dim=-1),
        )

    def expected_preferences(self, center: Tensor, lam: Tensor) -> Tensor:
        """``(n, n)`` preferences of the rankings completed, in expectation."""
        return self.preferences + self.agreeing.preferences(center[None], lam[None], self.weights[None])[0]

    def best_lam(self, center: Tensor, start: Tensor, max_lam: float) -> Tensor:
        """The concentration from 0 to ``max_lam`` where the score is 0, by Newton's method within bounds."""
        low, high = torch.zeros_like(start), torch.full_like(start, max_lam)
        ends = self.values(center.expand(2, -1), torch.stack([low, high])).score
        if not bool(ends[0] > 0):
            return low
        if bool(ends[1] >= 0):
            return high
        lam = start if bool((start > 0) & (start < max_lam)) else torch.ones_like(start).clamp(max=max_lam / 2)
        for _ in range(_NEWTON_STEPS):
            value = self.values(center[None], lam[None])
            low, high = (lam, high) if bool(value.score > 0) else (low, lam)
            following = lam + value.score[0] / value.information[0]
            if not bool((value.information > 0) & (low <= following) & (following <= high)):
                following = (low + high) / 2
            step, lam = (following - lam).abs(), following
            last = _LAST_STEP * lam.clamp(min=1)
            if self.agreeing.sampled:
                last = _ROUGH_STEP * value.information[0].clamp(min=1).rsqrt()
            if bool(step <= last):
                break
        return lam


class Found(NamedTuple):
    """A center, its concentration, what the data say of them, and how they were found."""

    center: Tensor  # (n,) dense ranks
    lam: Tensor  # ()
    values: Values
    objective: tuple[float, ...]  # log-likelihood after every step
    converged: bool


def search(problem: Problem, center: Tensor | None, *, max_lam: float, time_limit: float, max_iter: int) -> Found:
    """The best of two climbs, or the best concentration for a center that is given.

    A climb alternates between the best concentration of the center and Kemeny's ranking of the preferences expected
    under both, an EM step. Where that stays, centers with one item moved are tried, if sums are exact. One climb starts
    from the preferences expected if all agreeing rankings are alike, the other from those known.
    """
    n, zero = problem.preferences.shape[0], problem.total.new_zeros(())
    if center is not None:
        lam = problem.best_lam(center, zero, max_lam)
        values = problem.values(center[None], lam[None])
        return Found(center, lam, values, (float(values.log_likelihood),), True)
    anything = torch.arange(n, device=zero.device)
    known = problem.agreeing.precedes.to(torch.float64)
    starts = [
        problem.expected_preferences(anything, zero),
        problem.preferences + (problem.weights @ known.flatten(1)).view(n, n),
    ]
    centers = [_kemeny(start, problem, time_limit) for start in starts]
    centers = centers[:1] if torch.equal(*centers) else centers
    found = [_climb(problem, start, max_lam, time_limit, max_iter) for start in centers]
    best = max(found, key=lambda one: one.objective[-1])
    if not best.converged:
        warn_not_converged(
            f"the search for a center was still gaining after max_iter={max_iter} steps, of which the last one gained "
            f"{best.objective[-1] - best.objective[-2]:.3g} in log-likelihood; raise max_iter"
        )
    return best


def _kemeny(preferences: Tensor, problem: Problem, time_limit: float) -> Tensor:
    return kemeny_of_preferences(preferences, problem.total, time_limit=time_limit).scores.long() - 1


def _climb(problem: Problem, center: Tensor, max_lam: float, time_limit: float, max_iter: int) -> Found:
    here = _At.best(problem, center, problem.total.new_zeros(()), max_lam)
    objective = [here.log_likelihood]
    for _ in range(max_iter):
        better = _better(problem, here, max_lam, time_limit)
        if better is None:
            return Found(here.center, here.lam, here.values, tuple(objective), True)
        here = better
        objective.append(here.log_likelihood)
    return Found(here.center, here.lam, here.values, tuple(objective), False)


class _At(NamedTuple):
    """A center with its best concentration."""

    center: Tensor
    lam: Tensor
    values: Values

    @classmethod
    def best(cls, problem: Problem, center: Tensor, start: Tensor, max_lam: float) -> "_At":
        lam = problem.best_lam(center, start, max_lam)
        return cls(center, lam, problem.values(center[None], lam[None]))

    @property
    def log_likelihood(self) -> float:
        return float(self.values.log_likelihood)


def _better(problem: Problem, here: _At, max_lam: float, time_limit: float) -> _At | None:
    """Where the likelihood is greater; None if no such place is found."""
    least = here.log_likelihood + _ROUNDING * abs(here.log_likelihood)
    center = _kemeny(problem.expected_preferences(here.center, here.lam), problem, time_limit)
    if not torch.equal(center, here.center):
        there = _At.best(problem, center, here.lam, max_lam)
        if there.log_likelihood > least:
            return there
    if problem.agreeing.sampled:
        return None
    moved = _moved(here.center)
    values = problem.values(moved, here.lam.expand(len(moved)))
    # Moves that gain the most at this concentration, and those for which a Newton step away from it promises most.
    promise = torch.where(values.information > 0, values.score.square() / (2 * values.information), 0)
    count = min(_TRIALS, len(moved))
    hopeful = [(values.log_likelihood + more).topk(count).indices for more in (0, promise)]
    trials = [_At.best(problem, moved[k], here.lam, max_lam) for k in torch.cat(hopeful).unique().tolist()]
    best = max(trials, key=lambda one: one.log_likelihood)
    return best if best.log_likelihood > least else None


def _moved(center: Tensor) -> Tensor:
    """Centers ``(b, n)`` in which one item has another place; of many items only neighbors change theirs."""
    order, n = center.argsort(), len(center)
    found = []
    for start in range(n):
        for end in range(n):
            if end != start + 1 and (end == start or n > _FEW_ITEMS):
                continue
            places = torch.cat([order[:start], order[start + 1 :]])
            found.append(torch.cat([places[:end], order[start, None], places[end:]]).argsort())
    return torch.stack(found)
