"""Kernels of multivariate rankings: weighted means over parts, their weights, and the module that learns them."""

import copy
import math
import pickle
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC
from torch.library import opcheck

from tests.strategies import random_scores
from torchrank import KendallKernel, MallowsKernel, kendall_gram, mallows_gram
from torchrank.kernels import MultivariateKernel, multivariate_gram
from torchrank.kernels.modules import SmoothedKendallKernel

RNG = np.random.default_rng(0)
SIZES = (7, 4, 12)
X = [random_scores(RNG, "tied", 6, n) for n in SIZES]
Y = [random_scores(RNG, "tied", 3, n) for n in SIZES]
WEIGHTS = [0.5, 0.2, 0.3]
TENSORS = [torch.from_numpy(part) for part in X]


def test_the_weighted_mean_of_the_parts():
    expected = sum(w * kendall_gram(x, y) for w, x, y in zip(WEIGHTS, X, Y, strict=True))
    np.testing.assert_allclose(multivariate_gram(X, Y, weights=WEIGHTS), expected, rtol=0, atol=1e-15)
    expected = sum(kendall_gram(x) for x in X) / 3
    result = multivariate_gram(X)
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-15)
    assert np.array_equal(result, result.T)
    np.testing.assert_allclose(multivariate_gram(X[:1]), kendall_gram(X[0]), rtol=0, atol=0)


def test_every_part_has_its_own_kernel():
    mallows = partial(mallows_gram, lam=0.3, normalize=True)
    expected = sum(w * mallows(x, y) for w, x, y in zip(WEIGHTS, X, Y, strict=True))
    np.testing.assert_allclose(multivariate_gram(X, Y, weights=WEIGHTS, kernel=mallows), expected, atol=1e-15)
    kernels = [kendall_gram, mallows, KendallKernel(variant="a")]
    expected = sum(w * k(x) for w, k, x in zip(WEIGHTS, kernels, X, strict=True))
    np.testing.assert_allclose(multivariate_gram(X, weights=WEIGHTS, kernel=kernels), expected, rtol=0, atol=1e-15)


def test_kinds_batches_and_dtypes():
    assert isinstance(multivariate_gram(X), np.ndarray)
    assert isinstance(multivariate_gram([X[0], TENSORS[1]]), torch.Tensor)
    assert multivariate_gram([part.float() for part in TENSORS]).dtype == torch.float32
    batched = [torch.stack([part, part.flip(0)]) for part in TENSORS]
    assert multivariate_gram(batched, Y=[torch.from_numpy(part) for part in Y]).shape == (2, 6, 3)


def test_gradients_pass_to_the_weights():
    weights = torch.tensor(WEIGHTS, dtype=torch.float64, requires_grad=True)
    multivariate_gram(TENSORS, weights=weights)[0, 1].backward()
    torch.testing.assert_close(weights.grad, torch.stack([kendall_gram(part)[0, 1] for part in TENSORS]))


