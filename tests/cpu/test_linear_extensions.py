"""Sums over the rankings that agree with partial orders, exact and sampled, against enumeration."""

from itertools import permutations

import numpy as np
import pytest
import torch

from tests.oracles.distributions import agreeing_with_pairs, discordant, mallows_weights
from torchrank import from_preferences
from torchrank.cpu import linear_extensions
from torchrank.distributions.agreeing import Agreeing

LAMS = [0.0, 0.3, 1.7, 6.0]


def partial_orders(rng: np.random.Generator, g: int, n: int, density: float = 0.3) -> torch.Tensor:
    """Preferences ``(g, n, n)``, each along some total ranking."""
    rank = rng.permuted(np.tile(np.arange(n), (g, 1)), axis=1)
    given = (rank[:, :, None] > rank[:, None, :]) & (rng.random((g, n, n)) < density)
    return from_preferences(given).precedes


def expected(precedes: np.ndarray, center: np.ndarray, lam: float) -> tuple[float, float, float, np.ndarray]:
    """Sum, mean and variance of d, and chances of i above j, over agreeing rankings."""
    rankings = agreeing_with_pairs(precedes)
    weights = mallows_weights(rankings, center, lam)
    distance = np.array([discordant(ranking, center) for ranking in rankings])
    mean = weights @ distance / weights.sum()
    ranks = np.array(rankings)
    above = (weights[:, None, None] * (ranks[:, :, None] > ranks[:, None, :])).sum(0) / weights.sum()
    return weights.sum(), mean, weights @ (distance - mean) ** 2 / weights.sum(), above


@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_sums_and_preferences_are_those_of_enumeration(n):
    rng = np.random.default_rng(n)
    precedes = partial_orders(rng, 4, n)
    centers = torch.tensor(rng.permuted(np.tile(np.arange(n), (len(LAMS), 1)), axis=1))
    lam, agreeing = torch.tensor(LAMS, dtype=torch.float64), Agreeing(precedes)
    sums, shares = agreeing.sums(centers, lam), torch.tensor(rng.random((len(LAMS), 4)))
    assert not agreeing.sampled
    assert torch.isinf(sums.effective).all()
    preferences = agreeing.preferences(centers, lam, shares)
    for b, center in enumerate(centers.numpy()):
        total = np.zeros((n, n))
        for r, order in enumerate(precedes.numpy()):
            weight, mean, variance, above = expected(order, center, LAMS[b])
            assert float(sums.log_sum[b, r]) == pytest.approx(np.log(weight), rel=1e-12, abs=1e-13)
            assert float(sums.mean[b, r]) == pytest.approx(mean, rel=1e-12, abs=1e-12)
            assert float(sums.variance[b, r]) == pytest.approx(variance, rel=1e-9, abs=1e-10)
            total += float(shares[b, r]) * above
        np.testing.assert_allclose(preferences[b], total, atol=1e-12)


def test_negative_concentrations_are_those_of_the_reversed_center():
    precedes = partial_orders(np.random.default_rng(0), 3, 5)
    center, lam = torch.tensor([[3, 0, 4, 1, 2]]), torch.tensor([-0.8], dtype=torch.float64)
    sums = Agreeing(precedes).sums(center, lam)
    for r, order in enumerate(precedes.numpy()):
        weight, mean, _, _ = expected(order, center[0].numpy(), -0.8)
        assert float(sums.log_sum[0, r]) == pytest.approx(np.log(weight), rel=1e-12)
        assert float(sums.mean[0, r]) == pytest.approx(mean, rel=1e-12)


def test_nothing_underflows():
    """The order of the center reversed: all n(n-1)/2 pairs are discordant."""
    n = 13
    precedes = from_preferences([[(i + 1, i) for i in range(n - 1)]]).precedes
    center, lam = torch.arange(n - 1, -1, -1)[None], torch.tensor([50.0], dtype=torch.float64)
    sums = Agreeing(precedes).sums(center, lam)
    assert sums.log_sum.tolist() == [[-50.0 * n * (n - 1) / 2]]
    assert sums.mean.tolist() == [[n * (n - 1) / 2]]


