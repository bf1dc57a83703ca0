"""The smoothed Kendall kernel and its features against the definition, on every route."""

import math

import numpy as np
import pytest
import torch

from tests.oracles.kernels import gram
from tests.oracles.smoothed import expected_sign, g, smoothed
from tests.strategies import random_scores
from torchrank import kendall_gram
from torchrank.kernels.smoothed import smoothed_features, smoothed_kendall_gram

ROUTES = [("uniform", "exact"), ("uniform", "reference"), ("uniform", "sweep"), ("uniform", "auto")]
ROUTES += [("gaussian", "exact"), ("gaussian", "reference"), ("gaussian", "auto")]
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_the_oracle_is_the_expected_sign(noise):
    for t in (-3.0, -1.3, -0.7, -0.01, 0.0, 0.2, 1.0, 1.29, 1.31, 5.0):
        assert float(g(np.longdouble(t), 1.3, noise)) == pytest.approx(expected_sign(t, 1.3, noise), abs=1e-9)


@pytest.mark.parametrize(("noise", "method"), ROUTES)
def test_against_the_definition(noise, method):
    for n in (2, 3, 4, 7, 16, 21):
        X, Y = RNG.standard_normal((5, n)), RNG.standard_normal((3, n))
        X[0] = 1.0
        X[1] = np.round(X[1])
        for window in (0.1, 1.0, 4.0):
            for A, B in ((X, None), (X, Y)):
                result = smoothed_kendall_gram(A, B, window=window, noise=noise, method=method)
                expected = gram(smoothed, A, B, window=window, noise=noise)
                np.testing.assert_allclose(result, expected, rtol=0, atol=2e-15)
                if B is None:
                    assert np.array_equal(result, result.T)


@pytest.mark.parametrize(("noise", "method"), ROUTES)
def test_float32_is_close_to_float64(noise, method):
    X = RNG.standard_normal((8, 400)).astype(np.float32)
    result = smoothed_kendall_gram(X, window=0.5, noise=noise, method=method)
    assert result.dtype == np.float32
    expected = smoothed_kendall_gram(X.astype(np.float64), window=0.5, noise=noise)
    np.testing.assert_allclose(result, expected, rtol=0, atol=4e-7)


