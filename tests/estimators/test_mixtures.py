import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import torchrank
from tests.strategies import random_scores
from torchrank.estimators import KernelGaussianMixture, KernelMallowsMixture, MallowsMixture


def two_groups(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centers = random_scores(rng, "total", 2, 6)
    return (np.repeat(centers, 20, axis=0) + 1.5 * rng.normal(size=(40, 6))).argsort(1).argsort(1).astype(float)


MODELS = [
    MallowsMixture(2, random_state=0),
    KernelMallowsMixture(2, ridge=0.01, random_state=0),
    KernelGaussianMixture(2, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_adapts_the_module(model):
    X, weights = two_groups(), np.random.default_rng(1).integers(0, 3, 40)
    labels = model.fit_predict(X, sample_weight=weights)
    assert (labels == model.predict_proba(X).argmax(axis=1)).all()
    assert abs(labels[:20].mean() - labels[20:].mean()) > 0.7
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    assert model.log_likelihood_ == pytest.approx((weights * model.score_samples(X)).sum(), rel=1e-10)
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())
    assert model.bic(X) == model.model_.bic(X)
    assert model.weights_.sum() == pytest.approx(1)
    assert model.converged_
    assert len(model.objective_) == model.n_iter_
    assert model.objective_[-1] == -model.losses_.min()
    assert (clone(model).fit(X, sample_weight=weights).labels_ == labels).all()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_weights_are_repeated_rows_in_all_that_sums_over_rows(model):
    X, weights = two_groups(), np.random.default_rng(2).integers(0, 4, 40)
    fitted, copies = clone(model).fit(X, sample_weight=weights), np.repeat(X, weights, axis=0)
    for method in ("score", "bic"):
        assert getattr(fitted, method)(X, sample_weight=weights) == pytest.approx(getattr(fitted, method)(copies))
    assert fitted.bic(X, weights) == pytest.approx(fitted.model_.bic(X, weights))
    assert fitted.score(X, sample_weight=weights) == pytest.approx(fitted.log_likelihood_ / weights.sum())
    with pytest.raises(ValueError, match="has -1 for row 0"):
        fitted.score(X, sample_weight=[-1.0] + [1.0] * 39)
    with pytest.raises(ValueError, match="shape"):
        fitted.bic(X, sample_weight=[1.0])


def test_bic_of_weighted_rankings():
    X, weights = np.array([[3.0, 2, 1], [1, 2, 3], [2, 3, 1]]), np.array([100.0, 50, 20])
    model = MallowsMixture(2, random_state=0).fit(X, sample_weight=weights)
    assert model.bic(X, sample_weight=weights) == pytest.approx(360.61, abs=5e-3)
    assert model.bic(np.repeat(X, weights.astype(int), axis=0)) == pytest.approx(360.61, abs=5e-3)


def test_grid_search_over_components():
    search = GridSearchCV(MallowsMixture(random_state=0), {"n_components": [1, 2]}, cv=4)
    order = np.random.default_rng(0).permutation(40)
    assert search.fit(two_groups()[order]).best_params_ == {"n_components": 2}


def test_learned_attributes():
    X = two_groups()
    mallows, kernel, gaussian = (clone(model).fit(X) for model in MODELS)
    assert mallows.centers_.shape == (2, 6)
    assert (mallows.lam_ > 0).all()
    assert kernel.theta_.shape == (2, 15)
    assert gaussian.lam_.shape == (2,)


def test_gaussian_mixture_of_a_gram_matrix():
    X = two_groups()
    kernel = torchrank.MallowsKernel(lam=0.2)
    model = KernelGaussianMixture(2, kernel="precomputed", dimension=15, random_state=0).fit(kernel(X))
    same = KernelGaussianMixture(2, kernel=kernel, dimension=15, random_state=0).fit(X)
    assert model.log_likelihood_ == pytest.approx(same.log_likelihood_, rel=1e-8)
    assert (model.predict(kernel(X)) == model.labels_).all()
    with pytest.raises(ValueError, match="densities need k"):
        model.predict(kernel(X)[:3])


def test_warns_and_refuses():
    X = two_groups()
    with pytest.warns(ConvergenceWarning, match="in 1 iterations"):
        assert not MallowsMixture(2, max_iter=1, random_state=0).fit(X).converged_
    with pytest.raises(ValueError, match="n_components=0"):
        MallowsMixture(0).fit(X)
    with pytest.raises(ValueError, match="tied items in row 0"):
        MallowsMixture().fit(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="dimension is missing"):
        KernelGaussianMixture(kernel=torchrank.MallowsKernel()).fit(X)


def test_criteria_are_those_of_the_module():
    X, weights = two_groups(), np.random.default_rng(3).integers(1, 4, 40)
    for model in MODELS:
        fitted = clone(model).fit(X, sample_weight=weights)
        for name in ("aic", "bic"):
            assert fitted.criterion(X, weights, name) == fitted.model_.criterion(X, weights.astype(float), name)
            assert getattr(fitted, name)(X, sample_weight=weights) == fitted.criterion(X, weights, name)
        assert fitted.aic(X, weights) < fitted.bic(X, weights)
        with pytest.raises(ValueError, match="name='dic' is unknown"):
            fitted.criterion(X, name="dic")


@pytest.mark.parametrize("missing", ["topk", "interleaving"])
def test_partial_rankings(missing):
    X = two_groups()
    X[X < 2] = np.nan
    X[0] = [1.0, 1.0, 0.0, np.nan, np.nan, 0.0]
    model = MallowsMixture(2, missing=missing, ties="unknown", random_state=0).fit(X)
    module = torchrank.MallowsMixture(6, 2, missing=missing, ties="unknown")
    module.load_state_dict(model.model_.state_dict())
    np.testing.assert_array_equal(model.score_samples(X), module.log_prob(X))
    assert model.bic(X) == module.bic(X)
    np.testing.assert_array_equal(model.labels_, module.predict(X))
    with pytest.raises(ValueError, match="pass missing='topk' or 'interleaving'"):
        MallowsMixture(2).fit(X)
