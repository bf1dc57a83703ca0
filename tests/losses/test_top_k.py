import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from scipy.stats import norm
from torch.library import opcheck

from torchrank import soft_top_k

N, INF = np.nan, np.inf
RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 7))
X[0, 1] = X[0, 2]


def passing(above, window, noise):
    return np.clip(0.5 + above / window, 0, 1) if noise == "uniform" else norm.cdf(above / window)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("window", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_shares_pass_a_bar_that_k_pass(k, window, noise):
    for x, shares in zip(X, soft_top_k(X, k, window, noise=noise), strict=True):
        bar = brentq(lambda bar: passing(x - bar, window, noise).sum() - k, -500, 500, xtol=1e-14, rtol=1e-15)  # noqa: B023
        np.testing.assert_allclose(shares, passing(x - bar, window, noise), rtol=0, atol=1e-12)
        assert shares.sum() == pytest.approx(k, abs=1e-12)


def test_uniform_noise_projects_to_the_capped_simplex():
    """By its conditions: of all ways to be 0, 1 or between, the one whose multipliers have the right signs."""
    x, k, window = X[1, :5], 2, 1.5
    found = []
    for kinds in itertools.product((0, 1, None), repeat=5):
        free = np.array([kind is None for kind in kinds])
        fixed = np.array([0.0 if kind is None else kind for kind in kinds])
        if not free.any():
            continue
        level = ((x[free] / window).sum() - (k - fixed.sum())) / free.sum()
        p = np.where(free, x / window - level, fixed)
        pull = x / window - p - level  # of the distance's gradient, against the bounds
        inside = (p[free] >= 0).all() and (p[free] <= 1).all()
        if inside and all(pull[[kind == 0 for kind in kinds]] <= 0) and all(pull[[kind == 1 for kind in kinds]] >= 0):
            found.append(p)
    assert found
    for p in found:
        np.testing.assert_allclose(soft_top_k(x, k, window), p, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_derivatives(noise):
    x = torch.tensor(X[:3], requires_grad=True)
    window = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)

    def shares(x, window):
        return soft_top_k(x, 3, window, noise=noise)

    assert torch.autograd.gradcheck(shares, (x, window), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(shares, (x, window))


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_a_small_window_gives_the_set(noise):
    shares = soft_top_k(X[1:], 3, 1e-9, noise=noise)
    first = np.argsort(-X[1:], axis=1)[:, :3]
    np.testing.assert_array_equal(shares, (np.arange(7) == first[:, :, None]).any(1))
    np.testing.assert_allclose(soft_top_k(np.array([5.0, 5, 5, 2, 9]), 2, 1e-9, noise=noise), [1 / 3] * 3 + [0, 1])


def test_infinite_scores_are_ordinary():
    x = torch.tensor([[INF, INF, 1.0, 2.0, -INF], [-INF, -INF, 3.0, 3.0, 3.0]], requires_grad=True)
    shares = soft_top_k(x, 1, 0.5)
    assert shares.tolist() == [[0.5, 0.5, 0, 0, 0], [0, 0, *[pytest.approx(1 / 3)] * 3]]
    (gradient,) = torch.autograd.grad(shares[:, 2].sum(), x)
    assert gradient.isfinite().all()


def test_what_does_not_count():
    x = torch.tensor([[N, 3.0, 2.0, 1.0, 8.0]], requires_grad=True)
    mask = torch.tensor([True, True, True, True, False])
    shares = soft_top_k(x, 2, 1.6, mask=mask)
    torch.testing.assert_close(shares[:, 1:4], soft_top_k(torch.tensor([[3.0, 2.0, 1.0]]), 2, 1.6))
    assert shares[0, [0, 4]].tolist() == [0, 0]
    (gradient,) = torch.autograd.grad(shares.square().sum(), x)
    assert gradient[0, [0, 4]].tolist() == [0, 0]
    assert gradient[0, 1:4].any()


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_no_more_items_than_asked_for(n):
    x = torch.randn(3, n)
    assert soft_top_k(x, max(n, 1), 1.0).equal(torch.ones(3, n))
    assert soft_top_k(x, n + 2, 1.0).equal(torch.ones(3, n))
    assert soft_top_k(x, 0, 1.0).equal(torch.zeros(3, n))


def test_forms():
    x = torch.from_numpy(X)
    assert soft_top_k(x.bfloat16(), 2, 0.5).dtype == soft_top_k(x.float(), 2, 0.5).dtype == torch.float32
    assert isinstance(soft_top_k(X, 2, 0.5), np.ndarray)
    assert soft_top_k(x.reshape(2, 3, 7), 2, 0.5).equal(soft_top_k(x, 2, 0.5).reshape(2, 3, 7))


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_opcheck(noise):
    among = torch.tensor([True] * 6 + [False]).expand(6, 7)
    opcheck(torch.ops.torchrank.top_k_bar.default, (torch.from_numpy(X), among, torch.ones(6, 1).double(), 2, noise))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: soft_top_k(X, -1, 1.0), ValueError, "k=-1"),
        (lambda: soft_top_k(X, 1.5, 1.0), TypeError, "k"),
        (lambda: soft_top_k(X, 1, 0.0), ValueError, "window=0.0"),
        (lambda: soft_top_k(X, 1, 1.0, noise="pink"), ValueError, "noise='pink'"),
        (lambda: soft_top_k(X, 1, 1.0, mask=np.ones(3, bool)), ValueError, "mask has shape"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
