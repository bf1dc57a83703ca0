"""Tables with a row for each score, ``user, item, rating``: against a dictionary filled row by row."""

import numpy as np
import pandas as pd
import pytest

from torchrank.datasets import ranking_data, read_rankings
from torchrank.datasets.long_tables import LongTable, dense, triples_of

FILE = "ratings.csv"
NAN = np.nan
LONG = {"user": "user", "item": "movie", "score": "rating"}
TEXT = "user,movie,rating,day\nbob,Up,4,3\nann,Her,5,1\nbob,Her,2.5,2\nann,Jaws,,4\n"


def expected(rows):
    """Users in the order found, items sorted, and their scores: from the definition."""
    users, items = list(dict.fromkeys(row[0] for row in rows)), sorted({row[1] for row in rows})
    table = {(row[0], row[1]): row[2] for row in rows}
    return users, items, [[table.get((user, item), NAN) for item in items] for user in users]


def test_a_row_for_each_user_in_files_and_data_frames(write):
    for data in (
        read_rankings(write(TEXT), **LONG),
        ranking_data(pd.read_csv(write(TEXT)), **LONG),
        ranking_data(pd.read_csv(write(TEXT)), **LONG, form="scores"),
        ranking_data(pd.read_csv(write(TEXT)).convert_dtypes(), **LONG),
    ):
        assert (data.rankers, data.items) == (("bob", "ann"), ("Her", "Jaws", "Up"))
        np.testing.assert_array_equal(data.scores, [[2.5, NAN, 4], [5, NAN, NAN]])
        np.testing.assert_array_equal(data.weights, [1, 1])
        assert data.scores.dtype == np.float64
    assert read_rankings(write(TEXT), **LONG).title == "ratings.csv"


@pytest.mark.parametrize("seed", range(5))
def test_random_tables_equal_the_definition(write, seed):
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(7 * 5)[: rng.integers(8, 36)]  # of 7 rankers: so many are of two items at least
    rows = [(f"u{pair // 5}", f"i{pair % 5}", float(rng.integers(-3, 4))) for pair in pairs]
    users, items, scores = expected(rows)
    text = "user,movie,rating\n" + "".join(f"{a},{b},{c:g}\n" for a, b, c in rows)
    for data in (
        read_rankings(write(text), **LONG),
        ranking_data(pd.DataFrame(rows, columns=["user", "movie", "rating"]), **LONG),
    ):
        assert (list(data.rankers), list(data.items)) == (users, items)
        np.testing.assert_array_equal(data.scores, scores)


def test_positions_marks_and_chosen_items(write):
    text = "user,movie,rating\na,x,1\na,y,0\na,z,2\nb,x,skipped\nb,y,1\nb,z,overvote\n"
    data = read_rankings(
        write(text), **LONG, form="positions", unranked=[0, "skipped", "overvote"], items=["z", "y", "x", "w"]
    )
    assert data.items == ("z", "y", "x", "w")
    np.testing.assert_array_equal(np.isnan(data.scores), [[False, True, False, True], [True, False, True, True]])
    assert data.scores[0, 2] > data.scores[0, 0]
    with pytest.raises(ValueError, match=r"ratings\.csv, line 4 scores the item 'z', which items lacks"):
        read_rankings(write(text), **LONG, unranked=["skipped", "overvote"], items=["x", "y"])
    with pytest.raises(ValueError, match=r"line 5, column 'rating' has a field that is not a number: 'skipped'"):
        read_rankings(write(text), **LONG)


def test_a_second_score_names_both_lines(write):
    text = "user,movie,rating,when\nann,x,1,2024-05-01\nbob,x,2,2024-05-01\nann,y,3,2024-05-01\nann,x,4,2024-04-30\n"
    message = (
        r"ratings\.csv, line 2 and ratings\.csv, line 5 both score the item 'x' for the user 'ann'; keep one.* time="
    )
    with pytest.raises(ValueError, match=message):
        read_rankings(write(text), **LONG)
    with pytest.raises(ValueError, match="table, row 0 and table, row 3 both score"):
        ranking_data(pd.read_csv(write(text)), **LONG)
    for data in (
        read_rankings(write(text), **LONG, time="when"),
        ranking_data(pd.read_csv(write(text)), **LONG, time="when"),
        ranking_data(pd.read_csv(write(text), parse_dates=["when"]), **LONG, time="when"),
    ):
        np.testing.assert_array_equal(data.scores, [[1, 3], [2, NAN]])


