import itertools

import numpy as np
import pytest
import torch
from scipy.integrate import dblquad

from tests.oracles.losses import soft_rank as rank_by_definition
from torchrank import borda, copeland, rank, smoothed_borda, smoothed_copeland
from torchrank.datasets import RankingData

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 5))
X[0, 1], X[1, 2], X[1, 4], X[2, 0], X[3, 1] = X[0, 2], np.inf, np.inf, -np.inf, X[3, 4]
W = np.array([2.0, 1, 0, 0.5, 3, 1])


def expected_sign(t, window, noise):
    """By quadrature over both jitters, uniform; from its distribution, normal."""
    if noise == "gaussian":
        from scipy.stats import norm

        return 2 * norm.cdf(t / (window * 2**0.5)) - 1
    half = window / 2
    if abs(t) >= window:
        return float(np.sign(t))
    value, _ = dblquad(lambda b, a: 1.0, -half, half, -half, lambda a: np.clip(t + a, -half, half))
    return 2 * value / window**2 - 1


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("window", [1e-9, 0.3, 1.7])
def test_borda_by_definition(window, noise):
    rows = np.stack([rank_by_definition(x, window, noise) for x in X])
    np.testing.assert_allclose(smoothed_borda(X, window=window, noise=noise), rows.mean(0), rtol=0, atol=1e-14)
    weighted = smoothed_borda(X, W, window=window, noise=noise)
    np.testing.assert_allclose(weighted, np.average(rows, axis=0, weights=W), rtol=0, atol=1e-14)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_copeland_by_definition(noise):
    x, window, margin_window = X[3:], 1.1, 0.6
    w = W[3:] / W[3:].sum()
    expected = np.zeros(5)
    for i, j in itertools.permutations(range(5), 2):
        margin = sum(w[r] * expected_sign(x[r, i] - x[r, j], window, noise) for r in range(3))
        expected[i] += expected_sign(margin, margin_window, noise)
    got = smoothed_copeland(x, W[3:], window=window, margin_window=margin_window, noise=noise)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-7)  # of the quadrature


def test_small_windows_give_the_rules():
    x = RNG.integers(0, 4, (7, 6)).astype(float)
    np.testing.assert_allclose(smoothed_borda(x, window=1e-9), borda(x), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(smoothed_copeland(x, window=1e-9, margin_window=1e-9), copeland(x))


@pytest.mark.slow
def test_derivatives():
    finite = torch.tensor(RNG.normal(size=(4, 5)), requires_grad=True)
    weights = torch.tensor(W[[0, 1, 3, 4]], requires_grad=True)
    window, margin = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (1.3, 0.7))

    def votes(x, w, a):
        return smoothed_borda(x, w, window=a)

    def won(x, w, a, b):
        return smoothed_copeland(x, w, window=a, margin_window=b)

    assert torch.autograd.gradcheck(votes, (finite, weights, window), check_forward_ad=True)
    assert torch.autograd.gradcheck(won, (finite, weights, window, margin), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(votes, (finite, weights, window))
    assert torch.autograd.gradgradcheck(won, (finite, weights, window, margin))


def test_gradients_pass_infinite_scores():
    x = torch.tensor(X, requires_grad=True)
    for result in (smoothed_borda(x, window=0.5), smoothed_copeland(x, window=0.5, margin_window=0.5)):
        (gradient,) = torch.autograd.grad(result.square().sum(), x)
        assert gradient.isfinite().all()
        assert gradient.any()


def test_compiled():
    x = torch.randn(4, 5)
    for rule, windows in ((smoothed_borda, {}), (smoothed_copeland, {"margin_window": 0.5})):
        compiled = torch.compile(lambda x: rule(x, window=1.0, **windows), fullgraph=True, backend="aot_eager")  # noqa: B023
        torch.testing.assert_close(compiled(x), rule(x, window=1.0, **windows))


@pytest.mark.parametrize("rule", [borda, copeland, smoothed_borda, smoothed_copeland])
def test_compiled_with_weights(rule):
    windows = {borda: {}, copeland: {}, smoothed_borda: {"window": 1.0}}.get(
        rule, {"window": 1.0, "margin_window": 0.5}
    )
    compiled = torch.compile(lambda x, w: rule(x, w, **windows), fullgraph=True, backend="aot_eager")
    x, w = torch.randn(3, 5), torch.rand(3)
    torch.testing.assert_close(compiled(x, w), rule(x, w, **windows))
    with pytest.raises(ValueError, match="for row 0; weights must be finite"):
        compiled(x, -w)


def test_weights_of_a_data_set():
    data = RankingData(X[4:], tuple("abcde"), weights=np.array([1.0, 3.0]))
    np.testing.assert_array_equal(
        np.asarray(smoothed_borda(data, window=1.0)), smoothed_borda(X[4:], [1, 3], window=1.0)
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: smoothed_borda([[1.0, np.nan]], window=1.0), ValueError, "X has NaN"),
        (lambda: smoothed_borda(X, window=-1.0), ValueError, r"window=-1.0"),
        (lambda: smoothed_borda(X, window=1.0, noise="pink"), ValueError, "noise='pink'"),
        (lambda: smoothed_borda(X, [1.0], window=1.0), ValueError, "weights has shape"),
        (lambda: smoothed_borda(rank(X), window=1.0), TypeError, "prepared rankings"),
        (lambda: smoothed_borda(np.zeros((0, 3)), window=1.0), ValueError, "at least one"),
        (lambda: smoothed_copeland(X, window=1.0, margin_window=0.0), ValueError, "^margin_window=0.0"),
        (lambda: smoothed_copeland(X, window=0.0, margin_window=1.0), ValueError, "^window=0.0"),
        (
            lambda: smoothed_copeland(X, window=1.0, margin_window=torch.tensor(-1.0)),
            ValueError,
            "^margin_window=-1.0",
        ),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
