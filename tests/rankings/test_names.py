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


GRAMS = {
    "kendall_gram": tr.kendall_gram,
    "kendall_distance": tr.kendall_distance,
    "mallows_gram": lambda X, Y=None: tr.mallows_gram(X, Y, lam=0.1),
    "pair_counts": lambda X, Y=None: tr.pair_counts(X, Y).concordant,
    "weighted": lambda X, Y=None: tr.weighted_kendall_gram(X, Y, pairs=tr.pair_weights([3.0, 2.0, 1.0])),
    "smoothed": lambda X, Y=None: tr.smoothed_kendall_gram(X, Y, window=1.0),
    "monte_carlo": lambda X, Y=None: tr.monte_carlo_kendall_gram(
        X, Y, window=1.0, n_samples=4, generator=torch.Generator().manual_seed(0)
    ),
    "diffusion": lambda X, Y=None: tr.diffusion_gram(X, Y, beta=0.1),
    "multivariate": lambda X, Y=None: tr.multivariate_gram([X, X], None if Y is None else [Y, Y]),
    "module": lambda X, Y=None: tr.KendallKernel()(X, Y),
}


@pytest.mark.parametrize("name", GRAMS)
def test_a_matrix_between_rows_has_their_names(name):
    function, other = GRAMS[name], FRAME.iloc[[2, 0]]
    for found, expected, columns in (
        (function(FRAME), function(VALUES), FRAME.index),
        (function(FRAME, other), function(VALUES, VALUES[[2, 0]]), other.index),
    ):
        assert isinstance(found, pd.DataFrame)
        assert found.index.tolist() == FRAME.index.tolist()
        assert found.columns.tolist() == columns.tolist()
        np.testing.assert_array_equal(found.to_numpy(), expected)
    assert function(FRAME, VALUES).index.tolist() == FRAME.index.tolist()


def test_what_is_made_of_a_gram_matrix_keeps_its_names():
    K = tr.kendall_gram(FRAME)
    for found in (tr.center_gram(K), tr.normalize_gram(K), tr.polynomial_gram(K, degree=2, scale=1.0)):
        assert found.columns.tolist() == found.index.tolist() == FRAME.index.tolist()


LEARNED = {
    "mallows": lambda X, w=None: tr.fit_mallows(X, w).lam,
    "ranking k-means": lambda X, w=None: tr.RankingKMeans(2, n_init=2).fit(X, w, generator=seeded()).objective,
    "kernel k-means": lambda X, w=None: tr.KernelKMeans(2, n_init=2).fit(X, w, generator=seeded()).objective,
    "mallows mixture": lambda X, w=None: tr.MallowsMixture(3, 1).fit(X, w, generator=seeded()).log_likelihood,
    "kernel mixture": lambda X, w=None: tr.KernelMallowsMixture(3, 1).fit(X, w, generator=seeded()).log_likelihood,
    "range": lambda X, w=None: (
        tr.mixtures.fit_mixtures(lambda k: tr.MallowsMixture(3, k), X, [1], w, generator=seeded()).best.criterion
    ),
    "bic": lambda X, w=None: fitted(tr.MallowsMixture(3, 1)).bic(X, w),
    "gaussian bic": lambda X, w=None: fitted(tr.KernelGaussianMixture(1)).bic(X, w),
}


def seeded():
    return torch.Generator().manual_seed(0)


def fitted(model):
    model.fit(VALUES, WEIGHTS, generator=seeded())
    return model


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", LEARNED)
def test_learners_take_frames_and_data_sets(name):
    function = LEARNED[name]
    np.testing.assert_array_equal(function(DATA), function(VALUES, WEIGHTS))
    np.testing.assert_array_equal(function(FRAME), function(VALUES))
    np.testing.assert_array_equal(function(tr.rank(DATA)), function(VALUES, WEIGHTS))


def test_centers_have_names_and_label_rankers_refuse_weights():
    assert tr.fit_mallows(FRAME).center.index.tolist() == ["a", "b", "c"]
    X = torch.randn(4, 2, generator=seeded())
    with pytest.raises(ValueError, match="Y are rankings of a data set with weights, which this model does not take"):
        tr.rank_tree(X, tr.rank(DATA), 2)
    ones = RankingData(VALUES, ("a", "b", "c"), np.ones(4))
    predicted = tr.one_rank(X, tr.rank(ones, "interleaving")).predict(X)
    torch.testing.assert_close(predicted, tr.one_rank(X, torch.from_numpy(VALUES)).predict(X))
