"""Sparse rankings hold what was ranked, and are the same rankings as scores with NaN elsewhere."""

import pickle

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st

import torchrank
from tests.strategies import dense_ranks, random_scores, score_arrays
from torchrank import SparseRankings, from_orders, kendall_gram, rank
from torchrank.rankings.missing import Missing

N = np.nan
SCORES = np.array([[3.0, N, 1.0, 1.0], [N, N, N, N], [2.0, 5.0, N, 2.0], [N, N, 7.0, N]])


def triples(X, rng=None):
    """Rows, items and scores of what is ranked, in any order."""
    rows, items = np.nonzero(X == X)
    order = np.arange(len(rows)) if rng is None else rng.permutation(len(rows))
    return rows[order], items[order], X[rows, items][order]


def sparse(X, missing: Missing = "pairwise", rng=None):
    return SparseRankings.from_triples(*triples(X, rng), shape=X.shape, missing=missing)


def assert_dense(rankings, scores):
    """The same as ranks by definition, items of each row in falling order, ties by index, strict pairs counted."""
    dense, expected = rankings.dense(), dense_ranks(np.asarray(scores, dtype=float))
    assert torch.equal(dense.ranks, expected)
    assert dense.strict.tolist() == [
        sum(a != b for k, a in enumerate(row) for b in row[:k])
        for row in ([r for r in x if r >= 0] for x in expected.tolist())
    ]
    for row, start in enumerate(rankings.starts[:-1].tolist()):
        items = rankings.items[start : int(rankings.starts[row + 1])].tolist()
        assert items == sorted(items, key=lambda item, row=row: (-int(expected[row, item]), item))
    below = [[sum(r > s for s in x if s >= 0) - sum(r < s for s in x) for r in x] for x in expected.tolist()]
    assert rankings.mid_ranks().tolist() == [
        below[row][item] for row, item in zip(rankings.rows.tolist(), rankings.items.tolist(), strict=True)
    ]


@given(score_arrays(dtypes=("float32", "float64"), missing=True), st.randoms(use_true_random=False))
def test_triples_are_the_scores_with_nan_elsewhere(X, random):
    X = np.array(X)
    rankings = sparse(X, rng=np.random.default_rng(random.randrange(10)))
    assert_dense(rankings, X)
    assert rankings.shape == X.shape
    assert rankings.ndim == 2
    assert rankings.lengths.tolist() == (X == X).sum(1).tolist()
    np.testing.assert_array_equal(np.asarray(rankings), np.asarray(rank(X, "pairwise")))


def test_the_shape_is_that_of_the_largest_indices_unless_it_is_given():
    assert SparseRankings.from_triples([0, 2], [4, 1], [1, 1]).shape == (3, 5)
    assert SparseRankings.from_triples([], [], [], shape=(0, 3)).shape == (0, 3)
    empty = SparseRankings.from_triples([], [], [], shape=(2, 3))
    assert_dense(empty, np.full((2, 3), N))
    assert len(SparseRankings.from_triples([], [], [], shape=(0, 3))) == 0


def test_ratings_that_are_nan_are_left_out():
    rankings = SparseRankings.from_triples([0, 0, 1], [1, 2, 0], [N, 4.0, N], shape=(2, 3))
    assert rankings.lengths.tolist() == [1, 0]
    assert rankings.items.tolist() == [2]


@pytest.mark.parametrize(
    "scores",
    [
        [2**53 + 1, 2**53, 2**62],
        np.array([2**63 + 1, 2**63, 2**64 - 1], np.uint64),
        torch.tensor([2**63 - 2, 2**63 - 3, 2**63 - 1]),
        [True, False, 2],
    ],
)
def test_integers_are_the_integers_they_are(scores):
    rankings = SparseRankings.from_triples([0, 0, 0], [3, 1, 0], scores)
    assert rankings.items.tolist() == [0, 3, 1]
    assert rankings.ranks.tolist() == [2, 1, 0]
    assert rankings.origin.numpy == (not isinstance(scores, torch.Tensor))


def test_infinities_and_zeros_are_scores():
    rankings = SparseRankings.from_triples([0] * 5, range(5), [np.inf, -np.inf, -0.0, 0.0, np.inf])
    assert rankings.dense().ranks.tolist() == [[2, 0, 1, 1, 2]]


def test_orders_are_lists_of_items():
    lists = [[2, 0], [], [1, 3, 0]]
    for orders in (lists, np.array([[2, 0, -1], [-1] * 3, [1, 3, 0]]), torch.tensor([[2, 0, -1], [-1] * 3, [1, 3, 0]])):
        rankings = SparseRankings.from_orders(orders, 5)
        assert_dense(rankings, np.asarray(from_orders(lists, 5)))
        assert rankings.missing == "interleaving"
        assert rankings.origin.numpy == (not isinstance(orders, torch.Tensor))
    padded = SparseRankings.from_orders([[2, 0, -1], [1, -1]])
    assert padded.lengths.tolist() == [2, 1]
    assert SparseRankings.from_orders([], 3).shape == (0, 3)


