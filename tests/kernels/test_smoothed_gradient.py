"""Gradients of the smoothed Kendall kernel, what its ops owe to torch.library, and bounded workspace."""

import math

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import gradcheck, gradgradcheck
from torch.library import opcheck

from torchrank.kernels.smoothed import smoothed_features, smoothed_kendall_gram
from torchrank.ops.reference import smoothed as reference

OPS = torch.ops.torchrank
ROUTES = [("uniform", "exact"), ("uniform", "reference"), ("uniform", "sweep"), ("gaussian", "exact")]


def scores(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def number(value):
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(("noise", "method"), ROUTES)
@pytest.mark.parametrize("n", [2, 3, 6, 7])
def test_gradcheck(n, noise, method):
    def of(X, Y, window):
        return smoothed_kendall_gram(X, Y, window=window, noise=noise, method=method)

    assert gradcheck(of, (scores(3, n), scores(2, n, seed=1), number(0.8)))
    assert gradcheck(lambda X, window: of(X, None, window), (scores(3, n), number(0.8)))


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize(
    "values", [[[math.inf, 1.0, 2.0, -math.inf, 1.5], [math.inf, 2.0, 2.5, 4.0, math.inf]], [[1e308, -1e308, 1.0, 1.2]]]
)
def test_differences_without_bound(values, noise):
    """Infinite differences are constant: the window's gradient is that of the other pairs, in the features too."""
    X, window = torch.tensor(values, dtype=torch.float64, requires_grad=True), number(0.8)
    A = smoothed_features(X, window=window, noise=noise)
    K = smoothed_kendall_gram(X, window=window, noise=noise)
    for_x, for_window = torch.autograd.grad((A @ A.mT).square().sum(), (X, window))
    expected_x, expected_window = torch.autograd.grad(K.square().sum(), (X, window))
    finite = X.isfinite()
    torch.testing.assert_close(for_x[finite], expected_x[finite], rtol=0, atol=1e-14)
    torch.testing.assert_close(for_window, expected_window, rtol=0, atol=1e-14)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_tied_scores_have_a_slope_in_the_features_too(noise):
    X, window = torch.tensor([[1.0, 1.0, 2.0, 2.0], [3.0, 3.0, 3.0, 1.0]], dtype=torch.float64), number(0.8)
    X.requires_grad_()
    A = smoothed_features(X, window=window, noise=noise)
    K = smoothed_kendall_gram(X, window=window, noise=noise)
    weights = torch.tensor([[1.0, 2.0], [-3.0, 0.5]], dtype=torch.float64)
    expected = torch.autograd.grad((K * weights).sum(), (X, window))
    torch.testing.assert_close(torch.autograd.grad((A @ A.mT * weights).sum(), (X, window)), expected)
    assert expected[0].abs().max() > 0.4


def test_gradcheck_of_batches():
    assert gradcheck(
        lambda X, Y: smoothed_kendall_gram(X, Y, window=0.9), (scores(2, 1, 2, 5), scores(3, 2, 5, seed=1))
    )
    assert gradcheck(lambda X, Y: smoothed_kendall_gram(X, Y, window=0.9), (scores(2, 2, 5), scores(1, 3, 5, seed=1)))


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("method", ["exact", "reference"])
def test_blocks_add_up_to_the_gradient_of_the_features(method, symmetric):
    X, Y, window = scores(9, 31), scores(5, 31, seed=1), number(0.7)
    weights = torch.randn(9, 9 if symmetric else 5, dtype=torch.float64)
    A = smoothed_features(X, window=window)
    B = A if symmetric else smoothed_features(Y, window=window)
    inputs = (X, window) if symmetric else (X, Y, window)
    expected = torch.autograd.grad((A @ B.mT * weights).sum(), inputs)
    for workspace in (2**10, 2**14, 2**27):
        K = smoothed_kendall_gram(X, None if symmetric else Y, window=window, method=method, workspace=workspace)
        torch.testing.assert_close(torch.autograd.grad((K * weights).sum(), inputs), expected, rtol=0, atol=1e-13)


def test_float32_gradients():
    results = []
    for dtype in (torch.float32, torch.float64):
        X, window = scores(6, 200, dtype=torch.float32).detach().to(dtype).requires_grad_(), number(0.5)
        smoothed_kendall_gram(X, window=window).square().sum().backward()
        assert X.grad.dtype == dtype
        results.append((X.grad.double(), window.grad))
    torch.testing.assert_close(results[0], results[1], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("method", ["exact", "reference"])
def test_no_gradient_beyond_the_window_and_none_from_far_infinities(method):
    X, window = torch.tensor([[0.0, 5.0, math.inf], [3.0, 0.0, -math.inf]]).requires_grad_(), number(1.0)
    smoothed_kendall_gram(X, window=window, method=method).sum().backward()
    assert torch.equal(X.grad, torch.zeros(2, 3))
    assert float(window.grad) == 0.0


def test_features_are_differentiable_twice():
    for noise in ("uniform", "gaussian"):
        inputs = (scores(2, 4), number(1.3))
        assert gradgradcheck(lambda X, w, noise=noise: smoothed_features(X, window=w, noise=noise), inputs)


def test_monte_carlo_has_no_gradient():
    X = scores(3, 5)
    K = smoothed_kendall_gram(X, window=1.0, method="monte_carlo", n_samples=2)
    with pytest.raises(RuntimeError, match="piecewise constant"):
        K.sum().backward()


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_opcheck(symmetric, noise):
    X, window = scores(2, 3, 4), number(0.7)
    Y = None if symmetric else scores(2, 2, 4, seed=1)
    opcheck(OPS.smoothed_gram.default, (X, Y, window, noise, "exact", 2**20, False))
    gradient = torch.randn(2, 3, 3 if symmetric else 2, dtype=torch.float64)
    inputs = (gradient, X.detach(), None if Y is None else Y.detach(), window.detach(), noise, "exact", 2**20)
    opcheck(OPS.smoothed_gram_backward.default, inputs)


def test_opcheck_of_the_checks():
    opcheck(OPS.check_complete.default, (scores(2, 3).detach(), "X"))
    opcheck(OPS.check_window.default, (number(0.7).detach(),))


def test_under_compile_values_are_still_checked():
    torch.compiler.reset()

    def loss(X, window):
        return smoothed_kendall_gram(X, window=window).square().sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    results = []
    for function in (loss, compiled):
        X, window = scores(4, 6), number(0.7)
        function(X, window).backward()
        results.append((X.grad, window.grad))
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=1e-14)
    with pytest.raises(ValueError, match=r"window=-1\.0"):
        compiled(scores(4, 6), number(-1.0))
    with pytest.raises(ValueError, match="X has NaN"):
        compiled(torch.full((4, 6), math.nan, dtype=torch.float64, requires_grad=True), number(1.0))


def test_fake_cuda_tensors():
    with FakeTensorMode():
        X, Y = torch.empty(2, 3, 10, device="cuda"), torch.empty(5, 10, device="cuda", dtype=torch.float16)
        result = smoothed_kendall_gram(X, Y, window=torch.ones((), device="cuda"))
        assert (tuple(result.shape), result.dtype, result.device.type) == ((2, 3, 5), torch.float32, "cuda")


def test_blocks_hold_every_pair_once():
    for n in range(2, 14):
        for most in (1, 2, 5, n, 3 * n, 1000):
            pairs = []
            for block in reference.blocks(n, most):
                assert block.pairs <= most
                pairs += [
                    frozenset((i, (i + d) % n))
                    for d in range(block.first, block.last)
                    for i in range(block.start, block.stop)
                ]
            assert len(pairs) == len(set(pairs)) == n * (n - 1) // 2


@pytest.mark.parametrize("shape", [(1, 3, 300), (1, 500, 12), (40, 5, 20)])
def test_features_never_take_more_than_the_workspace(shape):
    workspace, largest = 2**18, 0

    class Watched(reference.TorchRows):
        def features(self, block):
            nonlocal largest
            result = super().features(block)
            largest = max(largest, result.numel() * result.element_size() + 2 * self.circle.numel() * 8)
            return result

    X = scores(*shape).detach()
    n = shape[-1]
    assert X.element_size() * math.prod(shape[:-1]) * n * (n - 1) // 2 > workspace  # all features at once would

    def make(rows):
        return Watched(rows, 0.5, "uniform")

    reference.smoothed_gram(X, None, make, workspace, lambda products: None)
    reference.smoothed_gram_backward(torch.ones(*shape[:2], shape[1], dtype=torch.float64), X, None, make, workspace)
    assert 0 < largest <= workspace
