"""Small inputs on which software for rankings has failed before, with the right answers."""

import math

import numpy as np
import pytest
import torch

from tests.strategies import INTEGERS, LAYOUTS, random_scores, with_layout
from torchrank import kendall_distance, kendall_gram, mallows_gram, pair_counts

N = math.nan
FAST = ["auto", "signs", "inversions"]
METHODS = [*FAST, "reference"]


@pytest.mark.parametrize("method", FAST)
def test_counts_beyond_int32(method):
    x = np.arange(65_537)[None]
    assert kendall_gram(x, method=method) == 1
    assert kendall_gram(x, x.copy(), method=method) == 1
    assert pair_counts(x, x, method=method).concordant == 2_147_516_416
    assert kendall_distance(x, -x, method=method) == 2_147_516_416


ALTERNATING = np.arange(100_000)[None] % 2, np.arange(100_000)[None]


def test_kernels_with_ties_beyond_int32():
    assert kendall_gram(*ALTERNATING).item() == pytest.approx(1.4142206334939404e-05, rel=1e-14)
    assert kendall_gram(*ALTERNATING, variant="a").item() == pytest.approx(50_000 / 4_999_950_000, rel=1e-15)
    assert pytest.approx(1.00001e-05, rel=1e-9) == 50_000 / 4_999_950_000


@pytest.mark.parametrize("method", FAST)
def test_ties_beyond_int32(method):
    counts = pair_counts(*ALTERNATING, method=method)
    assert counts.concordant - counts.discordant == 50_000
    assert counts.tied_x == 2_499_950_000
    assert counts.tied_y == counts.tied_xy == 0


@pytest.mark.parametrize("method", METHODS)
def test_variants(method):
    x, y = [[1, 1, 2, 2, 3]], [[1, 2, 2, 3, 3]]
    assert kendall_gram(x, y, variant="b", method=method) == 0.75
    assert kendall_gram(x, y, variant="a", method=method) == 0.6


@pytest.mark.parametrize("method", METHODS)
def test_one_tie(method):
    x, y = [[1, 1, 2]], [[1, 2, 3]]
    assert kendall_gram(x, y, variant="a", method=method) == 2 / 3
    assert kendall_gram(x, y, variant="b", method=method).item() == pytest.approx(0.8164965809277261, abs=1e-15)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("x", [[1, 2, 3], list(range(10)), list(range(101)), [3, 1, 1, 2, 2, 2]])
def test_self_kernel_is_exactly_one(x, method):
    assert kendall_gram([x], method=method) == 1
    assert kendall_gram([x], [x], method=method) == 1


@pytest.mark.parametrize("method", METHODS)
def test_constant_row_has_kernel_zero_with_everything(method):
    X = np.array([[2.0, 2, 2, 2], [1, 2, 3, 4], [4, 4, 1, 2], [-np.inf] * 4])
    for variant in "ab":
        K = kendall_gram(X, variant=variant, method=method)
        assert not K[[0, 3]].any()
        assert np.linalg.eigvalsh(K).min() > -1e-15
    assert np.isfinite(mallows_gram(X, method=method)).all()


@pytest.mark.parametrize("function", [kendall_gram, kendall_distance, mallows_gram, pair_counts])
@pytest.mark.parametrize("as_kind", [np.array, torch.tensor, list])
def test_unranked_items_are_refused_by_row_and_item(function, as_kind):
    X, Y = [[1.0, 2, 3, 4], [1, 2, N, 4]], [[1.0, 2, 3, 4]]
    remedy = 'pass missing="pairwise" to compare commonly ranked items only'
    for arguments, name in (((X,), "X"), ((X, Y), "X"), ((Y, X), "Y")):
        with pytest.raises(ValueError, match=rf"{name} has NaN \(an unranked item\) at row 1, item 2; {remedy}"):
            function(*map(as_kind, arguments), missing="raise")


