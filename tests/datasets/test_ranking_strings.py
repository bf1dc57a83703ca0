import math

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import FLOATS, dense_ranks, score_arrays
from torchrank.datasets import circles, from_ranking_strings, to_ranking_strings

NAN = math.nan
NAMES = st.text(st.characters(codec="utf-8"), min_size=1).filter(
    lambda name: name == name.strip() and not set(name) & set(">=")
)


def test_ranking_strings():
    data = from_ranking_strings(["L2>L1>L3", "L3 > L2", "", "L1=L3>L2"])
    assert data.items == ("L1", "L2", "L3")
    np.testing.assert_array_equal(data.scores, [[2, 3, 1], [NAN, 2, 3], [NAN, NAN, NAN], [3, 2, 3]])
    named = from_ranking_strings(["b>a"], items=["a", "b", "c"], title="letters")
    np.testing.assert_array_equal(named.scores, [[2, 3, NAN]])
    assert named.title == "letters"
    with pytest.raises(ValueError, match="a label is missing"):
        from_ranking_strings(["a>>b"])
    column = from_ranking_strings(pd.Series(["b>a", None], index=[7, 8]))
    np.testing.assert_array_equal(column.scores, [[1, 2], [NAN, NAN]])
    with pytest.raises(TypeError, match="strings is one string"):
        from_ranking_strings("a>b")
    with pytest.raises(TypeError, match=r"strings\[1\] is 3"):
        from_ranking_strings(["a>b", 3])
    with pytest.raises(ValueError, match="it ranks 'a' twice"):
        from_ranking_strings(["a>b>a"])
    with pytest.raises(ValueError, match="'z' is not among"):
        from_ranking_strings(["a>z"], items=["a", "b"])
    with pytest.raises(ValueError, match="strings rank 1 labels: 'a'"):
        from_ranking_strings(["a"])


def test_strings_of_scores():
    Y = [[2.0, 3.0, 1.0], [NAN, 7.0, -1.0], [NAN, NAN, NAN], [4.0, 0.0, 4.0], [NAN, NAN, 1.0]]
    assert to_ranking_strings(Y) == ["L2>L1>L3", "L2>L3", "", "L1=L3>L2", "L3"]
    assert to_ranking_strings(torch.tensor(Y), items=("a", "b b", "c"))[3] == "a=c>b b"
    assert to_ranking_strings(np.array([[2**53, 2**53 + 1]])) == ["L2>L1"]  # one number in float64
    assert to_ranking_strings(np.zeros((0, 3))) == []
    data = circles(3, missing=0.3, seed=0)
    assert to_ranking_strings(data) == to_ranking_strings(data.Y, items=data.items)
    assert to_ranking_strings(data, items=list("abcdef")) == to_ranking_strings(data.Y, items=list("abcdef"))


@given(st.data())
def test_strings_are_read_back(draw):
    Y = draw.draw(score_arrays(dtypes=("int64", "uint64", *FLOATS), missing=True))
    n = Y.shape[1]
    items = draw.draw(st.none() | st.lists(NAMES, min_size=n, max_size=n, unique=True))
    strings = to_ranking_strings(Y, items)
    names = [f"L{label}" for label in range(1, n + 1)] if items is None else items
    again = from_ranking_strings(strings, items=names)
    assert again.items == tuple(names)
    np.testing.assert_array_equal(dense_ranks(again.scores), dense_ranks(Y))
    assert to_ranking_strings(again) == strings


@pytest.mark.parametrize("name", ["", "a>b", "a=b", " a", "a\n"])
def test_names_that_could_not_be_read_back(name):
    with pytest.raises(ValueError, match=r"items\[1\] is "):
        to_ranking_strings(np.ones((1, 2)), ["x", name])


def test_bad_input_of_strings():
    Y = np.ones((2, 3))
    with pytest.raises(ValueError, match="items has 2 names"):
        to_ranking_strings(Y, ["a", "b"])
    with pytest.raises(ValueError, match="items has 'a' twice"):
        to_ranking_strings(Y, ["a", "b", "a"])
    with pytest.raises(TypeError, match=r"items\[1\] is 2"):
        to_ranking_strings(Y, ["a", 2, "c"])
    with pytest.raises(ValueError, match=r"Y has shape \(1, 2, 3\)"):
        to_ranking_strings(Y[None])
    with pytest.raises(TypeError, match="Y has dtype <U1"):
        to_ranking_strings([["a", "b"]])
