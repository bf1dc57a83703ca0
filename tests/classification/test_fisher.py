"""Kernel Fisher discriminants against explicit feature vectors, published equations, and gradients by differences."""

import numpy as np
import pytest
import torch

from tests.oracles import classification as oracle
from torchrank import KendallKernel, SmoothedKendallKernel
from torchrank.classification import KernelFisherDiscriminant, fisher_discriminant

RNG = np.random.default_rng(3)
TRAIN, NEW = RNG.normal(size=(12, 4)), RNG.normal(size=(5, 4))
TWO, THREE = np.arange(12) % 4 == 0, np.arange(12) % 3
K, K_NEW = TRAIN @ TRAIN.T, NEW @ TRAIN.T


@pytest.mark.parametrize("ridge", [1e-3, 0.5, 100.0])
def test_three_classes_are_nearest_means_in_the_scatter_metric_of_the_features(ridge):
    expected = oracle.fisher_in_feature_space(TRAIN, THREE, NEW, ridge, 3)
    found = fisher_discriminant(K, THREE, ridge=ridge)
    np.testing.assert_allclose(found.decision(K_NEW), expected, rtol=1e-9, atol=1e-9)
    assert found.duals.shape == (12, 3)


def test_two_classes_have_one_decision_value():
    expected = oracle.fisher_in_feature_space(TRAIN, TWO.astype(int), NEW, 0.1, 2)
    found = fisher_discriminant(K, TWO, ridge=0.1).decision(K_NEW)
    np.testing.assert_allclose(found, expected[:, 1] - expected[:, 0], rtol=1e-10, atol=1e-10)


def test_midpoint_is_half_way_between_the_projected_class_means():
    for ridge_on in ("kernel", "scatter"):
        found = fisher_discriminant(K, TWO, ridge_on=ridge_on).decision(K)
        assert abs(found[TWO].mean() + found[~TWO].mean()) < 1e-10
        assert found[TWO].mean() > 0


