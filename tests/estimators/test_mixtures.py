import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import torchrank
from tests.strategies import random_scores
from torchrank.estimators import KernelGaussianMixture, KernelMallowsMixture, MallowsMixture
from torchrank.linalg import ConvergenceWarning

TWO_ITEMS = "the check makes points of 2 features, as rankings of 2 items of two kinds, and asks for 3 clusters of them"
TIES = "the check makes small whole numbers, which tie; a distribution of total rankings refuses ties"
MANY = "the check makes 10 features or more; a sum over all rankings is possible up to 7 items"
TIED_CHECKS = dict.fromkeys(
    (
        "check_estimators_dtypes",
        "check_sample_weights_pandas_series",
        "check_sample_weights_not_an_array",
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
    ),
    TIES,
)
LONG_CHECKS = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_dtype_object", "check_fit2d_1sample"), MANY
)
CHECKED = [
    MallowsMixture(),
    KernelMallowsMixture(),
    KernelGaussianMixture(),
    KernelGaussianMixture(3, kernel=rbf_kernel, dimension=2, random_state=0),
]


def expected_failures(estimator):
    if isinstance(estimator, KernelGaussianMixture):
        return {} if estimator.kernel is rbf_kernel else {"check_clustering": TWO_ITEMS}
    long = LONG_CHECKS if isinstance(estimator, KernelMallowsMixture) else {}
    return {"check_clustering": TWO_ITEMS, **TIED_CHECKS, **long}


@pytest.mark.filterwarnings("ignore:components .* hold equal rankings only")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def two_groups(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centers = random_scores(rng, "total", 2, 6)
    return (np.repeat(centers, 20, axis=0) + 1.5 * rng.normal(size=(40, 6))).argsort(1).argsort(1).astype(float)


MODELS = [
    MallowsMixture(2, random_state=0),
    KernelMallowsMixture(2, ridge=0.5, random_state=0),
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
    assert len(model.trace_) == model.n_iter_
    assert model.trace_[-1] == model.objectives_.max()
    assert (clone(model).fit(X, sample_weight=weights).labels_ == labels).all()


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
    with pytest.warns(ConvergenceWarning, match="EM did not converge in 1 iterations"):
        assert not MallowsMixture(2, max_iter=1, random_state=0).fit(X).converged_
    with pytest.raises(ValueError, match="n_components=0 is too small"):
        MallowsMixture(0).fit(X)
    with pytest.raises(ValueError, match="tied items in row 0"):
        MallowsMixture().fit(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="dimension is missing"):
        KernelGaussianMixture(kernel=torchrank.MallowsKernel()).fit(X)
