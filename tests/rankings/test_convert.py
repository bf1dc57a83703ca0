"""Converters between scores, orders and positions."""

import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.pair_counts import is_ranked
from tests.strategies import FLOATS, score_arrays
from torchrank import from_orders, from_positions, kendall_gram, to_orders, to_positions

N = math.nan


@st.composite
def order_lists(draw):
    """Number of items, and rankings of some of them, from none to all."""
    n = draw(st.integers(2, 8))
    return n, [draw(st.permutations(range(n)))[: draw(st.integers(0, n))] for _ in range(draw(st.integers(0, 5)))]


def padded(orders, width):
    return np.array([[*order, *[-1] * (width - len(order))] for order in orders], dtype=np.int64).reshape(-1, width)


@given(order_lists())
def test_orders_there_and_back(case):
    n, orders = case
    scores = from_orders(orders, n)
    assert scores.shape == (len(orders), n)
    assert scores.dtype == np.float64
    for row, order in zip(scores, orders, strict=True):
        assert [row[item] for item in order] == list(range(len(order), 0, -1))
        assert np.isnan(np.delete(row, order)).all()
    assert np.array_equal(to_orders(scores), padded(orders, n))
    assert np.array_equal(from_orders(padded(orders, n + 2), n), scores, equal_nan=True)
    assert np.array_equal(from_orders(torch.from_numpy(padded(orders, n)), n).double(), scores, equal_nan=True)


def test_orders_of_any_length_keep_their_rows():
    scores = from_orders([[], [2], [0, 1], [1, 0]])
    assert np.array_equal(scores, [[N, N, N], [N, N, 1], [2, 1, N], [1, 2, N]], equal_nan=True)


@pytest.mark.parametrize(
    ("orders", "n_items", "message"),
    [
        ([[0, 1, 0]], None, "orders lists item 0 twice in row 0"),
        ([[0, 1], [0, 5]], 2, "orders has 5 at row 1, place 1"),
        ([[0, -2]], None, "orders has -2 at row 0, place 1"),
        ([[0, 1], [1, -1, 0]], None, "orders has padding before the end of row 1, at place 1"),
        ([[-1, 0]], None, "orders has padding before the end of row 0, at place 0"),
    ],
)
def test_wrong_orders_are_refused_by_row_and_item(orders, n_items, message):
    width = max(map(len, orders))
    for kind in (list, lambda o: padded(o, width), lambda o: torch.from_numpy(padded(o, width))):
        with pytest.raises(ValueError, match=message):
            from_orders(kind(orders), n_items)


@pytest.mark.parametrize(
    ("orders", "n_items", "error", "message"),
    [
        (np.zeros((2, 2)), None, TypeError, r"orders has dtype torch.float64"),
        ([[0.5, 1.0]], None, TypeError, "orders has dtype float64 in row 0"),
        (
            [["a"]],
            None,
            TypeError,
            r"orders has dtype <U1 in row 0.*form='orders'",
        ),
        (np.array([[True, False]]), None, TypeError, "orders has dtype torch.bool"),
        (np.array([[0, None]], object), None, TypeError, "orders has dtype object"),
        (np.array([2, 0, 1]), None, ValueError, r"orders has shape \(3,\)"),
        ([2, 0, 1], None, ValueError, "orders"),
        ([[[0, 1]]], None, ValueError, "orders"),
        (None, None, TypeError, "orders"),
        ([[0, 1]], -1, ValueError, "n_items=-1"),
        ([[0, 1]], 2.0, TypeError, r"n_items must .* 2.0"),
    ],
)
def test_arguments_that_are_no_orders(orders, n_items, error, message):
    with pytest.raises(error, match=message):
        from_orders(orders, n_items)


@pytest.mark.parametrize("orders", [[[1, 2, 3], [3, 1, 2]], [[2], [1, 2]], np.array([[2, 1, -1]]), torch.tensor([[1]])])
def test_orders_without_item_0_may_count_from_1(orders):
    n = max(map(max, orders)) + 1
    with pytest.warns(UserWarning, match=f"never list item 0: .* subtract 1; if not, pass n_items={n}$"):
        scores = from_orders(orders)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(from_orders(orders, int(n)), scores)
        from_orders([[0, 2], [2]])
        from_orders([[], []])
        from_orders([])


@pytest.mark.parametrize("index", [10**12, 2**31, 2**63 - 1])
@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_an_index_that_makes_next_to_nothing_but_nan_is_refused(kind, index):
    message = rf"orders has {index} at row 1, place 0, which makes {2 * index + 2} scores \(.* GiB\) and all but 3"
    with pytest.raises(ValueError, match=message + rf" of them NaN; .*, or pass n_items={index + 1} if this is meant"):
        from_orders(kind([[0, 1], [index, -1]]))


def test_large_scores_are_made_where_they_are_meant():
    n = 150_000
    assert from_orders([[n - 1]], n).shape == from_orders([[0], [n - 1]])[:1].shape == (1, n)


