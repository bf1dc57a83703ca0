"""Named kernels of scikit-learn far from the origin."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.metrics.pairwise import pairwise_kernels

from torchrank.estimators import KernelFisherDiscriminant, KroneckerRLS
from torchrank.estimators.named_kernels import named_kernel


@pytest.mark.parametrize("shift", [0.0, 1e7, 1.7e9])
def test_radial_kernels_depend_on_differences(shift):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)) + shift, rng.normal(size=(30, 3)) + shift
    expected = np.exp(-0.5 * ((X[:, None] - Y[None]) ** 2).sum(-1))
    np.testing.assert_allclose(named_kernel(X, Y, "rbf", {"gamma": 0.5}), expected, rtol=0, atol=1e-13)
    own = named_kernel(X, X, "rbf", {"gamma": 0.5})
    assert (own.diagonal() == 1).all()


@pytest.mark.parametrize("name", ["linear", "poly", "laplacian", "cosine"])
def test_other_kernels_stay_where_they_are(name):
    X, Y = np.random.default_rng(0).normal(size=(2, 6, 3)) + 2
    np.testing.assert_array_equal(named_kernel(X, Y, name, {}), pairwise_kernels(X, Y, metric=name))


def test_estimators_predict_alike_far_from_the_origin():
    rng = np.random.default_rng(0)
    nodes, edges, y = rng.integers(0, 9, (12, 2)) / 4.0, rng.integers(0, 12, (40, 2)), rng.normal(size=40)
    classes = np.arange(12) % 2
    found = []
    for shift in (0.0, 2.0**32):  # moves these features without rounding
        model = KroneckerRLS(kernel="rbf", kernel_params={"gamma": 0.5}, nodes=nodes + shift).fit(edges, y)
        fisher = KernelFisherDiscriminant(kernel="rbf", kernel_params={"gamma": 0.5}).fit(nodes + shift, classes)
        found.append(np.concatenate([model.predict(edges), fisher.decision_function(nodes + shift)]))
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-6)
