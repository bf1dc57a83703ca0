"""Kemeny's ranking against all permutations, and the three ways to find it against each other."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.oracles.aggregation import disagreement, kemeny_orders, preferences
from tests.strategies import random_scores
from torchrank import borda, copeland, from_orders, kemeny
from torchrank.aggregation import kemeny_of_preferences, linear_ordering
from torchrank.aggregation.local_search import local_order, order_cost
from torchrank.aggregation.majority import components_in_order
from torchrank.aggregation.subsets import best_orders


def order_of(scores: np.ndarray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argsort(-scores))


def excess_of(P: np.ndarray) -> np.ndarray:
    return np.maximum(P.T - P, 0)


def random_tournament(n: int, seed: int) -> np.ndarray:
    signs = np.triu(np.random.default_rng(seed).choice([-1.0, 1.0], (n, n)), 1)
    return excess_of(signs - signs.T + 1)


@pytest.mark.parametrize("missing", ["pairwise", "interleaving", "topk"])
@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_first_of_the_best_orders(missing: str, n: int) -> None:
    for seed in range(8 if n < 6 else 3):
        rng = np.random.default_rng(seed)
        X = random_scores(rng, ("total", "tied")[seed % 2], 6, n, missing=0.2)
        weights = rng.integers(1, 4, 6)
        P = preferences(X, weights, missing)
        cost, orders = kemeny_orders(P)
        central = kemeny(X, weights, missing=missing)
        assert order_of(central.scores) == orders[0]
        assert sorted(central.scores.tolist()) == list(range(1, n + 1))
        assert central.cost == pytest.approx(cost, abs=1e-9)
        assert (bool(central.unique), bool(central.optimal), float(central.gap)) == (len(orders) == 1, True, 0.0)


def test_cycle() -> None:
    central = kemeny(from_orders([[0, 1, 2], [1, 2, 0], [2, 0, 1]]))
    assert (float(central.cost), bool(central.unique)) == (4.0, False)
    assert order_of(central.scores) == (0, 1, 2)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_scale_of_weights_does_not_matter(scale: float) -> None:
    X = from_orders([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    central = kemeny(X, np.array([0.3, 0.1 + 0.2, 0.3]) * scale)
    assert not central.unique
    assert kemeny(X, np.array([0.3, 0.3, 0.31]) * scale).unique


def test_batches() -> None:
    rng = np.random.default_rng(0)
    X, weights = random_scores(rng, "total", 8, 5), rng.random((3, 2, 8))
    batch = kemeny(torch.from_numpy(X), weights)
    assert batch.scores.shape == (3, 2, 5)
    assert batch.cost.shape == batch.gap.shape == batch.optimal.shape == batch.unique.shape == (3, 2)
    for i, j in np.ndindex(3, 2):
        single = kemeny(X, weights[i, j])
        assert batch.scores[i, j].tolist() == single.scores.tolist()
        assert float(batch.cost[i, j]) == pytest.approx(float(single.cost), abs=1e-12)
    for n in (3, 20):
        assert [part.shape for part in kemeny(np.zeros((0, 2, n)))] == [(0, n), *[(0,)] * 4]
    wide = kemeny(random_scores(rng, "total", 2, 5, 18))
    assert wide.scores.shape == (2, 18)


@pytest.mark.parametrize("n", [3, 5, 7])
def test_linear_ordering_is_exact(n: int) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        tied = rng.integers(0, 4, (n, n)).astype(float)
        excess = random_tournament(n, seed) * rng.random((n, n)) if seed % 2 else excess_of(tied * (1 - np.eye(n)))
        if not excess.any():
            continue
        cost, orders = kemeny_orders(excess.T)
        found = linear_ordering.best_order(excess, seconds=60)
        assert tuple(found.order) in orders
        assert found.bound == pytest.approx(cost, abs=1e-6)
        assert found.unique == (len(orders) == 1)


@pytest.mark.parametrize("seed", range(4))
def test_linear_ordering_equals_subsets(seed: int) -> None:
    excess = excess_of(preferences(np.random.default_rng(seed).random((7, 13)), np.ones(7), "pairwise"))
    found = linear_ordering.best_order(excess, seconds=60)
    best = best_orders(torch.from_numpy(excess)[None], 0.0)
    assert order_cost(excess, found.order) == order_cost(excess, best.order[0].numpy()) == found.bound
    assert found.unique == bool(best.unique[0])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("whole", [True, False])
def test_programs_are_exact_without_help(monkeypatch: pytest.MonkeyPatch, seed: int, whole: bool) -> None:
    """Local search switched off, so that the order and its proof have to come from the program."""
    monkeypatch.setattr(linear_ordering, "local_order", lambda excess: np.arange(len(excess)))
    monkeypatch.setattr(linear_ordering, "improved_order", lambda excess, order: order)
    excess = random_tournament(12, seed)
    if not whole:
        excess = excess * np.random.default_rng(seed).random((12, 12))
    best = best_orders(torch.from_numpy(excess)[None], 0.0)
    cost = order_cost(excess, best.order[0].numpy())
    found = linear_ordering.best_order(excess, seconds=60)
    assert order_cost(excess, found.order) == pytest.approx(cost, abs=1e-6)
    assert found.bound == pytest.approx(cost, abs=1e-6)
    assert found.unique == bool(best.unique[0])


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_programs(seed: int) -> None:
    """The relaxation's never exceeds the least cost, and that of the program in integers is the least cost."""
    excess = random_tournament(15, seed)
    cost = order_cost(excess, best_orders(torch.from_numpy(excess)[None], 0.0).order[0].numpy())
    program = linear_ordering.Program(excess)
    assert cost / 2 < program.solve(np.inf, integral=False)[1] <= cost
    assert program.solve(np.inf, integral=True)[1] == cost


