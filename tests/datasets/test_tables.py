"""Tables, orders and comparisons become scores, and nothing is guessed."""

import numpy as np
import pandas as pd
import pytest

from torchrank.datasets.tables import from_comparisons, ranking_data

NAN = np.nan


def test_scores_positions_and_orders_of_the_same_rankings():
    expected = [[3, 1, 2], [1, 3, 2]]
    for form, table in (
        ("scores", expected),
        ("positions", [[1, 3, 2], [3, 1, 2]]),
        ("orders", [[0, 2, 1], [1, 2, 0]]),
        ("orders", [["a", "c", "b"], ["b", "c", "a"]]),
    ):
        data = ranking_data(table, form=form, items="abc")
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ranking_data([[1, 2]], form="ranks"), "form='ranks' is unknown"),
        (lambda: ranking_data([[1, 2]], form="scores", items="abc"), "items has 3 names; the table ranks 2"),
        (lambda: ranking_data([[1, 2]], form="scores", weights=[1, 2]), r"weights has shape \(2,\); expected \(1,\)"),
        (lambda: ranking_data([[1, 2]], form="scores", weights=[-1]), "weights has negative"),
        (lambda: ranking_data([[1, 2]], form="scores", weights=[NAN]), "weights has negative, infinite or NaN"),
        (lambda: ranking_data([["a", "b"]], form="orders", items=["a"]), "table has 'b' in row 0; items are a"),
        (lambda: ranking_data([[0, 3]], form="positions"), "positions"),
        (lambda: from_comparisons([("a", "a")]), "expected .winner, loser., two different items"),
        (lambda: from_comparisons([("a", "b", "c")]), r"pairs has \('a', 'b', 'c'\) at 0"),
        (lambda: from_comparisons([("a", "b")], items=["b", "c"]), "pairs has 'a' at 0, which items lacks"),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("form", ["scores", "positions"])
def test_text_is_refused(form):
    with pytest.raises(TypeError, match="dtype"):
        ranking_data([["a", "b"]], form=form)


def test_names_and_indices_are_not_mixed():
    with pytest.raises(TypeError, match="names or indices, not both"):
        ranking_data([["a", 1]], form="orders")


def test_comparisons_are_counted():
    data = from_comparisons([("a", "b"), ("b", "a"), ("a", "b"), ("c", "a")], weights=[1, 1, 2.5, 1])
    assert data.items == ("a", "b", "c")
    np.testing.assert_array_equal(data.scores, [[2, 1, NAN], [1, 2, NAN], [1, NAN, 2]])
    np.testing.assert_array_equal(data.weights, [3.5, 1, 1])


def test_no_comparisons():
    data = from_comparisons([], items=["a", "b"])
    assert data.scores.shape == (0, 2)
