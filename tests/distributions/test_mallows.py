"""Mallows distribution and its fit against enumeration of all rankings."""

import math
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.distributions import Distribution

import torchrank
from tests.oracles.aggregation import kemeny_orders, preferences
from tests.oracles.distributions import mallows_probabilities
from torchrank import Mallows, fit_mallows, from_orders, kendall_distance
from torchrank.distributions.mallows_law import lam_of_mean_distance, log_partition, mean_distance, variance_distance

CENTER = (2.0, 5.0, 1.0, 9.0, 4.0)
RANKINGS = torch.tensor(list(permutations(range(1, 6))), dtype=torch.float64)
LAMS = [-30.0, -2.0, -0.999, -1e-9, 0.0, 1e-9, 1e-4, 0.3, 0.7, 0.999, 1.0, 1.001, 2.0, 10.0, 40.0]


def number(value: float, *, grad: bool = False) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64, requires_grad=grad)


@pytest.mark.parametrize("lam", LAMS)
def test_probabilities_and_moments(lam: float) -> None:
    mallows = Mallows(torch.tensor(CENTER, dtype=torch.float64), lam)
    p = np.array(list(mallows_probabilities(CENTER, lam).values()))
    distance = mallows.distance(RANKINGS).numpy()
    np.testing.assert_allclose(mallows.log_prob(RANKINGS).exp(), p, rtol=1e-11, atol=0)
    mean = p @ distance
    assert float(mallows.mean_distance) == pytest.approx(mean, rel=1e-12, abs=1e-12)
    assert float(mallows.variance_distance) == pytest.approx(p @ (distance - mean) ** 2, rel=1e-10, abs=1e-12)
    assert float(mallows.entropy()) == pytest.approx(-(p @ np.log(p)), rel=1e-11, abs=1e-15)
    likeliest = RANKINGS[p.argmax()]
    if lam != 0:
        assert torch.equal(mallows.mode, likeliest)


@pytest.mark.parametrize(
    ("n", "lam", "value"),
    [(5, 1.0, 1.6129717), (200, 0.01, 774.710419), (1000, 1e-3, 5676.219027), (200, 0.0, 863.231987192405)],
)
def test_normalizer_of_many_items(n: int, lam: float, value: float) -> None:
    digits = len(str(value).split(".")[1])
    assert float(log_partition(number(lam), n)) == pytest.approx(value, abs=0.6 * 10**-digits, rel=0)


@pytest.mark.parametrize("n", [1, 2, 50, 1000])
def test_normalizer_without_concentration(n: int) -> None:
    lam = number(0.0)
    assert float(log_partition(lam, n)) == pytest.approx(math.lgamma(n + 1), rel=1e-14, abs=1e-14)
    assert float(mean_distance(lam, n)) == n * (n - 1) / 4
    assert float(variance_distance(lam, n)) == pytest.approx(n * (n - 1) * (2 * n + 5) / 72, rel=1e-14)


@pytest.mark.parametrize("lam", [-3.0, -0.2, 0.0, 1e-7, 0.49, 0.51, 0.99, 1.01, 4.0])
def test_derivatives(lam: float) -> None:
    """By finite differences, and by what they have to be: minus the mean, the variance."""
    value = number(lam, grad=True)
    assert gradcheck(lambda t: log_partition(t, 7), (value,))
    assert gradgradcheck(lambda t: log_partition(t, 7), (value,))
    assert gradcheck(lambda t: mean_distance(t, 7), (value,))
    (slope,) = torch.autograd.grad(log_partition(value, 7), value, create_graph=True)
    (curvature,) = torch.autograd.grad(slope, value)
    assert slope.item() == pytest.approx(-mean_distance(value, 7).item(), rel=1e-12)
    assert curvature.item() == pytest.approx(variance_distance(value, 7).item(), rel=1e-9)