@pytest.mark.parametrize("end", [2**63, 2**64 - 1])
def test_unsigned_indices_do_not_wrap(end):
    for kind in (np.array([[0, 1], [1, end]], np.uint64), torch.tensor([[0, 1], [1, end]], dtype=torch.uint64)):
        for n_items in (None, 2):
            with pytest.raises(ValueError, match=f"orders has {end} at row 1, place 1"):
                from_orders(kind, n_items)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16", "uint64", "int32", ">i8"])
def test_orders_of_any_integer_dtype(dtype):
    expected = [[2, 1, 3], [3, 2, 1]]
    assert from_orders(np.array([[2, 0, 1], [0, 1, 2]], dtype=dtype)).tolist() == expected


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("layout", ["reversed", "read-only", "transposed"])
def test_orders_of_any_layout(layout, torch_repeats_warnings):
    orders = np.array([[2, 0, 1], [0, 1, 2]])
    if layout == "reversed":
        orders = orders[:, ::-1].copy()[:, ::-1]
    elif layout == "read-only":
        orders.flags.writeable = False
    else:
        orders = np.asfortranarray(orders)
    assert from_orders(orders).tolist() == [[2, 1, 3], [3, 2, 1]]
    assert orders.tolist() == [[2, 0, 1], [0, 1, 2]]


def test_no_orders():
    assert from_orders([]).shape == (0, 0)
    assert from_orders([], 4).shape == (0, 4)
    assert np.isnan(from_orders([[]], 3)).all()
    assert from_orders(torch.zeros(0, 3, dtype=torch.int64), 5).shape == (0, 5)


@pytest.mark.parametrize("default", [torch.float32, torch.float64])
def test_orders_in_tensors_give_the_default_dtype(default):
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        scores = from_orders(torch.tensor([[1, 0]]))
    finally:
        torch.set_default_dtype(before)
    assert scores.dtype == default


def test_orders_refuse_ties_by_row_and_items():
    with pytest.raises(ValueError, match="X ties items 0 and 2 in row 1"):
        to_orders([[1, 2, 3], [2, 1, 2]])
    with pytest.raises(ValueError, match=r"X ties items 1 and 2 in row \(0, 1\)"):
        to_orders(np.array([[[1, 2, 3], [2, 1, 1]]]))
    assert to_orders([[N, 1.0, N]]).tolist() == [[1, -1, -1]]  # unranked items are not tied


@given(score_arrays(missing=True))
def test_positions_equal_their_definitions(X):
    rows = X.tolist()
    for ties in ("average", "min", "dense"):
        positions = to_positions(X, ties=ties)
        assert positions.dtype == np.float64
        expected = [[position(row, score, ties) for score in row] for row in rows]
        assert np.array_equal(positions, np.array(expected, dtype=float).reshape(X.shape), equal_nan=True)


def position(row, score, ties):
    """Position of a score in its row, by counting."""
    if not is_ranked(score):
        return N
    better, equal = [other for other in row if other > score], sum(other == score for other in row)
    if ties == "dense":
        return len({float(other) if isinstance(other, float) else other for other in better}) + 1
    return len(better) + (1 if ties == "min" else (equal + 1) / 2)


@given(score_arrays(dtypes=FLOATS, missing=True))
def test_positions_there_and_back_keep_the_order(X):
    for ties in ("average", "min", "dense"):
        scores = from_positions(to_positions(X, ties=ties))
        assert np.array_equal(np.isnan(scores), np.isnan(X))
        assert np.array_equal(to_positions(scores, ties=ties), to_positions(X, ties=ties), equal_nan=True)
        K = kendall_gram(X.astype(np.longdouble), scores.astype(np.longdouble), missing="pairwise")
        assert np.isin(np.diag(K), [0, 1]).all()


@pytest.mark.parametrize(
    ("ties", "expected"),
    [("average", [1, 2.5, 2.5, N, 4]), ("min", [1, 2, 2, N, 4]), ("dense", [1, 2, 2, N, 3])],
)
def test_tied_positions(ties, expected):
    X = np.array([[9, 5, 5, N, -3]])
    assert np.array_equal(to_positions(X, ties=ties), [expected], equal_nan=True)
    assert np.array_equal(to_positions(torch.from_numpy(X), ties=ties), [expected], equal_nan=True)


def test_the_value_for_unranked_is_a_number():
    with pytest.raises(TypeError, match="unranked"):
        from_positions([[1, 2]], unranked="x")
    assert from_positions([[1, 2]], unranked=N).tolist() == [[2, 1]]


def test_several_values_for_unranked():
    expected = from_positions([[1, N, N], [2, 1, N]])
    for marks in ([0, -1], (0, -1.0), {0, -1}, np.array([0, -1])):
        for kind in ([[1, 0, -1], [2, 1, 0]], torch.tensor([[1, 0, -1], [2, 1, 0]])):
            scores = torch.as_tensor(from_positions(kind, unranked=marks))
            torch.testing.assert_close(scores, torch.as_tensor(expected), equal_nan=True, rtol=0, atol=0)
    assert from_positions([[1, 2]], unranked=[]).tolist() == [[2, 1]]
    with pytest.raises(ValueError, match=r"positions has 0 at row 0, item 0; the best is 1$"):
        from_positions([[0, 1]], unranked=[-1])
    for marks in (["x"], [0, None], {"a": 1}):
        with pytest.raises(TypeError, match="unranked must be a number"):
            from_positions([[1, 2]], unranked=marks)


