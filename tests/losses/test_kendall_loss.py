import math

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau, weightedtau

from tests.oracles import losses as oracle
from torchrank import kendall_gram, kendall_loss, rank, smoothed_kendall_gram, spearman_loss

N, INF = math.nan, math.inf
RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 9))
X[1, 2] = X[1, 5] = INF
X[2, 0], X[3, 1] = -INF, X[3, 4]
Y = RNG.integers(0, 5, (6, 9)).astype(float)
Y[RNG.random(Y.shape) < 0.2] = N
Y[4] = np.arange(9)
WEIGHTS = RNG.random((6, 9))
PAIRS = (lambda w: w + w.T)(np.triu(RNG.random((9, 9)), 1))


def by_rows(window, weight=lambda row: lambda i, j: 1.0, **words):
    return np.array(
        [
            oracle.kendall_loss(x, y, window, weight=weight(k), **words)
            for k, (x, y) in enumerate(zip(X, Y, strict=True))
        ]
    )


@pytest.mark.parametrize("variant", ["a", "b"])
@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("window", [1e-9, 0.3, 1.7, 50.0])
def test_by_definition(window, noise, variant):
    words = {"noise": noise, "variant": variant}
    got = kendall_loss(X, Y, window=window, reduction="none", **words)
    np.testing.assert_allclose(got, by_rows(window, **words), rtol=0, atol=1e-14)


@pytest.mark.parametrize("variant", ["a", "b"])
@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_weights_by_definition(noise, variant):
    words = {"noise": noise, "variant": variant}
    for scheme, weight in (
        ("sum", lambda row: lambda i, j: WEIGHTS[row, i] + WEIGHTS[row, j]),
        ("product", lambda row: lambda i, j: WEIGHTS[row, i] * WEIGHTS[row, j]),
    ):
        got = kendall_loss(X, Y, window=0.8, weights=WEIGHTS, scheme=scheme, reduction="none", **words)
        np.testing.assert_allclose(got, by_rows(0.8, weight, **words), rtol=0, atol=1e-14)
    expected = by_rows(0.8, lambda row: lambda i, j: PAIRS[i, j], **words)
    got = kendall_loss(X, Y, window=0.8, pairs=PAIRS, reduction="none", **words)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14)
    each = kendall_loss(X, Y, window=0.8, pairs=np.stack([PAIRS] * 6), reduction="none", **words)
    np.testing.assert_array_equal(each, got)


