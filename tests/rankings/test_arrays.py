"""The one way in: numbers in any container are the numbers they are, or are refused by name."""

import collections

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

import torchrank
import torchrank.estimators
from torchrank import (
    datasets,
    estimators,
    from_orders,
    from_positions,
    kendall_gram,
    smoothed_kendall_gram,
    weighted_kendall_gram,
)
from torchrank.conditional import ConditionalSplit, check_leakage
from torchrank.datasets import EdgeData, NetworkData, ranking_data, read_rankings
from torchrank.rankings.arrays import as_tensor

LARGE = 2**53
FIRST_HIGHER = [[LARGE + 1, LARGE, 5], [1, 2, 3]]  # float64 ties the first two
RIGHT = kendall_gram(np.array([[3, 2, 1], [1, 2, 3]]))


@pytest.mark.parametrize(
    "X",
    [
        FIRST_HIGHER,
        tuple(map(tuple, FIRST_HIGHER)),
        np.array(FIRST_HIGHER),
        np.array(FIRST_HIGHER, dtype=object),
        np.array(FIRST_HIGHER, dtype=np.uint64),
        [[2**64 - 1, 2**64 - 2, 2**63], [1, 2, 3]],
        [[2**70 + 1, 2**70, 2.5], [1.0, 2.0, 3.0]],
        [[float(2**60), 2**60 - 1, -np.inf], [1, 2, np.inf]],
        pd.DataFrame(FIRST_HIGHER),
        pd.DataFrame(FIRST_HIGHER, dtype="Int64"),
        pd.DataFrame({"a": [LARGE + 1, 1], "b": [LARGE, 2], "c": [0.5, 3.5]}),
        pd.DataFrame({"a": pd.array([LARGE + 1, 0], "UInt64"), "b": [LARGE, 1], "c": [5.0, 3.0]}),
        [torch.tensor([LARGE + 1, LARGE, 5]), torch.tensor([1, 2, 3])],
        np.array([[1 + np.finfo(np.longdouble).eps, 1, 0], [1, 2, 3]], dtype=np.longdouble),
    ],
    ids=lambda X: type(X).__name__,
)
def test_integers_and_extended_precision_are_ranked_as_they_are(X):
    np.testing.assert_array_equal(np.asarray(kendall_gram(X)), RIGHT)


def test_missing_values_of_data_frames_are_nan():
    frame = pd.DataFrame({"a": pd.array([LARGE + 1, 1], "Int64"), "b": pd.array([LARGE, None], "Int64"), "c": [5, 3]})
    np.testing.assert_array_equal(
        kendall_gram(frame, missing="topk"), kendall_gram(np.array([[3, 2, 1], [1, np.nan, 3]]), missing="topk")
    )
    frame = pd.DataFrame({"a": pd.array([True, None], "boolean"), "b": [0.5, 2]})
    np.testing.assert_array_equal(as_tensor(frame, "frame")[0].numpy(), [[1, 0.5], [np.nan, 2]])


def test_where_values_count_they_are_not_numbered_in_their_order():
    wide = np.array([[1.5, 100.0, 7.0]], dtype=np.longdouble)
    narrow = wide.astype(np.float64)
    np.testing.assert_array_equal(smoothed_kendall_gram(wide, window=5.0), smoothed_kendall_gram(narrow, window=5.0))
    np.testing.assert_array_equal(from_positions(wide), from_positions(narrow))
    X = [[1, 2, 3], [3, 2, 1]]
    np.testing.assert_array_equal(
        torchrank.borda(X, np.array([5, 1000], np.longdouble)), torchrank.borda(X, np.array([5, 1000]))
    )
    gram = np.array([[4, 1], [1, 9]], dtype=np.longdouble)
    np.testing.assert_array_equal(torchrank.normalize_gram(gram), torchrank.normalize_gram(gram.astype(np.float64)))


