"""The scale of weights is the caller's unit, and no fit depends on it."""

import functools
import warnings

import numpy as np
import pytest
import torch

from tests.strategies import random_scores
from torchrank import KernelKMeans, MallowsKernel, RankingKMeans, borda, copeland, fit_mallows, fit_plackett_luce
from torchrank.mixtures.kernel_gaussian import KernelGaussianMixture
from torchrank.mixtures.kernel_mallows import KernelMallowsMixture
from torchrank.mixtures.mallows import MallowsMixture


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _module(make):
    """What a module has learned: parameters, buffers but for the weights themselves, and the unit of its objective."""

    def fit(X, weights):
        model = make()
        evidence = model.fit(X, weights, generator=seeded(0))
        state = {name: value.numpy() for name, value in model.state_dict().items() if name != "weights"}
        state["iterations"] = np.array(evidence.n_iter)
        return state, np.array([*evidence.objective, *evidence.losses])

    return fit


def _tuple(function, in_unit=(), **settings):
    """The fields of a result, and of them those that are in the unit of the weights."""

    def fit(X, weights):
        found = function(X, weights, **settings)
        fields = found._asdict() if hasattr(found, "_asdict") else {"scores": found}
        scaled = np.concatenate([np.ravel(fields[name]) for name in in_unit]) if in_unit else np.zeros(0)
        kept = ("center", "lam", "mean_distance", "optimal", "logits", "gradient", "n_iter", "scores")
        return {name: np.asarray(value) for name, value in fields.items() if name in kept}, scaled

    return fit


FITS = {
    "MallowsMixture": _module(lambda: MallowsMixture(4, 2, n_init=2)),
    "MallowsMixture, Borda": _module(lambda: MallowsMixture(4, 2, center="borda", n_init=2)),
    "MallowsMixture, Copeland": _module(lambda: MallowsMixture(4, 2, center="copeland", n_init=2)),
    "KernelMallowsMixture": _module(lambda: KernelMallowsMixture(4, 2, n_init=2)),
    "KernelGaussianMixture": _module(lambda: KernelGaussianMixture(2)),
    "KernelKMeans": _module(lambda: KernelKMeans(3, n_init=1)),
    "KernelKMeans, Mallows": _module(lambda: KernelKMeans(3, kernel=MallowsKernel(lam=0.3), n_init=1)),
    "RankingKMeans": _module(lambda: RankingKMeans(3, n_init=1)),
    "RankingKMeans, Borda": _module(lambda: RankingKMeans(3, center="borda", n_init=1)),
    "RankingKMeans, Copeland": _module(lambda: RankingKMeans(3, center="copeland", n_init=1)),
    "fit_mallows": _tuple(fit_mallows, ("log_likelihood",)),
    "fit_plackett_luce": _tuple(fit_plackett_luce, ("log_likelihood",)),
    "fit_plackett_luce, MM": _tuple(fit_plackett_luce, ("log_likelihood",), method="mm"),
    "borda": _tuple(borda),
    "copeland": _tuple(copeland),
}


def fractions():
    """Rankings, and weights that are no whole numbers."""
    rng = np.random.default_rng(3)
    return random_scores(rng, "total", 40, 4), rng.random(40)


def whole():
    """Rankings, and weights that are whole numbers."""
    rng = np.random.default_rng(4)
    return random_scores(rng, "total", 40, 4), rng.integers(1, 5, 40).astype(float)


@functools.cache
def unscaled(name, data):
    """The fit that those with other weights are compared with."""
    return FITS[name](*data())


@pytest.mark.filterwarnings("ignore:components .* hold equal rankings only")
@pytest.mark.parametrize("exponent", [-200, -1, 10, 100])
@pytest.mark.parametrize("name", FITS)
def test_powers_of_two_change_no_bit(name, exponent):
    X, weights = fractions()
    expected, objective = unscaled(name, fractions)
    found, scaled = FITS[name](X, weights * 2.0**exponent)
    for field, value in expected.items():
        np.testing.assert_array_equal(found[field], value, err_msg=field)
    np.testing.assert_array_equal(scaled, objective * 2.0**exponent)


@pytest.mark.filterwarnings("ignore:components .* hold equal rankings only")
@pytest.mark.parametrize("factor", [1e-30, 3.0, 1e30, 1e300])
@pytest.mark.parametrize("name", FITS)
def test_any_factor_changes_rounding_only(name, factor):
    X, weights = whole()
    expected, objective = unscaled(name, whole)
    found, scaled = FITS[name](X, weights * factor)
    for field, value in expected.items():
        if field == "gradient":
            assert found[field] <= 1e-9
        elif field not in ("iterations", "n_iter"):
            np.testing.assert_allclose(found[field], value, rtol=1e-5, atol=1e-6, err_msg=field)
    if len(scaled) == len(objective):
        np.testing.assert_allclose(scaled / factor, objective, rtol=1e-7)


@pytest.mark.parametrize("factor", [1e3, 1e6, 1e30])
def test_two_rankings_of_any_weight_in_three_components(factor):
    X = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    fits = []
    for scale in (1.0, factor):
        model = KernelMallowsMixture(3, 7)
        with pytest.warns(UserWarning, match="more than the 2 different rows"):
            fit = model.fit(X, scale * np.array([2.0, 1.0]), generator=seeded(0))
        fits.append((fit.log_likelihood / scale, fit.n_iter, model.log_prob(X)))
    assert fits[1][0] == pytest.approx(fits[0][0], rel=1e-6)
    assert fits[1][1] <= 2 * fits[0][1]
    np.testing.assert_allclose(fits[1][2], fits[0][2], rtol=1e-6)


def test_the_ridge_is_that_of_as_many_equal_rows():
    rng = np.random.default_rng(5)
    X, weights = random_scores(rng, "total", 10, 4), rng.integers(1, 4, 10)
    one, many = KernelMallowsMixture(4, 1, ridge=0.1), KernelMallowsMixture(4, 1, ridge=0.1)
    one.fit(X, weights)
    many.fit(np.repeat(X, weights, axis=0))
    assert torch.allclose(one.theta, many.theta, atol=1e-12)


def test_a_prior_counts_in_the_unit_of_the_weights():
    rng = np.random.default_rng(6)
    X, weights = random_scores(rng, "total", 10, 4), rng.random(10)
    one = fit_plackett_luce(X, weights, prior=0.5)
    many = fit_plackett_luce(X, 1e6 * weights, prior=0.5e6)
    np.testing.assert_allclose(many.logits, one.logits, atol=1e-7)


def test_large_weights_do_not_overflow_in_sums():
    rng = np.random.default_rng(7)
    X = random_scores(rng, "total", 30, 4)
    for make in (lambda: MallowsMixture(4, 2, n_init=2), lambda: KernelGaussianMixture(2), lambda: KernelKMeans(2)):
        one, many = make(), make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one.fit(X, generator=seeded(0))
            many.fit(X, np.full(30, 1.7e308), generator=seeded(0))
        np.testing.assert_array_equal(one.predict(X), many.predict(X))
