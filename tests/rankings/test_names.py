"""Data frames and data sets: their names and weights stay with what is made of them."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch

import torchrank as tr
from torchrank import aggregation
from torchrank.datasets import RankingData, from_comparisons

VALUES = np.array([[3.0, 2.0, 1.0], [3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 1.0]])
FRAME = pd.DataFrame(VALUES, index=["u", "v", "w", "x"], columns=["a", "b", "c"])
WEIGHTS = np.array([2.0, 1.0, 3.0, 1.0])
DATA = RankingData(VALUES, ("a", "b", "c"), WEIGHTS)
SERIES = {
    "borda": tr.borda,
    "copeland": tr.copeland,
    "kemeny": lambda X: tr.kemeny(X).scores,
    "logits": lambda X: tr.fit_plackett_luce(X).logits,
    "errors": lambda X: tr.fit_plackett_luce(X).standard_errors,
}


@pytest.mark.parametrize("name", SERIES)
def test_a_number_for_each_item_is_a_series(name):
    found = SERIES[name](FRAME)
    assert isinstance(found, pd.Series)
    assert found.index.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(found.to_numpy(), SERIES[name](VALUES))
    np.testing.assert_array_equal(SERIES[name](tr.rank(FRAME)[1:]).index, FRAME.columns)


def test_tables_of_items_and_of_rows_are_frames():
    for found, index, columns in (
        (aggregation.pair_preferences(FRAME), FRAME.columns, FRAME.columns),
        (tr.fit_plackett_luce(FRAME).covariance, FRAME.columns, FRAME.columns),
        (tr.to_positions(FRAME), FRAME.index, FRAME.columns),
        (tr.from_positions(FRAME), FRAME.index, FRAME.columns),
    ):
        assert found.index.tolist() == index.tolist()
        assert found.columns.tolist() == columns.tolist()
    chosen = tr.fit_plackett_luce(FRAME, covariance=[2, 0])
    assert chosen.covariance.columns.tolist() == chosen.standard_errors.index.tolist() == ["c", "a"]


def test_prepared_rankings_keep_names_through_cuts_and_pickles():
    rankings = pickle.loads(pickle.dumps(tr.rank(FRAME)))
    for rows in ([2, 0], slice(1, 3), np.array([True, False, True, True])):
        assert tr.rank(FRAME)[rows].origin.rows.tolist() == FRAME.index[rows].tolist()
    assert rankings.origin.items.tolist() == ["a", "b", "c"]


def test_tensors_beside_frames_give_tensors():
    assert isinstance(tr.kendall_gram(FRAME, torch.from_numpy(VALUES)), torch.Tensor)


WEIGHED = {
    "borda": tr.borda,
    "copeland": tr.copeland,
    "kemeny": lambda X, w=None: tr.kemeny(X, w).cost,
    "pair_preferences": aggregation.pair_preferences,
    "plackett_luce": lambda X, w=None: tr.fit_plackett_luce(X, w).logits,
    "regression": lambda X, w=None: tr.PlackettLuceRegression(1).fit(X, [[0.0], [1.0], [3.0]], w).covariance,
}


@pytest.mark.parametrize("name", WEIGHED)
def test_a_data_set_counts_by_its_weights(name):
    function = WEIGHED[name]
    np.testing.assert_array_equal(function(DATA), function(VALUES, WEIGHTS))
    np.testing.assert_array_equal(function(tr.rank(DATA)), function(VALUES, WEIGHTS))
    np.testing.assert_array_equal(function(tr.rank(DATA)[[2, 0, 1]]), function(VALUES[[2, 0, 1]], WEIGHTS[[2, 0, 1]]))
    np.testing.assert_array_equal(function(DATA, np.ones(4)), function(VALUES))  # what is said counts


def test_a_data_set_where_rows_do_not_count():
    np.testing.assert_array_equal(tr.kendall_gram(DATA), tr.kendall_gram(VALUES))
    np.testing.assert_array_equal(
        tr.smoothed_kendall_gram(DATA, window=1.0), tr.smoothed_kendall_gram(VALUES, window=1.0)
    )
    np.testing.assert_array_equal(tr.to_positions(DATA), tr.to_positions(VALUES))


def test_sparse_data_sets_keep_their_weights():
    pairs = [("a", "b"), ("a", "b"), ("b", "c"), ("c", "a"), ("b", "a")]
    data, sparse = from_comparisons(pairs), from_comparisons(pairs, sparse=True)
    expected = tr.fit_plackett_luce(data.scores, data.weights, missing="interleaving")
    for given in (data, sparse, tr.rank(sparse)):
        found = tr.fit_plackett_luce(given, missing="interleaving")
        np.testing.assert_allclose(found.logits, expected.logits, atol=1e-12)
    np.testing.assert_allclose(
        tr.borda(sparse, missing="topk"), tr.borda(data.scores, data.weights, missing="topk"), atol=1e-12
    )
    assert tr.rank(sparse)[1:].weights.tolist() == data.weights[1:].tolist()