def test_positive_semi_definite():
    many = [random_scores(RNG, "tied", 40, n) for n in (3, 5)]
    assert np.linalg.eigvalsh(multivariate_gram(many, weights=[0.9, 0.1])).min() > -1e-13


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"X": X, "weights": [0.5, 0.7, -0.2]}, ValueError, r"weights\[2\]=-0\.2"),
        ({"X": X, "weights": [0.5, math.nan, 0.5]}, ValueError, r"weights\[1\]=nan"),
        ({"X": X, "weights": [0.5, 0.2, 0.2]}, ValueError, r"weights add up to 0\.8999"),
        ({"X": X, "weights": [0.5, 0.5]}, ValueError, r"weights has shape \(2,\) .* expected 3 real numbers"),
        ({"X": X, "weights": [[0.5, 0.5, 0.0]]}, TypeError, r"weights\[0\] must .* list"),
        ({"X": X, "weights": torch.ones(1, 3) / 3}, ValueError, r"weights has shape \(1, 3\)"),
        ({"X": X, "weights": 1.0}, ValueError, r"weights has shape \(\)"),
        ({"X": X, "weights": "abc"}, TypeError, "weights has dtype <U3"),
        ({"X": X, "kernel": "kendall"}, TypeError, "kernel is 'kendall'"),
        ({"X": X, "kernel": 3}, TypeError, "kernel is 3"),
        ({"X": X, "kernel": [kendall_gram, None, 3]}, TypeError, "kernel has None for part 1"),
        ({"X": X, "kernel": lambda x, y: np.zeros(3)}, ValueError, r"the kernel of part 0 gives shape \(3,\)"),
        ({"X": [X[0], X[1] * math.nan]}, ValueError, r"part 1: X has NaN .* at row 0, item 0"),
        ({"X": X, "Y": Y[:2]}, ValueError, "3 parts of X and 2 parts of Y"),
        ({"X": X, "kernel": [kendall_gram]}, ValueError, "3 parts of X and 1 kernels"),
        ({"X": []}, ValueError, "X has no parts"),
        ({"X": X[0]}, TypeError, "X is a ndarray"),
        ({"X": X, "Y": TENSORS[0]}, TypeError, "Y is a Tensor"),
        ({"X": [X[0], X[1][:5]]}, ValueError, "part 1 compares 5 with 5 rankings, part 0 6 with 6"),
        ({"X": X, "Y": [Y[0], Y[0], Y[2]]}, ValueError, "X ranks 4 items and Y ranks 7"),
    ],
)
def test_refusals(arguments, error, message):
    with pytest.raises(error, match=message):
        multivariate_gram(**arguments)


def module(**settings):
    return MultivariateKernel([KendallKernel(), MallowsKernel(lam=0.3), KendallKernel(variant="a")], **settings)


def test_the_module_is_the_function():
    kernel = module(weights=WEIGHTS)
    kernels = [KendallKernel(), MallowsKernel(lam=0.3), KendallKernel(variant="a")]
    for other in (None, Y):
        expected = multivariate_gram(X, other, weights=WEIGHTS, kernel=kernels)
        np.testing.assert_allclose(kernel(X, other), expected, rtol=0, atol=1e-15)
    assert kernel.weights == pytest.approx(WEIGHTS)
    assert module().weights == pytest.approx([1 / 3] * 3)
    assert kernel(TENSORS).requires_grad


def test_matrices_are_cut_at_sizes():
    kernel = module(weights=WEIGHTS, sizes=SIZES)
    side, other = np.concatenate(X, axis=1), np.concatenate(Y, axis=1)
    np.testing.assert_allclose(kernel(side, other), kernel(X, Y), rtol=0, atol=1e-15)
    assert kernel(side[0], other[1]) == pytest.approx(kernel(X, Y)[0, 1])
    torch.testing.assert_close(kernel(torch.from_numpy(side)), kernel(TENSORS))
    with pytest.raises(ValueError, match=r"X has 5 columns.*sizes="):
        kernel(side[:, :5])
    with pytest.raises(TypeError, match="sizes="):
        module()(side)


def test_in_scikit_learn():
    kernel = module(weights=WEIGHTS, sizes=SIZES)
    side, other = np.concatenate(X, axis=1), np.concatenate(Y, axis=1)
    labels = np.arange(6) % 2
    model = SVC(kernel=kernel).fit(side, labels)
    precomputed = SVC(kernel="precomputed").fit(kernel(side), labels)
    np.testing.assert_allclose(
        model.decision_function(other), precomputed.decision_function(kernel(other, side)), atol=1e-12
    )
    ridge = KernelRidge(kernel=kernel).fit(side, labels)
    assert ridge.predict(other).shape == (3,)
    assert clone(model).kernel.weights == pytest.approx(WEIGHTS)