def test_what_leaves_few_sets_open_is_exact_up_to_20_items():
    chain = [(i, i + 1) for i in range(17)]
    lists = [chain, chain[:8], [], [(0, 1)]]
    agreeing = Agreeing(from_preferences(lists, 18).precedes)
    assert agreeing._exact.tolist() == [True, True, False, False]  # 10 * 2^9 sets; 2^18; 3/4 of that
    assert Agreeing(from_preferences(lists, 21).precedes)._exact.tolist() == [False] * 4
    assert Agreeing(from_preferences([[]], 14).precedes)._exact.tolist() == [True]
    assert linear_extensions.MOST_STATES == 2**14


def test_any_number_of_threads_gives_the_same_bits():
    precedes = partial_orders(np.random.default_rng(1), 50, 7, 0.1)
    centers, lam = torch.arange(7)[None], torch.tensor([0.7], dtype=torch.float64)
    shares = torch.rand(1, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found, before = [], torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            agreeing = Agreeing(precedes)
            found.append((*agreeing.sums(centers, lam), agreeing.preferences(centers, lam, shares)))
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(map(torch.equal, found[0], other))


@pytest.fixture
def sampling(monkeypatch):
    """Sums of small partial orders are sampled, too."""
    monkeypatch.setattr(linear_extensions, "MOST_ITEMS", 0)


@pytest.mark.slow
@pytest.mark.parametrize("lam", [0.0, 0.3, 1.2])
def test_samples_estimate_the_sums(sampling, lam):
    """Within five standard errors, by the effective number of samples."""
    precedes = partial_orders(np.random.default_rng(3), 6, 5)
    center = torch.tensor([[2, 4, 0, 1, 3]])
    agreeing = Agreeing(precedes, n_samples=20_000, seed=1)
    assert agreeing.sampled
    sums = agreeing.sums(center, torch.tensor([lam], dtype=torch.float64))
    for r, order in enumerate(precedes.numpy()):
        weight, mean, variance, above = expected(order, center[0].numpy(), lam)
        error = float(sums.effective[0, r]) ** -0.5
        assert error < 0.03
        assert abs(float(sums.log_sum[0, r]) - np.log(weight)) < 5 * error
        assert abs(float(sums.mean[0, r]) - mean) < 5 * error * max(variance, 1e-9) ** 0.5
        shares = torch.zeros(1, 6, dtype=torch.float64)
        shares[0, r] = 2
        preferences = agreeing.preferences(center, torch.tensor([lam], dtype=torch.float64), shares)[0]
        np.testing.assert_allclose(preferences, 2 * above, atol=5 * error)
        assert preferences.numpy()[order] == pytest.approx(2)
        assert (preferences.numpy()[order.T] == 0).all()


@pytest.mark.slow
def test_estimates_of_the_sum_are_unbiased(sampling):
    precedes = from_preferences([[(0, 3), (1, 2)]]).precedes
    center, lam = torch.tensor([[0, 2, 1, 3]]), torch.tensor([0.9], dtype=torch.float64)
    estimates = np.exp([float(Agreeing(precedes, 2, seed).sums(center, lam).log_sum) for seed in range(4000)])
    weight = expected(precedes[0].numpy(), center[0].numpy(), 0.9)[0]
    assert abs(estimates.mean() - weight) < 5 * estimates.std() / 4000**0.5


@pytest.mark.slow
def test_an_order_has_the_same_samples_wherever_it_stands(sampling):
    precedes = partial_orders(np.random.default_rng(4), 9, 5)
    centers, lam = torch.tensor([[0, 1, 2, 3, 4], [4, 2, 0, 1, 3]]), torch.tensor([0.4, 2.0], dtype=torch.float64)
    moved = torch.tensor([7, 2, 5])
    one, other = (Agreeing(part, 50, 3).sums(centers, lam) for part in (precedes, precedes[moved]))
    assert all(torch.equal(first[:, moved], second) for first, second in zip(one, other, strict=True))
    assert not torch.equal(one.log_sum, Agreeing(precedes, 50, 4).sums(centers, lam).log_sum)


def test_the_derivative_of_a_sum_is_minus_the_mean():
    precedes = partial_orders(np.random.default_rng(5), 4, 5)
    centers = torch.tensor([[0, 1, 2, 3, 4], [4, 2, 0, 1, 3]])
    lam = torch.tensor([0.6, -0.4], dtype=torch.float64, requires_grad=True)
    agreeing = Agreeing(precedes)
    assert torch.autograd.gradcheck(lambda value: agreeing.log_sums(centers, value), (lam,))


def test_all_orders_are_some_order():
    assert len(agreeing_with_pairs(np.zeros((4, 4), bool))) == len(list(permutations(range(4))))