@pytest.mark.parametrize("lam", [-800.0, -2.0, 2.0, 800.0])
def test_gradients_of_many_items(lam: float) -> None:
    at = number(lam, grad=True)
    mallows = Mallows(torch.arange(400.0), at)
    by_entropy = torch.autograd.grad(mallows.entropy(), at, create_graph=True)[0]
    by_mean = torch.autograd.grad(mallows.mean_distance, at, create_graph=True)[0]
    torch.testing.assert_close(by_entropy, -at * mallows.variance_distance, rtol=1e-9, atol=0)
    torch.testing.assert_close(by_mean, -mallows.variance_distance, rtol=1e-9, atol=0)
    by_variance = torch.autograd.grad(mallows.variance_distance, at)[0]
    torch.testing.assert_close(torch.autograd.grad(by_mean, at)[0], -by_variance, rtol=1e-9, atol=0)


@pytest.mark.parametrize("hessian", [torch.func.hessian, lambda f: torch.func.jacrev(torch.func.jacrev(f))])
def test_second_derivative_of_entropy_without_concentration(hessian: Any) -> None:
    of_entropy = hessian(lambda lam: Mallows(torch.arange(4.0), lam).entropy())(number(0.0))
    assert float(of_entropy) == pytest.approx(-13 / 6, rel=1e-12)  # minus the variance of inversions of four


