"""Kernels as modules: in PyTorch's loops, in scikit-learn's estimators, through pickle, clone and state_dict."""

import copy
import io
import math
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from tests.strategies import random_scores
from torchrank import KendallKernel, MallowsKernel, kendall_gram, mallows_gram

X = random_scores(np.random.default_rng(0), "tied", 24, 10)
Y = random_scores(np.random.default_rng(1), "tied", 7, 10)
LABELS = (X[:, 0] > X[:, 1]).astype(int)
KERNELS = [KendallKernel(), KendallKernel(variant="a"), MallowsKernel(lam=0.3), MallowsKernel(lam=2.0, normalize=True)]


def test_called_with_matrices_they_are_the_functions():
    for kind in (np.asarray, torch.from_numpy):
        A, B = kind(X), kind(Y)
        for variant in "ab":
            kernel = KendallKernel(variant=variant)
            assert np.array_equal(kernel(A), kendall_gram(X, variant=variant))
            assert np.array_equal(kernel(A, B), kendall_gram(X, Y, variant=variant))
        kernel = MallowsKernel(lam=0.3, tie_penalty=0.5, normalize=True)
        expected = mallows_gram(X, Y, lam=0.3, tie_penalty=0.5, normalize=True)
        np.testing.assert_allclose(
            kernel(A, B).detach() if kind is not np.asarray else kernel(A, B), expected, rtol=1e-14
        )
        assert type(kernel(A)) is type(A)


