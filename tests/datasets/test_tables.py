"""Tables, orders and comparisons become scores, and nothing is guessed."""

import numpy as np
import pandas as pd
import pytest
import torch

import torchrank as tr
from torchrank.datasets.comparisons import from_comparisons
from torchrank.datasets.tables import ranking_data

NAN = np.nan


def test_scores_positions_and_orders_of_the_same_rankings():
    expected = [[3, 1, 2], [1, 3, 2]]
    for form, table in (
        ("scores", expected),
        ("positions", [[1, 3, 2], [3, 1, 2]]),
        ("orders", [[0, 2, 1], [1, 2, 0]]),
        ("orders", [["a", "c", "b"], ["b", "c", "a"]]),
    ):
        data = ranking_data(table, form=form, items=list("abc"))
        np.testing.assert_array_equal(np.argsort(data.scores), np.argsort(expected))
        assert data.items == ("a", "b", "c")
        np.testing.assert_array_equal(data.weights, [1, 1])


def test_data_frames_name_items_and_rankers():
    frame = pd.DataFrame({"soup": [1.0, 2], "salad": [2, NAN]}, index=["ann", "bob"])
    data = ranking_data(frame, form="positions", title="lunch")
    assert (data.items, data.rankers, data.title) == (("soup", "salad"), ("ann", "bob"), "lunch")
    assert data.scores[0, 0] > data.scores[0, 1]
    np.testing.assert_array_equal(np.isnan(data.scores), [[False, False], [False, True]])


def test_orders_of_names_in_a_data_frame_end_at_gaps():
    frame = pd.DataFrame([["tea", "milk"], ["milk", None], ["", NAN]], columns=["first", "second"])
    data = ranking_data(frame, form="orders")
    assert data.items == ("milk", "tea")
    np.testing.assert_array_equal(data.scores, [[1, 2], [1, NAN], [NAN, NAN]])


def test_columns_of_a_data_frame_say_weights_rankers_and_features():
    frame = pd.DataFrame(
        {"who": ["ann", "bob"], "age": [31, 48], "n": [2, 5], "soup": [1, 2], "salad": pd.array([2, None], "Int64")}
    )
    data = ranking_data(frame, form="positions", weights="n", rankers="who", features=["age"])
    assert (data.items, data.rankers, data.feature_names) == (("soup", "salad"), ("ann", "bob"), ("age",))
    np.testing.assert_array_equal(data.scores, [[2, 1], [1, NAN]])
    np.testing.assert_array_equal(data.weights, [2, 5])
    np.testing.assert_array_equal(data.X, [[31], [48]])
    chosen = ranking_data(frame, form="scores", items=["salad", "age"])
    np.testing.assert_array_equal(chosen.scores, [[2, 31], [NAN, 48]])
    assert (chosen.items, chosen.rankers, chosen.features) == (("salad", "age"), (), None)
    with pytest.raises(TypeError, match=r"dtype (object|str) in column 'who'.*weights=, rankers="):
        ranking_data(frame, form="scores")
    with pytest.raises(ValueError, match="table has no column 'count'"):
        ranking_data(frame, form="scores", weights="count")
    with pytest.raises(ValueError, match="table has 2 columns called 'a'"):
        ranking_data(pd.DataFrame([[1, 2]], columns=["a", "a"]), form="scores")


def test_orders_in_a_data_frame_beside_other_columns():
    frame = pd.DataFrame([["ann", 3, 0, 1.0, 2], ["bob", 1, 2, NAN, NAN]], columns=["who", "n", "1st", "2nd", "3rd"])
    data = ranking_data(frame, form="orders", weights="n", rankers="who")
    np.testing.assert_array_equal(data.scores, [[3, 2, 1], [NAN, NAN, 1]])
    assert (data.items, data.rankers) == (("0", "1", "2"), ("ann", "bob"))


