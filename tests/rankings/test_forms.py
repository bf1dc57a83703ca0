"""What comes in another form than scores: the message says which reader takes it."""

import datetime
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

import torchrank
from torchrank import datasets, estimators
from torchrank.datasets import RankingData, from_ranking_strings, ranking_data
from torchrank.kernels import kendall, smoothed
from torchrank.ops.memory import explaining_memory
from torchrank.stream import association

LONG = pd.DataFrame({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "score": [1.0, 2, 3]})
DAYS = pd.date_range("2020-01-01", periods=2)


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (LONG, r"ranking_data\(table, user=, item=, score=\)"),
        (LONG.assign(time=1), r"ranking_data\(table, user=, item=, score=\)"),
        (["A>B>C", "B > A=C"], r"from_ranking_strings\(strings\)"),
        (pd.Series(["A>B>C", "B>A>C"]), r"from_ranking_strings\(strings\)"),
        (np.array(["A>B>C"]), r"from_ranking_strings\(strings\)"),
        ([{1, 2}, {3}], "sets, which have no order.*from_orders"),
        ({1, 2}, "a set; expected .* which has no order: pass a list"),
        ({"a": [1, 2], "b": [2, 3]}, r"is a dict; expected .*list\(it\.values\(\)\) or pandas\.DataFrame\.from_dict"),
        (pd.DataFrame({"userId": [1, 1], "movieId": [3, 4], "rating": [2.0, 3]}), r"ranking_data\(table, user=, item="),
        ([{"a": 1, "b": 2}, {"a": 2}], r"dictionaries: pandas\.DataFrame"),
        (iter([[1, 2]]), r"iterator.*pass list\(it\)"),
        (pd.DataFrame({"a": DAYS, "b": DAYS}), "they are dates"),
        (np.array([["2020-01-01", "2020-01-02"]], "M8[D]"), "they are dates"),
        ([[datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]], "they are dates"),
        ([["tea", "milk"]], "ranking_data makes them of names"),
    ],
)
@pytest.mark.parametrize("take", [torchrank.kendall_gram, torchrank.borda, torchrank.rank])
def test_the_message_names_the_reader(take, given, remedy):
    with pytest.raises(TypeError, match=rf"^X .*{remedy}"):
        take(given)


def test_the_reader_that_is_named_takes_it():
    assert ranking_data(LONG, user="user", item="item", score="score").scores.shape == (2, 2)
    assert from_ranking_strings(["A>B>C", "B > A=C"]).scores.shape == (2, 3)
    assert torchrank.kendall_gram(pd.DataFrame({"a": [1, 2], "b": [2, 3]})).shape == (2, 2)
    days = pd.DataFrame({"a": DAYS, "b": DAYS[::-1], "c": [None, DAYS[1]]})
    numbers = (days - days.min()) / np.timedelta64(1, "s")
    np.testing.assert_array_equal(torchrank.kendall_gram(numbers, missing="pairwise"), [[1, -1], [-1, 1]])
    given = {"ann": {"A": 3, "B": 2}, "bob": {"A": 1, "B": 2}}
    assert ranking_data(pd.DataFrame.from_dict(given, orient="index"), form="scores").rankers == ("ann", "bob")
    lists = {"ann": [3, 2], "bob": [1, 2]}
    np.testing.assert_array_equal(torchrank.kendall_gram(list(lists.values())), [[1, -1], [-1, 1]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: from_ranking_strings({"A>B": 3, "B>A": 9}),
            r"strings is a dict, .* weights=list\(strings.values\(\)\)",
        ),
        (lambda: from_ranking_strings({"A>B", "B>A"}), "strings is a set, which has no order"),
        (lambda: datasets.from_comparisons({("a", "b"): 3}), r"pairs is a dict, .* weights=list\(pairs.values\(\)\)"),
        (lambda: datasets.from_comparisons({("a", "b")}), "pairs is a set, which has no order"),
        (lambda: torchrank.borda({"A>B>C": 3}), r"from_ranking_strings\(list\(it\), weights=list\(it.values\(\)\)\)"),
        (lambda: RankingData(np.eye(2), {"a", "b"}, np.ones(2)), "items is a set, which has no order"),
        (lambda: torchrank.kendall_gram("votes.csv"), r"read_rankings\(path\)"),
        (lambda: torchrank.kendall_gram(Path("votes.csv")), r"read_rankings\(path\)"),
        (lambda: torchrank.kendall_gram(StringIO("A,B")), r"read_rankings\(path\)"),
        (lambda: ranking_data("votes.csv", form="scores"), r"table is 'votes.csv'; .*read_rankings\(path\)"),
        (lambda: ranking_data({"a": [1, 2]}, form="scores"), r"DataFrame\(it\), which makes a column"),
        (lambda: datasets.read_rankings(LONG, form="scores"), "ranking_data takes data frames"),
    ],
)
def test_what_has_no_order_or_lies_elsewhere_is_told_from_rows(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_one_ranking_in_a_series_is_made_a_row_by_what_a_series_can():
    with pytest.raises(ValueError, match=r"pass X.to_numpy\(\)\[None, :\]"):
        torchrank.kendall_gram(pd.Series([1.0, 2, 3]))


def test_rows_without_an_order_are_no_orders():
    with pytest.raises(TypeError, match="table has a set at 1, whose order says nothing"):
        ranking_data([["tea", "milk"], {"tea", "milk"}], form="orders")
    with pytest.raises(TypeError, match="table has a dict at 0, whose order says nothing"):
        ranking_data([{"tea": 1, "milk": 3}], form="orders")
    with pytest.raises(TypeError, match=r"pairs has a set at 0, .* expected "):
        datasets.from_comparisons([{"ann", "bob"}])


@pytest.mark.parametrize("name", ["city.soi", "city.toc.gz"])
def test_files_of_preflib_are_read_by_another_function(name, tmp_path):
    (tmp_path / name).write_text("# FILE NAME: city")
    with pytest.raises(ValueError, match=rf"{name} has the name of a file of PrefLib, .*read_preflib"):
        datasets.read_rankings(tmp_path / name, form="orders")


def test_names_of_columns_are_no_letters():
    frame = pd.DataFrame({name: [1, 2] for name in "abcd"})
    with pytest.raises(TypeError, match="features='ab' is one name; expected a list of names"):
        ranking_data(frame, form="scores", features="ab")


@pytest.mark.parametrize("read", [torchrank.kendall_gram, lambda table: ranking_data(table, form="scores")])
def test_a_long_table_of_numbers_is_not_taken_for_scores(read):
    table = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [1, 2, 1], "rating": [3, 4, 5], "time": [7, 8, 9]})
    with pytest.raises(TypeError, match="has the columns user_id, item_id, rating, time: a table with a row for each"):
        read(table)
    assert read(table.drop(columns="rating")) is not None
    assert ranking_data(table, form="scores", items=["rating", "time"]).scores.shape == (3, 2)


