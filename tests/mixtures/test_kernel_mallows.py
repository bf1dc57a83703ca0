import math

import numpy as np
import pytest
import torch

from tests.mixtures.ascent import ascend
from tests.oracles import mixtures as oracle
from tests.oracles.clustering import sign_features
from tests.strategies import random_scores
from torchrank import ConvergenceWarning
from torchrank.mixtures.kernel_mallows import KernelMallowsMixture, match_moments


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def features(X) -> np.ndarray:
    return np.array([sign_features(x) for x in X])


def test_probabilities_add_up_to_1_and_are_those_of_equation_22():
    rng = np.random.default_rng(0)
    model = KernelMallowsMixture(4, 2)
    with torch.no_grad():
        model.logits.copy_(torch.tensor([0.3, -1.0]))
        model.theta.copy_(torch.from_numpy(rng.normal(size=(2, 6))))
    everything = np.array(oracle.all_rankings(4), dtype=float)
    assert np.exp(model.log_prob(everything)).sum() == pytest.approx(1, abs=1e-13)
    log_densities = model.component_log_prob(everything)
    for j, theta in enumerate(model.theta.detach().numpy()):
        expected = [oracle.kernel_mallows(x, theta) for x in everything]
        np.testing.assert_allclose(np.exp(log_densities[:, j]), expected, rtol=1e-12)
        for scale in (0.5, 2.0):  # mu and lam with 2 lam mu = theta: all the same law
            mu, lam = theta * scale, 1 / (2 * scale)
            g = np.exp(-lam * ((features(everything) - mu) ** 2).sum(1))
            np.testing.assert_allclose(g / g.sum(), expected, rtol=1e-12)


def test_a_ranking_as_center_is_mallows():
    center, lam = (2, 0, 3, 1), 0.7
    model = KernelMallowsMixture(4, 1)
    with torch.no_grad():
        model.theta.copy_(torch.from_numpy(2 * lam * sign_features(center)))
    everything = np.array(oracle.all_rankings(4), dtype=float)
    expected = [oracle.mallows(x, center, 4 * lam / 6) for x in everything]
    np.testing.assert_allclose(np.exp(model.log_prob(everything)), expected, rtol=1e-12)


@pytest.mark.parametrize("ridge", [1e-3, 1.0])
def test_m_step_matches_moments(ridge):
    rng = np.random.default_rng(1)
    everything = torch.from_numpy(features(oracle.all_rankings(4)))
    X, weights = features(random_scores(rng, "total", 7, 4)), rng.random((3, 7))
    weights[2] = 0
    sums, counts = torch.from_numpy(weights @ X), torch.from_numpy(weights.sum(1))
    theta = match_moments(sums, counts, everything, ridge, torch.zeros_like(sums))
    for j in range(3):
        chances = (everything @ theta[j]).softmax(0)
        gradient = sums[j] - counts[j] * (chances @ everything) - ridge * theta[j]
        assert float(gradient.abs().max()) < 1e-6
    assert theta[2].tolist() == [0] * 6