@pytest.mark.parametrize(
    ("table", "form", "unranked"),
    [
        ([[1, 2, 0], [2, 1, 3]], "positions", 0),
        ([[3.0, 2.0, -99], [2, 3, 1]], "scores", -99),
        ([[0, 1, -7], [1, 0, 2]], "orders", -7),
        (np.array([[0, 1, -1], [1, 0, 2]]), "orders", None),
        (np.array([["0", "1", "-"], ["1", "0", "2"]]), "orders", "-"),
        ([["0", "1", "-1"], ["1", "0", "2"]], "orders", -1),
    ],
)
def test_another_entry_can_mean_unranked(table, form, unranked):
    data = ranking_data(table, form=form, unranked=unranked)
    np.testing.assert_array_equal(np.isnan(data.scores), [[False, False, True], [False, False, False]])
    assert data.scores[0, 0] > data.scores[0, 1]
    assert data.scores[1, 1] > data.scores[1, 0] > data.scores[1, 2]


def test_numbers_as_names_are_sorted_as_numbers():
    assert ranking_data([["10", "9"], ["1", "10"]], form="orders").items == ("1", "9", "10")
    assert ranking_data([["L10", "L9"], ["", ""], ["b", "L1"]], form="orders").items == ("L1", "L9", "L10", "b")
    assert from_comparisons([("10", "9")]).items == ("9", "10")
    assert from_comparisons([(10, 9)]).items == ("9", "10")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ranking_data([[1, 2]], form="ranks"), "form='ranks'"),
        (lambda: ranking_data([[1, 2]], form="scores", items=list("abc")), "items has 3 names"),
        (lambda: ranking_data([[1, 2]], form="scores", weights=[1, 2]), r"weights has shape \(2,\)"),
        (lambda: ranking_data([[1, 2]], form="scores", weights=[-1]), "weights has negative"),
        (lambda: ranking_data([[1, 2]], form="scores", weights=[NAN]), "weights has negative, infinite or NaN"),
        (lambda: ranking_data([["a", "b"]], form="orders", items=["a"]), "table has 'b' in row 0"),
        (lambda: ranking_data([["a", "b", "a"]], form="orders"), "table lists 'a' twice in row 0"),
        (lambda: ranking_data([["a", "", "b"]], form="orders"), "table has 'b' in row 0 after a gap"),
        (lambda: ranking_data([[1, 2]], form="scores", weights="n"), "weights='n' names columns"),
        (lambda: ranking_data([[1, 2]], form="scores", features=["age"]), r"features=\['age'\] names columns"),
        (lambda: ranking_data([[0, 3]], form="positions"), "positions has 0 at row 0, item 0"),
        (lambda: from_comparisons([("a", "a")]), "expected .winner, loser., two different items"),
        (lambda: from_comparisons([("a", NAN)]), r"pairs has \('a', nan\) at 0"),
        (lambda: from_comparisons([("a", "b"), ("", "b")]), r"pairs has \('', 'b'\) at 1"),
        (lambda: from_comparisons([("a", "b", "c")]), r"pairs has \('a', 'b', 'c'\) at 0"),
        (lambda: from_comparisons([("a", "b")], items=["b", "c"]), "pairs has 'a' at 0, which items lacks"),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_names_among_numbers_and_a_single_column_are_refused():
    with pytest.raises(TypeError, match="pairs has names and numbers"):
        from_comparisons([("a", 1)])
    with pytest.raises(TypeError, match="table is a Series"):
        ranking_data(pd.Series([1.0, 2.0]), form="scores")


@pytest.mark.parametrize("form", ["scores", "positions"])
def test_text_is_refused(form):
    for table in ([["a", "b"]], np.array([["a", "b"]]), np.array([["a", 2]], dtype=object), [["a", None]]):
        with pytest.raises(TypeError, match=r"table has 'a' at row 0, column 0.*form='orders'"):
            ranking_data(table, form=form)
    with pytest.raises(TypeError, match="table has '1' at row 0, column 0"):
        ranking_data([["1", "2"]], form=form)
    with pytest.raises(TypeError, match="dtype object"):
        ranking_data([[1j, None]], form=form)
    with pytest.raises(TypeError, match=r"table is 'a'; files are read by .*read_rankings"):
        ranking_data("a", form=form)


