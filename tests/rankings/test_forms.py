"""What comes in another form than scores: the message says which reader takes it."""

import datetime

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

import torchrank
from torchrank import datasets
from torchrank.datasets import RankingData, from_ranking_strings, ranking_data

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
        ({"a": [1, 2], "b": [2, 3]}, r"is a dict; expected .*pandas\.DataFrame"),
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
    days = pd.DataFrame({"a": DAYS, "b": DAYS[::-1]}).astype("int64")
    np.testing.assert_array_equal(torchrank.kendall_gram(days), [[1, -1], [-1, 1]])


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
