"""The feature map of landmarks as a module: its state, changes of the kernel, derivatives."""

import copy
import pickle

import numpy as np
import pytest
import torch

import torchrank as tr
from torchrank.kernels import landmarks as module

RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, (40, 6)).astype(float)
Y = RNG.normal(size=(9, 6))


def fitted(kernel, size):
    model = tr.LandmarkFeatures(kernel, size)
    model.fit(X, generator=torch.Generator().manual_seed(0))
    return model


@pytest.mark.parametrize("kernel", [tr.KendallKernel(), tr.MallowsKernel(lam=0.2), tr.kendall_gram])
def test_state(kernel):
    model = fitted(kernel, 8)
    other = tr.LandmarkFeatures(copy.deepcopy(kernel), 8)
    other.load_state_dict(model.state_dict())
    np.testing.assert_array_equal(other(Y), model(Y))
    np.testing.assert_array_equal(copy.deepcopy(model)(Y), model(Y))
    with pytest.raises(ValueError, match="this feature map has no landmarks yet; call fit first"):
        tr.LandmarkFeatures(kernel, 8)(Y)
    smaller = tr.LandmarkFeatures(kernel, 5)
    smaller.load_state_dict(model.state_dict())
    with pytest.raises(ValueError, match=r"landmarks has 8 rows, loaded into a map of n_landmarks=5"):
        smaller(Y)


def test_pickles_and_keeps_its_precision():
    model = fitted(tr.MallowsKernel(lam=0.2), 8)
    expected = model(Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))(Y), expected)
    np.testing.assert_array_equal(model.half()(Y), expected)
    assert repr(model).startswith("LandmarkFeatures(\n  n_landmarks=8\n  (kernel): MallowsKernel(lam=")


def test_a_kernel_that_changes_is_noticed():
    kernel = tr.MallowsKernel(lam=0.2)
    model = fitted(kernel, 8)
    before = model(Y)
    for change in ({"lam": 0.7}, {"normalize": True}, {"tie_penalty": 0.5}):
        kernel.set_params(**change)
        fresh = tr.LandmarkFeatures(kernel, 8)
        fresh.load_state_dict(model.state_dict())
        np.testing.assert_array_equal(model(Y), fresh(Y))
        assert np.abs(model(Y) - before).max() > 1e-4
        before = model(Y)


def test_a_kernel_that_stays_is_not_decomposed_again(monkeypatch):
    model = fitted(tr.MallowsKernel(lam=0.2), 8)
    monkeypatch.setattr(module, "inverse_root", None)
    model(Y)
    with torch.no_grad():
        model(torch.from_numpy(Y))
    with pytest.raises(TypeError):
        model(torch.from_numpy(Y))  # a derivative in lam may be asked for


def test_derivatives_in_parameters():
    for kernel in (tr.MallowsKernel(lam=0.2), tr.SmoothedKendallKernel(window=1.5)):
        model, (parameter,) = fitted(kernel, 8), kernel.parameters()

        def features(value, model=model, parameter=parameter):
            state = {f"kernel.{name}": value for name, p in model.kernel.named_parameters() if p is parameter}
            return torch.func.functional_call(model, state, torch.from_numpy(Y))

        start = parameter.detach().clone().requires_grad_()
        assert torch.autograd.gradcheck(features, start, check_forward_ad=True)


def test_derivatives_in_scores():
    model = fitted(tr.SmoothedKendallKernel(window=1.5), 8)
    model.requires_grad_(False)
    scores = torch.from_numpy(Y[:3]).requires_grad_()
    assert torch.autograd.gradcheck(model, scores, check_forward_ad=True)
    for kernel in (tr.KendallKernel(), tr.MallowsKernel(lam=0.2)):
        found = fitted(kernel, 8)(scores)
        with pytest.raises(RuntimeError, match="piecewise constant in the scores"):
            found.sum().backward()


def test_learning_a_kernel_with_a_linear_model():
    """A step along the gradient makes the loss smaller, through kernel, landmarks and weights."""
    kernel = tr.MallowsKernel(lam=0.05)
    model = nn_of(fitted(kernel, 8))
    target = torch.from_numpy(X[:, 0] > X[:, 1]).double()
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.05), []
    for _ in range(20):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(torch.from_numpy(X))[:, 0], target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.05
    assert kernel.lam != pytest.approx(0.05, rel=1e-3)


def nn_of(features):
    torch.manual_seed(0)
    return torch.nn.Sequential(features, torch.nn.Linear(features.n_landmarks, 1, dtype=torch.float64))