def test_settings_reach_the_functions():
    partial = X.copy()
    partial[0, 3] = math.nan
    for kernel, function in (
        (KendallKernel(missing="pairwise"), kendall_gram),
        (MallowsKernel(missing="pairwise"), mallows_gram),
    ):
        np.testing.assert_allclose(kernel(partial), function(partial, missing="pairwise"), rtol=1e-14)
    with pytest.raises(ValueError, match="X has NaN"):
        KendallKernel()(partial)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_called_with_two_vectors_they_give_a_number(kernel):
    with torch.no_grad():
        for kind in (np.asarray, torch.from_numpy, list):
            value = kernel(kind(X[0]), kind(Y[0]))
            assert np.ndim(value) == 0
            assert float(value) == kernel(X[:1], Y[:1])[0, 0]
    assert kernel(X[0]) == kernel(X[:1])[0, 0]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_svc_equals_the_precomputed_kernel(kernel):
    model = SVC(kernel=kernel).fit(X, LABELS)
    precomputed = SVC(kernel="precomputed").fit(kernel(X), LABELS)
    np.testing.assert_allclose(model.decision_function(Y), precomputed.decision_function(kernel(Y, X)), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernel_ridge_and_pairwise_kernels_pass_two_vectors(kernel):
    np.testing.assert_allclose(pairwise_kernels(X, Y, metric=kernel), kernel(X, Y), rtol=0, atol=1e-15)
    np.testing.assert_allclose(pairwise_kernels(X, metric=kernel), kernel(X), rtol=0, atol=1e-15)
    ridge = KernelRidge(kernel=kernel).fit(X, X[:, 0])
    precomputed = KernelRidge(kernel="precomputed").fit(kernel(X), X[:, 0])
    np.testing.assert_allclose(ridge.predict(Y), precomputed.predict(kernel(Y, X)), rtol=0, atol=1e-10)


def test_grid_search_tunes_the_concentration():
    search = GridSearchCV(
        SVC(kernel=MallowsKernel(normalize=True)),
        {"kernel__lam": [0.1, 1.0, 10.0], "kernel__tie_penalty": [0.25, 0.5], "C": [1, 10]},
        cv=3,
        error_score="raise",
    ).fit(X, LABELS)
    chosen = search.best_estimator_.kernel
    assert chosen.lam == pytest.approx(search.best_params_["kernel__lam"])
    assert chosen.tie_penalty == search.best_params_["kernel__tie_penalty"]
    assert chosen.normalize
    assert search.estimator.kernel.lam == 1.0  # untouched


def test_in_a_pipeline():
    model = make_pipeline(FunctionTransformer(np.negative), SVC(kernel=KendallKernel()))
    assert np.array_equal(model.fit(X, LABELS).predict(X), SVC(kernel=KendallKernel()).fit(-X, LABELS).predict(-X))
    assert model.set_params(svc__kernel__variant="a").get_params()["svc__kernel__variant"] == "a"


DUPLICATES = {
    "pickle": lambda kernel: pickle.loads(pickle.dumps(kernel)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "clone": clone,
    "clone in SVC": lambda kernel: clone(SVC(kernel=kernel)).kernel,
}


@pytest.mark.parametrize("duplicate", DUPLICATES.values(), ids=DUPLICATES)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_duplicates_compute_the_same(duplicate, kernel):
    other = duplicate(kernel)
    assert type(other) is type(kernel)
    assert other is not kernel
    assert other.get_params() == kernel.get_params()
    assert np.array_equal(other(X), kernel(X))


def test_clones_are_independent():
    kernel = MallowsKernel(lam=2.0)
    for other in (clone(kernel), copy.deepcopy(kernel)):
        other.set_params(lam=5.0)
        assert kernel.lam == pytest.approx(2.0, rel=1e-15)
        assert other.lam == pytest.approx(5.0, rel=1e-15)


def test_get_and_set_params():
    kernel = MallowsKernel(lam=0.5, tie_penalty=0.5, normalize=True, missing="pairwise", method="signs")
    expected = {
        "lam": pytest.approx(0.5),
        "tie_penalty": 0.5,
        "normalize": True,
        "missing": "pairwise",
        "method": "signs",
    }
    assert kernel.get_params() == expected
    assert kernel.set_params(lam=3, method="auto") is kernel
    assert (kernel.lam, kernel.method, kernel.tie_penalty) == (pytest.approx(3), "auto", 0.5)
    with pytest.raises(ValueError, match="tie_penalty"):
        kernel.set_params(lam=7, tie_penalty=0.1)
    assert kernel.lam == pytest.approx(3)  # a refused change changes nothing
    assert "tie_penalty=0.5" in repr(kernel)
    assert KendallKernel(variant="a").get_params() == {"variant": "a", "missing": None, "method": "auto"}


def test_state_dict_round_trip():
    kernel, other = MallowsKernel(lam=0.123), MallowsKernel()
    buffer = io.BytesIO()
    torch.save(kernel.state_dict(), buffer)
    buffer.seek(0)
    other.load_state_dict(torch.load(buffer))
    assert other.lam == kernel.lam
    assert np.array_equal(other(X), kernel(X))
    assert not KendallKernel().state_dict()
    assert not list(KendallKernel().parameters())


def test_gradient_of_the_parameter():
    kernel = MallowsKernel(lam=0.2, normalize=True)

    def gram(log_lam):
        return torch.func.functional_call(kernel, {"log_lam": log_lam}, (torch.from_numpy(X[:5]),))

    assert torch.autograd.gradcheck(gram, (kernel.log_lam.detach().clone().requires_grad_(),))


def test_concentration_is_learned_and_stays_positive():
    scores = torch.from_numpy(X)
    target = mallows_gram(scores, lam=3.0, normalize=True)
    kernel = MallowsKernel(lam=0.5, normalize=True)
    optimizer = torch.optim.Adam(kernel.parameters(), lr=0.2)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = (kernel(scores) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        assert kernel.lam > 0
    assert losses[-1] < 1e-3 * losses[0]
    assert kernel.lam == pytest.approx(3.0, rel=0.05)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int32])
def test_the_parameter_does_not_change_the_dtype(dtype):
    expected = dtype if dtype.is_floating_point else torch.float32
    assert MallowsKernel()(torch.tensor([[1, 2, 3]]).to(dtype)).dtype == expected


def test_modules_nest_and_move():
    model = torch.nn.ModuleDict({"kendall": KendallKernel(), "mallows": MallowsKernel(lam=0.5)})
    assert [name for name, _ in model.named_parameters()] == ["mallows.log_lam"]
    assert model.to(torch.float32)["mallows"].lam == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("missing", ["raise", "interleaving", "topk", "pairwise"])
def test_defaults_are_those_of_the_functions(missing):
    X = np.array([[1.0, 2.0, 4.0], [3.0, 2.0, 1.0]])
    if missing != "raise":
        X[0, 2] = np.nan
    assert np.array_equal(KendallKernel(missing=missing)(X), kendall_gram(X, missing=missing))
