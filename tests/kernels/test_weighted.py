"""Kendall kernels over some pairs of items, or over weighted ones, and the polynomial family."""

from decimal import Decimal, localcontext
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.stats import weightedtau

from tests.oracles.pair_counts import sign
from tests.strategies import dense_ranks, random_scores
from torchrank import kendall_gram, mallows_gram, pair_weights, polynomial_gram, weighted_kendall_gram

RNG = np.random.default_rng(0)
X, Y = random_scores(RNG, "tied", 6, 7), random_scores(RNG, "total", 4, 7)
WEIGHTS = np.triu(RNG.random((7, 7)), 1) * (RNG.random((7, 7)) < 0.5)
WEIGHTS = WEIGHTS + WEIGHTS.T


def oracle(x, y, w, variant):
    def product(a, b):
        return sum(w[i, j] * sign(a[i], a[j]) * sign(b[i], b[j]) for i, j in combinations(range(len(a)), 2))

    scale = np.triu(w).sum() if variant == "a" else np.sqrt(product(x, x) * product(y, y))
    return product(x, y) / scale if scale else 0.0


@pytest.mark.parametrize("variant", ["a", "b"])
@pytest.mark.parametrize("pairs", [WEIGHTS, WEIGHTS > 0, np.zeros((7, 7))], ids=["weights", "mask", "none"])
def test_equals_the_definition(pairs, variant):
    for other in (None, Y):
        for workspace in (1 << 10, 1 << 27):
            K = weighted_kendall_gram(X, other, pairs=pairs, variant=variant, workspace=workspace)
            expected = [[oracle(x, y, pairs, variant) for y in (X if other is None else other)] for x in X]
            np.testing.assert_allclose(K, expected, rtol=0, atol=1e-15)
    K = weighted_kendall_gram(X, pairs=pairs, variant=variant)
    assert np.array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-14


def test_all_pairs_are_the_plain_kernel():
    pairs = ~np.eye(7, dtype=bool)
    for variant in "ab":
        assert np.array_equal(weighted_kendall_gram(X, pairs=pairs, variant=variant), kendall_gram(X, variant=variant))


@pytest.mark.parametrize("variant", ["a", "b"])
@pytest.mark.parametrize("unit", [1e-200, 1e-310, 1e200, 1.7e308])
def test_only_ratios_of_weights_count(variant, unit):
    K = weighted_kendall_gram(X, Y, pairs=WEIGHTS, variant=variant)
    tolerance = 1e-15 if unit > 1e-300 else 1e-8  # below, weights themselves have few digits
    other = weighted_kendall_gram(X, Y, pairs=unit * WEIGHTS, variant=variant)
    np.testing.assert_allclose(other, K, rtol=0, atol=tolerance)


def test_norms_of_small_weights_do_not_vanish():
    """Only the pair of weight 1e-200 is ordered, by both rows, once the other pairs have no weight in either norm."""
    pairs = np.zeros((4, 4))
    pairs[0, 1] = pairs[1, 0] = 1e-200
    pairs[2, 3] = pairs[3, 2] = 1.0
    rows = np.array([[1.0, 2.0, 0.0, 0.0], [2.0, 1.0, 0.0, 0.0]])
    assert weighted_kendall_gram(rows, pairs=pairs).tolist() == [[1.0, -1.0], [-1.0, 1.0]]


def test_gradient_of_weights():
    weights = torch.from_numpy(np.triu(WEIGHTS, 1)[np.triu(WEIGHTS, 1) > 0]).requires_grad_()
    i, j = np.nonzero(np.triu(WEIGHTS, 1))

    def kernel(w):
        pairs = torch.zeros(7, 7, dtype=torch.float64).index_put((torch.tensor(i), torch.tensor(j)), w)
        return weighted_kendall_gram(torch.from_numpy(X[:3]), pairs=pairs + pairs.T, variant="a")

    assert torch.autograd.gradcheck(kernel, weights)