@pytest.mark.parametrize("seed", range(3))
def test_many_items_in_groups(seed: int) -> None:
    """Two cycles of groups, 9 items each, the second group above: dynamic programming on each is the truth."""
    rng = np.random.default_rng(seed)
    low, high = rng.random((5, 9)), 2 + rng.random((5, 9))
    X = np.concatenate([low, high], axis=1)
    central = kemeny(X)
    parts = kemeny(low), kemeny(high)
    across = disagreement(preferences(X, np.ones(5), "pairwise"), order_of(central.scores))
    assert float(central.cost) == across == sum(float(part.cost) for part in parts)
    assert bool(central.unique) == all(bool(part.unique) for part in parts)
    assert bool(central.optimal)
    assert order_of(central.scores)[:9] == tuple(9 + i for i in order_of(parts[1].scores))


def test_groups_without_a_majority_between_them() -> None:
    """18 items, all tied: the order by index, and not unique."""
    central = kemeny(np.zeros((2, 18)))
    assert order_of(central.scores) == tuple(range(18))
    assert (float(central.cost), bool(central.unique), bool(central.optimal)) == (0.0, False, True)
    chain = kemeny(-np.arange(18.0)[None])
    assert bool(chain.unique)


def test_components_in_order() -> None:
    cycle = from_orders([[3, 0, 2, 1, 4], [3, 2, 1, 0, 4], [3, 1, 0, 2, 4]])
    groups = components_in_order(excess_of(preferences(cycle, np.ones(3), "pairwise")))
    assert [group.tolist() for group in groups] == [[3], [0, 1, 2], [4]]


