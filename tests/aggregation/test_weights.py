"""Weights of rankings: of any scale, as repetitions, and tolerances as shares of their sum."""

import numpy as np
import pytest
import torch

from tests.oracles.aggregation import kemeny_orders, preferences
from tests.strategies import random_scores
from torchrank import RankingKMeans, borda, copeland, kemeny
from torchrank.aggregation import kemeny_of_preferences, linear_ordering, pair_preferences
from torchrank.clustering.centers import centers_of_margins

HEAVY_TIE = np.array([[1.0, 1.0], [2.0, 1.0], [1.0, 2.0]]), np.array([1e12, 1.0, 2.0])


def test_a_majority_is_small_beside_the_sum_of_weights_and_not_beside_the_pair():
    X, weights = HEAVY_TIE
    central = kemeny(X, weights)
    assert (central.scores.tolist(), bool(central.unique), bool(central.optimal)) == ([2.0, 1.0], False, True)
    assert copeland(X, weights).tolist() == [0, 0]
    assert len(set(borda(X, weights).tolist())) == 1
    for lighter in (1e9, 0.0):  # majorities of 1e-9 and of a third
        assert bool(kemeny(X, (lighter, 1.0, 2.0)).unique)
        assert copeland(X, (lighter, 1.0, 2.0)).tolist() == [-1, 1]
    unranked = np.array([[np.nan, 1.0], [2.0, 1.0], [1.0, 2.0]])
    assert not kemeny(unranked, weights, missing="pairwise").unique


@pytest.mark.parametrize("center", ["kemeny", "borda", "copeland"])
def test_centers_of_clusters_tie_by_the_same_share(center):
    X, weights = HEAVY_TIE
    model = RankingKMeans(1, center=center)
    model.fit(X, weights)
    assert model.centers.tolist() == [[1, 0]]  # a tie is ranked by index
    model.fit(X, (1e9, 1.0, 2.0))
    assert model.centers.tolist() == [[0, 1]]


def test_borda_centers_tie_where_borda_does():
    """Mean votes 1.5e-10 n apart are not equal, those .75e-10 n apart are."""
    for apart, tied in ((0.75e-10, True), (1.5e-10, False)):
        margin = torch.tensor([-2 * apart], dtype=torch.float64)  # of n = 2 items, whose votes are as far apart
        first = centers_of_margins(margin, torch.ones((), dtype=torch.float64), 2, "borda")
        votes = borda(np.array([[2.0, 1.0], [1.0, 2.0]]), [0.5 - apart, 0.5 + apart])
        assert (votes[0] == votes[1]) == tied
        assert first.tolist() == ([1, 0] if tied else [0, 1])


@pytest.mark.parametrize("power", [-1040, -3, 1, 40, 1018])
@pytest.mark.parametrize(("n", "m"), [(5, 7), (20, 5)])
def test_weights_times_a_power_of_two_give_the_same(n, m, power):
    rng = np.random.default_rng(n)
    X = rng.random((m, n))
    weights = rng.integers(1, 9, m).astype(float)
    scaled = np.ldexp(weights, power)
    one, two = kemeny(X, weights), kemeny(X, scaled)
    assert one.scores.tolist() == two.scores.tolist()
    assert (one.unique, one.optimal) == (two.unique, two.optimal)
    with np.errstate(over="ignore"):  # costs add up many weights
        assert (np.ldexp(one.cost, power), np.ldexp(one.gap, power)) == (two.cost, two.gap)
        np.testing.assert_array_equal(np.ldexp(pair_preferences(X, weights), power), pair_preferences(X, scaled))
    assert borda(X, weights).tolist() == borda(X, scaled).tolist()
    assert copeland(X, weights).tolist() == copeland(X, scaled).tolist()


def test_weights_of_all_sizes_together():
    X = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [2.0, 3.0, 1.0]])
    for weights in ((1e-300, 0.0, 1e300), (5e-301, 5e-301, 1e300)):
        check_that_the_last_row_decides(X, weights)


