import math
import warnings

import numpy as np
import pytest
import torch

from tests.mixtures.ascent import ascend
from tests.oracles import mixtures as oracle
from tests.oracles.clustering import sign_features
from tests.strategies import random_scores
from torchrank import ConvergenceWarning, KendallKernel, MallowsKernel, kendall_gram
from torchrank.mixtures.kernel_gaussian import KernelGaussianMixture


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def features(X) -> np.ndarray:
    return np.array([sign_features(x) for x in X])


@pytest.mark.parametrize("dimension", [None, 4])
@pytest.mark.parametrize("seed", range(2))
def test_iterations_are_those_of_em_on_explicit_features(seed, dimension):
    rng = np.random.default_rng(seed)
    X = np.unique(random_scores(rng, "total", 14, 5), axis=0)
    weights, start, d = rng.random(len(X)), rng.integers(0, 2, len(X)), dimension or 10
    model = KernelGaussianMixture(2, dimension=dimension, init=torch.from_numpy(start), max_iter=20, tol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = model.fit(X, weights)
    shares = weights * (0.9 * (start == np.arange(2)[:, None]) + 0.05)
    trace = []
    for _ in range(fit.n_iter):
        parts = oracle.gaussian_m_step(features(X), shares, d)
        densities = np.array([[p * oracle.gaussian(x, mean, lam, d) for x in features(X)] for p, mean, lam in parts])
        log_likelihood, shares = oracle.e_step(weights, densities)
        trace.append(log_likelihood)
    np.testing.assert_allclose(fit.objective, trace, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X).T * weights, shares, atol=1e-10)
    np.testing.assert_allclose(model.lam, [lam for *_, lam in parts], rtol=1e-9)
    new = random_scores(rng, "tied", 6, 5)
    kernel_a = KernelGaussianMixture(2, kernel=KendallKernel(variant="a"), dimension=d)
    kernel_a.load_state_dict(model.state_dict())
    expected = [[math.log(oracle.gaussian(x, mean, lam, d)) for _, mean, lam in parts] for x in features(new)]
    np.testing.assert_allclose(kernel_a.component_log_prob(new), expected, rtol=1e-9)


