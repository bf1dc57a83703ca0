"""Monte-Carlo estimates of the smoothed Kendall kernel: the sums they claim to be, their bias, and their bounds."""

import itertools
import math

import numpy as np
import pytest
import torch

import torchrank
from torchrank import kendall_gram, monte_carlo_kendall_gram
from torchrank.kernels.monte_carlo import Jitters, monte_carlo_bound, monte_carlo_samples
from torchrank.kernels.smoothed import smoothed_features, smoothed_kendall_gram

X = torch.randn(5, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
Y = torch.randn(3, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
WINDOW = torch.tensor(1.0, dtype=torch.float64)


def sampled(X, Y=None, *, seed=0, n_samples=4, **settings):
    generator = torch.Generator().manual_seed(seed)
    settings = {"window": 1.0, "n_samples": n_samples, "generator": generator, **settings}
    return monte_carlo_kendall_gram(X, Y, **settings)


def draws(X, noise, *, generator, n_samples=4):
    return list(Jitters(WINDOW, noise, n_samples, generator).draw_all(X))


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("workspace", [2**10, 2**12, 2**27])
def test_full_is_the_mean_over_all_pairs_of_jitters(workspace, noise):
    generator = torch.Generator().manual_seed(0)
    A = draws(X, noise, generator=generator)
    B = draws(Y, noise, generator=generator)
    for other, met in ((None, A), (Y, B)):
        expected = torch.stack([kendall_gram(a, b, variant="a") for a, b in itertools.product(A, met)]).mean(0)
        result = sampled(X, other, noise=noise, workspace=workspace)
        torch.testing.assert_close(result, expected, rtol=0, atol=1e-15)
        assert other is not None or torch.equal(result, result.mT)


def test_unbiased_diagonals_leave_out_jitters_met_by_themselves():
    A = draws(X, "uniform", generator=torch.Generator().manual_seed(0))
    for estimator, pairs in (
        ("full", [(d, e) for d in range(4) for e in range(4) if d != e]),
        ("paired", [(d, (d + 1) % 4) for d in range(4)]),
    ):
        expected = torch.stack([kendall_gram(A[d], A[e], variant="a").diagonal() for d, e in pairs]).mean(0)
        biased = sampled(X, estimator=estimator)
        result = sampled(X, estimator=estimator, unbiased_diagonal=True)
        torch.testing.assert_close(result.diagonal(), expected, rtol=0, atol=1e-15)
        torch.testing.assert_close(result - torch.diag(result.diagonal()), biased - torch.diag(biased.diagonal()))


def test_paired_is_the_mean_over_jitters_of_the_same_number():
    A = draws(X, "uniform", generator=torch.Generator().manual_seed(0))
    expected = torch.stack([kendall_gram(a, variant="a") for a in A]).mean(0)
    torch.testing.assert_close(sampled(X, estimator="paired"), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("estimator", ["full", "paired"])
def test_unbiased_off_the_diagonal_and_biased_on_it_as_documented(estimator, noise):
    repeats, D = 400, 3
    many = X[:3].expand(repeats, 3, 12)  # every repeat gets jitters of its own
    exact = smoothed_kendall_gram(X[:3], window=1.0, noise=noise)
    ridge = (1 - exact.diagonal()) / (D if estimator == "full" else 1)
    for unbiased in (False, True):
        results = sampled(many, n_samples=D, noise=noise, estimator=estimator, unbiased_diagonal=unbiased)
        expected = exact if unbiased else exact + torch.diag(ridge)
        error = (results.mean(0) - expected) / (results.std(0) / math.sqrt(repeats) + 1e-12)
        assert float(error.abs().max()) < 4  # standard errors; jitters are those of a fixed seed


def test_equal_rows_get_jitters_of_their_own():
    twins = X[:1].expand(2, 12)
    result = sampled(twins, n_samples=1)
    assert result[0, 0] == result[1, 1] == 1
    assert result[0, 1] < 1


def test_positive_semi_definite_unless_the_diagonal_is_unbiased():
    rows = torch.randn(30, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    for estimator in ("full", "paired"):
        assert torch.linalg.eigvalsh(sampled(rows, estimator=estimator, n_samples=3)).min() > -1e-13
        unbiased = sampled(rows, estimator=estimator, n_samples=3, unbiased_diagonal=True)
        assert torch.linalg.eigvalsh(unbiased).min() < -0.05


def test_results_repeat_with_the_generator_and_keep_dtype_and_kind():
    assert torch.equal(sampled(X), sampled(X))
    assert not torch.equal(sampled(X), sampled(X, seed=1))
    assert sampled(X.float()).dtype == torch.float32
    assert isinstance(sampled(X.numpy()), np.ndarray)
    assert sampled(X[:0]).shape == (0, 0)
    assert sampled(X.expand(2, 5, 12), Y).shape == (2, 5, 3)


def test_the_bound_holds_and_is_far_from_tight():
    D, repeats = 8, 300
    exact = smoothed_features(X[:1], window=1.0)
    jittered = (
        X[:1] + torch.rand(repeats * D, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) - 0.5
    )
    estimates = smoothed_features(jittered, window=1e-12).reshape(repeats, D, -1).mean(1)
    errors = (estimates - exact).norm(dim=-1)
    assert errors.quantile(0.95) < monte_carlo_bound(D) / 5
    predicted = math.sqrt((1 - exact.square().sum()) / D)
    assert errors.square().mean().sqrt() == pytest.approx(predicted, rel=0.05)


def test_bounds_are_those_of_the_paper():
    assert monte_carlo_bound(8) == pytest.approx((2 + math.sqrt(8 * math.log(20))) / math.sqrt(8), rel=1e-15)
    assert monte_carlo_bound(9, n_rankings=50, delta=0.1) == pytest.approx((2 + math.sqrt(8 * math.log(500))) / 3)
    D = monte_carlo_samples(100, lam=0.1, excess=0.2, delta=0.01)

    def excess(D):
        return math.sqrt(8 / (0.1 * D)) * (2 + math.sqrt(8 * math.log(100 / 0.01)))

    assert excess(D) <= 0.2 < excess(D - 1)


def test_numbers_of_samples_have_no_largest():
    assert monte_carlo_samples(100, lam=1e-320, excess=0.2) > 10**300
    larger, smaller = (monte_carlo_samples(100, lam=1, excess=excess) for excess in (1e-200, 1e-150))
    assert larger / smaller == pytest.approx(1e100, rel=1e-12)
    assert monte_carlo_samples(100, lam=np.float32(0.5), excess=np.int64(1), delta=5e-324) > 0
    assert monte_carlo_bound(4, n_rankings=10**400) == pytest.approx(
        1 + math.sqrt(2 * math.log(20) + 800 * math.log(10))
    )


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda: monte_carlo_bound(0), ValueError, "n_samples=0"),
        (lambda: monte_carlo_bound(10**400), ValueError, "n_samples="),
        (lambda: monte_carlo_samples(2, lam=10**400, excess=1), ValueError, "lam=.* it must be positive and finite"),
        (lambda: monte_carlo_bound(2.0), TypeError, "n_samples must be an integer"),
        (lambda: monte_carlo_bound(2, n_rankings=0), ValueError, "n_rankings=0"),
        (lambda: monte_carlo_bound(2, delta=1), ValueError, "delta=1"),
        (lambda: monte_carlo_samples(2, lam=0, excess=1), ValueError, "lam=0"),
        (lambda: monte_carlo_samples(2, lam=1, excess=math.nan), ValueError, "excess=nan"),
        (lambda: sampled(X, n_samples=None), TypeError, "n_samples must be an integer"),
        (lambda: sampled(torch.full((1, 2), math.nan)), ValueError, "X has NaN"),
        (lambda: sampled(torchrank.rank(X)), TypeError, "X are prepared rankings"),
        (lambda: sampled(X, n_samples=0), ValueError, "n_samples=0"),
        (lambda: sampled(X, n_samples=1, unbiased_diagonal=True), ValueError, "n_samples=1 .* at least 2"),
        (lambda: sampled(X, Y, unbiased_diagonal=True), ValueError, "unbiased_diagonal=True is for Y=None"),
        (
            lambda: sampled(X, estimator="half"),
            ValueError,
            "estimator='half'",
        ),
    ],
)
def test_refusals(function, error, message):
    with pytest.raises(error, match=message):
        function()
