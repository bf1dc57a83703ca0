import math

import numpy as np
import pytest
import torch

from tests.mixtures.ascent import ascend
from tests.oracles import mixtures as oracle
from tests.strategies import random_scores
from torchrank import ConvergenceWarning
from torchrank.distributions.fit_mallows import fit_mallows
from torchrank.mixtures.kernel_gaussian import KernelGaussianMixture
from torchrank.mixtures.kernel_mallows import KernelMallowsMixture
from torchrank.mixtures.mallows import MallowsMixture


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def two_groups(rng: np.random.Generator, m: int, n: int, noise: float = 1.5) -> np.ndarray:
    centers = random_scores(rng, "total", 2, n)
    return (np.repeat(centers, m // 2, axis=0) + noise * rng.normal(size=(m, n))).argsort(1).argsort(1).astype(float)


def distinct(X: np.ndarray) -> np.ndarray:
    return np.unique(X, axis=0)


MODELS = {MallowsMixture: (4,), KernelMallowsMixture: (4,), KernelGaussianMixture: ()}


@pytest.mark.parametrize("model", MODELS)
def test_no_new_rows_have_no_probabilities(model):
    X = np.array(oracle.all_rankings(4), dtype=float)
    fitted = model(*MODELS[model], 2)
    fitted.fit(X, generator=seeded(0))
    assert fitted.log_prob(X[:0]).shape == fitted.predict(X[:0]).shape == (0,)
    assert fitted.predict_proba(torch.from_numpy(X[:0])).shape == (0, 2)
    with pytest.raises(ValueError, match="X has no rows"):
        fitted.bic(X[:0])
    with pytest.raises(ValueError, match=r"shape \(0, 4\)"):
        fitted.fit(X[:0])


@pytest.mark.parametrize(
    ("model", "settings"),
    [*((m, {}) for m in MODELS), *((MallowsMixture, {"center": c}) for c in ("borda", "copeland"))],
)
def test_more_components_than_different_rows(model, settings):
    X = np.array([[4.0, 3.0, 2.0, 1.0]] * 4 + [[1.0, 2.0, 3.0, 4.0]] * 2)
    fitted = model(*MODELS[model], 3, **settings)
    with pytest.warns(UserWarning, match="different rows") as warned:
        fit = fitted.fit(X, generator=seeded(0))
    assert [str(w.message).split(",")[0] for w in warned] == ["n_components=3 is more than the 2 different rows"]
    assert math.isfinite(fit.log_likelihood)
    assert len(set(fitted.predict(X))) == 2
    assert np.isfinite(fitted.predict_proba(X)).all()


def test_probabilities_add_up_to_1():
    model = MallowsMixture(4, 3)
    with torch.no_grad():
        model.logits.copy_(torch.tensor([0.3, -1.0, 0.5]))
        model.concentrations.copy_(torch.tensor([0.6, 1.2, 0.0]))
    model.centers = torch.tensor([[0, 1, 2, 3], [3, 1, 0, 2], [1, 0, 3, 2]])
    everything = np.array(oracle.all_rankings(4), dtype=float)
    assert np.exp(model.log_prob(everything)).sum() == pytest.approx(1, abs=1e-13)
    for x, row in zip(everything, model.component_log_prob(everything), strict=True):
        expected = [
            oracle.mallows(x, c, lam) for c, lam in zip(model.centers.tolist(), model.lam.tolist(), strict=True)
        ]
        np.testing.assert_allclose(np.exp(row), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_iterations_are_those_of_em(seed):
    rng = np.random.default_rng(seed)
    X = distinct(random_scores(rng, "total", 12, 4))
    weights, start = rng.random(len(X)), rng.integers(0, 2, len(X))
    model = MallowsMixture(4, 2, init=torch.from_numpy(start), max_iter=6, tol=0)
    with pytest.warns(ConvergenceWarning, match=r"in 6 iterations: .* [\d.e-]+ in log-likelihood"):
        fit = model.fit(X, weights)
    shares = weights * (0.9 * (start == np.arange(2)[:, None]) + 0.05)
    trace = []
    for _ in range(6):
        parts = oracle.mallows_m_step(X, shares)
        densities = np.array([[p * oracle.mallows(x, center, lam) for x in X] for p, center, lam in parts])
        log_likelihood, shares = oracle.e_step(weights, densities)
        trace.append(log_likelihood)
    np.testing.assert_allclose(fit.objective, trace, rtol=1e-11)
    assert model.centers.tolist() == [list(center) for _, center, _ in parts]
    np.testing.assert_allclose(model.lam, [lam for *_, lam in parts], rtol=1e-8)
    np.testing.assert_allclose(model.predict_proba(X).T * weights, shares, atol=1e-11)
    assert fit.log_likelihood == pytest.approx((weights * model.log_prob(X)).sum(), rel=1e-13)
    free, total = 2 * 2 - 1, weights.sum()
    assert model.bic(X, weights) == pytest.approx(-2 * trace[-1] + free * math.log(total), rel=1e-11)


@pytest.mark.filterwarnings("ignore:components .* hold equal rankings only")
@pytest.mark.parametrize("center", ["kemeny", "borda", "copeland"])
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_likelihood_never_falls(center, init):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, weights = two_groups(rng, 30, 5, 3.0), rng.integers(1, 5, 30)
        fit = MallowsMixture(5, 3, center=center, init=init, n_init=3).fit(X, weights, generator=seeded(seed))
        assert (np.diff(fit.objective) >= -1e-10).all()
        assert -min(fit.losses) == fit.objective[-1] == fit.log_likelihood
        assert len(fit.losses) == 3


def test_two_groups_are_found_with_equal_results_for_weights_and_copies():
    rng = np.random.default_rng(1)
    X, weights = two_groups(rng, 40, 6), rng.integers(0, 4, 40)
    one, many = MallowsMixture(6, 2), MallowsMixture(6, 2)
    fit = one.fit(X, weights, generator=seeded(0))
    copies = rng.permutation(np.repeat(np.arange(40), weights))
    same = many.fit(X[copies], generator=seeded(0))
    assert fit.log_likelihood == pytest.approx(same.log_likelihood, rel=1e-7)
    labels = one.predict(X)
    assert len(np.unique(labels[:20])) == len(np.unique(labels[20:])) == 1
    assert labels[0] != labels[-1]
    assert fit.converged


def test_one_component_is_the_single_model():
    X = random_scores(np.random.default_rng(2), "total", 9, 5)
    model = MallowsMixture(5, 1)
    fit = model.fit(X)
    ((_, center, lam),) = oracle.mallows_m_step(X, np.ones((1, 9)))
    assert model.lam.tolist() == pytest.approx([lam], rel=1e-9)
    expected = sum(math.log(oracle.mallows(x, center, lam)) for x in X)
    assert fit.log_likelihood == pytest.approx(expected, rel=1e-12)


def test_one_component_is_fit_mallows():
    rng = np.random.default_rng(7)
    X, weights = random_scores(rng, "total", 12, 8), rng.random(12)
    model, single = MallowsMixture(8, 1), fit_mallows(X, weights)
    fit = model.fit(X, weights)
    assert fit.log_likelihood == pytest.approx(float(single.log_likelihood), rel=1e-12)
    assert model.lam.tolist() == pytest.approx([float(single.lam)], rel=1e-10)
    assert (-model.centers[0]).argsort().tolist() == (-single.center).argsort().tolist()


def test_statistics_of_batches_add_up_to_one_iteration():
    rng = np.random.default_rng(3)
    X, weights = two_groups(rng, 24, 5, 2.5), rng.random(24)
    model, whole = MallowsMixture(5, 2, max_iter=2, tol=0), MallowsMixture(5, 2, max_iter=3, tol=0)
    start = {"generator": seeded(1)}
    with pytest.warns(ConvergenceWarning):
        model.fit(X, weights, **start)
    with pytest.warns(ConvergenceWarning):
        fit = whole.fit(X, weights, generator=seeded(1))
    parts = [model.summarize(X[rows], weights[rows]) for rows in (slice(0, 10), slice(10, 24))]
    model.update(parts[0] + parts[1])
    after = model.summarize(X, weights)
    assert float(after.log_likelihood) == pytest.approx(fit.log_likelihood, rel=1e-12)
    assert float((parts[0] + parts[1]).log_likelihood) == pytest.approx(fit.objective[-2], rel=1e-12)


def test_gradients_reach_the_likelihood_of_em():
    rng = np.random.default_rng(4)
    X = torch.from_numpy(two_groups(rng, 60, 5, 2.0))
    em = MallowsMixture(5, 2, tol=1e-12)
    best = em.fit(X, generator=seeded(0)).log_likelihood
    model = MallowsMixture(5, 2)
    model.centers = em.centers
    first, _ = ascend(model, lambda: model(X).sum(), max_iter=200)
    assert first < best - 1
    assert model.log_prob(X).sum().item() == pytest.approx(best, abs=1e-6)
    assert torch.allclose(model.lam, em.lam, atol=1e-3)


def test_responsibilities_far_apart_are_no_nan():
    model = MallowsMixture(21, 2)
    center = torch.arange(21)
    nearer = torch.arange(20, -1, -1)  # reversed: 210 discordant pairs; moving one item by 10 places makes 10 fewer
    nearer = torch.cat([nearer[1:11], nearer[:1], nearer[11:]])
    model.centers = torch.stack([nearer, torch.arange(20, -1, -1)])
    with torch.no_grad():
        model.concentrations.fill_(10)
    proba = model.predict_proba(center[None])
    assert proba[0].tolist() == pytest.approx([1, 3.720075976e-44], rel=1e-6, abs=0)
    assert bool(torch.isfinite(model.log_prob(center[None])).all())


def test_equal_rankings_are_capped_with_a_warning():
    model = MallowsMixture(3, 1, max_lam=20.0)
    with pytest.warns(UserWarning, match=r"components \[0\].*max_lam=20"):
        model.fit(np.array([[0.0, 1.0, 2.0]] * 4))
    assert model.lam.tolist() == pytest.approx([20.0])


def test_uniform_rankings_have_concentration_0():
    X = np.array(oracle.all_rankings(4), dtype=float)
    model = MallowsMixture(4, 1)
    fit = model.fit(X)
    assert model.lam.tolist() == [0]
    assert fit.log_likelihood == pytest.approx(-24 * math.log(24), rel=1e-13)


def test_an_empty_component_stays_empty():
    model = MallowsMixture(3, 2)
    X = np.array(oracle.all_rankings(3), dtype=float)
    statistics = model.summarize(X)
    model.update(
        type(statistics)(statistics.counts * torch.tensor([1.0, 0.0]), statistics.moments, statistics.log_likelihood)
    )
    assert model.weights.tolist() == [1, 0]
    assert np.isfinite(model.log_prob(X)).all()
    model.update(model.summarize(X))
    assert model.weights.tolist() == [1, 0]
    loss = -model.log_prob(torch.from_numpy(X)).sum()
    loss.backward()
    assert all(bool(parameter.grad.isfinite().all()) for parameter in model.parameters())


def test_state_dict_kind_and_dtype(tmp_path):
    X = torch.from_numpy(two_groups(np.random.default_rng(5), 20, 5)).float()
    model = MallowsMixture(5, 2)
    model.fit(X, generator=seeded(0))
    torch.save(model.state_dict(), tmp_path / "model.pt")
    other = MallowsMixture(5, 2)
    other.load_state_dict(torch.load(tmp_path / "model.pt"))
    assert torch.equal(other.log_prob(X), model.log_prob(X))
    assert isinstance(model.log_prob(X.numpy()), np.ndarray)
    assert isinstance(model.predict(X), torch.Tensor)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1.0, 2.0, np.nan]]), r"NaN .* at row 0, item 2"),
        (np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 2.0]]), r"tied items in row 1"),
        (np.zeros((2, 4)), r"shape \(2, 4\)"),
        (np.zeros((0, 3)), "at least one is needed"),
        (np.full((1, 3), "a"), "dtype <U1"),
    ],
)
def test_refuses_what_is_no_total_ranking(X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        MallowsMixture(3, 2).fit(X)


def test_refuses_settings_and_weights():
    X = np.array(oracle.all_rankings(3), dtype=float)
    for settings, message in (
        ({"center": "mean"}, "center='mean' is unknown"),
        ({"max_lam": -1.0}, "max_lam=-1.0 is out of range"),
        ({"tol": -1.0}, "tol=-1.0 is out of range"),
        ({"n_init": 0}, "n_init=0 is too small"),
    ):
        with pytest.raises(ValueError, match=message):
            MallowsMixture(3, 2, **settings)
    with pytest.raises(ValueError, match="n_components=0"):
        MallowsMixture(3, 0)
    with pytest.raises(ValueError, match="has -1 for row 0"):
        MallowsMixture(3, 2).fit(X, np.array([-1.0, 1, 1, 1, 1, 1]))
    with pytest.raises(ValueError, match="add up to 0"):
        MallowsMixture(3, 2).fit(X, np.zeros(6))


@pytest.mark.data
def test_apa_1980(data_folder):
    table = np.genfromtxt(data_folder / "apa" / "apa.csv", delimiter=",", skip_header=1, usecols=(0, 1, 2, 3, 4, 6))
    X, counts = -table[:, :5], table[:, 5]
    for center in ("kemeny", "borda", "copeland"):
        model = MallowsMixture(5, 1, center=center)
        fit = model.fit(X, counts)
        assert fit.log_likelihood == pytest.approx(-27408.4895, abs=5e-5)
        assert model.lam.tolist() == pytest.approx([0.0721887], abs=5e-8)


@pytest.mark.data
def test_apa_1980_in_two_components_at_the_default_tolerance(data_folder):
    table = np.genfromtxt(data_folder / "apa" / "apa.csv", delimiter=",", skip_header=1, usecols=(0, 1, 2, 3, 4, 6))
    X, counts = -table[:, :5], table[:, 5]
    model, exact = MallowsMixture(5, 2, n_init=30), MallowsMixture(5, 2, n_init=30, tol=1e-14, max_iter=5000)
    fit = model.fit(X, counts, generator=seeded(0))
    best = exact.fit(X, counts, generator=seeded(0)).log_likelihood
    assert fit.converged
    assert fit.log_likelihood == pytest.approx(-26906.144, abs=5e-4)
    assert best - fit.log_likelihood <= len(X) * model.tol
    assert sorted(model.lam.tolist()) == pytest.approx([0.3154, 0.6265], abs=3e-4)
    assert sorted(model.lam.tolist()) == pytest.approx(sorted(exact.lam.tolist()), abs=2e-4)


def slow_to_separate() -> tuple[np.ndarray, np.ndarray]:
    """Every ranking of four items, with the chances of two components that nearly are one."""
    X = np.array(oracle.all_rankings(4), dtype=float)
    one, other = ([oracle.mallows(x, *of) for x in X] for of in (((0, 1, 2, 3), 0.5), ((0, 2, 1, 3), 0.7)))
    return X, 0.6 * np.array(one) + 0.4 * np.array(other)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_to_gain_is_within_the_tolerance(model, seed):
    rng = np.random.default_rng(seed)
    X, weights, start = np.array(oracle.all_rankings(4), dtype=float), rng.random(24), rng.integers(0, 2, 24)
    for tol in (1e-5, 1e-8):
        fit = model(*MODELS[model], 2, init=start, tol=tol, max_iter=20_000).fit(X, weights)
        best = model(*MODELS[model], 2, init=start, tol=0, max_iter=20_000).fit(X, weights)
        assert fit.converged
        assert best.objective[-1] - fit.objective[-1] <= tol * weights.sum()


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_extrapolated_fits_never_fall_and_are_stationary(model):
    X, weights = slow_to_separate()
    mixture = model(*MODELS[model], 2, tol=1e-12, max_iter=20_000)
    fit = mixture.fit(X, weights, generator=seeded(0))
    assert fit.n_iter > 25
    rounding = 8 * np.spacing(np.abs(fit.objective[1:]))  # of sums over rows, at the end
    assert (np.diff(fit.objective) >= -rounding).all()
    before = mixture.log_prob(X)
    mixture.update(mixture.summarize(X, weights))
    np.testing.assert_allclose(mixture.log_prob(X), before, atol=1e-4)


@pytest.mark.parametrize(("center", "sign"), [([2, 1, 0], 1), ([0, 1, 2], -1)])
def test_a_concentration_of_0_is_left_by_gradient_and_may_become_negative(center, sign):
    X = torch.tensor([[3.0, 2.0, 1.0]] * 3 + [[2.0, 3.0, 1.0]])
    everything = torch.tensor(oracle.all_rankings(3), dtype=torch.float64)
    model = MallowsMixture(3, 1)
    model.fit(everything)  # whose concentration is 0
    model.centers = torch.tensor([center])
    assert model.lam.tolist() == [0]
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=100, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = -model(X).mean()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert sign * model.lam.item() == pytest.approx(float(fit_mallows(X).lam), rel=1e-4)
    assert float(model.log_prob(everything).exp().sum().detach()) == pytest.approx(1)


def test_labels_to_start_from_are_those_of_all_rows():
    rng = np.random.default_rng(6)
    X = two_groups(rng, 60, 4, 3.0)
    start = rng.integers(0, 2, (3, 60))
    once, first, counts = np.unique(X, axis=0, return_index=True, return_counts=True)
    assert len(once) < 60
    for model, items in MODELS.items():
        fit = model(*items, 2, init=start).fit(X)
        alone = model(*items, 2, init=torch.from_numpy(start[:, first])).fit(once, counts)
        assert fit.losses == pytest.approx(alone.losses, rel=1e-12)
        assert fit.objective == pytest.approx(alone.objective, rel=1e-12)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("center", ["kemeny", "borda", "copeland"])
def test_cuda_gives_the_same_fit(center):
    rng = np.random.default_rng(6)
    X = torch.from_numpy(distinct(two_groups(rng, 60, 6, 3.0)))
    start = torch.from_numpy(rng.integers(0, 2, len(X)))
    expected = MallowsMixture(6, 2, center=center, init=start)
    log_likelihood = expected.fit(X).log_likelihood
    model = MallowsMixture(6, 2, center=center, init=start).cuda()
    assert model.fit(X.cuda()).log_likelihood == pytest.approx(log_likelihood, rel=1e-9)
    assert torch.allclose(model.predict_proba(X.cuda()).cpu(), expected.predict_proba(X), atol=1e-6)