@pytest.mark.parametrize(
    ("times", "latest"),
    [
        (["9", "10", "2"], 1),  # numbers, though as text 9 comes last
        (["1714521600000000001", "1714521600000000002", "1714521600000000000"], 1),  # not told apart by float64
        (["2024-05-01 09:30", "2024-05-01 10:00:00", "2024-04-30T23:59:59Z"], 1),
        (["0.5", "-1", "1e-3"], 0),
        (["9999-12-31", "2024-01-01", "1500-01-01"], 0),
    ],
)
def test_the_latest_score_counts(write, times, latest):
    rows = [f"ann,x,{score},{when}\nann,y,7,{when}\n" for score, when in zip((1, 2, 3), times, strict=True)]
    data = read_rankings(write("user,movie,rating,t\n" + "".join(rows)), **LONG, time="t")
    np.testing.assert_array_equal(data.scores, [[latest + 1, 7]])


def test_times_that_decide_nothing(write):
    text = "user,movie,rating,t\nann,x,1,5\nann,y,1,5\nann,x,{},5\nann,x,{},{}\n"
    with pytest.raises(ValueError, match=r"line 2 and ratings\.csv, line 4 both score .* at one time"):
        read_rankings(write(text.format(2, 2, 5)), **LONG, time="t")
    with pytest.raises(ValueError, match="at one time"):
        read_rankings(write(text.format("", 1, 5)), **LONG, time="t")
    np.testing.assert_array_equal(read_rankings(write(text.format(2, 9, 6)), **LONG, time="t").scores, [[9, 1]])
    np.testing.assert_array_equal(read_rankings(write(text.format(1, 1, 5)), **LONG, time="t").scores, [[1, 1]])
    withdrawn = read_rankings(write(text.format(1, "", 6)), **LONG, time="t")
    np.testing.assert_array_equal(withdrawn.scores, [[NAN, 1]])
    with pytest.raises(ValueError, match=r"line 5 has the time '1/2/2024'; expected a number, or a date"):
        read_rankings(write(text.format(1, 1, "1/2/2024")), **LONG, time="t")
    for odd in ("1_700_000_000", "1e400"):
        with pytest.raises(ValueError, match=f"line 5 has the time '{odd}'; expected a number"):
            read_rankings(write(text.format(1, 1, odd)), **LONG, time="t")
    with pytest.raises(ValueError, match=r"the column 'movie' is named twice, by user=, item=, score="):
        read_rankings(write(text.format(1, 1, 5)), **LONG | {"user": "movie"})
    with pytest.raises(ValueError, match="line 5 has the time '2024-13-01'"):
        read_rankings(write(text.format(1, 1, "2024-13-01")), **LONG, time="t")
    with pytest.raises(ValueError, match="line 5 has no time"):
        read_rankings(write(text.format(1, 1, "")), **LONG, time="t")
    with pytest.raises(TypeError, match="time has numbers and dates"):
        read_rankings(write(text.format(1, 1, "2024-01-02")), **LONG, time="t")


@pytest.mark.parametrize("kind", ["file", "frame"])
def test_large_integers_stay_what_they_are(write, kind):
    """Names that float64 would make one, and scores that it would make equal."""
    big = 1700000000000000001
    text = f"user,movie,rating\n{big},{big + 1},{2**60}\n{big},{big + 2},{2**60 + 1}\n{big + 1},{big + 2},7\n"
    data = read_rankings(write(text), **LONG) if kind == "file" else ranking_data(pd.read_csv(write(text)), **LONG)
    assert (data.rankers, data.items) == ((str(big), str(big + 1)), (str(big + 1), str(big + 2)))
    assert data.scores[0, 1] > data.scores[0, 0]
    np.testing.assert_array_equal(np.isnan(data.scores), [[False, False], [True, False]])
    whole = f"user,movie,rating\n1,10,{2**60}\n1,9,{2**60 + 1}\n"
    full = read_rankings(write(whole), **LONG)
    assert (full.items, full.scores.tolist(), full.scores.dtype) == (("9", "10"), [[2**60 + 1, 2**60]], np.int64)