def test_gaps_among_numbers_are_unranked():
    for table in ([[1, 2, None], [3, "", 2]], np.array([[1, 2.0, None], [3, NAN, 2]], dtype=object)):
        data = ranking_data(table, form="scores")
        np.testing.assert_array_equal(data.scores, [[1, 2, NAN], [3, NAN, 2]])
        np.testing.assert_array_equal(ranking_data(table, form="positions").scores, [[3, 2, NAN], [1, NAN, 2]])
    frame = pd.DataFrame([[2**60, 2**60 + 1, None], [3, None, np.float32(2)]], dtype=object)
    found = ranking_data(frame, form="scores")
    np.testing.assert_array_equal(np.asarray(tr.rank(found, "pairwise")), [[0, 1, NAN], [1, NAN, 0]])
    frame.iloc[1, 2] = "b"
    with pytest.raises(TypeError, match="table has values of dtype object in column 2; expected numbers"):
        ranking_data(frame, form="scores")


def test_gaps_of_nullable_columns_are_unranked():
    orders = pd.DataFrame({"1st": [2, 0], "2nd": [0, None]}).astype("Int64")
    expected = [[1, NAN, 2], [1, NAN, NAN]]
    np.testing.assert_array_equal(ranking_data(orders, form="orders", items=list("abc")).scores, expected)
    names = pd.DataFrame({"1st": ["c", "a"], "2nd": ["a", None]}).convert_dtypes()
    np.testing.assert_array_equal(ranking_data(names, form="orders", items=list("abc")).scores, expected)


def test_names_and_indices_are_not_mixed():
    with pytest.raises(TypeError, match="names or indices, not both"):
        ranking_data([["a", 1]], form="orders")


@pytest.mark.parametrize("table", [["a>b", "b>a"], [1, 2], np.arange(3)])
def test_rows_of_orders_are_lists(table):
    with pytest.raises(TypeError, match="as row 0"):
        ranking_data(table, form="orders")


def test_tensors_are_tables():
    orders = ranking_data(torch.tensor([[1, 0], [0, -1]]), form="orders")
    np.testing.assert_array_equal(orders.scores, [[1, 2], [1, NAN]])
    np.testing.assert_array_equal(ranking_data(torch.tensor([[1.0, 3.0]]), form="positions").scores, [[2, 0]])


def test_comparisons_in_arrays_and_data_frames():
    expected = from_comparisons([("a", "b"), ("c", "b")])
    frame = pd.DataFrame({"winner": ["a", "c"], "loser": ["b", "b"]})
    for pairs in (frame, frame.to_numpy(), frame.to_numpy().tolist()):
        data = from_comparisons(pairs)
        assert data.items == expected.items
        np.testing.assert_array_equal(data.scores, expected.scores)
    with pytest.raises(ValueError, match=r"pairs has \('ab',\) at 0"):
        from_comparisons(["ab"])


def test_comparisons_are_counted():
    data = from_comparisons([("a", "b"), ("b", "a"), ("a", "b"), ("c", "a")], weights=[1, 1, 2.5, 1])
    assert data.items == ("a", "b", "c")
    np.testing.assert_array_equal(data.scores, [[2, 1, NAN], [1, 2, NAN], [1, NAN, 2]])
    np.testing.assert_array_equal(data.weights, [3.5, 1, 1])


def test_large_integers_that_float64_tells_apart():
    large = np.array([[2**60, 2**60 + 2**9, 2**60], [2**63 + 2**12, 2**63, 7]], dtype=np.uint64)
    np.testing.assert_array_equal(np.argsort(ranking_data(large, form="scores").scores, axis=1), large.argsort(axis=1))


def test_no_comparisons():
    data = from_comparisons([], items=["a", "b"])
    assert data.scores.shape == (0, 2)