def test_sharpness_grows_with_the_dimension():
    X = random_scores(np.random.default_rng(0), "total", 40, 5)
    start = torch.from_numpy(np.random.default_rng(1).integers(0, 3, len(X)))
    sharpness = []
    for dimension in (1, 10, 100):
        model = KernelGaussianMixture(3, dimension=dimension, init=start)
        model.fit(X)
        sharpness.append(model.predict_proba(X).max(axis=1).mean())
    assert sharpness[0] < sharpness[1] < sharpness[2]


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_likelihood_never_falls(init):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, weights = random_scores(rng, "tied", 30, 6), rng.integers(1, 5, 30)
        model = KernelGaussianMixture(3, dimension=15, init=init, n_init=3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = model.fit(X, weights, generator=seeded(seed))
        assert (np.diff(fit.objective) >= -1e-9 * abs(fit.objective[-1])).all()


def test_gram_matrix_and_rankings_give_the_same():
    rng = np.random.default_rng(1)
    X, new = np.unique(random_scores(rng, "total", 20, 6), axis=0), random_scores(rng, "total", 7, 6)
    kernel = MallowsKernel(lam=0.2)
    by_rankings = KernelGaussianMixture(2, kernel=kernel, dimension=8)
    by_gram = KernelGaussianMixture(2, kernel="precomputed", dimension=8)
    fit, same = by_rankings.fit(X, generator=seeded(0)), by_gram.fit(kernel(X), generator=seeded(0))
    assert fit.log_likelihood == pytest.approx(same.log_likelihood, rel=1e-12)
    cross, diagonal = kernel(new, X), np.ones(7)
    np.testing.assert_allclose(by_rankings.log_prob(new), by_gram.log_prob((cross, diagonal)), rtol=1e-10)
    np.testing.assert_allclose(by_rankings.log_prob(X), by_gram.log_prob(kernel(X)), rtol=1e-10)
    with pytest.raises(ValueError, match=r"pass \(K, diagonal\)"):
        by_gram.log_prob(cross)
    backwards = kernel(X[::-1].copy())
    with pytest.raises(ValueError, match="not the Gram matrix of the training rows"):
        by_gram.log_prob(backwards)
    with pytest.raises(ValueError, match=r"diagonal has shape \(3,\)"):
        by_gram.log_prob((cross, np.ones(3)))


def test_one_component_is_the_gaussian_of_the_data():
    X = random_scores(np.random.default_rng(2), "total", 12, 5)
    model = KernelGaussianMixture(1)
    fit = model.fit(X)
    ((_, mean, lam),) = oracle.gaussian_m_step(features(X), np.ones((1, 12)), 10)
    assert model.lam.tolist() == pytest.approx([lam], rel=1e-12)
    expected = sum(math.log(oracle.gaussian(x, mean, lam, 10)) for x in features(X))
    assert fit.log_likelihood == pytest.approx(expected, rel=1e-12)
    assert model.bic(X) == pytest.approx(-2 * expected + 11 * math.log(12), rel=1e-12)


def test_weights_count_as_copies():
    rng = np.random.default_rng(3)
    X, weights = random_scores(rng, "total", 25, 6), rng.integers(0, 4, 25)
    copies = rng.permutation(np.repeat(np.arange(25), weights))
    start = {"init": "k-means++", "n_init": 5}
    X = X[weights > 0]
    one = KernelGaussianMixture(2, **start).fit(X, weights[weights > 0], generator=seeded(0))
    original = random_scores(np.random.default_rng(3), "total", 25, 6)
    many = KernelGaussianMixture(2, **start).fit(original[copies], generator=seeded(0))
    assert one.log_likelihood == pytest.approx(many.log_likelihood, rel=1e-10)


def test_statistics_of_batches_add_up_to_one_iteration():
    X = np.unique(random_scores(np.random.default_rng(4), "total", 24, 5), axis=0)
    model, whole = KernelGaussianMixture(2, max_iter=2, tol=0), KernelGaussianMixture(2, max_iter=3, tol=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, generator=seeded(1))
    with pytest.warns(ConvergenceWarning):
        fit = whole.fit(X, generator=seeded(1))
    first = (np.arange(len(X)) < 9).astype(float)
    model.update(model.summarize(X, first) + model.summarize(X, 1 - first))
    assert float(model.summarize(X).log_likelihood) == pytest.approx(fit.log_likelihood, rel=1e-12)
    model.update(model.summarize(X[9:]) + model.summarize(X[:9]))
    later = KernelGaussianMixture(2, max_iter=4, tol=0)
    with pytest.warns(ConvergenceWarning):
        later.fit(X, generator=seeded(1))
    np.testing.assert_allclose(model.log_prob(X), later.log_prob(X), rtol=1e-10)


def test_statistics_take_training_rows_only():
    X = np.unique(random_scores(np.random.default_rng(4), "total", 24, 5), axis=0)
    model, weights = KernelGaussianMixture(2), np.arange(len(X)) % 3
    model.fit(X, weights, generator=seeded(1))
    whole = model.summarize(X, weights)
    counted = model.summarize(X[weights > 0], weights[weights > 0])
    torch.testing.assert_close(whole.moments, counted.moments, rtol=1e-13, atol=1e-18)  # other order of summation
    with pytest.raises(ValueError, match=r"row 0 of X is none of the \d+ training rows"):
        model.summarize(X)


_FOUR = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [1.0, 3.0, 2.0]])


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1), (3, 2, 1, 0), (0, 0, 1, 3, 2, 1, 2, 3)])
@pytest.mark.parametrize("kernel", [None, "precomputed"])
def test_statistics_know_their_rows_in_any_order(order, kernel):
    rows, start = list(order), np.array([0, 1, 0, 1])[list(order)]
    X = _FOUR[rows]
    data = X if kernel is None else kendall_gram(X)
    model = KernelGaussianMixture(2, kernel=kernel, dimension=3, init=start, max_lam=50)
    model.fit(data)
    for _ in range(2):
        assert model.log_prob(data) == pytest.approx([-1.654120] * len(X), abs=2e-6)
        assert model.predict(data).tolist() == start.tolist()
        again = np.random.default_rng(0).permutation(len(X))
        model.update(model.summarize(data[again] if kernel is None else (data[again], np.ones(len(X)))))