@pytest.mark.parametrize(("noise", "method"), ROUTES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_small_window_gives_the_kendall_kernel(dtype, noise, method):
    X = random_scores(RNG, "tied", 6, 15).astype(dtype)
    expected = kendall_gram(X, variant="a")
    for window in (1e-4, 1e-60, 5e-324):
        result = smoothed_kendall_gram(X, window=window, noise=noise, method=method)
        np.testing.assert_allclose(result, expected, rtol=0, atol=2e-7 if dtype == np.float32 else 1e-15)


@pytest.mark.parametrize(("noise", "method"), ROUTES)
def test_infinite_scores_are_ordinary(noise, method):
    X = np.array([[np.inf, 1.0, -np.inf, 1.2, np.inf], [0.0, 1e308, -1e308, 0.3, np.inf]])
    result = smoothed_kendall_gram(X, window=0.5, noise=noise, method=method)
    np.testing.assert_allclose(result, gram(smoothed, X, window=0.5, noise=noise), rtol=0, atol=1e-15)


@pytest.mark.parametrize("method", ["exact", "reference", "sweep"])
@pytest.mark.parametrize("workspace", [2**10, 2**14, 2**20])
def test_any_workspace_gives_the_same(workspace, method):
    X, Y = torch.from_numpy(RNG.standard_normal((2, 6, 30))), torch.from_numpy(RNG.standard_normal((2, 9, 30)))
    for other in (None, Y):
        result = smoothed_kendall_gram(X, other, window=0.7, method=method, workspace=workspace)
        expected = smoothed_kendall_gram(X, other, window=0.7)
        torch.testing.assert_close(result, expected, rtol=0, atol=1e-15)
        if other is None:
            assert torch.equal(result, result.mT)


def test_more_rows_than_a_strip():
    X = torch.from_numpy(RNG.standard_normal((300, 6)))
    result = smoothed_kendall_gram(X, window=0.7)
    assert torch.equal(result, result.mT)
    torch.testing.assert_close(result, smoothed_kendall_gram(X, X.clone(), window=0.7), rtol=0, atol=1e-15)


@pytest.mark.parametrize("method", ["exact", "reference", "sweep"])
def test_batch_dimensions_broadcast(method):
    X = torch.from_numpy(RNG.standard_normal((3, 1, 4, 7)))
    for batch in ((), (1,), (2,), (3, 2), (5, 1, 1)):
        Y = torch.from_numpy(RNG.standard_normal((*batch, 5, 7)))
        result = smoothed_kendall_gram(X, Y, window=0.5, method=method)
        shape = torch.broadcast_shapes(X.shape[:-2], batch)
        assert result.shape == (*shape, 4, 5)
        A, B = X.expand(*shape, 4, 7).reshape(-1, 4, 7), Y.expand(*shape, 5, 7).reshape(-1, 5, 7)
        for part, a, b in zip(result.reshape(-1, 4, 5), A, B, strict=True):
            torch.testing.assert_close(part, smoothed_kendall_gram(a, b, window=0.5), rtol=0, atol=1e-15)


@pytest.mark.parametrize("method", ["exact", "reference", "sweep", "auto"])
def test_empty_sides(method):
    for m, m2 in ((0, 3), (3, 0), (0, 0)):
        result = smoothed_kendall_gram(np.ones((m, 4)), np.ones((m2, 4)), window=1.0, method=method)
        assert result.shape == (m, m2)
    assert smoothed_kendall_gram(np.ones((0, 4)), window=1.0, method=method).shape == (0, 0)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (torch.float16, torch.float16),
        (torch.bfloat16, torch.bfloat16),
        (torch.float64, torch.float64),
        (torch.int64, torch.float32),
        (torch.bool, torch.float32),
    ],
)
def test_dtypes(dtype, expected):
    X = torch.tensor([[3, 1, 2, 0], [0, 1, 1, 2]]).to(dtype)
    values = gram(smoothed, X.double().numpy(), window=2.0)
    for result in (smoothed_kendall_gram(X, window=2.0), smoothed_kendall_gram(X, X, window=2.0)):
        assert result.dtype == expected
        tolerance = torch.finfo(expected).eps
        torch.testing.assert_close(result.double(), torch.from_numpy(values), rtol=tolerance, atol=tolerance)
    features = smoothed_features(X, window=2.0)
    assert features.dtype == expected


@pytest.mark.parametrize("dtype", ["longdouble", ">f4", "uint8", "uint64", "int16", "float64"])
def test_numpy_arrays_of_any_kind(dtype):
    values = np.array([[3, 1, 2, 0], [0, 1, 1, 2]])
    for function in (smoothed_kendall_gram, smoothed_features):
        result = function(values.astype(dtype) * 5, window=7)
        assert isinstance(result, np.ndarray)
        np.testing.assert_allclose(result, function(values * 5.0, window=7), rtol=0, atol=1e-7)
    assert smoothed_kendall_gram(values.tolist(), window=7).dtype == np.float64


def test_masks_and_lengths_of_rows_are_not_lost():
    for function in (smoothed_kendall_gram, smoothed_features):
        with pytest.raises(TypeError, match="X is a masked array, whose mask would be lost"):
            function(np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]]), window=1.0)
        with pytest.raises(ValueError, match=r"X does not hold scores .* one for every item of a row"):
            function([[1.0, 2.0], [1.0]], window=1.0)