def test_huge_catalogs_take_no_matrix():
    rankings = SparseRankings.from_orders([[0, 10**12], [5]], 10**13)
    assert rankings.shape == (2, 10**13)
    with pytest.raises(ValueError, match="GiB"):
        rankings.dense()
    with pytest.raises(ValueError, match="item 7 is there twice in row 1"):
        SparseRankings.from_triples([0, 1, 1], [7, 7, 7], [1, 2, 3], shape=(10**9, 10**12))


@pytest.mark.parametrize(
    "rows",
    [slice(1, 3), slice(None, None, -1), [2, 0, 2], [], np.array([False, True, True, False]), torch.tensor([3, -2]), 2],
)
def test_cut_by_rows_as_an_array(rows):
    index = np.asarray(rows, int) if isinstance(rows, (list, torch.Tensor)) else rows
    assert_dense(sparse(SCORES)[rows], np.atleast_2d(SCORES[index]))


def test_rows_that_are_not_there():
    with pytest.raises(IndexError):
        sparse(SCORES)[[4]]


def words(rankings):
    """Which rankings are "topk"."""
    return rankings.meaning.topk_rows(len(rankings), torch.device("cpu")).tolist()


def test_moved_pickled_and_said_again():
    rankings = sparse(SCORES, missing=["topk", "interleaving", "topk", "topk"])
    for same in (rankings.to("cpu"), pickle.loads(pickle.dumps(rankings)), rankings.meant(None)):
        assert_dense(same, SCORES)
        assert words(same) == [True, False, True, True]
    assert words(rankings[[1, 2]]) == [False, True]
    assert rankings.meant("topk").missing == "topk"
    assert words(rank(rankings)) == [True, False, True, True]
    assert repr(sparse(SCORES)) == "SparseRankings(shape=(4, 4), ranked=7, missing='pairwise')"