def test_gradients_reach_the_likelihood_of_em():
    X = torch.from_numpy(np.unique(random_scores(np.random.default_rng(5), "total", 40, 4), axis=0))
    em = KernelGaussianMixture(2, tol=1e-13, max_iter=5000)
    best = em.fit(X, generator=seeded(0)).log_likelihood
    model = KernelGaussianMixture(2)
    model.load_state_dict(em.state_dict())
    noise = torch.randn(model.coefficients.shape, generator=seeded(1), dtype=torch.float64)
    with torch.no_grad():
        model.coefficients.add_(0.05 * noise)
        model.log_lam.sub_(0.3)
    first, last = ascend(model, lambda: model(X).sum(), max_iter=1000)
    assert first < best - 0.1
    assert last == pytest.approx(best, abs=1e-5)


def test_equal_rankings_are_capped_with_a_warning_and_no_nan():
    X = np.array([[0.0, 1.0, 2.0]] * 4 + [[2.0, 1.0, 0.0]] * 2)
    model = KernelGaussianMixture(2, max_lam=1e5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = model.fit(X, generator=seeded(0))
    assert len(caught) == 1
    assert "capped at max_lam=100000" in str(caught[0].message)
    assert np.isfinite(fit.log_likelihood)
    assert np.isfinite(model.predict_proba(X)).all()
    assert len(np.unique(model.predict(X))) == 2


def test_a_kernel_of_small_scale_is_named_as_the_reason_of_the_cap():
    X = random_scores(np.random.default_rng(0), "total", 30, 5)
    K = kendall_gram(X)
    message = r"components \[0, 1\] hold rankings that are equal or too close together .* is .*e-10\): .* the kernel"
    for max_lam in (1e3, 1e6):
        model = KernelGaussianMixture(2, kernel="precomputed", dimension=10, max_lam=max_lam)
        with pytest.warns(UserWarning, match=message):
            model.fit(1e-9 * K, generator=seeded(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelGaussianMixture(2, kernel="precomputed", dimension=10, max_lam=1e15).fit(1e-9 * K, generator=seeded(0))
        KernelGaussianMixture(2, kernel="precomputed", dimension=10).fit(K, generator=seeded(0))


@pytest.mark.filterwarnings("ignore:components .* hold equal rankings only")
def test_bad_input_is_named():
    with pytest.raises(ValueError, match="dimension is missing"):
        KernelGaussianMixture(2, kernel=MallowsKernel())
    with pytest.raises(ValueError, match="dimension is missing"):
        KernelGaussianMixture(2, kernel=KendallKernel(missing="topk"))
    with pytest.raises(ValueError, match="dimension=0"):
        KernelGaussianMixture(2, dimension=0)
    with pytest.raises(ValueError, match="max_lam=0"):
        KernelGaussianMixture(2, max_lam=0)
    with pytest.raises(ValueError, match="no training rows yet"):
        KernelGaussianMixture(2).log_prob(np.eye(3))
    model = KernelGaussianMixture(2, kernel="precomputed", dimension=3)
    for K, message in (
        (np.ones((2, 3)), "expected a square matrix"),
        (np.array([[2.0, 0.5], [0.0, 2.0]]), "not symmetric"),
        (np.array([[0.0, 1.0], [1.0, 0.0]]), "not positive semi-definite"),
        (np.full((2, 2), np.nan), "must be finite"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(K)
    X = random_scores(np.random.default_rng(0), "total", 6, 5)
    fitted = KernelGaussianMixture(2)
    fitted.fit(X, generator=seeded(0))
    with pytest.raises(ValueError, match=r"expected \(rankings, 5\), the items fitted"):
        fitted.log_prob(X[:, :4])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_gives_the_same_fit():
    rng = np.random.default_rng(6)
    X = torch.from_numpy(np.unique(random_scores(rng, "total", 60, 5), axis=0))
    start = torch.from_numpy(rng.integers(0, 2, len(X)))
    expected = KernelGaussianMixture(2, init=start).fit(X).log_likelihood
    model = KernelGaussianMixture(2, init=start).cuda()
    assert model.fit(X.cuda()).log_likelihood == pytest.approx(expected, rel=1e-9)
    by_gram = KernelGaussianMixture(2, kernel="precomputed", dimension=10, init=start)
    assert by_gram.cuda().fit(kendall_gram(X.cuda())).log_likelihood == pytest.approx(expected, rel=1e-9)