def test_out_of_time_gives_a_proven_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A random tournament of 40 items, for which the relaxation is far from whole, and no time for whole numbers."""
    excess = random_tournament(40, 0)
    solve = linear_ordering.Program.solve

    def relaxed(program: linear_ordering.Program, deadline: float, *, integral: bool) -> tuple:
        return (None, 0.0) if integral else solve(program, np.inf, integral=False)

    monkeypatch.setattr(linear_ordering.Program, "solve", relaxed)
    P = torch.from_numpy(excess.T.copy())
    central = kemeny_of_preferences(P)
    local = kemeny_of_preferences(P, method="local")
    assert not central.optimal
    assert not central.unique
    assert 0 < float(central.gap) < float(central.cost)
    assert float(central.cost) <= float(local.cost)
    assert float(local.gap) == float(local.cost)  # nothing is proven but that costs are not negative
    assert float(central.cost) - float(central.gap) >= disjoint_cycles(excess)


def test_a_time_limit_that_no_solver_keeps_ends_with_what_is_known() -> None:
    P = torch.from_numpy(random_tournament(40, 0).T.copy())
    central = kemeny_of_preferences(P, time_limit=1e-9)
    local = kemeny_of_preferences(P, method="local")
    assert not central.optimal
    assert not central.unique
    assert 0 < float(central.gap) <= float(central.cost) <= float(local.cost)


def disjoint_cycles(excess: np.ndarray) -> float:
    """A bound that is easy to see: of cyclic triples that share no pair, every order pays for one pair each."""
    n, used, total = len(excess), set(), 0.0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                pairs = {frozenset((i, j)), frozenset((j, k)), frozenset((k, i))}
                if len({i, j, k}) == 3 and min(excess[j, i], excess[k, j], excess[i, k]) > 0 and not pairs & used:
                    used |= pairs
                    total += min(excess[j, i], excess[k, j], excess[i, k])
    return total


def test_forty_items_with_cycles_are_proven() -> None:
    X = np.random.default_rng(0).random((25, 40))
    excess = excess_of(preferences(X, np.ones(25), "pairwise"))
    assert max(len(group) for group in components_in_order(excess)) == 40
    central = kemeny(X, time_limit=30.0)
    assert bool(central.optimal)
    assert float(central.cost) <= float(kemeny(X, method="local").cost)


def test_local_search_ends_where_no_item_moves() -> None:
    excess = random_tournament(12, 3)
    order = list(local_order(excess))
    cost = order_cost(excess, np.array(order))
    for item in order:
        rest = [i for i in order if i != item]
        for place in range(12):
            assert order_cost(excess, np.array([*rest[:place], item, *rest[place:]])) >= cost


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r'row 0, item 1.*missing="pairwise"'):
        kemeny(np.array([[1.0, np.nan]]))
    with pytest.raises(ValueError, match="method='greedy'"):
        kemeny(np.eye(2), method="greedy")
    with pytest.raises(ValueError, match="time_limit"):
        kemeny(np.eye(2), time_limit=0)


@pytest.mark.data
def test_apa_election(data_folder: Path) -> None:
    table = np.genfromtxt(data_folder / "apa/apa.csv", delimiter=",", skip_header=1, usecols=(0, 1, 2, 3, 4, 6))
    X, counts = -table[:, :5], table[:, 5]
    central = kemeny(X, counts)
    assert float(central.cost) == 26967
    assert bool(central.unique)
    a, c, e, d, b = 0, 2, 4, 3, 1
    for scores in (central.scores, borda(X, counts), copeland(X, counts)):
        assert order_of(scores) == (a, c, e, d, b)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_on_cuda() -> None:
    X = torch.from_numpy(random_scores(np.random.default_rng(0), "tied", 30, 8, missing=0.2)).cuda()
    for missing in ("pairwise", "topk"):
        here, there = kemeny(X.cpu(), missing=missing), kemeny(X, missing=missing)
        assert there.scores.is_cuda
        assert torch.equal(there.scores.cpu(), here.scores)
        assert torch.equal(copeland(X, missing=missing).cpu(), copeland(X.cpu(), missing=missing))
    assert torch.equal(borda(X, variant="topk").cpu(), borda(X.cpu(), variant="topk"))