def test_parameters_are_those_of_weights_and_kernels():
    kernel = MultivariateKernel([SmoothedKendallKernel(window=0.5), MallowsKernel(lam=0.3), KendallKernel()])
    names = {name for name, _ in kernel.named_parameters()}
    assert names == {"logits", "kernels.0.log_window", "kernels.1.log_lam"}
    kernel(TENSORS).square().sum().backward()
    assert all(parameter.grad is not None for parameter in kernel.parameters())

    def of_logits(logits):
        return torch.func.functional_call(kernel, {"logits": logits}, (TENSORS,))

    assert torch.autograd.gradcheck(of_logits, (kernel.logits.detach().clone().requires_grad_(),))


def test_settings_duplicates_and_state():
    kernel = module(weights=WEIGHTS, sizes=SIZES)
    for other in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel)), clone(kernel)):
        assert np.array_equal(other(X), kernel(X))
        other.set_params(weights=[0.1, 0.1, 0.8])
        assert other.weights == pytest.approx([0.1, 0.1, 0.8])
        assert kernel.weights == pytest.approx(WEIGHTS)
    fresh = module()
    fresh.load_state_dict(kernel.state_dict())
    assert fresh.weights == kernel.weights
    assert kernel.get_params()["sizes"] == [7, 4, 12]
    assert "sizes=[7, 4, 12]" in repr(kernel)


def test_matrices_need_sizes():
    for sides, name in (((np.hstack(X),), "X"), ((X, np.hstack(Y)), "Y")):
        with pytest.raises(TypeError, match=f"{name} is one matrix"):
            module()(*sides)


def test_weights_may_be_integers():
    expected = kendall_gram(X[0])
    for weights in ([1, 0, 0], np.array([1, 0, 0]), torch.tensor([1, 0, 0]), np.float32([1, 0, 0])):
        assert np.array_equal(multivariate_gram(X, weights=weights), expected)


@pytest.mark.parametrize(
    ("construct", "error", "message"),
    [
        (lambda: MultivariateKernel([]), ValueError, "kernels is empty"),
        (
            lambda: MultivariateKernel([kendall_gram]),
            TypeError,
            r"kernels\[0\] is <function kendall_gram.*expected a kernel module",
        ),
        (lambda: module(weights=[0.5, 0.5, 0.0]), ValueError, "a learnable weight has to be above 0"),
        (lambda: module(weights=[0.5, 0.5]), ValueError, r"weights has shape \(2,\)"),
        (lambda: module(sizes=[3, 0, 2]), ValueError, r"sizes\[1\]=0"),
        (lambda: module(sizes=[3, 2, 2.5]), TypeError, r"sizes\[2\] must be an integer"),
        (lambda: module(sizes=[3]), ValueError, "sizes has 1 entries for 3 kernels"),
    ],
)
def test_constructor_refusals(construct, error, message):
    with pytest.raises(error, match=message):
        construct()


def test_opcheck_of_the_weights():
    weights = torch.tensor(WEIGHTS, dtype=torch.float64, requires_grad=True)
    opcheck(torch.ops.torchrank.check_simplex.default, (weights,))


@pytest.mark.slow
def test_under_compile():
    torch.compiler.reset()
    kernel = module(weights=WEIGHTS)
    compiled = torch.compile(kernel, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(TENSORS), kernel(TENSORS), rtol=0, atol=1e-15)
    side_by_side = torch.cat(TENSORS, dim=-1)
    kernel = module(sizes=[part.shape[-1] for part in TENSORS])
    compiled = torch.compile(kernel, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(side_by_side), kernel(TENSORS), rtol=0, atol=1e-15)
    weighted = torch.compile(multivariate_gram, fullgraph=True, backend="aot_eager")
    expected = multivariate_gram(TENSORS, weights=WEIGHTS)
    torch.testing.assert_close(weighted(TENSORS, weights=WEIGHTS), expected, rtol=0, atol=1e-15)
    with pytest.raises(ValueError, match=r"weights add up to 2\.0"):
        weighted(TENSORS[:2], weights=torch.ones(2))