@pytest.mark.parametrize(
    ("take", "words"), [(torchrank.borda, "'interleaving', 'topk' \\("), (torchrank.kemeny, "'pairwise'")]
)
def test_sparse_rankings_are_offered_words_that_are_taken(take, words):
    with pytest.raises(ValueError, match=f"pass missing=, one of .*{words}"):
        take(sparse.csr_array(np.eye(3)))


def test_a_table_of_numbers_with_a_column_of_words_is_not_called_long():
    table = pd.DataFrame({"name": ["u", "v"], "a": [1.0, 2], "b": [2.0, 1]})
    with pytest.raises(TypeError, match="X has dtype object, with 'u'") as raised:
        torchrank.kendall_gram(table)
    assert "user=" not in str(raised.value)


def test_sparse_matrices_say_what_takes_them():
    with pytest.raises(TypeError, match=r"sparse matrix of SciPy; pass X\.toarray\(\)"):
        torchrank.smoothed_kendall_gram(sparse.csr_array(np.eye(3)), window=1.0)
    with pytest.raises(TypeError, match=r"X\.to_dense\(\)"):
        torchrank.smoothed_kendall_gram(torch.eye(3).to_sparse(), window=1.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ranking_data([[1, 2, 3, 4]], form="scores", items="item"),
        lambda: ranking_data([["i", "t"]], form="orders", items="item"),
        lambda: ranking_data(pd.DataFrame(np.eye(4), columns=list("item")), form="scores", items="item"),
        lambda: ranking_data(LONG, user="user", item="item", score="score", items="item"),
        lambda: ranking_data(pd.DataFrame({"b": ["i>t"]}), ballot="b", items="item"),
        lambda: from_ranking_strings(["i>t"], items="item"),
        lambda: datasets.to_ranking_strings(np.eye(4), items="item"),
        lambda: RankingData(np.eye(4), "item", np.ones(4)),
    ],
)
def test_one_name_is_not_a_list_of_letters(call):
    with pytest.raises(TypeError, match="items='item' is one name; expected a list of names"):
        call()


def test_what_memory_does_not_hold_names_what_does_without_it():
    X = torch.zeros(10**7, 2)
    with pytest.raises(torch.OutOfMemoryError, match=r"pass out=.*kendall_neighbors and kendall_graph"):
        torchrank.kendall_gram(X)
    with pytest.raises(torch.OutOfMemoryError, match=r"pass out=.*kendall_neighbors and kendall_graph"):
        explaining_memory(_without_memory)(torch.zeros(3, 2))


@pytest.mark.slow
def test_other_results_that_memory_does_not_hold_name_what_holds_less():
    X = torch.zeros(10**7, 2)
    with pytest.raises(torch.OutOfMemoryError, match=r"no memory on cpu for a matrix of 10000000 x .*pass out="):
        torchrank.smoothed_kendall_gram(X, window=1.0)
    wide = torch.zeros(1, 40).expand(10**12, 40)
    ranks = torch.zeros(1, 40, dtype=torch.int32).expand(10**12, 40)
    for features in (
        lambda: kendall._features(ranks, ranks[:, 0], torch.float64),
        lambda: smoothed._features(wide, torch.tensor(1.0), "uniform"),
    ):
        with pytest.raises(torch.OutOfMemoryError, match=r"for 1000000000000 x 780 features \(.* GiB.*kendall_gram"):
            features()
    for gram in (
        torchrank.spearman_gram,
        lambda X: torchrank.diffusion_gram(X, beta=1.0),
        lambda X: torchrank.weighted_kendall_gram(X, pairs=torchrank.pair_weights(torch.ones(2))),
    ):
        with pytest.raises(torch.OutOfMemoryError, match=r"for a matrix .*f\(X, Y\[start:stop\]\)"):
            gram(X + torch.tensor([0.0, 1.0]))
    with pytest.raises(torch.OutOfMemoryError, match=r"for tests of 100000000 x 100000000 .*kendall_graph with alpha="):
        association._tables(10**8, 10**8)


def _without_memory(x):
    raise MemoryError


def test_estimators_name_the_reader_too():
    made = estimators.KernelKMeans(2)
    for given, remedy in (
        (["A>B>C", "B>A>C"], "from_ranking_strings"),
        ([{"a": 1}, {"a": 2}], "dictionaries"),
        ({"a": [1, 2]}, "from_dict"),
        ([[datetime.date(2020, 1, 1)] * 2], "dates"),
        (LONG, "user=, item=, score="),
    ):
        with pytest.raises(TypeError, match=rf"^X .*{remedy}"):
            made.fit(given)