@pytest.mark.parametrize("method", METHODS)
def test_pairwise_deletion_is_not_positive_semidefinite(method):
    X = np.array([[1, 2, N, N, 1, 2], [1, 2, 1, 2, N, N], [N, N, 1, 2, 2, 1]])
    K = kendall_gram(X, missing="pairwise", method=method)
    np.testing.assert_allclose(np.linalg.eigvalsh(K), [-1, 2, 2], rtol=0, atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_both_zeros_are_tied(dtype, method):
    x, y = torch.tensor([[0.0, -0.0, 1]], dtype=dtype), torch.tensor([[1, 2, 3]])
    K = kendall_gram(x, y, method=method)
    expected = torch.tensor([[0.816496580927726]], dtype=torch.float64)
    torch.testing.assert_close(K, expected.to(dtype), rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("tie_penalty", "eigenvalues"),
    [(0.25, [0.067, 0.632, 2.301]), (0.5, [0.307, 0.632, 2.061]), (0, [-0.242, 0.632, 2.610])],
)
def test_cost_of_ties_decides_whether_it_is_a_kernel(tie_penalty, eigenvalues):
    X = [[1, 2], [1, 1], [2, 1]]
    exponential = np.exp(-kendall_distance(X, tie_penalty=tie_penalty))
    np.testing.assert_allclose(np.linalg.eigvalsh(exponential), eigenvalues, rtol=0, atol=5e-4)
    if tie_penalty:
        np.testing.assert_allclose(mallows_gram(X, tie_penalty=tie_penalty), exponential, rtol=1e-15)
    else:
        with pytest.raises(ValueError, match="tie_penalty=0"):
            mallows_gram(X, tie_penalty=tie_penalty)


@pytest.mark.parametrize("variant", ["a", "b"])
def test_dtype_of_the_result(variant):
    def gram(dtype):
        return kendall_gram(*(torch.tensor([row], dtype=dtype) for row in ([1, 3, 2], [1, 2, 3])), variant=variant)

    assert gram(torch.float64).dtype == torch.float64
    assert gram(torch.float64).item() == 1 / 3
    assert gram(torch.float32).dtype == torch.float32
    assert gram(torch.int64).dtype == torch.get_default_dtype()
    assert kendall_gram([[1, 3, 2]], variant=variant).dtype == np.float64


@pytest.mark.parametrize("kind", [np.zeros, torch.zeros])
@pytest.mark.parametrize("function", [kendall_gram, kendall_distance, mallows_gram])
def test_no_rankings(function, kind):
    assert function(kind((0, 5))).shape == (0, 0)
    assert function(kind((0, 5)), kind((3, 5))).shape == (0, 3)
    assert function(kind((3, 5)), kind((0, 5))).shape == (3, 0)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("function", [kendall_gram, kendall_distance, mallows_gram, pair_counts])
def test_fewer_than_two_items(function, n):
    with pytest.raises(ValueError, match=rf"X has shape \(3, {n}\), {n} item\(s\) a row"):
        function(np.zeros((3, n)))


def test_unnormalized_concentration_makes_the_identity():
    X = random_scores(np.random.default_rng(0), "total", 6, 1000)
    assert np.array_equal(mallows_gram(X, lam=0.01), np.eye(6))
    K = mallows_gram(X, lam=1, normalize=True)
    np.testing.assert_allclose(K, np.exp(-kendall_distance(X) / 499_500), rtol=1e-15)
    assert K[0, 1] == pytest.approx(math.exp(-0.5), rel=0.1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, "float16", "float32", "float64", "longdouble"])
@pytest.mark.filterwarnings("error")
def test_layouts_and_dtypes(dtype, layout, method, torch_repeats_warnings):
    plain = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 6, (5, 9))
    X = with_layout(plain.astype(dtype), layout)
    before = X.copy()
    expected = kendall_gram(plain.astype(np.float64), method=method)
    K = kendall_gram(X, method=method)
    assert K.dtype == (X.dtype.newbyteorder("=") if dtype in ("float16", "float32") else np.float64)
    assert np.array_equal(K, expected.astype(K.dtype))
    assert np.array_equal(kendall_gram(X, X[::-1], method=method), expected.astype(K.dtype)[:, ::-1])
    assert np.array_equal(X, before)
    assert X.dtype == before.dtype
    assert X.flags.writeable == (layout != "read-only")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["total", "tied"])
def test_swapping_the_sides_transposes_bit_for_bit(kind, method):
    rng = np.random.default_rng(2)
    X, Y = random_scores(rng, kind, 9, 50), random_scores(rng, kind, 14, 50)
    for function in (kendall_gram, kendall_distance, mallows_gram):
        assert np.array_equal(function(X, Y, method=method), function(Y, X, method=method).T)
        own = function(X, method=method)
        assert np.array_equal(own, own.T)
        assert np.array_equal(own, function(X, X.copy(), method=method))
    counts, swapped = pair_counts(X, Y, method=method), pair_counts(Y, X, method=method)
    assert np.array_equal(counts.tied_x, swapped.tied_y.T)
    assert np.array_equal(counts.concordant, swapped.concordant.T)
