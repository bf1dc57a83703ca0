"""Partial orders: what preferences say and what follows from them."""

import numpy as np
import pytest
import scipy.sparse
import torch

import torchrank as tr
from torchrank import PartialOrders, estimators, from_preferences


def test_what_follows_is_added_and_nothing_else():
    orders = from_preferences([[(0, 1), (1, 2)], [], [(3, 0), (2, 0)]], n_items=4)
    pairs = [{tuple(pair) for pair in np.argwhere(one).tolist()} for one in orders.precedes.numpy()]
    assert pairs == [{(0, 1), (1, 2), (0, 2)}, set(), {(3, 0), (2, 0)}]
    assert (orders.shape, len(orders)) == ((3, 4), 3)


@pytest.mark.parametrize("seed", range(5))
def test_closure_is_that_of_paths(seed):
    rng = np.random.default_rng(seed)
    rank = rng.permutation(7)
    given = (rank[:, None] > rank) & (rng.random((7, 7)) < 0.25)
    paths, step = given.copy(), given.copy()
    for _ in range(7):
        step = (step.astype(int) @ given) > 0
        paths |= step
    np.testing.assert_array_equal(from_preferences(given[None]).precedes[0], paths)


def test_pairs_and_matrices_say_the_same():
    pairs = [[(0, 2), (2, 1)], [(1, 0)]]
    matrix = np.zeros((2, 3, 3), bool)
    for r, own in enumerate(pairs):
        for i, j in own:
            matrix[r, i, j] = True
    before = matrix.copy()
    forms = [
        pairs,
        matrix,
        torch.from_numpy(matrix),
        [np.array(own) for own in pairs],
        [torch.tensor(o) for o in pairs],
    ]
    for form in forms:
        assert torch.equal(from_preferences(form).precedes, from_preferences(pairs).precedes)
    np.testing.assert_array_equal(matrix, before)
    assert from_preferences(matrix).origin.numpy
    assert not from_preferences(torch.from_numpy(matrix)).origin.numpy


def test_items_and_rows():
    assert from_preferences([[(0, 1)]], n_items=5).shape == (1, 5)
    orders = from_preferences([[(0, 1)], [(1, 0)], [(1, 2)]])
    for rows in ([2, 0], np.array([2, 0]), torch.tensor([2, 0])):
        assert torch.equal(orders[rows].precedes, orders.precedes[[2, 0]])
    assert torch.equal(orders[1:].precedes, orders.precedes[1:])
    assert torch.equal(orders[-1].precedes, orders.precedes[2:])
    assert isinstance(orders[1], PartialOrders)
    assert repr(orders) == "PartialOrders(shape=(3, 3), device='cpu')"


@pytest.mark.parametrize(
    ("preferences", "n_items", "message"),
    [
        ([[(0, 1)], [(0, 1), (1, 2), (2, 0)]], None, r"ranker 1 go round in a circle: item 0 is preferred to 1 and 1"),
        ([[(0, 1), (1, 0)]], None, "ranker 0 go round in a circle: item 0 is preferred to 1"),
        ([[(0, 1)], [(2, 2)]], None, "ranker 1 compares item 2 with itself"),
        ([[(0, 3)]], 3, r"pair \(0, 3\) for ranker 0; items are numbered from 0 to 2"),
        ([[(0, -1)]], 3, r"pair \(0, -1\) for ranker 0; items are numbered from 0"),
        ([[(-1, 0)]], None, r"pair \(-1, 0\) for ranker 0"),
        ([[(0, 1, 2)]], None, r"\(0, 1, 2\) for ranker 0; expected pairs"),
        ([[]], None, "pass n_items="),
        (np.zeros((2, 3, 4), bool), None, r"shape \(2, 3, 4\); expected \(rankers, n, n\)"),
        (np.zeros((2, 3, 3), bool), 4, r"shape \(2, 3, 3\); expected \(rankers, 4, 4\)"),
    ],
)
def test_bad_preferences(preferences, n_items, message):
    with pytest.raises(ValueError, match=message):
        from_preferences(preferences, n_items)


@pytest.mark.parametrize(
    ("preferences", "message"),
    [([[(0, 1.5)]], "item 1.5 for ranker 0"), ([[(True, 0)]], "item True"), ("word", "preferences is str"), (3, "int")],
)
def test_preferences_of_other_types(preferences, message):
    with pytest.raises(TypeError, match=message):
        from_preferences(preferences)


def test_number_of_items_is_checked():
    with pytest.raises(ValueError, match="n_items=1 is too small"):
        from_preferences([[]], 1)


def test_what_takes_no_partial_orders_says_so():
    orders = from_preferences([[(0, 1)], [(2, 0)]], 4)
    for call in (tr.kendall_gram, tr.borda, estimators.MallowsMixture(2).fit, estimators.RankingKMeans(2).fit):
        with pytest.raises(TypeError, match="partial orders, which only fit_mallows and the module"):
            call(orders)
    for call in (
        lambda: tr.fit_mallows(orders, missing="topk"),
        lambda: tr.MallowsMixture(4, 1, missing="topk").fit(orders),
    ):
        with pytest.raises(ValueError, match="missing='topk' says that unranked items are below all ranked ones"):
            call()


def test_estimators_do_not_take_what_is_not_stored_for_zero():
    X = scipy.sparse.csr_matrix(np.eye(4))
    with pytest.raises(TypeError, match=r"sparse matrix.*np\.asarray\(torchrank\.rank\(X, missing='pairwise'\)\), not"):
        estimators.MallowsMixture(2, missing="topk").fit(X)