def test_newton_steps_start_anywhere():
    everything = torch.from_numpy(features(oracle.all_rankings(4)))
    sums, counts = 5 * everything[3:4], torch.tensor([5.0], dtype=torch.float64)
    near = match_moments(sums, counts, everything, 0.01, torch.zeros_like(sums))
    far = match_moments(sums, counts, everything, 0.01, -40 * everything[3:4])
    assert torch.allclose(near, far, atol=1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_iterations_are_those_of_em(seed):
    rng = np.random.default_rng(seed)
    X = np.unique(random_scores(rng, "total", 12, 4), axis=0)
    weights, start, ridge = rng.random(len(X)), rng.integers(0, 2, len(X)), 0.1
    model = KernelMallowsMixture(4, 2, ridge=ridge, init=torch.from_numpy(start), max_iter=4, tol=0)
    with pytest.warns(ConvergenceWarning):
        fit = model.fit(X, weights)
    shares = weights * (0.9 * (start == np.arange(2)[:, None]) + 0.05)
    everything, trace = torch.from_numpy(features(oracle.all_rankings(4))), []
    for _ in range(4):
        sums, counts = (torch.from_numpy(part / weights.sum()) for part in (shares @ features(X), shares.sum(1)))
        theta = match_moments(sums, counts, everything, ridge, torch.zeros_like(sums)).numpy()
        p = shares.sum(1) / shares.sum()
        densities = np.array([[p[j] * oracle.kernel_mallows(x, theta[j]) for x in X] for j in range(2)])
        log_likelihood, shares = oracle.e_step(weights, densities)
        trace.append(log_likelihood - weights.sum() * ridge / 2 * (theta**2).sum())
    np.testing.assert_allclose(fit.objective, trace, rtol=1e-9)
    assert fit.log_likelihood == pytest.approx(log_likelihood, rel=1e-9)
    np.testing.assert_allclose(model.predict_proba(X).T * weights, shares, atol=1e-6)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_objective_never_falls(init):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, weights = random_scores(rng, "total", 30, 5), rng.integers(1, 5, 30)
        fit = KernelMallowsMixture(5, 3, init=init, n_init=2).fit(X, weights, generator=seeded(seed))
        assert (np.diff(fit.objective) >= -1e-9).all()
        assert -min(fit.losses) == fit.objective[-1]


def test_one_component_has_the_mean_features_of_the_data():
    X = random_scores(np.random.default_rng(2), "total", 40, 4)
    model = KernelMallowsMixture(4, 1, ridge=1e-9)
    fit = model.fit(X)
    chances = np.exp(model.log_prob(np.array(oracle.all_rankings(4), dtype=float)))
    np.testing.assert_allclose(chances @ features(oracle.all_rankings(4)), features(X).mean(0), atol=1e-7)
    assert fit.converged
    assert model.bic(X) == pytest.approx(-2 * fit.log_likelihood + 6 * math.log(40), rel=1e-12)


def test_statistics_of_batches_add_up_to_one_iteration():
    rng = np.random.default_rng(3)
    X = random_scores(rng, "total", 24, 5)
    model = KernelMallowsMixture(5, 2, max_iter=2, tol=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, generator=seeded(1))
    whole = KernelMallowsMixture(5, 2, max_iter=3, tol=0)
    with pytest.warns(ConvergenceWarning):
        fit = whole.fit(X, generator=seeded(1))
    model.update(model.summarize(X[:10]) + model.summarize(X[10:]))
    assert float(model.summarize(X).log_likelihood - 24 * model.penalty().detach()) == pytest.approx(
        fit.objective[-1], rel=1e-10
    )


def test_gradients_reach_the_objective_of_em():
    X = torch.from_numpy(random_scores(np.random.default_rng(4), "total", 60, 4))
    em = KernelMallowsMixture(4, 2, tol=1e-13, max_iter=5000, ridge=2e-3)
    best = em.fit(X, generator=seeded(0)).objective[-1] / len(X)
    model = KernelMallowsMixture(4, 2, ridge=2e-3)
    with torch.no_grad():
        model.theta.copy_(em.theta + 0.5 * torch.randn(em.theta.shape, generator=seeded(1), dtype=torch.float64))
    first, last = ascend(model, lambda: model(X).mean() - model.penalty(), max_iter=500)
    assert first < best - 2e-3
    assert last == pytest.approx(best, abs=2e-7)


def test_loads_what_another_saved():
    X = np.array([[0.0, 1.0, 2.0]] * 4 + [[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [1.0, 0.0, 2.0]])
    model = KernelMallowsMixture(3, 3)
    model.fit(X, generator=seeded(0))
    other = KernelMallowsMixture(3, 3)
    other.load_state_dict(model.state_dict())
    assert (other.log_prob(X) == model.log_prob(X)).all()


def test_refuses_many_items_and_no_ridge():
    with pytest.raises(ValueError, match=r"n_items=8 .* 40320"):
        KernelMallowsMixture(8, 2)
    with pytest.raises(ValueError, match="ridge=0"):
        KernelMallowsMixture(4, 2, ridge=0)
    with pytest.raises(ValueError, match="tied items in row 0"):
        KernelMallowsMixture(3, 2).fit(np.zeros((2, 3)))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_gives_the_same_fit():
    rng = np.random.default_rng(6)
    X = torch.from_numpy(np.unique(random_scores(rng, "total", 60, 5), axis=0))
    start = torch.from_numpy(rng.integers(0, 2, len(X)))
    expected = KernelMallowsMixture(5, 2, init=start).fit(X).log_likelihood
    fit = KernelMallowsMixture(5, 2, init=start).cuda().fit(X.cuda())
    assert fit.log_likelihood == pytest.approx(expected, rel=1e-9)