def test_of_complete_rankings_it_is_the_smoothed_kernel_with_a_small_window():
    x = torch.randn(5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    order = torch.rand(5, 8, generator=torch.Generator().manual_seed(1)).argsort(-1).double()  # apart by 1 at least
    K = smoothed_kendall_gram(x, order, window=0.7).diagonal()
    torch.testing.assert_close(kendall_loss(x, order, window=0.7, variant="a", reduction="none"), 1 - K)


def test_a_small_window_gives_tau_b():
    x, y = RNG.integers(0, 6, (20, 15)).astype(float), RNG.integers(0, 6, (20, 15)).astype(float)
    taus = [kendalltau(*rows).statistic for rows in zip(x, y, strict=True)]
    np.testing.assert_allclose(kendall_loss(x, y, window=1e-6, reduction="none"), 1 - np.array(taus), atol=1e-14)
    hard = 1 - kendall_gram(x, y).diagonal()
    np.testing.assert_allclose(kendall_loss(x, y, window=1e-6, reduction="none"), hard, atol=1e-15)


@pytest.mark.parametrize("additive", [True, False])
def test_a_small_window_gives_weighted_tau(additive):
    x, y = RNG.normal(size=(20, 12)), RNG.integers(0, 6, (20, 12)).astype(float)
    scheme = "sum" if additive else "product"
    got = kendall_loss(x, y, window=1e-9, weights="hyperbolic", scheme=scheme, reduction="none")
    for k in range(20):
        place = np.argsort(np.argsort(-y[k], kind="stable"))
        expected = weightedtau(x[k], y[k], rank=place, additive=additive).statistic
        assert got[k] == pytest.approx(1 - expected, abs=1e-13)


def test_hyperbolic_weights_are_of_the_items_that_count():
    y = np.where(np.isnan(Y), N, Y)
    got = kendall_loss(X, y, window=0.5, weights="hyperbolic", reduction="none")
    for k in range(len(y)):
        ranked = ~np.isnan(y[k])
        alone = kendall_loss(X[k, ranked], y[k, ranked], window=0.5, weights="hyperbolic")
        assert got[k] == pytest.approx(float(alone), abs=1e-14)


def test_masks_are_items_left_out():
    mask = RNG.random(X.shape) < 0.7
    got = kendall_loss(X, Y, window=0.5, mask=mask, reduction="none")
    np.testing.assert_array_equal(got, kendall_loss(X, np.where(mask, Y, N), window=0.5, reduction="none"))
    lost = np.where(mask, X, N)
    np.testing.assert_array_equal(got, kendall_loss(lost, Y, window=0.5, mask=mask, reduction="none"))
    np.testing.assert_array_equal(
        kendall_loss(X, Y, window=0.5, mask=mask[0], reduction="none"),
        kendall_loss(X, Y, window=0.5, mask=np.tile(mask[0], (6, 1)), reduction="none"),
    )


def test_padding_to_any_width_changes_no_bit_and_has_no_gradient():
    x, y = torch.tensor([[1.5, 0.3, 0.9]]), torch.tensor([[1.0, 2.0, 0.0]])
    expected = kendall_loss(x, y, window=1.0)
    for width in (4, 10, 1600):
        wide = torch.full((1, width), N).index_copy(1, torch.arange(3), x).requires_grad_()
        target = torch.zeros(1, width).index_copy(1, torch.arange(3), y)
        loss = kendall_loss(wide, target, window=1.0, mask=torch.arange(width) < 3)
        torch.testing.assert_close(loss, expected, rtol=0, atol=1e-7)
        (gradient,) = torch.autograd.grad(loss, wide)
        assert not gradient[:, 3:].any()
        assert gradient[:, :3].isfinite().all()


@pytest.mark.parametrize("variant", ["a", "b"])
def test_rows_without_a_pair_have_no_part_in_the_mean(variant):
    y = np.array([[1.0, 2, 3], [N, N, N], [N, 1, N], [3, 3, 3]])
    x = torch.from_numpy(RNG.normal(size=(4, 3))).requires_grad_()
    each = kendall_loss(x, torch.from_numpy(y), window=0.5, variant=variant, reduction="none")
    assert each[1:].tolist() == [0, 0, 1]
    mean = kendall_loss(x, torch.from_numpy(y), window=0.5, variant=variant)
    torch.testing.assert_close(mean, (each[0] + 1) / 2)
    (gradient,) = torch.autograd.grad(mean, x)
    assert not gradient[1:].any()
    total = kendall_loss(x, torch.from_numpy(y), window=0.5, variant=variant, reduction="sum")
    torch.testing.assert_close(total, each.sum())
    nothing = kendall_loss(x, torch.full((4, 3), N), window=0.5, variant=variant)
    assert float(nothing) == 0
    assert not torch.autograd.grad(nothing, x)[0].any()


def test_a_prediction_without_order_has_loss_1_and_by_b_no_gradient():
    x, y = torch.zeros(1, 4, requires_grad=True), torch.arange(4.0)[None]
    for variant in ("a", "b"):
        loss = kendall_loss(x, y, window=1.0, variant=variant)
        assert float(loss) == 1
        (gradient,) = torch.autograd.grad(loss, x)
        assert gradient.isfinite().all()
        assert bool(gradient.any()) == (variant == "a")


@pytest.mark.parametrize("n", [0, 1])
def test_lists_without_pairs(n):
    x = torch.randn(3, n, requires_grad=True)
    for weights in (None, "hyperbolic", torch.ones(n)):
        loss = kendall_loss(x, torch.zeros(3, n), window=1.0, weights=weights)
        assert float(loss) == 0
        assert not torch.autograd.grad(loss, x)[0].any()
    assert kendall_loss(x, torch.zeros(3, n), window=1.0, pairs=torch.zeros(n, n), reduction="none").tolist() == [0] * 3


def test_perfect_and_reversed_predictions_are_exactly_0_and_2():
    for n in (2, 3, 100, 2000):
        x = np.arange(float(n))
        assert float(kendall_loss(x, x, window=1.0)) == 0
        assert float(kendall_loss(-x, x, window=1.0)) == 2


def test_shapes_dtypes_and_containers():
    x, y = torch.from_numpy(X), torch.from_numpy(Y)
    rows = kendall_loss(x, y, window=0.5, reduction="none")
    assert rows.shape == (6,)
    assert torch.equal(
        kendall_loss(x.reshape(2, 3, 9), y.reshape(2, 3, 9), window=0.5, reduction="none").flatten(), rows
    )
    assert torch.equal(kendall_loss(x[0], y[0], window=0.5), rows[0])
    assert torch.equal(kendall_loss(x, rank(y, missing="pairwise"), window=0.5, reduction="none"), rows)
    assert isinstance(kendall_loss(X, Y, window=0.5), np.ndarray)
    for dtype, expected in ((torch.bfloat16, torch.float32), (torch.float32, torch.float32), (torch.float64,) * 2):
        leaf = x.to(dtype).requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            loss = kendall_loss(leaf, y, window=0.5)
            loss.backward()
        assert loss.dtype == expected
        assert leaf.grad is not None
        assert leaf.grad.dtype == dtype
        assert float(loss) == pytest.approx(float(kendall_loss(leaf.detach().double(), y, window=0.5)), rel=1e-6)


def test_nan_that_counts_is_seen_and_other_rows_are_not_touched():
    for n in (9, 1700):
        x = torch.randn(2, n, generator=torch.Generator().manual_seed(0))
        x[0, 4] = N
        for noise in ("uniform", "gaussian"):
            loss = kendall_loss(x, torch.arange(n).expand(2, n), window=1.0, noise=noise, reduction="none")
            assert loss.isnan().tolist() == [True, False]


def test_inputs_are_not_changed():
    x, y, w, mask = (torch.from_numpy(a).clone() for a in (X, Y, WEIGHTS, WEIGHTS > 0.3))
    before = [t.clone() for t in (x, y, w, mask)]
    kendall_loss(x, y, window=0.5, weights=w, mask=mask)
    assert all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(before, (x, y, w, mask), strict=True))