def test_ridge_on_the_kernel_is_least_squares_with_a_free_intercept():
    ridge, m = 0.3, len(K)
    bordered = np.block([[K + ridge * np.eye(m), np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
    by_labels = np.linalg.solve(bordered, [*TWO, 0])[:m]
    duals = fisher_discriminant(K, TWO, ridge=ridge).duals
    direction = duals[:, 1] - duals[:, 0]
    scale = np.linalg.norm(direction) / np.linalg.norm(by_labels)
    np.testing.assert_allclose(direction, scale * by_labels, rtol=1e-10)


@pytest.mark.parametrize("ridge", [1e-3, 1.0])
def test_ridge_on_the_scatter_with_threshold_zero_is_as_published(ridge):
    found = fisher_discriminant(K, TWO, ridge=ridge, ridge_on="scatter", threshold="zero")
    expected = oracle.fisher_by_mika(K, TWO, K_NEW, ridge)
    np.testing.assert_allclose(found.decision(K_NEW), expected, rtol=1e-9, atol=1e-12)
    assert np.array_equal(found.offsets, [0, 0])


def test_a_class_of_one_sample_and_constant_features():
    one = np.arange(12) == 5
    expected = oracle.fisher_in_feature_space(TRAIN, one.astype(int), NEW, 0.1, 2)
    found = fisher_discriminant(K, one, ridge=0.1).decision(K_NEW)
    np.testing.assert_allclose(found, expected[:, 1] - expected[:, 0], rtol=1e-10, atol=1e-10)
    constant = fisher_discriminant(np.ones((12, 12)), one)
    np.testing.assert_allclose(constant.decision(np.ones((5, 12))), 0, atol=1e-12)


def test_kind_and_dtype_follow_the_matrix():
    single = fisher_discriminant(torch.from_numpy(K).float(), TWO)
    assert single.duals.dtype == single.offsets.dtype == torch.float32
    double = fisher_discriminant(K.astype(np.float32).astype(np.float64), TWO)
    np.testing.assert_array_equal(single.duals.numpy(), double.duals.astype(np.float32))


@pytest.mark.parametrize("ridge_on", ["kernel", "scatter"])
@pytest.mark.parametrize("threshold", ["midpoint", "zero"])
def test_gradients_through_the_solve(ridge_on, threshold):
    factor = torch.from_numpy(TRAIN[:6]).requires_grad_()
    ridge = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)

    def decision(features, ridge):
        options = {"ridge": ridge, "ridge_on": ridge_on, "threshold": threshold}
        return fisher_discriminant(features @ features.T, THREE[:6], **options).decision(features @ features.T)

    assert torch.autograd.gradcheck(decision, (factor, ridge))


def test_module_with_a_rank_kernel():
    X, new = torch.from_numpy(TRAIN), torch.from_numpy(NEW)
    kernel = KendallKernel()
    model = KernelFisherDiscriminant(kernel, X, n_classes=3, ridge=0.2)
    model.fit(THREE)
    found = fisher_discriminant(kernel(X), THREE, ridge=0.2).decision(kernel(new, X))
    torch.testing.assert_close(model(new), found, rtol=1e-12, atol=1e-12)
    assert torch.equal(model.predict(new), found.argmax(1))
    fresh = KernelFisherDiscriminant(kernel, torch.zeros_like(X), n_classes=3)
    fresh.load_state_dict(model.state_dict())
    assert torch.equal(fresh(new), model(new))
    assert float(fresh.ridge.detach()) == pytest.approx(0.2)


def test_training_samples_given_stay_as_they_are_when_a_state_is_loaded():
    given = torch.zeros(12, 4, dtype=torch.float64)
    fitted = KernelFisherDiscriminant(KendallKernel(), torch.from_numpy(TRAIN))
    fitted.fit(TWO)
    KernelFisherDiscriminant(KendallKernel(), given).load_state_dict(fitted.state_dict())
    assert not given.any()


def test_module_in_single_precision():
    X, new = torch.from_numpy(TRAIN), torch.from_numpy(NEW)
    model = KernelFisherDiscriminant(KendallKernel(), X, ridge=1.0)  # duals of about 1
    model.fit(TWO)
    expected = model(new)
    model.float()
    torch.testing.assert_close(model(new.float()), expected, rtol=1e-5, atol=1e-6)
    scores = model.class_scores(new.float())
    torch.testing.assert_close(scores[:, 1] - scores[:, 0], expected, rtol=1e-5, atol=1e-6)


def test_kernel_parameters_and_ridge_are_learned_through_the_solve():
    X, new = torch.from_numpy(TRAIN), torch.from_numpy(NEW)
    model = KernelFisherDiscriminant(SmoothedKendallKernel(window=0.5), X)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    target, losses = torch.tensor([0, 1, 0, 1, 0]), []
    for _ in range(10):
        loss = torch.nn.functional.cross_entropy(model.class_scores(new, model.solve(TWO)), target)
        optimizer.zero_grad()
        loss.backward()
        assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in model.parameters())
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    ("K", "y", "options", "message"),
    [
        (K[:3], [0, 1, 1], {}, r"K has shape \(3, 12\)"),
        (K[:3, :3] + [0, 1, 0], [0, 1, 1], {}, "K is not symmetric"),
        (np.full((3, 3), np.nan), [0, 1, 1], {}, r"K\[0, 0\] is nan"),
        (K[:3, :3], [0, 0, 0], {}, r"y has 1 class\(es\)"),
        (K[:3, :3], [0, 2, 2], {}, "class 1 of 3 has no sample in y"),
        (K[:3, :3], [0, -1, 1], {}, r"y\[1\] is -1"),
        (K[:3, :3], [0, 1, 1], {"ridge": 0}, "ridge=0"),
        (K[:3, :3], [0, 1, 1], {"ridge": torch.tensor(-1.0)}, r"ridge=-1.0"),
        (K[:3, :3], [0, 1, 1], {"ridge": torch.ones(3)}, r"ridge has shape \(3,\)"),
        (K[:3, :3], [0, 1, 1], {"n_classes": 1}, "n_classes=1"),
        (K[:3, :3], [0, 1, 1], {"ridge_on": "N"}, "ridge_on='N'"),
        (K[:3, :3], [0, 1, 1], {"threshold": 0}, "threshold=0"),
    ],
)
def test_bad_input_is_named(K, y, options, message):
    with pytest.raises(ValueError, match=message):
        fisher_discriminant(K, y, **options)


def test_kernels_that_turn_the_discriminant_upside_down_are_refused():
    message = "K is so far from positive semi-definite"
    with pytest.raises(ValueError, match=message):
        fisher_discriminant(-K, TWO, ridge=100.0)  # the largest eigenvalue of K is below 100
    sigmoid = np.tanh(-0.1 * K)
    with pytest.raises(ValueError, match=message):
        fisher_discriminant(sigmoid, TWO, ridge=10.0, threshold="zero")
    found = fisher_discriminant(sigmoid, TWO, ridge=10.0, ridge_on="scatter").decision(sigmoid)
    assert found[TWO].mean() > found[~TWO].mean()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_rounding_in_single_precision_is_no_reason_to_refuse_a_kernel(scale):
    for seed in range(20):
        features = scale * np.random.default_rng(seed).normal(size=(12, 2)).astype(np.float32)
        assert np.isfinite(fisher_discriminant(features @ features.T, TWO).duals).all()


def test_blocks_have_to_fit_the_training_samples():
    with pytest.raises(ValueError, match=r"K_new has shape \(5, 3\)"):
        fisher_discriminant(K, TWO).decision(K_NEW[:, :3])


def test_labels_have_to_be_numbers():
    with pytest.raises(TypeError, match=r"n_classes must .* 2\.0"):
        fisher_discriminant(K[:2, :2], [0, 1], n_classes=2.0)
    with pytest.raises(TypeError, match="y has dtype <U1"):
        fisher_discriminant(K[:2, :2], ["a", "b"])