FORMS = {
    "csr": scipy.sparse.csr_array,
    "csc": scipy.sparse.csc_matrix,
    "coo": scipy.sparse.coo_array,
    "lil": scipy.sparse.lil_array,
    "tensor coo": lambda a: torch.from_numpy(a).to_sparse_coo(),
    "tensor csr": lambda a: torch.from_numpy(a).to_sparse_csr(),
    "tensor csc": lambda a: torch.from_numpy(a).to_sparse_csc(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
def test_what_a_sparse_matrix_does_not_store_is_unranked(form):
    stored = np.nan_to_num(SCORES)
    rankings = rank(FORMS[form](stored), "topk")
    assert isinstance(rankings, SparseRankings)
    assert_dense(rankings, SCORES)
    assert rankings.dtype == torch.float64
    assert rankings.origin.numpy == ("tensor" not in form)


def test_stored_zeros_are_scores():
    rows, items, scores = triples(np.where(SCORES == 1, 0, SCORES))
    for matrix in (
        scipy.sparse.coo_array((scores, (rows, items)), shape=SCORES.shape),
        torch.sparse_coo_tensor(
            torch.from_numpy(np.stack([rows, items])), torch.from_numpy(scores), SCORES.shape, check_invariants=True
        ),
    ):
        assert_dense(rank(matrix, "pairwise"), SCORES)


def test_nothing_is_changed():
    rows, items, scores = triples(SCORES, np.random.default_rng(0))
    matrix = scipy.sparse.coo_array((scores, (rows, items)), shape=SCORES.shape)
    before = [part.copy() for part in (matrix.row, matrix.col, matrix.data)]
    kendall_gram(matrix, missing="pairwise")
    for part, kept in zip((matrix.row, matrix.col, matrix.data), before, strict=True):
        assert np.array_equal(part, kept)


def test_complete_ones_are_ranked_where_unranked_items_are_an_error():
    X = random_scores(np.random.default_rng(0), "tied", 4, 6)
    assert np.array_equal(kendall_gram(sparse(X, missing="raise")), kendall_gram(X))
    assert np.array_equal(kendall_gram(scipy.sparse.csr_array(X + 1)), kendall_gram(X))
    with pytest.raises(ValueError, match="X leaves items of row 1 unranked: 0 of 4"):
        rank(scipy.sparse.csr_array(np.nan_to_num(SCORES))[[2, 1]] + scipy.sparse.csr_array([[0, 0, 1, 0], [0] * 4]))
    with pytest.raises(ValueError, match="scores leaves items of row 0 unranked: 3 of 4"):
        sparse(SCORES, missing="raise")
    with pytest.raises(ValueError, match="X leaves items of row 0 unranked"):
        kendall_gram(sparse(SCORES), missing="raise")


@pytest.mark.parametrize(
    "scores",
    [
        torch.eye(3).to_sparse_coo().requires_grad_(),
        SparseRankings.from_triples([0, 1], [0, 1], torch.ones(2, requires_grad=True)),
    ],
    ids=["matrix", "triples"],
)
def test_derivatives_are_refused(scores):
    for others in (None, np.eye(2, scores.shape[1])):
        for function in (
            kendall_gram,
            lambda *a, **s: kendall_gram(*a, method="reference", **s),
            torchrank.kendall_distance,
        ):
            result = function(scores, others, missing="pairwise")
            with pytest.raises(RuntimeError, match="piecewise constant in the scores"):
                result.sum().backward()
    with pytest.raises(RuntimeError, match="piecewise constant in the scores"):
        torchrank.kendall_features(torch.ones(2, 3).to_sparse_coo().requires_grad_()).sum().backward()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: SparseRankings.from_triples([0, 0], [1, 1], [1, 2]), ValueError, "item 1 is there twice in row 0"),
        (lambda: SparseRankings.from_triples([0], [0, 1], [1, 2]), ValueError, r"rows has shape \(1,\)"),
        (lambda: SparseRankings.from_triples([0], [0], [[1]]), ValueError, r"scores has shape \(1, 1\)"),
        (lambda: SparseRankings.from_triples([0.5], [0], [1]), TypeError, "rows has dtype torch.float64"),
        (lambda: SparseRankings.from_triples([0], [True], [1]), TypeError, "items has dtype torch.bool"),
        (lambda: SparseRankings.from_triples([0], [1], [1j]), TypeError, "scores has dtype complex128"),
        (lambda: SparseRankings.from_triples([0, -1], [1, 2], [1, 1]), ValueError, "rows has -1 at 1"),
        (lambda: SparseRankings.from_triples([0, 5], [1, 2], [1, 1], shape=(5, 9)), ValueError, "rows has 5 at 1"),
        (lambda: SparseRankings.from_triples([0, 1], [9, 2], [1, 1], shape=(5, 9)), ValueError, "items has 9 at 0"),
        (lambda: SparseRankings.from_triples([0], [0], [1]), ValueError, r"there are 1 item\(s\)"),
        (lambda: SparseRankings.from_triples([0], [1], [1], missing="best"), ValueError, "missing='best'"),
        (lambda: SparseRankings.from_triples([0], [1], [1], missing=["topk"] * 2), ValueError, "missing has 2 words"),
        (lambda: SparseRankings.from_triples([0], [1], [1], missing=[["topk"]]), ValueError, r"shape \(1, 1\)"),
        (lambda: SparseRankings.from_orders([[0, 1, 0]]), ValueError, "item 0 is there twice in row 0"),
        (lambda: SparseRankings.from_orders(np.array([[0, 1, 0]])), ValueError, "orders lists item 0 twice in row 0"),
        (lambda: SparseRankings.from_orders([[0, 3]], 3), ValueError, "orders has 3 at row 0, place 1"),
        (lambda: SparseRankings.from_orders([[0], 3]), ValueError, "orders has 3 in row 1"),
        (lambda: SparseRankings.from_orders([["a"]]), TypeError, "orders has dtype"),
        (
            lambda: rank(scipy.sparse.coo_array(([1, 2], ([0, 0], [1, 1])))),
            ValueError,
            "item 1 is there twice in row 0",
        ),
        (lambda: rank(torch.ones(2, 2, 2).to_sparse()), ValueError, r"X has shape \(2, 2, 2\)"),
        (lambda: kendall_gram(sparse(SCORES), missing="best"), ValueError, "missing='best'"),
        (lambda: torchrank.borda(sparse(SCORES)), ValueError, "X was ranked with missing='pairwise'"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_everything_that_takes_rankings_takes_sparse_ones():
    X = random_scores(np.random.default_rng(3), "total", 12, 6, missing=0.3)
    X[:, 0] = np.arange(12) % 5
    for missing in ("interleaving", "topk"):
        S = sparse(X, missing)
        np.testing.assert_array_equal(torchrank.borda(S), torchrank.borda(X, missing=missing))
        np.testing.assert_array_equal(torchrank.copeland(S), torchrank.copeland(X, missing=missing))
        np.testing.assert_array_equal(torchrank.kemeny(S).scores, torchrank.kemeny(X, missing=missing).scores)
    S = sparse(X)
    np.testing.assert_array_equal(torchrank.copeland(S), torchrank.copeland(X, missing="pairwise"))
    with pytest.raises(TypeError, match="differences of scores"):
        torchrank.smoothed_kendall_gram(S, window=1.0)