def test_invariances():
    X = RNG.standard_normal((6, 20))
    K = smoothed_kendall_gram(X, window=0.8)
    items = RNG.permutation(20)
    for other, sign in ((X[:, items], 1), (-X, 1), (X + RNG.standard_normal((6, 1)), 1)):
        np.testing.assert_allclose(smoothed_kendall_gram(other, window=0.8), sign * K, rtol=0, atol=1e-14)
    np.testing.assert_allclose(smoothed_kendall_gram(X, -X, window=0.8), -K, rtol=0, atol=1e-14)
    np.testing.assert_allclose(smoothed_kendall_gram(4 * X, window=3.2), K, rtol=0, atol=1e-15)
    assert np.linalg.eigvalsh(smoothed_kendall_gram(RNG.standard_normal((40, 5)), window=1.0)).min() > -1e-14


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_features_reproduce_the_gram_matrix(noise):
    X, Y = RNG.standard_normal((2, 4, 9)), RNG.standard_normal((2, 3, 9))
    X[0, 0, :3] = np.inf
    A, B = (smoothed_features(side, window=0.6, noise=noise) for side in (X, Y))
    assert A.shape == (2, 4, 36)
    expected = smoothed_kendall_gram(X, Y, window=0.6, noise=noise)
    np.testing.assert_allclose(A @ np.swapaxes(B, -1, -2), expected, rtol=0, atol=1e-15)
    row = [float(g(np.longdouble(Y[0, 0, i] - Y[0, 0, j]), 0.6, noise)) for i in range(9) for j in range(i + 1, 9)]
    np.testing.assert_allclose(B[0, 0], np.array(row) / math.sqrt(36), rtol=1e-14)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("unit", [1e-40, 1e38])
def test_windows_that_single_precision_cannot_hold(noise, unit):
    """Scores are float32 all the same: a window may be 0 or infinite in it, and so may its inverse."""
    X = (unit * np.array([[0.1, 1.0, 2.5, -2.0], [3.0, 3.0, -1.0, -3.0]])).astype(np.float32)
    for window in (unit / 3, 5 * unit, 1e-60, 1e200):
        K = smoothed_kendall_gram(X, window=window, noise=noise)
        assert K.dtype == np.float32
        expected = smoothed_kendall_gram(X.astype(np.float64), window=window, noise=noise)
        np.testing.assert_allclose(K, expected, rtol=1e-6, atol=1e-45)


X = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 1.0]])
UNRANKED = np.array([[1.0, 2.0], [3.0, np.nan]])


@pytest.mark.parametrize("function", [smoothed_kendall_gram, smoothed_features])
@pytest.mark.parametrize("window", [0, 0.0, -1, math.nan, math.inf, torch.tensor(0.0), torch.tensor(math.nan)])
def test_windows_that_are_refused(function, window):
    with pytest.raises(ValueError, match="window="):
        function(X, window=window)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"window": "wide"}, TypeError, r"window must .* 'wide'"),
        ({"window": True}, TypeError, r"window must .* True"),
        ({"window": torch.ones(2)}, ValueError, r"window has shape \(2,\) .* expected one floating-point number"),
        ({"window": torch.tensor(1)}, ValueError, r"dtype torch.int64"),
        (
            {"window": 1, "noise": "cauchy"},
            ValueError,
            "noise='cauchy'",
        ),
        (
            {"window": 1, "method": "fast"},
            ValueError,
            "method='fast'",
        ),
        ({"window": 1, "workspace": 5}, ValueError, "workspace=5"),
        ({"window": 1, "n_samples": 5}, ValueError, "method='exact' draws nothing: n_samples"),
        ({"window": 1, "estimator": "paired"}, ValueError, "are for method='monte_carlo'"),
        (
            {"window": 1, "method": "sweep", "noise": "gaussian"},
            RuntimeError,
            "'sweep' has no engine .*noise='uniform'",
        ),
        ({"window": 1, "Y": np.ones((2, 4))}, ValueError, "X ranks 3 items and Y ranks 4"),
    ],
)
def test_other_refusals(arguments, error, message):
    with pytest.raises(error, match=message):
        smoothed_kendall_gram(X, **arguments)


@pytest.mark.parametrize("method", ["exact", "reference", "sweep", "auto", "monte_carlo"])
def test_unranked_items_are_named(method):
    settings = {"window": 1.0, "method": method, "n_samples": 2 if method == "monte_carlo" else None}
    with pytest.raises(ValueError, match=r"X has NaN .* at row 1, item 1"):
        smoothed_kendall_gram(UNRANKED, **settings)
    with pytest.raises(ValueError, match=r"Y has NaN .* at batch \(1,\), row 1, item 1"):
        smoothed_kendall_gram(np.ones((2, 2)), np.stack([X[:, :2], UNRANKED]), **settings)
    with pytest.raises(ValueError, match="X has NaN"):
        smoothed_features(UNRANKED, window=1.0)