@pytest.mark.parametrize("variant", ["a", "b"])
@pytest.mark.parametrize("workspace", [1 << 10, 1 << 27])
def test_gradient_of_the_matrix_of_weights(variant, workspace):
    """Both halves of a symmetric matrix get the same, pairs of weight 0 included, so that steps keep it symmetric."""
    weights = torch.from_numpy(WEIGHTS).requires_grad_()
    rows = torch.from_numpy(X[:3]), torch.from_numpy(Y)
    kernel = weighted_kendall_gram(*rows, pairs=weights, variant=variant, workspace=workspace)
    towards = torch.from_numpy(RNG.standard_normal(kernel.shape))
    (gradient,) = torch.autograd.grad((kernel * towards).sum(), weights)
    assert torch.equal(gradient, gradient.mT)
    for i, j in combinations(range(7), 2):
        step = torch.zeros(7, 7, dtype=torch.float64)
        step[i, j] = step[j, i] = 1e-6

        def value(pairs):
            return float((weighted_kendall_gram(*rows, pairs=pairs, variant=variant) * towards).sum())

        ahead = value(weights.detach() + step) - value(weights.detach())
        assert 2 * gradient[i, j].item() == pytest.approx(ahead / 1e-6, abs=2e-5)


@pytest.mark.parametrize("symmetric", [True, False])
def test_opcheck(symmetric):
    x = dense_ranks(np.stack([X, X[::-1]]))
    y = None if symmetric else x[:, :2].clone()
    weights = torch.from_numpy(WEIGHTS).requires_grad_()
    torch.library.opcheck(torch.ops.torchrank.weighted_pairs.default, (x, y, weights, 1 << 20, False))
    torch.library.opcheck(torch.ops.torchrank.check_pair_weights.default, (weights.detach(),))


def test_batch_dimensions_broadcast():
    A, B = X.reshape(2, 1, 3, 7), np.stack([Y, Y[::-1], -Y])
    for other, m2 in ((B, 4), (Y, 4), (None, 3), (B[:, :0], 0)):
        for pairs in (WEIGHTS, np.zeros((7, 7))):
            K = weighted_kendall_gram(A, other, pairs=pairs)
            assert K.shape == (2, 3 if other is B or m2 == 0 else 1, 3, m2)
            for i, j in np.ndindex(K.shape[:2]):
                one = None if other is None else np.broadcast_to(other, (3, m2, 7))[j]
                np.testing.assert_allclose(
                    K[i, j], weighted_kendall_gram(A[i, 0], one, pairs=pairs), rtol=0, atol=1e-15
                )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w[:6], r"pairs has shape \(6, 7\)"),
        (lambda w: w + np.eye(7), r"pairs has 1.0 at \(0, 0\)"),
        (lambda w: -w, "weights must be finite and at least 0"),
        (lambda w: np.where(w > 0, np.nan, w), "pairs has nan at .* weights must be finite"),
        (lambda w: np.triu(w), "pairs must be symmetric"),
    ],
)
def test_refusals(change, message):
    with pytest.raises(ValueError, match=message):
        weighted_kendall_gram(X, pairs=change(WEIGHTS))


def test_weights_of_other_dtypes():
    pairs = WEIGHTS > 0.5
    for dtype in (bool, np.uint8, np.int64, np.float32, np.float16, object):
        assert np.array_equal(
            weighted_kendall_gram(X, pairs=pairs.astype(dtype)), weighted_kendall_gram(X, pairs=pairs)
        )
    for bad in (pairs.astype(complex), torch.ones(7, 7, dtype=torch.complex64), pairs.astype(str)):
        with pytest.raises(TypeError, match="pairs has dtype"):
            weighted_kendall_gram(X, pairs=bad)


def test_only_for_complete_rankings():
    with pytest.raises(ValueError, match=r"X has NaN .* at row 0, item 0"):
        weighted_kendall_gram(np.full((1, 7), np.nan), pairs=WEIGHTS)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"variant": "c"}, ValueError, "variant='c'"),
        ({"workspace": 0}, ValueError, "workspace=0"),
    ],
)
def test_other_arguments_are_checked(arguments, error, message):
    with pytest.raises(error, match=message):
        weighted_kendall_gram(X, pairs=WEIGHTS, **arguments)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_powers_do_not_magnify_rounding(dtype):
    K = kendall_gram(torch.from_numpy(Y)).to(dtype)
    exact = polynomial_gram(K.double(), degree=10**6, scale=2.0)
    result = polynomial_gram(K, degree=10**6, scale=2.0)
    assert result.dtype == dtype
    torch.testing.assert_close(result, exact.to(dtype), rtol=0, atol=0)


