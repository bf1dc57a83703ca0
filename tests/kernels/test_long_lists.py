"""partial_kendall_gram: lists of items against the kernel of the same rankings as score matrices."""

import warnings

import numpy as np
import pytest
import torch

from torchrank import from_orders, kendall_gram, partial_kendall_gram

KINDS = ("interleaving", "topk")


def random_lists(rng, m, n):
    return [rng.permutation(n)[: rng.integers(0, n + 1)].tolist() for _ in range(m)]


@pytest.mark.parametrize("workspace", [1 << 10, 1 << 27], ids=["by tables", "dense"])
@pytest.mark.parametrize("n", [2, 5, 30, 90])
@pytest.mark.parametrize("variant", ["a", "b"])
def test_equals_the_kernel_of_score_matrices(n, variant, workspace):
    rng = np.random.default_rng(n)
    lists, others = random_lists(rng, 9, n), random_lists(rng, 4, n)
    kinds, kinds2 = ([KINDS[k] for k in rng.integers(0, 2, m)] for m in (9, 4))
    X, Y = from_orders(lists, n), from_orders(others, n)
    K = partial_kendall_gram(lists, n_items=n, missing=kinds, variant=variant, workspace=workspace)
    np.testing.assert_allclose(K, kendall_gram(X, missing=kinds, variant=variant), rtol=0, atol=1e-14)
    assert np.array_equal(K, K.T)
    K = partial_kendall_gram(
        lists, others, n_items=n, missing=kinds, missing_y=kinds2, variant=variant, workspace=workspace
    )
    expected = kendall_gram(X, Y, missing=kinds, missing_y=kinds2, variant=variant)
    np.testing.assert_allclose(K, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_items_that_no_list_names_count(kind):
    lists = [[7, 3, 90_000], [3, 7], [90_000]]
    K = partial_kendall_gram(lists, n_items=100_000, missing=kind, workspace=1 << 10)
    assert np.array_equal(K, partial_kendall_gram(lists, n_items=100_000, missing=kind))
    small = [[0, 1, 2], [1, 0], [2]]  # the same lists out of their own items, and 997 more
    expected = kendall_gram(from_orders(small, 1000), missing=kind)
    np.testing.assert_allclose(partial_kendall_gram(small, n_items=1000, missing=kind), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("workspace", [2**10, 2**15, 2**27])
def test_without_an_engine_for_lists_tiles_of_dense_rankings_do(workspace, monkeypatch):
    rng = np.random.default_rng(1)
    lists = [rng.choice(1000, rng.integers(0, 9), replace=False).tolist() for _ in range(40)]
    kinds = [("topk", "interleaving")[k] for k in rng.integers(0, 2, 40)]
    expected = partial_kendall_gram(lists, n_items=10**6, missing=kinds)
    cross = partial_kendall_gram(lists, lists[:7], n_items=10**6, missing="topk", missing_y="interleaving", variant="b")
    monkeypatch.setattr("torchrank.ops.sparse_matrix.why_missing", lambda device_type: "gone")
    K = partial_kendall_gram(lists, n_items=10**6, missing=kinds, workspace=workspace)
    assert np.array_equal(K, K.T)
    np.testing.assert_allclose(K, expected, rtol=0, atol=1e-15)
    settings = {"missing": "topk", "missing_y": "interleaving", "variant": "b", "workspace": workspace}
    K = partial_kendall_gram(lists, lists[:7], n_items=10**6, **settings)
    np.testing.assert_allclose(K, cross, rtol=0, atol=1e-15)


def test_millions_of_items_take_no_matrix():
    rng = np.random.default_rng(0)
    lists = np.stack([rng.choice(10_000_000, 50, replace=False) for _ in range(300)])
    K = partial_kendall_gram(lists, n_items=10_000_000, missing="topk", variant="b", workspace=1 << 20)
    np.testing.assert_allclose(np.diag(K), 1, rtol=1e-15)
    assert np.linalg.eigvalsh(K).min() > -1e-12


def test_tensors_stay_tensors_and_nothing_is_an_empty_matrix():
    orders = torch.tensor([[1, 0, -1], [2, 1, 0]])
    K = partial_kendall_gram(orders, n_items=4)
    assert isinstance(K, torch.Tensor)
    assert K.dtype == torch.float64
    assert orders.tolist() == [[1, 0, -1], [2, 1, 0]]
    assert partial_kendall_gram([], [[0]], n_items=4).shape == (0, 1)
    nothing = partial_kendall_gram([[], []], n_items=4)
    assert not nothing.any()
    assert not np.signbit(nothing).any()
    for one, other in ((orders, orders.numpy()), (orders.numpy(), orders)):
        K = partial_kendall_gram(one, other, n_items=4)
        assert isinstance(K, torch.Tensor)
        torch.testing.assert_close(K, partial_kendall_gram(orders, n_items=4), rtol=0, atol=1e-15)


def test_more_items_than_integers_count_pairs_of():
    K = partial_kendall_gram([[0, 10**12]], n_items=10**13, missing="topk")
    assert K[0, 0] == pytest.approx((1 + 2 * (10**13 - 2)) / (10**13 * (10**13 - 1) / 2), rel=1e-15)


def test_layouts_without_warnings():
    orders = torch.arange(6, dtype=torch.int32).reshape(3, 2).T
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        K = partial_kendall_gram(orders, n_items=6)
    assert torch.equal(K, partial_kendall_gram(orders.contiguous(), n_items=6))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: partial_kendall_gram([[0, 5]], n_items=5), ValueError, "orders has 5 at row 0, place 1"),
        (lambda: partial_kendall_gram([[0]], [[1, 1]], n_items=5), ValueError, "orders_y lists item 1 twice in row 0"),
        (lambda: partial_kendall_gram([[0]], n_items=1), ValueError, "n_items=1"),
        (
            lambda: partial_kendall_gram([[0]], n_items=5, missing="best"),
            ValueError,
            "missing='best'",
        ),
        (
            lambda: partial_kendall_gram([[0]], n_items=5, missing=["topk"] * 2),
            ValueError,
            "missing has 2 words",
        ),
        (lambda: partial_kendall_gram([[0]], n_items=5, missing=[["topk"]]), ValueError, r"missing has shape \(1, 1\)"),
        (
            lambda: partial_kendall_gram([[0]], n_items=5, missing_y="topk"),
            ValueError,
            "missing_y is for orders_y, which is None",
        ),
        (
            lambda: partial_kendall_gram([[0]], [[0]], n_items=5, missing=["topk"]),
            ValueError,
            "pass missing_y for those of",
        ),
        (lambda: partial_kendall_gram([[0]], n_items=2**64), ValueError, "n_items=18446744073709551616"),
        (lambda: partial_kendall_gram([[0]], n_items=5, workspace=0), ValueError, "workspace=0"),
        (lambda: partial_kendall_gram(np.array([[0.5]]), n_items=5), TypeError, "orders has dtype"),
        (lambda: partial_kendall_gram([[0]], n_items=5, variant="c"), ValueError, "variant='c'"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