def test_ties_can_be_refused():
    with pytest.raises(ValueError, match=r"X ties items 0 and 1 in row 1.*ties='average'"):
        to_positions([[1, 2], [3, 3]], ties="raise")
    with pytest.raises(ValueError, match=r"positions ties items 0 and 1 in row 0.*ties='allow'"):
        from_positions([[1, 1, 3]], ties="raise")
    assert from_positions([[1, 1, 3]]).tolist() == [[3, 3, 1]]
    for function, legal in ((to_positions, "'average', 'min', 'dense', 'raise'"), (from_positions, "'allow', 'raise'")):
        with pytest.raises(ValueError, match=f"ties='max' is unknown; choose one of {legal}"):
            function([[1, 2]], ties="max")


def test_positions_below_one_are_refused_with_a_hint():
    with pytest.raises(ValueError, match=r"positions has 0 at row 1, item 0.*unranked=0"):
        from_positions([[1, 2], [0, 1]])
    with pytest.raises(ValueError, match=r"positions has -inf at row 0, item 1.*unranked=-inf"):
        from_positions([[1.0, -math.inf, math.inf]])
    with pytest.raises(ValueError, match=r"positions has -1 at row \(0, 1\), item 1"):
        from_positions([[[1, 2], [1, -1]]], unranked=0)
    scores = from_positions([[1, 2, 0], [0, 0, 1]], unranked=0)
    assert np.array_equal(scores, [[3, 2, N], [N, N, 3]], equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int64])
def test_positions_of_any_integer_dtype(dtype):
    positions = torch.tensor([[1, 3, 0], [2, 1, 3]]).to(dtype)
    expected = torch.tensor([[3.0, 1.0, N], [2.0, 3.0, 1.0]], dtype=torch.float64)
    torch.testing.assert_close(from_positions(positions, unranked=0), expected, equal_nan=True, rtol=0, atol=0)
    with pytest.raises(ValueError, match="positions has 0 at row 0, item 2"):
        from_positions(positions)


def test_unsigned_positions_do_not_wrap():
    positions = torch.tensor([[2, 2**63 + 2**12, 1, 2**64 - 1]], dtype=torch.uint64)
    for kind in (positions, positions.numpy()):
        assert to_positions(from_positions(kind)).tolist() == [[2, 3, 1, 4]]
        scores = torch.as_tensor(from_positions(kind, unranked=2**64 - 1))
        assert scores.isnan().tolist() == [[False, False, False, True]]
    with pytest.raises(ValueError, match="positions has 0 at row 0, item 1"):
        from_positions(np.array([[2**63, 0]], np.uint64))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_exact_positions_in_a_long_list_stay_apart(dtype):
    positions = torch.full((1, 3000), N, dtype=dtype)
    positions[0, :5] = torch.arange(1, 6).to(dtype)
    scores = from_positions(positions)
    assert scores.dtype == torch.float64
    assert to_positions(scores)[0, :5].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("function", [to_orders, to_positions, from_positions])
def test_inputs_are_not_modified_and_batches_are_kept(function):
    X = np.array([[[3.0, 1, 2], [1, 2, N]]])
    before = X.copy()
    assert function(X).shape == X.shape
    assert np.array_equal(X, before, equal_nan=True)
    assert isinstance(function(torch.from_numpy(X)), torch.Tensor)
    assert function(X[:, :0]).shape == (1, 0, 3)


@pytest.mark.parametrize("function", [to_orders, to_positions, from_positions])
def test_what_is_no_score_matrix_is_refused(function):
    name = "positions" if function is from_positions else "X"
    with pytest.raises(TypeError, match=f"{name} has dtype complex128"):
        function(np.ones((2, 3), complex))
    with pytest.raises(ValueError, match=rf"{name} has shape \(3,\)"):
        function([1, 2, 3])
    with pytest.raises(ValueError, match=f"{name} has shape .* at least 2 items"):
        function([[1]])


def test_positions_that_differ_by_little_beside_their_number_stay_apart():
    positions = torch.arange(1.0, 10_001.0)[None]
    positions[0, 1] = 1.0001
    scores = from_positions(positions, ties="raise")
    assert scores[0, 0] > scores[0, 1] > scores[0, 2]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_positions_of_half_precision_scores_are_whole_numbers(dtype):
    distinct = torch.arange(0x3F80, 0x3F80 + 400, dtype=torch.int16).view(dtype)[None]
    assert to_positions(distinct)[0].tolist() == list(range(400, 0, -1))
    many = torch.cat([torch.ones(1, 1), torch.zeros(1, 69_999), -torch.ones(1, 1)], dim=1).to(dtype)
    assert to_positions(many)[0, -1] == 70_001
