"""missing="interleaving" and "topk": the mean kernel over all total rankings that agree with a partial one."""

from itertools import product

import numpy as np
import pytest
import torch

from tests.oracles.partial import convolution_kernel, expected_signs
from torchrank import kendall_distance, kendall_gram, mallows_gram, pair_counts

N = np.nan
KINDS = ("interleaving", "topk")


def partial_rows(rng, m, n, levels=4):
    """Rows with ties and every number of ranked items, none included."""
    X = rng.integers(0, levels, (m, n)).astype(float)
    X[rng.random((m, n)) < rng.random((m, 1))] = N
    return X


def rows_of_every_length(rng, n):
    """For every number of ranked items a row without ties and one with, for each kind, and their kinds."""
    rows, kinds = [], []
    for k, levels, kind in product(range(n + 1), (n, 2), KINDS):
        row = np.full(n, N)
        values = rng.permutation(k) if levels == n else rng.integers(0, levels, k)
        row[rng.permutation(n)[:k]] = values
        rows.append(row)
        kinds.append(kind)
    return np.array(rows), kinds


def words(rng, m):
    return [KINDS[k] for k in rng.integers(0, 2, m)]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_equals_enumeration(n):
    rng = np.random.default_rng(n)
    X, kinds = rows_of_every_length(rng, n)
    E = np.array([expected_signs(row, kind) for row, kind in zip(X, kinds, strict=True)])
    expected = E @ E.T / E.shape[1]
    K = kendall_gram(X, missing=kinds)
    np.testing.assert_allclose(K, expected, rtol=0, atol=1e-14)
    assert np.array_equal(K, K.T)
    K = kendall_gram(X, X[:5], missing=kinds, missing_y=kinds[:5])
    np.testing.assert_allclose(K, expected[:, :5], rtol=0, atol=1e-14)
    norms = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    cosine = np.divide(expected, norms, out=np.zeros_like(expected), where=norms > 0)
    np.testing.assert_allclose(kendall_gram(X, missing=kinds, variant="b"), cosine, rtol=0, atol=1e-14)
    distance = ((E[:, None] - E[None]) ** 2).sum(-1) / 4
    D = kendall_distance(X, missing=kinds)
    np.testing.assert_allclose(D, distance, rtol=0, atol=1e-13)
    K = mallows_gram(X, missing=kinds, lam=0.7, normalize=True)
    np.testing.assert_allclose(K, np.exp(-0.7 * distance / E.shape[1]), rtol=1e-13)


@pytest.mark.parametrize(("kind_x", "kind_y"), list(product(KINDS, KINDS)))
def test_equals_the_literal_double_sum(kind_x, kind_y):
    rng = np.random.default_rng(7)
    for x, y in zip(partial_rows(rng, 12, 4), partial_rows(rng, 12, 4), strict=True):
        K = kendall_gram(x[None], y[None], missing=kind_x, missing_y=kind_y)
        assert K[0, 0] == pytest.approx(convolution_kernel(x, y, kind_x, kind_y), abs=1e-14)


def test_pairwise_is_no_kernel_and_interleaving_is():
    X = np.array([[1, 2, N, N, 1, 2], [1, 2, 1, 2, N, N], [N, N, 1, 2, 2, 1]])
    np.testing.assert_allclose(np.linalg.eigvalsh(kendall_gram(X, missing="pairwise")), [-1, 2, 2], atol=1e-14)
    expected = [0.4 / 75, 39.4 / 75, 39.4 / 75]  # 0.0053, 0.525, 0.525
    np.testing.assert_allclose(np.linalg.eigvalsh(kendall_gram(X, missing="interleaving")), expected, atol=1e-14)


def test_no_forced_unit_diagonal():
    X = np.array([[1.0, 2.0, N]])
    assert kendall_gram(X, missing="interleaving")[0, 0] == pytest.approx(11 / 27, abs=1e-15)
    assert kendall_gram(X, missing="topk")[0, 0] == 1