def test_weights_of_any_scale_and_one_that_is_all():
    loss = kendall_loss(X, Y, window=0.5, weights=WEIGHTS)
    for power in (-900, -60, 60, 900):
        assert kendall_loss(X, Y, window=0.5, weights=np.ldexp(WEIGHTS, power)) == loss
    alone = np.zeros(9)
    alone[0] = 1
    assert kendall_loss(X[:1], Y[4:5], window=0.5, weights=alone, scheme="product") == 0  # no pair has a weight
    assert kendall_loss(X[:1], Y[4:5], window=0.5, weights=alone) > 0


T = torch.zeros(2, 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: kendall_loss(T, T[:, :2], window=1.0),
            ValueError,
            r"target has shape \(2, 2\) and prediction \(2, 3\)",
        ),
        (lambda: kendall_loss(T, T, window=0.0), ValueError, "window=0.0"),
        (lambda: kendall_loss(T, T, window=torch.tensor(-1.0)), ValueError, "window=-1.0"),
        (lambda: kendall_loss(T, T, window=torch.ones(2)), ValueError, "window has shape"),
        (lambda: kendall_loss(T, T, window=1.0, noise="pink"), ValueError, "noise='pink'"),
        (lambda: kendall_loss(T, T, window=1.0, variant="c"), ValueError, "variant='c'"),
        (lambda: kendall_loss(T, T, window=1.0, reduction="all"), ValueError, "reduction='all'"),
        (lambda: kendall_loss(T, T, window=1.0, scheme="max"), ValueError, "scheme='max'"),
        (lambda: kendall_loss(T, T, window=1.0, weights="linear"), ValueError, "weights='linear'"),
        (
            lambda: kendall_loss(T, T, window=1.0, weights=[1, -1, 1]),
            ValueError,
            "weights has -1.0 for item 1 of row 0",
        ),
        (lambda: kendall_loss(T, T, window=1.0, weights=[1, N, 1]), ValueError, "weights has nan"),
        (lambda: kendall_loss(T, T, window=1.0, weights=[1, 1]), ValueError, r"weights has shape \(2,\)"),
        (lambda: kendall_loss(T, T, window=1.0, weights=T, pairs=T), ValueError, "weights and pairs"),
        (lambda: kendall_loss(T, T, window=1.0, pairs=T), ValueError, r"pairs has shape \(2, 3\)"),
        (lambda: kendall_loss(T, T, window=1.0, pairs=torch.ones(3, 3)), ValueError, "the diagonal must be 0"),
        (lambda: kendall_loss(T, T, window=1.0, mask=T), TypeError, "mask has dtype torch.float32"),
        (lambda: kendall_loss(T, T, window=1.0, mask=T[:, :2] > 0), ValueError, r"mask has shape \(2, 2\)"),
        (lambda: kendall_loss(T, T.to("meta"), window=1.0), ValueError, "prediction is on cpu and target on meta"),
        (lambda: kendall_loss(rank(T), T, window=1.0), TypeError, "prediction are prepared rankings"),
        (
            lambda: kendall_loss(torch.tensor(1.0), T, window=1.0),
            ValueError,
            r"prediction has shape \(\); expected \(\.\.\., items\)$",
        ),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_target_has_no_derivative_and_says_so():
    y = T.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="ranks of the target are piecewise constant"):
        kendall_loss(T, y, window=1.0).backward()


@pytest.mark.parametrize("loss", [kendall_loss, spearman_loss])
def test_lists_of_one_item_are_told_of(loss):
    with pytest.warns(UserWarning, match=r"prediction\[\.\.\., 0\]"):
        assert float(loss(torch.zeros(4, 3, 1), torch.ones(4, 3, 1), window=1.0)) == 0


@pytest.mark.parametrize("word", ["topk", "interleaving"])
@pytest.mark.parametrize("loss", [kendall_loss, spearman_loss])
def test_words_by_which_unranked_items_would_count_are_refused(loss, word):
    x, y = torch.tensor([[0.0, 1, 2]]), torch.tensor([[3.0, torch.nan, torch.nan]])
    with pytest.raises(ValueError, match=rf"target was ranked with missing='{word}', and a loss looks at pairs"):
        loss(x, rank(y, missing=word), window=1.0)
    assert float(loss(x, rank(y, missing="pairwise"), window=1.0)) == 0  # no pair counts
