"""The smoothed kernel as a module, and what learning its window and the weights of parts is good for."""

import copy
import math
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from benchmarks.learn_kernel import accuracy, learn, rankers, starting_kernel
from torchrank.kernels.smoothed import smoothed_kendall_gram
from torchrank.kernels.smoothed_module import SmoothedKendallKernel

X = np.random.default_rng(0).standard_normal((12, 6))
Y = np.random.default_rng(1).standard_normal((5, 6))


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_it_is_the_function(noise):
    kernel = SmoothedKendallKernel(window=0.7, noise=noise)
    expected = smoothed_kendall_gram(X, Y, window=0.7, noise=noise)
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=0, atol=1e-15)
    assert kernel(X[0], Y[1]) == pytest.approx(expected[0, 1], rel=1e-14)
    assert kernel(torch.from_numpy(X).float()).dtype == torch.float32


def test_settings_duplicates_and_state():
    kernel = SmoothedKendallKernel(window=0.7, noise="gaussian", method="auto")
    assert kernel.get_params() == {"window": pytest.approx(0.7), "noise": "gaussian", "method": "auto"}
    for other in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel)), clone(kernel)):
        assert np.array_equal(other(X), kernel(X))
        assert other.set_params(window=2).window == pytest.approx(2)
        assert kernel.window == pytest.approx(0.7)
    fresh = SmoothedKendallKernel()
    fresh.load_state_dict(kernel.state_dict())
    assert fresh.window == kernel.window


@pytest.mark.parametrize("window", [0, -1.0, math.nan, math.inf])
def test_windows_that_are_refused(window):
    with pytest.raises(ValueError, match="window="):
        SmoothedKendallKernel(window=window)
    with pytest.raises(ValueError, match="noise='pink'"):
        SmoothedKendallKernel(noise="pink")
    with pytest.raises(ValueError, match="method='monte_carlo'"):
        SmoothedKendallKernel(method="monte_carlo")


def test_grid_search_tunes_the_window():
    labels = (X[:, 0] > X[:, 1]).astype(int)
    search = GridSearchCV(
        SVC(kernel=SmoothedKendallKernel()), {"kernel__window": [0.1, 5.0]}, cv=2, error_score="raise"
    )
    best = search.fit(X, labels).best_estimator_.kernel
    assert best.window == pytest.approx(search.best_params_["kernel__window"])


def test_gradient_of_the_parameter():
    kernel = SmoothedKendallKernel(window=0.7)

    def of_parameter(log_window):
        return torch.func.functional_call(kernel, {"log_window": log_window}, (torch.from_numpy(X[:4]),))

    assert torch.autograd.gradcheck(of_parameter, (kernel.log_window.detach().clone().requires_grad_(),))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_learning_windows_and_weights_by_alignment_beats_fixed_ones(seed):
    rng = np.random.default_rng(seed)
    (train, labels), (held_out, truth) = rankers(60, rng), rankers(400, rng)
    kernel = starting_kernel()
    fixed = accuracy(kernel, train, labels, held_out, truth)
    learn(kernel, train, labels)
    assert kernel.kernels[0].window > 2
    assert kernel.weights[0] > 0.9
    assert accuracy(kernel, train, labels, held_out, truth) > fixed + 0.03
