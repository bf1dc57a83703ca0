"""Gaps of rankings of more items than dynamic programming takes, which are solved group by group."""

import numpy as np
import pytest
import torch

from tests.oracles.aggregation import disagreement
from torchrank.aggregation import kemeny_of_preferences, linear_ordering
from torchrank.aggregation.local_search import order_cost


def two_tournaments() -> np.ndarray:
    """Preferences among 34 items, the last 17 above the first, without an order in either group."""
    P = np.zeros((34, 34))
    for group in (slice(0, 17), slice(17, 34)):
        upper = np.triu(np.random.default_rng(group.start).choice([0.0, 1.0], (17, 17)), 1)
        P[group, group] = upper + np.tril(1 - upper.T, -1)
    P[17:, :17] = 1
    return P


@pytest.mark.parametrize("gaps", [(3.0, 0.0), (0.0, 2.0), (3.0, 2.0)])
def test_gaps_of_all_groups_add_up(monkeypatch, gaps):
    """Programs that end with a gap in the first group, the last or both."""
    solve, sizes = linear_ordering.best_order, []

    def cut_short(excess, seconds, tolerance):
        sizes.append(len(excess))
        found = solve(excess, seconds, tolerance)
        if not gaps[len(sizes) - 1]:
            return found
        return found._replace(bound=order_cost(excess, found.order) - gaps[len(sizes) - 1], unique=False)

    P = two_tournaments()
    proven = kemeny_of_preferences(torch.from_numpy(P))
    assert (float(proven.gap), bool(proven.optimal)) == (0.0, True)
    monkeypatch.setattr(linear_ordering, "best_order", cut_short)
    central = kemeny_of_preferences(torch.from_numpy(P))
    assert sizes == [17, 17]
    assert float(central.gap) == sum(gaps)
    assert (bool(central.optimal), bool(central.unique)) == (False, False)
    order = central.scores.argsort(descending=True).tolist()
    assert set(order[:17]) == set(range(17, 34))
    assert float(central.cost) == disagreement(P, order) == float(proven.cost)


@pytest.mark.parametrize("seconds", [1e-9, 1e-3, 0.02])
def test_hardly_any_time_still_gives_a_ranking_and_a_bound(seconds):
    """Programs end before they have a point, before they have a bound, or with both."""
    upper = np.triu(np.random.default_rng(1).choice([0.0, 1.0], (60, 60)), 1)
    P = upper + np.tril(1 - upper.T, -1)
    central = kemeny_of_preferences(torch.from_numpy(P), time_limit=seconds)
    order = central.scores.argsort(descending=True).tolist()
    assert sorted(order) == list(range(60))
    assert float(central.cost) == disagreement(P, order)
    assert 0 <= float(central.gap) <= float(central.cost)
    assert (bool(central.optimal), bool(central.unique)) == (False, False)