def test_sign_of_the_sum_over_items_that_one_row_lacks():
    K = kendall_gram([[2, 1, N, N]], [[N, 2, 1, N]], missing="interleaving")
    assert K[0, 0] == pytest.approx(-1 / 9, abs=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_complete_rankings_give_the_complete_kernel(kind):
    X = np.random.default_rng(0).integers(0, 5, (6, 9))
    for variant in "ab":
        np.testing.assert_allclose(
            kendall_gram(X, missing=kind, variant=variant), kendall_gram(X, variant=variant), rtol=0, atol=1e-15
        )


@pytest.mark.parametrize("method", ["signs", "inversions", "reference"])
def test_positive_semidefinite_and_the_same_with_every_engine(method):
    rng = np.random.default_rng(3)
    X, kinds = partial_rows(rng, 40, 70, levels=90), words(rng, 40)
    K = kendall_gram(X, missing=kinds, method=method)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    np.testing.assert_allclose(K, kendall_gram(X, missing=kinds), rtol=0, atol=1e-15)


@pytest.mark.parametrize("workspace", [2**10, 2**14, 2**16, 2**20])
def test_tiles_of_any_workspace_give_the_same(workspace):
    rng = np.random.default_rng(5)
    X, kinds = partial_rows(rng, 60, 20, levels=9).reshape(3, 20, 20), np.array(words(rng, 60)).reshape(3, 20)
    Y, kinds_y = partial_rows(rng, 13, 20, levels=9), words(rng, 13)
    K = kendall_gram(X, missing=kinds, workspace=workspace)
    assert np.array_equal(K, K.swapaxes(-1, -2))
    np.testing.assert_allclose(K, kendall_gram(X, missing=kinds), rtol=0, atol=1e-15)
    for variant in "ab":
        settings = {"missing": kinds, "missing_y": kinds_y, "variant": variant}
        K = kendall_gram(X, Y, workspace=workspace, **settings)
        np.testing.assert_allclose(K, kendall_gram(X, Y, **settings), rtol=0, atol=1e-15)


def test_rows_that_rank_nothing_or_one_item():
    X = np.array([[N, N, N, N], [N, 1, N, N], [1, 2, 3, 4]])
    K = kendall_gram(X, missing="interleaving")
    assert not K[:2].any()
    assert K[2, 2] == 1
    top = kendall_gram(X, missing="topk", variant="b")
    assert not top[0].any()
    assert top[1, 1] == pytest.approx(1, abs=1e-15)
    assert np.isfinite(mallows_gram(X, missing="topk")).all()


def test_batches_and_dtypes():
    X = torch.from_numpy(partial_rows(np.random.default_rng(1), 6, 5)).reshape(2, 3, 5)
    Y = X[0, :2]
    K = kendall_gram(X, Y, missing=["topk", "interleaving", "topk"], missing_y="interleaving")
    assert K.shape == (2, 3, 2)
    for batch in range(2):
        one = kendall_gram(X[batch], Y, missing=["topk", "interleaving", "topk"], missing_y="interleaving")
        torch.testing.assert_close(K[batch], one, rtol=0, atol=1e-15)
    assert kendall_gram(X.float(), missing="topk").dtype == torch.float32
    assert kendall_gram(X[:, :0], missing="topk").shape == (2, 0, 0)


def test_kinds_broadcast_over_batch_dimensions():
    rng = np.random.default_rng(2)
    X, Y = partial_rows(rng, 24, 5).reshape(2, 4, 3, 5), partial_rows(rng, 8, 5).reshape(4, 2, 5)
    kinds, kinds_y = np.array(words(rng, 24)).reshape(2, 4, 3), np.array(words(rng, 8)).reshape(4, 1, 2)[:, 0]
    K = kendall_gram(X, Y, missing=kinds, missing_y=kinds_y.tolist())
    D = kendall_distance(X, missing=kinds[:1])
    assert K.shape == (2, 4, 3, 2)
    for i, j in product(range(2), range(4)):
        x, y = torch.from_numpy(X[i, j]), torch.from_numpy(Y[j])
        one = kendall_gram(x, y, missing=kinds[i, j], missing_y=kinds_y[j].tolist())
        np.testing.assert_allclose(K[i, j], one, rtol=0, atol=1e-15)
        one = kendall_distance(x, missing=list(kinds[0, j]))
        np.testing.assert_allclose(D[i, j], one, rtol=0, atol=1e-14)
    one = X[0, 0]  # read in two ways in one call
    both = kendall_gram(one, missing=[["topk"] * 3, ["interleaving"] * 3])
    for K, kind in zip(both, ("topk", "interleaving"), strict=True):
        np.testing.assert_allclose(K, kendall_gram(one, missing=kind), rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda X: kendall_gram(X, missing=["topk"]),
            "missing has 1 words",
        ),
        (lambda X: kendall_gram(X, missing=["topk", "x"]), "missing has 'x' for row 1"),
        (
            lambda X: kendall_gram(X, X, missing="topk", missing_y="best"),
            "missing_y='best'",
        ),
        (
            lambda X: kendall_gram(X, missing=[["topk", "topk"], ["topk", None]]),
            r"missing has None for row \(1, 1\)",
        ),
        (
            lambda X: kendall_gram(X, missing=[["topk", "topk"], ["topk"]]),
            "missing has rows of different leng",
        ),
        (lambda X: kendall_gram(X, missing=torch.ones(2)), r"missing has 1.0 for row 0"),
        (
            lambda X: kendall_gram(np.stack([X, X]), missing=[["topk", "topk"]] * 3),
            r"batch dimensions \(3,\) of missing and \(3,\) of missing_y do not broadcast with \(2,\)",
        ),
        (lambda X: kendall_gram(X, missing="topk", missing_y="topk"), "missing_y is for Y, which is None"),
        (
            lambda X: kendall_gram(X, X, missing=["topk", "topk"]),
            "missing has a word for each row of X",
        ),
        (lambda X: kendall_gram(X, X, missing="pairwise", missing_y="topk"), "do not go together: 'pairwise'"),
        (lambda X: kendall_gram(X, X, missing="topk", missing_y="raise"), "Y has NaN"),
        (lambda X: kendall_gram(X, X, missing_y="topk"), "X has NaN"),
        (lambda X: pair_counts(X, missing="topk"), "missing='topk' gives expected signs, not counts"),
        (lambda X: kendall_distance(X, missing="topk", tie_penalty=0.5), "tie_penalty=0.25"),
        (
            lambda X: kendall_gram(X, missing="listwise"),
            "missing='listwise'",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.array([[1.0, 2.0, N], [3.0, 1.0, 2.0]]))
