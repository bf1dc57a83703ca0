"""Ratios of scores and windows count: in any unit the results are the same, and gradients are in one over the unit."""

import numpy as np
import pytest
import torch

import torchrank

X = torch.tensor([[0.3, -0.2, 0.9, 0.35, -1.0], [0.0, 0.0, 0.5, 0.1, -0.7]], dtype=torch.float64)
TARGET = torch.tensor([[1.0, 2, 3, 4, 5], [2, 2, 1, 4, 3]])
WINDOW = 0.7
LOSS = {"reduction": "none"}
CALLS = {
    "soft_rank": lambda x, w, noise: torchrank.soft_rank(x, w, noise=noise),
    "soft_top_k": lambda x, w, noise: torchrank.soft_top_k(x, 2, w, noise=noise),
    "a": lambda x, w, noise: torchrank.kendall_loss(x, TARGET, window=w, noise=noise, variant="a", **LOSS),
    "b": lambda x, w, noise: torchrank.kendall_loss(x, TARGET, window=w, noise=noise, **LOSS),
    "weights": lambda x, w, noise: torchrank.kendall_loss(
        x, TARGET, window=w, noise=noise, weights="hyperbolic", **LOSS
    ),
    "spearman": lambda x, w, noise: torchrank.spearman_loss(x, TARGET, window=w, noise=noise, **LOSS),
    "gram": lambda x, w, noise: torchrank.smoothed_kendall_gram(x, window=w, noise=noise),
    "two sides": lambda x, w, noise: torchrank.smoothed_kendall_gram(x, x.flip(0), window=w, noise=noise),
    "features": lambda x, w, noise: torchrank.smoothed_features(x, window=w, noise=noise),
    "borda": lambda x, w, noise: torchrank.smoothed_borda(x, window=w, noise=noise),
    "copeland": lambda x, w, noise: torchrank.smoothed_copeland(x, window=w, margin_window=0.5, noise=noise),
}


def value_and_gradients(call, x: torch.Tensor, window: float, noise: str) -> tuple[torch.Tensor, ...]:
    x, w = x.clone().requires_grad_(), torch.tensor(window, dtype=torch.float64, requires_grad=True)
    value = call(x, w, noise)
    weights = torch.linspace(0.3, 1, value.numel(), dtype=torch.float64).reshape(value.shape)
    return value.detach(), *torch.autograd.grad((value * weights).sum(), (x, w))


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("exponent", [-1015, -1000, -565, -60, 60, 565, 1000, 1022])
def test_in_any_unit(call, noise: str, exponent: int) -> None:
    unit = 2.0**exponent
    wanted = value_and_gradients(call, X, WINDOW, noise)
    found = value_and_gradients(call, X * unit, WINDOW * unit, noise)
    torch.testing.assert_close(found[0], wanted[0], rtol=1e-12, atol=1e-14)
    for slope, expected in zip(found[1:], wanted[1:], strict=True):
        least = 1e-13 * expected.abs().max()  # where terms cancel
        atol = float(least / unit) + 1e-320  # numbers of few digits
        torch.testing.assert_close(slope, expected / unit, rtol=1e-10 if exponent < 900 else 1e-3, atol=atol)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("name", ["b", "weights", "spearman"])
@pytest.mark.parametrize("exponent", [-100, -565, -1000])
def test_small_predictions_keep_their_correlation(name: str, noise: str, exponent: int) -> None:
    """That of differences: expected signs are proportional to them."""
    value, slope, _ = value_and_gradients(CALLS[name], X * 2.0**-40, WINDOW, noise)
    found, found_slope, of_window = value_and_gradients(CALLS[name], X * 2.0**exponent, WINDOW, noise)
    torch.testing.assert_close(found, value, rtol=1e-9, atol=0)
    torch.testing.assert_close(found_slope * 2.0 ** (exponent + 40), slope, rtol=1e-8, atol=1e-8 * slope.abs().max())
    assert abs(float(of_window)) < 1e-9
    torch.testing.assert_close(CALLS[name](X, 1e308, noise), value, rtol=1e-9, atol=0)
    difference = X[:, :, None] - X[:, None, :]
    if name == "b":
        signs = (TARGET[:, :, None] - TARGET[:, None, :]).sign()
        scale = difference.square().sum((-1, -2)) * signs.square().sum((-1, -2))
        torch.testing.assert_close(found, 1 - (difference * signs).sum((-1, -2)) / scale.sqrt(), rtol=1e-9, atol=0)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_far_apart_is_hard(call, noise: str) -> None:
    x = torch.cat([X[:1], X[:1]])
    narrow = call(x, torch.tensor(1e-9, dtype=torch.float64), noise)
    torch.testing.assert_close(call(1.7e308 * x, torch.tensor(1e-170, dtype=torch.float64), noise), narrow)
    torch.testing.assert_close(call(x, torch.tensor(5e-324, dtype=torch.float64), noise), narrow)


@pytest.mark.parametrize("scheme", ["sum", "product", "pairs"])
@pytest.mark.parametrize("scale", [1.7e308, 1e200, 1e-200, 1e-305])
def test_weights_of_any_size(scale: float, scheme: str) -> None:
    plain = torch.tensor([1.0, 0.5, 0.25, 1.0, 0.125], dtype=torch.float64)
    if scheme == "pairs":
        table = torchrank.pair_weights(plain)
        words = [{"pairs": table / table.max() * factor} for factor in (1.0, scale)]
    else:
        words = [{"weights": plain * factor, "scheme": scheme} for factor in (1.0, scale)]
    wanted, found = (torchrank.kendall_loss(X, TARGET, window=WINDOW, **word) for word in words)
    torch.testing.assert_close(found, wanted, rtol=1e-13, atol=0)
    borda = [torchrank.smoothed_borda(X, torch.tensor([1.0, 0.5]).double() * f, window=WINDOW) for f in (1.0, scale)]
    torch.testing.assert_close(borda[1], borda[0], rtol=1e-13, atol=0)


def test_monte_carlo() -> None:
    kernels = [
        torchrank.monte_carlo_kendall_gram(
            X.numpy() * unit, window=WINDOW * unit, n_samples=20, generator=torch.Generator().manual_seed(0)
        )
        for unit in (1.0, 2.0**-1000, 2.0**1023)
    ]
    np.testing.assert_array_equal(kernels[1], kernels[0])
    np.testing.assert_array_equal(kernels[2], kernels[0])


def test_transforms() -> None:
    x, unit = X * 2.0**-565, 2.0**-565
    wanted = torchrank.kendall_loss(X, TARGET, window=WINDOW, reduction="none")

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torchrank.kendall_loss(x, y, window=WINDOW * unit, reduction="none")

    torch.testing.assert_close(torch.func.vmap(loss)(x, TARGET), wanted)
    torch.testing.assert_close(torch.compile(loss, fullgraph=True, backend="aot_eager")(x, TARGET), wanted)