@pytest.mark.parametrize("degree", [1, 2, 3, 10, 1001, 10**9])
@pytest.mark.parametrize("scale", ["0", "0.5", "4", "1e6"])
def test_polynomial_in_forty_digits(degree, scale):
    K = ["-1", "-0.9999", "-0.5", "-0.25", "0", "0.75", "0.9999", "1"]
    with localcontext() as context:
        context.prec = 40
        share = Decimal(scale) / degree
        expected = [float(((1 + share * Decimal(k)) / (1 + share)) ** degree) for k in K]
    result = polynomial_gram(np.array([[float(k) for k in K]]), degree=degree, scale=float(scale))[0]
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("degree", [1, 2, 3, 50])
def test_gradient_through_the_polynomial(degree):
    K = torch.linspace(-0.99, 0.99, 12, dtype=torch.float64).view(3, 4).requires_grad_()
    assert torch.autograd.gradcheck(lambda K: polynomial_gram(K, degree=degree, scale=3.0), K)
    ends = torch.tensor([[-1.0, 1.0]], dtype=torch.float64, requires_grad=True)
    polynomial_gram(ends, degree=degree, scale=float(degree)).sum().backward()
    power = 0.5 if degree == 1 else 0.0  # of the derivative p/2 ((1 + K) / 2)^(p - 1) at K = -1
    assert ends.grad.tolist() == [[power, degree / 2]]


def test_polynomial_family():
    K = kendall_gram(Y)
    np.testing.assert_allclose(polynomial_gram(K, degree=1, scale=1e9), K, atol=1e-8)
    np.testing.assert_allclose(polynomial_gram(K, degree=2, scale=3), ((1 + 1.5 * K) / 2.5) ** 2, rtol=1e-15)
    limit = mallows_gram(Y, lam=4 * 2.0 / (7 * 6))
    for degree, tolerance in ((10**6, 1e-5), (10**15, 1e-14), (10**300, 1e-14)):
        np.testing.assert_allclose(polynomial_gram(K, degree=degree, scale=2.0), limit, rtol=tolerance)
    assert np.linalg.eigvalsh(polynomial_gram(kendall_gram(X), degree=3, scale=2)).min() > -1e-14
    assert isinstance(polynomial_gram(torch.eye(2), degree=2, scale=1), torch.Tensor)
    for bad, message in (
        ({"degree": 0, "scale": 1}, "degree=0 is too small"),
        ({"degree": 1, "scale": -1}, "scale=-1"),
    ):
        with pytest.raises(ValueError, match=message):
            polynomial_gram(K, **bad)


def test_progress_is_shown(capsys):
    weighted_kendall_gram(X, pairs=WEIGHTS, progress=True)
    assert "weighted_pairs" in capsys.readouterr().err


@pytest.mark.parametrize("tied", [False, True])
def test_hyperbolic_weights_are_those_of_scipy(tied):
    rng = np.random.default_rng(int(tied))
    rows = rng.integers(0, 5, (6, 9)).astype(float) if tied else rng.normal(size=(6, 9))
    importance = rng.permutation(9)
    place = 8 - importance  # SciPy's rank: 0 for the most important item
    K = weighted_kendall_gram(rows, pairs=pair_weights(importance, scheme="hyperbolic"))
    expected = [[weightedtau(x, y, rank=place).statistic for y in rows] for x in rows]
    np.testing.assert_allclose(K, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("scheme", "combine"), [("product", lambda a, b: a * b), ("sum", lambda a, b: a + b)])
def test_pairs_are_weighted_by_their_items(scheme, combine):
    items = np.array([3.0, 0.0, 0.5, 2.0])
    expected = [[combine(a, b) if i != j else 0.0 for j, b in enumerate(items)] for i, a in enumerate(items)]
    assert pair_weights(items, scheme=scheme).tolist() == expected
    given = torch.tensor(items, requires_grad=True)
    weighted_kendall_gram(torch.tensor(X[:3, :4]), pairs=pair_weights(given, scheme=scheme)).sum().backward()
    assert given.grad.isfinite().all()


@pytest.mark.parametrize(
    ("items", "scheme", "error", "message"),
    [
        ([1.0, -1.0], "product", ValueError, r"items\[1\] is -1"),
        ([1.0, np.inf], "sum", ValueError, r"items\[1\] is inf"),
        ([[1.0, 2.0]], "sum", ValueError, r"items has shape \(1, 2\)"),
        ([1.0], "sum", ValueError, r"items has shape \(1,\)"),
        ([1.0, np.nan], "hyperbolic", ValueError, "items has NaN"),
        ([1.0, 2.0], "harmonic", ValueError, "scheme='harmonic'"),
        (["a", "b"], "product", TypeError, "items has dtype"),
    ],
)
def test_weights_of_items_that_are_none(items, scheme, error, message):
    with pytest.raises(error, match=message):
        pair_weights(items, scheme=scheme)
