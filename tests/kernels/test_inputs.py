"""What goes in and what comes out: kinds of arrays, dtypes, devices; inputs stay as they are."""

import numpy as np
import pytest
import torch
from hypothesis import given

from tests.strategies import FLOATS, TORCH_DTYPES, score_arrays, score_tensors
from torchrank import kendall_distance, kendall_features, kendall_gram, mallows_gram, pair_counts

FUNCTIONS = [kendall_gram, kendall_distance, mallows_gram]


@given(score_arrays(missing=True))
def test_arrays_are_never_modified(X):
    before, bits = X.copy(), X.tobytes()
    for function in (*FUNCTIONS, pair_counts):
        function(X, missing="pairwise")
        function(X, X[:1], missing="pairwise")
    assert X.tobytes() == bits
    assert X.dtype == before.dtype


@given(score_tensors(missing=True))
def test_tensors_are_never_modified(X):
    before = X.clone()
    for function in (*FUNCTIONS, pair_counts):
        function(X, missing="pairwise")
        function(X, X[:1], missing="pairwise")
    assert repr(X.tolist()) == repr(before.tolist())  # by text, in which NaN equals NaN and 0 differs from -0


@pytest.mark.parametrize("function", [*FUNCTIONS, kendall_features])
@pytest.mark.parametrize("dtype", TORCH_DTYPES, ids=str)
def test_tensors_give_tensors_of_their_own_floating_dtype(function, dtype):
    X = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype)
    result = function(X)
    assert isinstance(result, torch.Tensor)
    expected = dtype if dtype.is_floating_point else torch.get_default_dtype()
    if function is kendall_distance:  # counts more than half precision holds
        expected = torch.promote_types(expected, torch.float32)
    assert result.dtype == expected


@pytest.mark.parametrize("function", [*FUNCTIONS, kendall_features])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64", "longdouble", ">f4"])
def test_arrays_give_arrays(function, dtype):
    result = function(np.array([[0, 1, 1], [1, 0, 1]], dtype=dtype))
    assert isinstance(result, np.ndarray)
    half = np.float32 if function is kendall_distance else np.float16
    assert result.dtype == {"float16": half, "float32": np.float32, ">f4": np.float32}.get(dtype, np.float64)


@pytest.mark.parametrize("default", [torch.float32, torch.float64])
def test_integer_tensors_give_the_default_dtype_and_lists_float64(default):
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        assert kendall_gram(torch.tensor([[1, 2, 3]])).dtype == default
        assert kendall_gram([[1, 2, 3]]).dtype == np.float64
        assert kendall_gram(((1, 2.5, 3),)).dtype == np.float64
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (torch.float32, torch.float64, torch.float64),
        (torch.float16, torch.float32, torch.float32),
        (torch.int64, torch.float16, torch.float16),
        (torch.bool, torch.float64, torch.float64),
        (torch.int64, torch.uint8, torch.float32),
        (torch.float16, torch.bfloat16, torch.float32),
    ],
)
def test_sides_of_different_dtypes_promote_and_integers_do_not_widen(one, other, both):
    X, Y = torch.tensor([[0, 1, 1]]), torch.tensor([[1, 0, 1], [0, 1, 0]])
    assert kendall_gram(X.to(one), Y.to(other)).dtype == both
    assert kendall_gram(Y.to(other), X.to(one)).dtype == both


def test_an_array_beside_a_tensor_gives_a_tensor():
    X, Y = np.array([[1.0, 2, 3]]), torch.tensor([[1.0, 3, 2]], dtype=torch.float64)
    for result in (kendall_gram(X, Y), kendall_gram(Y, X)):
        assert isinstance(result, torch.Tensor)
        assert result.tolist() == [[pytest.approx(1 / 3)]]


def test_counts_come_in_the_kind_of_the_scores():
    assert all(count.dtype == np.int64 for count in pair_counts([[1, 2, 3]]))
    counts = pair_counts(torch.tensor([[1, 2, 2]]), torch.tensor([[1.0, 1, 3]]))
    assert all(count.dtype == torch.int64 for count in counts)
    assert [count.item() for count in counts] == [1, 0, 1, 1, 0]
    assert counts._fields == ("concordant", "discordant", "tied_x", "tied_y", "tied_xy")


def test_integers_beyond_2_53_and_2_63_stay_apart():
    for dtype, start in ((np.int64, 2**53), (np.int64, -(2**63)), (np.uint64, 2**63 - 2), (np.uint64, 2**64 - 4)):
        x = np.array([[start, start + 1, start + 2, start + 3]], dtype=dtype)
        assert kendall_gram(x, [[1, 2, 3, 4]]) == 1
        assert kendall_gram(torch.from_numpy(x), torch.tensor([[4, 3, 2, 1]])) == -1


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="longdouble is float64 here")
def test_extended_precision_is_ranked_exactly():
    one = np.longdouble(1)
    x = np.array([[one, one + np.finfo(np.longdouble).eps, one - np.finfo(np.longdouble).epsneg]])
    assert kendall_gram(x, [[2, 3, 1]]) == 1


@pytest.mark.parametrize("dtype", FLOATS)
def test_infinities_are_extreme_scores(dtype):
    largest = np.finfo(dtype).max
    x = np.array([[-np.inf, -largest, 0, largest, np.inf]], dtype=dtype)
    assert kendall_gram(x, np.arange(5)[None]) == 1
    assert kendall_distance(np.array([[np.inf, np.inf, -np.inf]], dtype=dtype), [[1, 2, 0]]) == 0.25


def test_views_with_a_negative_bit_are_read_right():
    scores = torch.randn(4, 6, dtype=torch.complex128, generator=torch.Generator().manual_seed(0)).conj().imag
    assert scores.is_neg()
    assert torch.equal(kendall_gram(scores), kendall_gram(scores.clone()))


def test_scores_that_require_a_gradient_are_ranked():
    X = torch.randn(3, 5, requires_grad=True, generator=torch.Generator().manual_seed(0))
    assert torch.equal(kendall_gram(X).detach(), kendall_gram(X.detach()))
    with torch.inference_mode():
        assert torch.equal(kendall_gram(X), kendall_gram(X.detach()))