MASKED = np.ma.masked_array([[1.0, 2.0, 3.0], [2.0, 1.0, 0.0]], mask=[[0, 1, 0], [0, 0, 0]])
INTEGERS = np.ma.masked_array([[0, 1, 2]], mask=[[0, 0, 1]])
WEIGHTS = np.ma.masked_array([1.0, 2.0], mask=[0, 1])
X = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 0.0]])


def selector():
    return torchrank.estimators.TSPSelector(1).fit(np.repeat(X, 2, 0), [0, 0, 1, 1])


@pytest.mark.parametrize(
    "call",
    [
        lambda: kendall_gram(MASKED),
        lambda: kendall_gram(list(MASKED)),
        lambda: kendall_gram([[1.0, np.ma.masked, 2.0], [1.0, 2.0, 3.0]]),
        lambda: kendall_gram(X, MASKED),
        lambda: torchrank.KendallKernel()(MASKED),
        lambda: torchrank.KendallKernel()(MASKED[0], X[0]),
        lambda: weighted_kendall_gram(X, pairs=np.ma.masked_array(1 - np.eye(3), mask=np.eye(3))),
        lambda: smoothed_kendall_gram(MASKED, window=1.0),
        lambda: torchrank.borda(MASKED),
        lambda: torchrank.borda(X, WEIGHTS),
        lambda: torchrank.kemeny(X, [1.0, np.ma.masked]),
        lambda: from_orders(INTEGERS),
        lambda: from_orders(list(INTEGERS)),
        lambda: from_positions(MASKED),
        lambda: torchrank.to_orders(MASKED),
        lambda: ranking_data(MASKED, form="scores"),
        lambda: ranking_data(MASKED, form="positions"),
        lambda: ranking_data(INTEGERS, form="orders"),
        lambda: ranking_data(X, form="scores", weights=WEIGHTS),
        lambda: ranking_data(X, form="scores", features=MASKED),
        lambda: torchrank.center_gram(np.ma.masked_array(np.eye(2), mask=np.eye(2))),
        lambda: torchrank.fit_mallows(MASKED),
        lambda: torchrank.fit_plackett_luce(MASKED),
        lambda: torchrank.KernelKMeans(2).fit(MASKED),
        lambda: selector().transform(MASKED),
        lambda: selector().inverse_transform(MASKED[:, :2]),
        lambda: check_leakage(np.ma.masked_array([[0, 1], [1, 0]], mask=[[0, 1], [0, 0]]), [1], [0], 1),
        lambda: next(ConditionalSplit(1, 2).split(np.ma.masked_array([[0, 1], [1, 0]], mask=[[0, 1], [0, 0]]))),
        lambda: EdgeData(MASKED, np.zeros((1, 2), int), np.zeros(1)),
        lambda: NetworkData(MASKED, np.eye(2), np.eye(3), ("a", "b"), ("c", "d", "e")),
        lambda: kendall_gram(torch.masked.masked_tensor(torch.ones(2, 3), torch.ones(2, 3, dtype=torch.bool))),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # of masked tensors, which are a prototype
def test_masks_are_refused_everywhere(call):
    with pytest.raises(TypeError, match=r"masked .* mask would be lost"):
        call()


@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_sparse_matrices_are_called_by_name_where_differences_count(form):
    for call in (
        lambda X: smoothed_kendall_gram(X, window=1.0),
        lambda X: torchrank.monte_carlo_kendall_gram(X, window=1.0, n_samples=2),
        torchrank.center_gram,
        lambda W: torchrank.borda(np.eye(3), weights=W),
    ):
        with pytest.raises(TypeError, match=r"\w+ is a sparse matrix of SciPy"):
            call(form(np.eye(3)))
    with pytest.raises(ValueError, match="X leaves items of row 0 unranked: 1 of 3"):
        kendall_gram(form(np.eye(3)))


def test_lists_of_tensors_are_stacked_and_keep_their_kind():
    rows = [torch.tensor([1.0, 2.0, 3.0]), torch.tensor([3.0, 2.0, 1.0], requires_grad=True)]
    gram = smoothed_kendall_gram(rows, window=1.5)
    assert isinstance(gram, torch.Tensor)
    assert gram.requires_grad
    with pytest.raises(ValueError, match=r"X is a list of tensors of shapes \[\(3,\), \(2,\)\]"):
        kendall_gram([torch.ones(3), torch.ones(2)])


@pytest.mark.parametrize("unranked", [None, 5])
def test_data_sets_keep_large_integers(tmp_path, unranked):
    for table in (FIRST_HIGHER, np.array(FIRST_HIGHER), pd.DataFrame(FIRST_HIGHER, dtype="Int64")):
        data = ranking_data(table, form="scores", unranked=unranked)
        assert data.scores[0, 0] > data.scores[0, 1]
        assert np.isnan(data.scores[0, 2]) == (unranked == 5)
    path = tmp_path / "large.csv"
    path.write_text("a,b,c\n9007199254740993,9007199254740992,5\n1,2,3\n")
    data = read_rankings(path, form="scores", unranked=unranked)
    assert data.scores[0, 0] > data.scores[0, 1]
    assert np.isnan(data.scores[0, 2]) == (unranked == 5)


def test_small_integers_of_data_sets_are_floats():
    assert ranking_data([[1, 2], [2, 1]], form="scores").scores.dtype == np.float64


def test_estimators_rank_large_integers_of_data_frames():
    from torchrank.estimators import RankingKMeans

    frame = pd.DataFrame([[LARGE + 1, LARGE, 5], [LARGE, LARGE + 1, 5]] * 3, dtype="Int64")
    labels = RankingKMeans(2, random_state=0).fit(frame).labels_
    assert labels[0] != labels[1]
    frame.iloc[0, 0] = None
    with pytest.raises(ValueError, match=r"integers beyond 2\^53 beside NaN|NaN \(an unranked item\)"):
        RankingKMeans(2, random_state=0).fit(frame)


def test_lists_of_tensors_of_different_kinds_are_refused():
    with pytest.raises(TypeError, match=r"X is a list of tensors of different kinds, torch.float32 on cpu"):
        kendall_gram([torch.tensor([16777216, 16777217, 16777219]), torch.tensor([1.0, 2, 3])])


@pytest.mark.parametrize(
    "call",
    [
        lambda: estimators.RankingKMeans(1).fit(X, sample_weight=WEIGHTS),
        lambda: estimators.OneRank().fit(X[:, :2], list(MASKED)),
        lambda: estimators.GramNormalizer().fit(np.ma.masked_array(np.eye(2), mask=np.eye(2))),
        lambda: estimators.KroneckerRLS(nodes=MASKED).fit(np.array([[0, 1], [1, 0]]), [1.0, 2.0]),
        lambda: datasets.drop_labels(MASKED, 0.1),
        lambda: datasets.RankingData(X, ("a", "b", "c"), WEIGHTS),
        lambda: kendall_gram(collections.deque(MASKED)),
    ],
)
def test_masks_are_refused_by_estimators_and_data_sets_too(call):
    with pytest.raises(TypeError, match=r"masked .* mask would be lost"):
        call()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_results_tie_no_items(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        assert from_orders(torch.arange(3000)[None]).unique().numel() == 3000
        X = torch.cat([-torch.arange(1, 129), torch.arange(1, 257)]).to(dtype)[None]
        for function in (torchrank.borda, torchrank.copeland, lambda X: torchrank.kemeny(X).scores):
            assert function(X).unique().numel() == 384
            assert function(X.long()).unique().numel() == 384
    finally:
        torch.set_default_dtype(before)


def test_long_long_is_an_integer_of_64_bits() -> None:
    """NumPy makes such arrays of lists of numbers from 2^63 on."""
    assert torchrank.rank([[2**64 - 1, 2**64 - 2]]).ranks.tolist() == [[1, 0]]
    assert torchrank.rank(np.array([[1, 2]], np.longlong)).ranks.tolist() == [[0, 1]]