def test_gradient_of_log_prob() -> None:
    lam = torch.tensor([0.0, 0.5], dtype=torch.float64, requires_grad=True)
    Mallows(torch.tensor(CENTER, dtype=torch.float64), lam).log_prob(RANKINGS[:7, None]).sum().backward()
    with torch.no_grad():
        mallows = Mallows(torch.tensor(CENTER, dtype=torch.float64), lam)
        expected = (mallows.mean_distance - mallows.distance(RANKINGS[:7, None])).sum(dim=0)
    torch.testing.assert_close(lam.grad, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("lam", [-0.6, 0.0, 0.4, 2.0])
def test_samples_have_the_probabilities(lam: float) -> None:
    """Chi-square of all 24 rankings of 4 items; 23 degrees of freedom, exceeded with probability 1e-6."""
    torch.manual_seed(0)
    center = (2.0, 4.0, 1.0, 3.0)
    samples = Mallows(torch.tensor(center, dtype=torch.float64), lam).sample((40_000,))
    counts = dict.fromkeys(permutations((1, 2, 3, 4)), 0)
    for row in samples.to(torch.int64).tolist():
        counts[tuple(row)] += 1
    p = mallows_probabilities(center, lam)
    chi_square = sum((counts[r] - 40_000 * p[r]) ** 2 / (40_000 * p[r]) for r in counts)
    assert chi_square < 73


def test_samples_of_many_items_and_of_extreme_concentrations() -> None:
    torch.manual_seed(1)
    center = torch.randperm(300).to(torch.float64)
    mallows = Mallows(center, torch.tensor([-900.0, 0.0, 0.02, 900.0], dtype=torch.float64))
    samples = mallows.sample((200,))
    assert samples.shape == (200, 4, 300)
    assert torch.equal(samples.sort(dim=-1).values, torch.arange(1.0, 301, dtype=torch.float64).expand(200, 4, 300))
    distance = mallows.distance(samples)
    assert (distance[:, 0] == 300 * 299 / 2).all()
    assert (distance[:, 3] == 0).all()
    error = (distance.mean(dim=0) - mallows.mean_distance)[1:3] / (mallows.variance_distance[1:3] / 200).sqrt()
    assert (error.abs() < 5).all()


def test_shapes() -> None:
    centers = torch.stack([torch.randperm(6) for _ in range(3)]).to(torch.float32)
    mallows = Mallows(centers, torch.tensor([0.1, 0.5, 2.0]))
    assert isinstance(mallows, Distribution)
    assert (mallows.batch_shape, mallows.event_shape) == ((3,), (6,))
    samples = mallows.sample((4, 2))
    assert samples.shape == (4, 2, 3, 6)
    assert mallows.log_prob(samples).shape == (4, 2, 3)
    assert mallows.log_prob(samples).dtype == torch.float32
    assert mallows.log_prob(samples[0, 0, 0]).shape == (3,)
    assert mallows.sample().shape == (3, 6)
    wide = mallows.expand((5, 3))
    assert wide.batch_shape == (5, 3)
    assert torch.equal(wide.log_prob(samples[0, 0]), mallows.log_prob(samples[0, 0]).expand(5, 3))
    for k in range(3):
        single = Mallows(centers[k], mallows.lam[k])
        torch.testing.assert_close(single.log_prob(samples[..., k, :]), mallows.log_prob(samples)[..., k])
    assert Mallows(centers[0], torch.zeros(2, 1)).batch_shape == (2, 1)
    assert mallows.support.check(samples).all()
    assert not mallows.support.check(torch.tensor([1.0, 1.0, 2.0]))
    assert not mallows.support.check(torch.tensor([1.0, math.nan, 2.0]))


def test_bad_values() -> None:
    mallows = Mallows(torch.tensor([1.0, 2.0, 3.0]), 1.0)
    with pytest.raises(ValueError, match="value ties items 0 and 2 in row 1"):
        mallows.log_prob(torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 1.0]]))
    with pytest.raises(ValueError, match=r"value has NaN .* row 0, item 1"):
        mallows.log_prob(torch.tensor([1.0, math.nan, 2.0]))
    with pytest.raises(ValueError, match=r"value has shape \(2,\)"):
        mallows.log_prob(torch.tensor([1.0, 2.0]))
    with pytest.raises(ValueError, match="does not broadcast with the batch shape"):
        mallows.expand((2,)).log_prob(torch.rand(5, 3))
    with pytest.raises(TypeError, match="value is list"):
        mallows.log_prob([1.0, 2.0, 3.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="center ties items 0 and 1"):
        Mallows(torch.tensor([1.0, 1.0]), 1.0)
    for few in (0, 1):
        with pytest.raises(ValueError, match=rf"center has shape \({few},\)"):
            Mallows(torch.zeros(few), 1.0)
    with pytest.raises(ValueError, match=r"lam has shape \(3,\).* \(2,\)"):
        Mallows(torch.arange(4.0).expand(2, 4), torch.ones(3))
    for lam in (math.nan, torch.tensor([1.0, math.inf])):
        with pytest.raises(ValueError, match=r"lam has (nan|inf)"):
            Mallows(torch.tensor([1.0, 2.0]), lam)
    assert Mallows(torch.tensor([1, 2]), torch.tensor(1)).log_prob(torch.tensor([2, 1])).dtype == torch.float32
    with pytest.raises(TypeError, match="center is list"):
        Mallows([1.0, 2.0], 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(("mean", "lam"), [(0.5, 2.1391), (2.0, 0.8821), (4.9, 0.0240), (5.0, 0.0), (7.0, 0.0)])
def test_concentration_of_a_mean_distance(mean: float, lam: float) -> None:
    assert float(lam_of_mean_distance(number(mean), 5)) == pytest.approx(lam, abs=5e-5)


@pytest.mark.parametrize("n", [2, 5, 30, 1000])
def test_concentration_inverts_the_mean(n: int) -> None:
    lam = torch.tensor([1e-6, 0.01, 0.9999, 1.0, 3.0, 20.0, 49.0], dtype=torch.float64)
    mean = mean_distance(lam, n)
    back = lam_of_mean_distance(mean, n)
    torch.testing.assert_close(mean_distance(back, n), mean, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(back, lam, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("start", [None, 0.0, 7.0])
@pytest.mark.parametrize("max_lam", [0.5, 60.0, 1e6])
def test_concentrations_up_to_any_cap(max_lam: float, start: float | None) -> None:
    lam = torch.tensor([1e-4, 0.3, 2.0, 20.0, 49.0, 51.0, 58.0, 300.0], dtype=torch.float64)
    near = None if start is None else torch.full_like(lam, start)
    found = lam_of_mean_distance(mean_distance(lam, 6), 6, max_lam, near)
    torch.testing.assert_close(found, lam.clamp(max=max_lam), rtol=1e-9, atol=0)
    assert lam_of_mean_distance(lam.new_tensor([0.0, -1e-17]), 6, max_lam).tolist() == [max_lam, max_lam]
    assert lam_of_mean_distance(lam.new_tensor([7.5, 9.0]), 6, max_lam).tolist() == [0, 0]


def test_identical_rankings_are_cut_with_a_warning() -> None:
    X = np.array([[1.0, 3.0, 2.0]] * 4)
    with pytest.warns(RuntimeWarning, match="cut at max_lam=50"):
        fit = fit_mallows(X)
    assert float(fit.lam) == 50
    assert fit.center.tolist() == [1.0, 3.0, 2.0]
    with pytest.warns(RuntimeWarning, match="cut at max_lam=3"):
        assert float(fit_mallows(X, max_lam=3.0).lam) == 3


def test_no_concentration_in_opposite_rankings() -> None:
    fit = fit_mallows(from_orders([[0, 1, 2], [2, 1, 0]]))
    assert float(fit.lam) == 0
    assert float(fit.log_likelihood) == pytest.approx(-2 * math.log(6), rel=1e-14)


def test_fit_is_the_maximum() -> None:
    """No center and no concentration on a grid does better."""
    rng = np.random.default_rng(0)
    X = np.argsort(rng.normal(size=(30, 4)) + np.arange(4), axis=1).argsort(axis=1).astype(float)
    weights = rng.random(30) * 3
    fit = fit_mallows(X, weights)
    _, orders = kemeny_orders(preferences(X, weights, "pairwise"))
    assert tuple(np.argsort(-fit.center)) == orders[0]
    best = -math.inf
    for center in permutations((1.0, 2.0, 3.0, 4.0)):
        distance = kendall_distance(X, np.array(center)[None])[:, 0]
        for lam in [*np.linspace(0, 3, 40), float(fit.lam)]:
            log_z = float(log_partition(number(lam), 4))
            best = max(best, float(weights @ (-lam * distance - log_z)))
    assert float(fit.log_likelihood) == pytest.approx(best, abs=1e-10)
    mallows = Mallows(torch.from_numpy(fit.center), float(fit.lam))
    log_prob = mallows.log_prob(torch.from_numpy(X)).numpy()
    assert float(weights @ log_prob) == pytest.approx(float(fit.log_likelihood), rel=1e-12)
    variance = float(variance_distance(number(float(fit.lam)), 4))
    assert float(fit.standard_error) == pytest.approx((weights.sum() * variance) ** -0.5, rel=1e-12)
    assert bool(fit.optimal)


def test_fit_of_weight_is_that_of_repetition_and_batches_stand_alone() -> None:
    rng = np.random.default_rng(1)
    X = rng.random((12, 5))
    counts = rng.integers(0, 4, (3, 12))
    batch = fit_mallows(torch.from_numpy(X), counts)
    for k in range(3):
        single = fit_mallows(np.repeat(X, counts[k], axis=0))
        for part, other in zip(batch, single, strict=True):
            np.testing.assert_allclose(part[k].to(torch.float64), other, rtol=1e-10, atol=1e-12)


def test_fit_without_a_maximum_takes_the_cap_even_where_distances_underflow() -> None:
    for cap in (50.0, 1e6):
        with pytest.warns(RuntimeWarning, match="was cut at max_lam"):
            assert float(fit_mallows(np.array([[3.0, 1.0, 2.0]]), max_lam=cap).lam) == cap


def test_fit_with_a_given_center() -> None:
    X = np.random.default_rng(2).random((9, 4))
    center = np.array([0.3, -1.0, 7.0, 2.0])
    fit = fit_mallows(X, center=center)
    assert fit.center.tolist() == center.tolist()
    assert float(fit.mean_distance) == pytest.approx(kendall_distance(X, center[None]).mean(), rel=1e-14)
    assert not fit.optimal
    with pytest.raises(ValueError, match="center ranks 3 items and X ranks 4"):
        fit_mallows(X, center=center[:3])
    with pytest.raises(ValueError, match="center ties"):
        fit_mallows(X, center=np.ones(4))
    with pytest.raises(ValueError, match="X ties items"):
        fit_mallows(np.ones((2, 2)))
    with pytest.raises(ValueError, match="X has NaN"):
        fit_mallows(np.array([[1.0, np.nan]]))


@pytest.mark.data
def test_apa_election(data_folder: Path) -> None:
    table = np.genfromtxt(data_folder / "apa/apa.csv", delimiter=",", skip_header=1, usecols=(0, 1, 2, 3, 4, 6))
    X, counts = -table[:, :5], table[:, 5]
    fit = fit_mallows(X, counts)
    assert float(fit.lam) == pytest.approx(0.0721887, abs=5e-8)
    assert float(fit.log_likelihood) == pytest.approx(-27408.4895, abs=5e-5)
    assert float(fit.mean_distance) == pytest.approx(26967 / 5738, rel=1e-14)
    uniform = Mallows(torch.from_numpy(fit.center), 0.0).log_prob(torch.from_numpy(X)).numpy()
    assert float(counts @ uniform) == pytest.approx(-27470.6276, abs=5e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_on_cuda() -> None:
    mallows = Mallows(torch.tensor(CENTER, dtype=torch.float64).cuda(), torch.tensor([0.0, 0.5]).double().cuda())
    here = Mallows(mallows.center.cpu(), mallows.lam.cpu())
    samples = mallows.sample((50,))
    assert samples.is_cuda
    torch.testing.assert_close(mallows.log_prob(samples).cpu(), here.log_prob(samples.cpu()))
    assert fit_mallows(samples[:, 1]).lam.is_cuda


@pytest.mark.parametrize("cap", [0, -1, -1.0, math.nan, math.inf])
def test_caps_are_positive_in_message_and_rule(cap: float) -> None:
    X = np.array([[3.0, 1.0, 2.0]])
    message = rf"={cap!r} is out of range; it must be positive and finite"
    with pytest.raises(ValueError, match="max_lam" + message):
        fit_mallows(X, max_lam=cap)
    with pytest.raises(ValueError, match="max_lam" + message):
        torchrank.MallowsMixture(3, 1, max_lam=cap)
    with pytest.raises(ValueError, match="max_lam" + message):
        torchrank.KernelGaussianMixture(1, max_lam=cap)
    for name in ("rate", "rate_end", "sigma_end", "prior"):
        with pytest.raises(ValueError, match=name + message):
            torchrank.EMSettings(**{name: cap})


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_has_results_of_32_bits(dtype: torch.dtype) -> None:
    lam = torch.tensor([0.1, 0.7], dtype=dtype, requires_grad=True)
    narrow, wide = Mallows(torch.arange(30.0), lam), Mallows(torch.arange(30.0), lam.detach().double())
    value = torch.randperm(30, generator=torch.Generator().manual_seed(0))
    pairs = [(narrow.log_prob(value), wide.log_prob(value)), (narrow.mean_distance, wide.mean_distance)]
    pairs += [(narrow.variance_distance, wide.variance_distance), (narrow.entropy(), wide.entropy())]
    for found, wanted in pairs:
        assert found.dtype == torch.float32
        torch.testing.assert_close(found.double(), wanted, rtol=1e-6, atol=0)
    narrow.log_prob(value).sum().backward()
    assert lam.grad is not None
    assert lam.grad.dtype == dtype
