"""Sparse rankings give what the same rankings give as scores with NaN, bit for bit, by every engine."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st

import torchrank.ops.sparse_matrix as module
from tests.oracles import kernels as oracle
from tests.oracles.pair_counts import is_ranked
from tests.strategies import random_scores, score_array_pairs
from torchrank import (
    SparseRankings,
    from_orders,
    kendall_distance,
    kendall_gram,
    mallows_gram,
    pair_counts,
    partial_kendall_gram,
    rank,
)
from torchrank.ops.engines import why_missing

WORDS = ("pairwise", "interleaving", "topk")
ENGINES = ("items", "dense", "no numba")


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    """Rows are compared item by item, or as matrices; without numba only matrices are left."""
    if request.param == "no numba":
        monkeypatch.setattr(module, "why_missing", lambda device_type: "gone")
    else:
        monkeypatch.setattr(module, "_DENSE_FROM", np.inf if request.param == "dense" else 0)
    return request.param


def sparse(X, missing):
    rows, items = np.nonzero(X == X)
    return SparseRankings.from_triples(rows, items, X[rows, items], shape=X.shape, missing=missing)


def calls(missing):
    """Everything that counts, by functions of two sides."""
    functions: dict[str, Callable[..., Any]] = {
        "a": lambda X, Y, **s: kendall_gram(X, Y, variant="a", **s),
        "b": lambda X, Y, **s: kendall_gram(X, Y, variant="b", **s),
        "distance": lambda X, Y, **s: kendall_distance(X, Y, normalize=True, **s),
        "mallows": lambda X, Y, **s: mallows_gram(X, Y, lam=0.1, **s),
    }
    if missing == "pairwise":
        functions["penalty"] = lambda X, Y, **s: kendall_distance(X, Y, tie_penalty=0.4, **s)
        functions["counts"] = lambda X, Y, **s: np.stack(pair_counts(X, Y, **s))
        functions["shrunk"] = lambda X, Y, **s: kendall_gram(X, Y, min_common=2, fill_value=-2, shrink=3.5, **s)
        functions["common"] = lambda X, Y, **s: kendall_distance(X, Y, min_common=3, **s)
    return functions


def assert_equal(X, Y, missing, **settings):
    x, y = sparse(X, missing), sparse(Y, missing)
    for name, function in calls(missing).items():
        one, two = function(X, None, missing=missing), function(X, Y, missing=missing)
        same = function(x, None, **settings)
        assert same.dtype == one.dtype
        np.testing.assert_array_equal(same, one, err_msg=name)
        assert name == "counts" or np.array_equal(same, same.T, equal_nan=True)
        np.testing.assert_array_equal(function(x, y, **settings), two, err_msg=name)
        np.testing.assert_array_equal(function(x, Y, **settings), two, err_msg=name)
        np.testing.assert_array_equal(function(X, y, missing=missing, **settings), two, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("missing", WORDS)
@given(pair=score_array_pairs(dtypes=("float64",), layouts=("contiguous",), missing=True))
def test_equal_to_dense(missing, pair):
    assert_equal(pair[0], pair[1], missing)


SHAPES = {
    "long rows with ties": (5, 7, 90, 0.1, "tied"),
    "long untied rows": (4, 3, 100, 0.2, "total"),
    "long constant rows": (3, 3, 60, 0.3, "constant"),
    "all items in common": (3, 3, 40, 0.0, "tied"),
    "hardly any": (20, 12, 100, 0.96, "tied"),
    "one row": (1, 6, 50, 0.5, "tied"),
    "no rows": (0, 4, 5, 0.5, "tied"),
}


@pytest.mark.parametrize("missing", WORDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_lengths_and_densities(shape, missing, engine):
    m, m2, n, missed, kind = SHAPES[shape]
    rng = np.random.default_rng(m)
    X, Y = (random_scores(rng, kind, rows, n, missing=missed) for rows in (m, m2))
    assert_equal(X, Y, missing)


@pytest.mark.parametrize("workspace", [2**10, 2**14])
@pytest.mark.parametrize("missing", WORDS)
def test_tiles_change_no_bit(missing, workspace, engine):
    rng = np.random.default_rng(0)
    X, Y = (random_scores(rng, "tied", m, 30, missing=0.8) for m in (9, 5))
    assert_equal(X, Y, missing, workspace=workspace)


def test_counts_are_those_of_the_oracle(engine):
    rng = np.random.default_rng(1)
    X, Y = (random_scores(rng, "tied", m, 12, missing=0.4) for m in (6, 5))
    for variant in "ab":
        K = kendall_gram(sparse(X, "pairwise"), sparse(Y, "pairwise"), variant=variant)
        np.testing.assert_allclose(K, oracle.gram(oracle.kendall, X, Y, variant=variant), rtol=0, atol=1e-15)


def test_words_a_row(engine):
    rng = np.random.default_rng(2)
    X, Y = (random_scores(rng, "tied", m, 20, missing=0.7) for m in (7, 4))
    x, y = ([("topk", "interleaving")[k] for k in rng.integers(0, 2, m)] for m in (7, 4))
    for variant in "ab":
        one = kendall_gram(X, missing=x, variant=variant)
        assert np.array_equal(kendall_gram(sparse(X, x), variant=variant), one)
        two = kendall_gram(X, Y, missing=x, missing_y=y, variant=variant)
        assert np.array_equal(kendall_gram(sparse(X, x), sparse(Y, y), variant=variant), two)
        assert np.array_equal(kendall_gram(sparse(X, "pairwise"), Y, missing=x, missing_y=y, variant=variant), two)
        assert np.array_equal(kendall_gram(X, sparse(Y, "topk"), missing=x, missing_y=y, variant=variant), two)


def test_partial_rankings_beside_complete_ones(engine):
    rng = np.random.default_rng(3)
    X, Y = random_scores(rng, "tied", 5, 9, missing=0.5), random_scores(rng, "tied", 4, 9)
    expected = kendall_gram(X, rank(Y), missing="topk")
    assert np.array_equal(kendall_gram(sparse(X, "topk"), rank(Y)), expected)
    assert np.array_equal(kendall_gram(sparse(X, "topk"), sparse(Y, "raise")), expected)
    with pytest.raises(ValueError, match="Y has NaN"):
        kendall_gram(sparse(X, "topk"), X, missing_y="raise")


def test_items_that_nobody_ranks_count_and_take_no_memory(engine):
    X = random_scores(np.random.default_rng(4), "tied", 6, 8, missing=0.4)
    few, many = np.full((6, 300), np.nan), sparse(X, "pairwise")
    few[:, [7, 9, 30, 31, 90, 150, 200, 299]] = X
    rows, places = many.rows.numpy(), np.array([7, 9, 30, 31, 90, 150, 200, 10**12 - 1])
    for missing in WORDS:
        assert np.array_equal(kendall_gram(sparse(few, missing)), kendall_gram(few, missing=missing))
        huge = SparseRankings.from_triples(
            rows, places[many.items.numpy()], many.ranks.numpy(), shape=(6, 10**12), missing=missing
        )
        K = kendall_gram(huge, variant="b")
        assert K.shape == (6, 6)
        if missing == "pairwise":
            assert np.array_equal(K, kendall_gram(X, missing=missing))


def test_lists_and_their_rankings_are_one(engine):
    rng = np.random.default_rng(5)
    lists = [rng.permutation(40)[: rng.integers(0, 40)].tolist() for _ in range(9)]
    for missing in ("interleaving", "topk"):
        K = partial_kendall_gram(lists, n_items=50, missing=missing)
        assert np.array_equal(K, kendall_gram(SparseRankings.from_orders(lists, 50, missing=missing)))
        assert np.array_equal(K, kendall_gram(from_orders(lists, 50), missing=missing))


@pytest.mark.parametrize("form", [scipy.sparse.csr_array, lambda X: torch.from_numpy(X).to_sparse_csr()])
@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
def test_sparse_matrices_are_taken(form):
    X = np.random.default_rng(6).integers(0, 4, (6, 9)).astype(np.float32)
    dense = np.where(X == 0, np.nan, X)
    for function in (kendall_gram, kendall_distance, mallows_gram):
        K = function(form(X), missing="pairwise")
        assert np.array_equal(K, function(dense, missing="pairwise"))
        assert np.asarray(K).dtype == np.float32
        assert isinstance(K, torch.Tensor) == isinstance(form(X), torch.Tensor)
    assert pair_counts(form(X), missing="pairwise").concordant.dtype in (np.int64, torch.int64)


def test_integers_give_the_default_dtype():
    X = np.array([[1, 2, 3, 0], [0, 2, 1, 1]])
    assert kendall_gram(scipy.sparse.csr_array(X), missing="pairwise").dtype == np.float64
    matrix = torch.from_numpy(X).to_sparse()
    assert kendall_gram(matrix, missing="pairwise").dtype == torch.float32
    half = torch.from_numpy(X).to(torch.float16).to_sparse()
    assert kendall_gram(half, missing="pairwise").dtype == torch.float16
    assert kendall_distance(half, missing="pairwise").dtype == torch.float32


def test_every_method_is_one():
    X = random_scores(np.random.default_rng(7), "tied", 9, 30, missing=0.8)
    for missing in WORDS:
        expected = kendall_gram(X, missing=missing)
        for method in ("signs", "inversions", "reference"):
            assert np.array_equal(kendall_gram(sparse(X, missing), method=method), expected)


def test_progress_changes_nothing(capfd):
    X = random_scores(np.random.default_rng(8), "tied", 9, 30, missing=0.8)
    assert np.array_equal(kendall_gram(sparse(X, "pairwise"), progress=True), kendall_gram(X, missing="pairwise"))
    assert "sparse_matrix" in capfd.readouterr().err


def test_batches_beside_sparse_rankings_are_refused():
    X = random_scores(np.random.default_rng(9), "total", 2, 3, 5, missing=0.3)
    S = sparse(X[0], "pairwise")
    with pytest.raises(ValueError, match=r"Y has shape \(2, 3, 5\); with sparse rankings on the other side"):
        kendall_gram(S, X)
    with pytest.raises(ValueError, match=r"X has shape \(2, 3, 5\); with sparse rankings on the other side"):
        kendall_gram(X, S, missing="pairwise")


def test_sides_that_do_not_fit():
    S = SparseRankings.from_orders([[0, 1]], 4, missing="pairwise")
    with pytest.raises(ValueError, match="X ranks 4 items and Y ranks 3"):
        kendall_gram(S, np.ones((1, 3)))
    with pytest.raises(ValueError, match="do not go together"):
        kendall_gram(S, SparseRankings.from_orders([[0, 1]], 4, missing="topk"))
    with pytest.raises(ValueError, match="gives expected signs, not counts"):
        pair_counts(SparseRankings.from_orders([[0, 1]], 4))
    with pytest.raises(ValueError, match="missing_y is for Y"):
        kendall_gram(S, missing_y="pairwise")


def common(x, y):
    return sum(is_ranked(a) and is_ranked(b) for a, b in zip(x, y, strict=True))


@given(
    score_array_pairs(dtypes=("float64",), layouts=("contiguous",), missing=True),
    st.integers(0, 6),
    st.sampled_from([np.nan, 0.0, -7.5]),
    st.sampled_from([0, 1, 2.5]),
)
def test_few_common_items_by_definition(pair, least, value, shrink):
    X, Y = pair
    for A, B in ((X, None), (X, Y)):
        c = oracle.gram(common, A, B)
        settings = {"missing": "pairwise", "min_common": least, "fill_value": value}
        for variant in "ab":
            K = oracle.gram(oracle.kendall, A, B, variant=variant)
            K = np.where(c < least, value, K * c / np.maximum(c + shrink, 1))
            got = kendall_gram(A, B, variant=variant, shrink=shrink, **settings)
            np.testing.assert_allclose(got, K, rtol=1e-14, atol=1e-15)
        D = np.where(c < least, value, oracle.gram(oracle.distance, A, B))
        np.testing.assert_array_equal(kendall_distance(A, B, **settings), D)


def test_the_diagonal_is_a_pair_as_any():
    X = np.array([[1.0, 2.0, np.nan, np.nan], [2.0, 1.0, 3.0, np.nan]])
    K = kendall_gram(X, missing="pairwise", min_common=3, fill_value=0, shrink=1)
    assert K.tolist() == [[0, 0], [0, 0.75]]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"min_common": -1}, ValueError, "min_common=-1"),
        ({"min_common": 1.5}, TypeError, "min_common must be an integer"),
        ({"min_common": True}, TypeError, "min_common must be an integer"),
        ({"fill_value": 0.0}, ValueError, "pass min_common too"),
        ({"min_common": 2, "fill_value": None}, TypeError, "fill_value must be a number"),
        ({"min_common": 2, "missing": "topk"}, ValueError, "min_common=2 speaks of .* missing='topk'"),
        ({"min_common": 2, "missing": "raise"}, ValueError, "min_common=2 speaks of .* missing='raise'"),
        ({"min_common": 0, "missing": "interleaving"}, ValueError, "min_common=0 speaks of"),
    ],
)
@pytest.mark.parametrize("function", [kendall_gram, kendall_distance])
def test_refusals_of_few_common_items(function, settings, error, message):
    for X in (np.ones((2, 3)), sparse(np.ones((2, 3)), "pairwise")):
        with pytest.raises(error, match=message):
            function(X, **{"missing": "pairwise"} | settings)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"shrink": -1}, ValueError, "shrink=-1"),
        ({"shrink": np.inf}, ValueError, "shrink=inf"),
        ({"shrink": "1"}, TypeError, "shrink must be a number"),
        ({"shrink": 1, "missing": "interleaving"}, ValueError, "shrink=1 speaks of .* missing='interleaving'"),
    ],
)
def test_refusals_of_shrinkage(settings, error, message):
    with pytest.raises(error, match=message):
        kendall_gram(np.ones((2, 3)), **{"missing": "pairwise"} | settings)


def test_few_rankings_of_few_items_go_item_by_item(monkeypatch):
    """And many of all items as matrices: which of the two is looked at here alone."""
    if why_missing("cpu"):
        pytest.skip("needs numba")
    made = []
    for name in ("_by_items", "_dense"):
        make = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, name=name, make=make: made.append(name) or make(*a))
    rng = np.random.default_rng(10)
    kendall_gram(sparse(random_scores(rng, "tied", 30, 500, missing=0.98), "pairwise"))
    kendall_gram(sparse(random_scores(rng, "tied", 30, 50, missing=0.1), "pairwise"))
    assert made == ["_by_items", "_dense"]