def check_that_the_last_row_decides(X, weights):
    np.testing.assert_array_equal(borda(X, weights), borda(X[2:]))
    assert copeland(X, weights).tolist() == copeland(X[2:]).tolist()
    central = kemeny(X, weights)
    assert central.scores.tolist() == [2, 3, 1]
    assert float(central.cost) == pytest.approx(1e-300, rel=1e-13)


@pytest.mark.parametrize("n", [5, 18])
def test_majorities_of_rounding_are_ties(n):
    """.1 + .2 against .3, which floats tell apart, in favor of the last items."""
    X = np.stack([-np.arange(n), np.arange(n), np.arange(n)]).astype(float)
    assert 0.1 + 0.2 != 0.3
    central = kemeny(X, (0.3, 0.1, 0.2))
    assert central.scores.tolist() == list(range(n, 0, -1))
    assert (bool(central.unique), bool(central.optimal)) == (False, True)


def test_preferences_alone_are_compared_with_the_largest_weight_of_a_pair():
    for apart, unique in ((1.5e-10, False), (2.5e-10, True)):
        P = torch.tensor([[0.0, 1.0], [1 + apart, 0.0]], dtype=torch.float64)
        assert bool(kemeny_of_preferences(P).unique) == unique


@pytest.mark.parametrize("power", [-40, -5, 0, 5, 40])
def test_bounds_of_programs_are_rounded_up_to_whole_costs_in_any_unit(power):
    """A tournament of 8 items whose relaxation has 5 2/3; its least cost is 6."""
    signs = np.triu(np.random.default_rng(29).choice([-1.0, 1.0], (8, 8)), 1)
    excess = np.maximum((signs - signs.T).T, 0)
    cost = kemeny_orders(excess.T)[0]
    _, bound = linear_ordering.Program(np.ldexp(excess, power)).solve(np.inf, integral=False)
    assert np.ldexp(bound, -power) == cost
    thirds = linear_ordering.Program(np.ldexp(excess / 3, power))  # not whole: nothing to round up to
    assert np.ldexp(thirds.solve(np.inf, integral=False)[1], -power) == pytest.approx(cost / 3 - 1 / 9)


@pytest.mark.parametrize("missing", ["pairwise", "interleaving", "topk"])
@pytest.mark.parametrize("n", [5, 18])
def test_weights_are_repetitions_and_0_is_a_row_left_out(n, missing):
    rng = np.random.default_rng(n)
    X, weights = random_scores(rng, "tied", 6, n, missing=0.2), np.array([2, 0, 1, 3, 0, 1])
    repeated, there = np.repeat(X, weights, axis=0), weights > 0
    for other, others_weights in ((repeated, None), (X[there], weights[there])):
        one, two = kemeny(X, weights, missing=missing), kemeny(other, others_weights, missing=missing)
        assert float(one.cost) == pytest.approx(float(two.cost), rel=1e-13)
        assert one.scores.tolist() == two.scores.tolist()
        assert (bool(one.unique), bool(one.optimal)) == (bool(two.unique), bool(two.optimal))
        assert (
            copeland(X, weights, missing=missing).tolist() == copeland(other, others_weights, missing=missing).tolist()
        )
        np.testing.assert_allclose(
            pair_preferences(X, weights, missing=missing),
            pair_preferences(other, others_weights, missing=missing),
            rtol=0,
            atol=1e-13,
        )
        if missing != "pairwise":
            votes = borda(X, weights, missing=missing), borda(other, others_weights, missing=missing)
            np.testing.assert_allclose(*votes, rtol=0, atol=1e-13)
    if n == 5:
        cost, orders = kemeny_orders(preferences(X, weights, missing))
        assert float(kemeny(X, weights, missing=missing).cost) == pytest.approx(cost, abs=1e-9)
        assert np.argsort(-kemeny(X, weights, missing=missing).scores).tolist() == list(orders[0])
