"""Kernel modules in scikit-learn's own estimators."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from torchrank import KendallKernel, MallowsKernel, MultivariateKernel, SmoothedKendallKernel

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 6)), np.arange(30) % 2
X[:, 0] += 2 * Y
KERNELS = [
    (KendallKernel(), {"kernel__variant": ["a", "b"]}),
    (MallowsKernel(normalize=True), {"kernel__lam": [0.5, 5.0]}),
    (SmoothedKendallKernel(window=0.5), {"kernel__window": [0.1, 1.0]}),
    (
        MultivariateKernel([KendallKernel(), MallowsKernel(normalize=True)], sizes=[2, 4]),
        {"kernel__weights": [[0.5, 0.5], [0.9, 0.1]]},
    ),
]
NAMES = [type(kernel).__name__ for kernel, _ in KERNELS]
every_kernel = pytest.mark.parametrize(("kernel", "grid"), KERNELS, ids=NAMES)


@every_kernel
def test_support_vector_machines(kernel, grid):
    model = SVC(kernel=kernel).fit(X, Y)
    decision = model.decision_function(X)
    precomputed = SVC(kernel="precomputed").fit(kernel(X), Y)
    np.testing.assert_allclose(decision, precomputed.decision_function(kernel(X)), atol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), decision)
    np.testing.assert_array_equal(clone(model).fit(X, Y).decision_function(X), decision)
    assert clone(model).kernel is not model.kernel


@every_kernel
def test_kernel_parameters_in_searches(kernel, grid):
    search = GridSearchCV(SVC(kernel=kernel), grid, cv=3, error_score="raise").fit(X, Y)
    ((name, values),) = grid.items()
    for value, score in zip(values, search.cv_results_["mean_test_score"], strict=True):
        alone = clone(SVC(kernel=kernel)).set_params(**{name: value})
        expected = GridSearchCV(alone, {"C": [1.0]}, cv=3).fit(X, Y).cv_results_["mean_test_score"][0]
        assert score == expected
    pipeline = make_pipeline(FunctionTransformer(), SVC(kernel=kernel))
    through = GridSearchCV(pipeline, {f"svc__{name}": values}, cv=3).fit(X, Y)
    np.testing.assert_array_equal(through.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])
    assert kernel.get_params().keys() >= {name.split("__")[1]}


@every_kernel
def test_kernels_of_two_vectors(kernel, grid):
    by_pairs = KernelRidge(kernel=kernel).fit(X, Y).predict(X)
    precomputed = KernelRidge(kernel="precomputed").fit(kernel(X), Y).predict(kernel(X))
    np.testing.assert_allclose(by_pairs, precomputed, atol=1e-10)
    assert KernelPCA(2, kernel=kernel).fit_transform(X).shape == (30, 2)