def test_integers_that_a_data_frame_made_floats():
    frame = pd.DataFrame({"user": [1.0, 2.0], "movie": [3, 4], "rating": [1, 2]})
    assert ranking_data(frame, **LONG).rankers == ("1", "2")
    with pytest.raises(ValueError, match=r"the number 1\.7e\+18 in floating point, where integers"):
        ranking_data(frame.assign(user=[1.7e18, 2.0]), **LONG)
    with pytest.raises(ValueError, match="table, row 1 names no user"):
        ranking_data(frame.assign(user=[1.0, NAN]), **LONG)
    with pytest.raises(TypeError, match="item has names and numbers"):
        ranking_data(frame.assign(movie=["x", 4]), **LONG)
    with pytest.raises(TypeError, match="in column 'rating'; expected numbers"):
        ranking_data(frame.assign(rating=["x", "y"]), **LONG)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"user": "user"}, ValueError, "user= without item=, score="),
        ({"user": "user", "item": "movie"}, ValueError, "user=, item= without score="),
        ({"time": "day", "form": "scores"}, ValueError, "time= without user=, item=, score="),
        (LONG | {"form": "orders"}, ValueError, "form='orders' is unknown; choose one of 'scores', 'positions'"),
        (LONG | {"ballot": "vote"}, ValueError, "ballot='vote' names a column of whole rankings, user=, item=, score="),
        ({"ballot": "vote", "form": "orders"}, ValueError, "form='orders' another kind of table"),
        (LONG | {"gaps": "close"}, ValueError, "gaps='close' is for form='orders'"),
        (LONG | {"weights": "day"}, ValueError, "weights='day' is of rankings.*dataclasses.replace"),
        (LONG | {"features": ["day"]}, ValueError, r"features=\['day'\] is of rankings"),
        (LONG | {"user": "who"}, ValueError, "'who'"),
        ({}, TypeError, "form is not given; .*user=, item= and score=.*ballot="),
    ],
)
def test_tables_are_one_thing_or_the_other(write, settings, error, message):
    with pytest.raises(error, match=message):
        read_rankings(write(TEXT), **settings)
    with pytest.raises(error, match=message):
        ranking_data(pd.read_csv(write(TEXT)), **settings)


def test_names_of_columns_are_those_of_a_data_frame():
    with pytest.raises(ValueError, match="user='user' names columns; table is list, not a data frame"):
        ranking_data([["ann", "x", 1]], **LONG)
    with pytest.raises(ValueError, match="ballot='vote' names columns; table is list"):
        ranking_data([["x>y"]], ballot="vote")
    with pytest.raises(ValueError, match="ballot=0 names columns; table is ndarray"):
        ranking_data(np.array([["x>y"]]), ballot=0)
    frame = pd.DataFrame([["ann", "x", 1], ["ann", "y", 2]])
    np.testing.assert_array_equal(ranking_data(frame, user=0, item=1, score=2).scores, [[1, 2]])
    assert ranking_data(pd.DataFrame(["x>y"]), ballot=0).items == ("x", "y")


def test_a_large_matrix_of_nearly_nothing_is_refused_by_its_size():
    m = 20_000
    table = LongTable(list(range(m)), list(range(m)), np.ones(m), None, str)
    triples = triples_of(table, None)
    np.testing.assert_array_equal(triples.rows, triples.columns)
    with pytest.raises(
        ValueError, match=r"20000 rankings of 20000 items are a matrix of 400000000 scores \(2\.98 GiB\)"
    ):
        dense(triples)


def test_triples_hold_each_score_once_in_the_order_of_rows():
    users, items = ["b", "a", "b", "b", "a"], ["y", "x", "y", "x", "y"]
    triples = triples_of(LongTable(users, items, np.array([1.0, NAN, 3, 4, 5]), [1, 1, 2, 1, 1], str), None)
    assert triples.rows.tolist() == [0, 0, 1]
    assert triples.columns.tolist() == [1, 0, 1]
    assert triples.scores.tolist() == [3, 4, 5]
    assert (triples.rankers, triples.items) == (("b", "a"), ("x", "y"))


def test_an_empty_long_table_ranks_the_items_given():
    frame = pd.DataFrame({"user": [], "movie": [], "rating": []})
    assert ranking_data(frame, **LONG, items=["x", "y"]).scores.shape == (0, 2)


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ("2024-05-31T10:00:00+02:00", "2024-05-31T09:30:00Z"),
        ("2024-05-31 23:00+0000", "2024-05-31 23:00-05:30"),
        ("2024-05-31", "2024-05-31T00:00:01"),
    ],
)
def test_times_with_an_offset(write, early, late):
    for rows in ((early, 1, late, 2), (late, 2, early, 1)):
        text = "user,movie,rating,t\nu,a,{1},{0}\nu,a,{3},{2}\nu,b,1,2024-01-01\n".format(*rows)
        np.testing.assert_array_equal(read_rankings(write(text), **LONG, time="t").scores, [[2, 1]])


def test_times_with_a_decimal_comma(write):
    text = "user;movie;rating;t\nu;a;1,5;9,5\nu;a;2,5;10,25\nu;b;1;1\n"
    data = read_rankings(write(text), **LONG, time="t", delimiter=";", decimal=",")
    np.testing.assert_array_equal(data.scores, [[2.5, 1]])
