import math

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import rankdata, spearmanr

from tests.oracles import losses as oracle
from torchrank import rank, soft_rank, soft_top_k, spearman_gram, spearman_loss

N, INF = math.nan, math.inf
RNG = np.random.default_rng(0)
X = RNG.normal(size=(5, 8))
X[0, 1], X[1, 2], X[1, 5], X[2, 0], X[3, 1] = N, INF, INF, -INF, X[3, 4]
Y = RNG.integers(0, 5, (5, 8)).astype(float)
Y[RNG.random(Y.shape) < 0.2] = N


def test_data_frames_keep_their_names():
    frame = pd.DataFrame([[1.0, 2, 4], [3, 1, np.nan]], index=["r", "s"], columns=["a", "b", "c"])
    for found, values in (
        (soft_rank(frame, 1.0), soft_rank(frame.to_numpy(), 1.0)),
        (soft_top_k(frame, 2, 1.0), soft_top_k(frame.to_numpy(), 2, 1.0)),
    ):
        assert found.index.tolist() == ["r", "s"]
        assert found.columns.tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(found.to_numpy(), values)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("window", [1e-9, 0.3, 1.7, 50.0])
def test_soft_rank_by_definition(window, noise):
    expected = [oracle.soft_rank(x, window, noise) for x in X]
    np.testing.assert_allclose(soft_rank(X, window, noise=noise), expected, rtol=0, atol=1e-14)


def test_a_small_window_gives_mid_ranks():
    x = RNG.integers(0, 4, (20, 9)).astype(float)
    np.testing.assert_array_equal(soft_rank(x, 1e-9), rankdata(x, axis=1))


def test_soft_ranks_add_up_and_masked_items_are_left_out():
    x = torch.randn(4, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    mask = torch.arange(50) < torch.tensor([50, 20, 1, 0])[:, None]
    ranks = soft_rank(x, 0.5, mask=mask)
    assert ranks.isnan().equal(~mask)
    sums = ranks.nansum(-1)
    torch.testing.assert_close(sums, torch.tensor([50 * 51 / 2, 20 * 21 / 2, 1, 0], dtype=torch.float64))
    torch.testing.assert_close(ranks[1, :20], soft_rank(x[1, :20], 0.5))
    (gradient,) = torch.autograd.grad((ranks.nan_to_num() ** 2).sum(), x)
    assert not gradient[~mask].any()
    assert gradient[mask].isfinite().all()


def test_spearman_by_definition():
    got = spearman_loss(X[1:], Y[1:], window=0.7, reduction="none")
    for k, (x, y) in enumerate(zip(X[1:], Y[1:], strict=True)):
        ranked = ~np.isnan(y)
        soft = oracle.soft_rank(x[ranked], 0.7)
        expected = 1 - np.corrcoef(soft, rankdata(y[ranked]))[0, 1]
        assert got[k] == pytest.approx(expected, abs=1e-14)


def test_a_small_window_gives_spearman():
    x, y = RNG.normal(size=(20, 9)), RNG.integers(0, 6, (20, 9)).astype(float)
    got = spearman_loss(x, y, window=1e-9, reduction="none")
    np.testing.assert_allclose(got, [1 - spearmanr(*rows).statistic for rows in zip(x, y, strict=True)], atol=1e-14)
    np.testing.assert_allclose(got, 1 - spearman_gram(x, y).diagonal(), atol=1e-14)


def test_rows_without_a_pair_have_no_part_in_the_mean():
    y = torch.tensor([[1.0, 2, 3], [N, N, N], [N, 1, N], [3, 3, 3]])
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    each = spearman_loss(x, y, window=0.5, reduction="none")
    assert each[1:].tolist() == [0, 0, 1]
    mean = spearman_loss(x, y, window=0.5)
    torch.testing.assert_close(mean, (each[0] + 1) / 2)
    assert not torch.autograd.grad(mean, x)[0][1:].any()
    tied = torch.zeros(1, 3, requires_grad=True)
    loss = spearman_loss(tied, y[:1], window=0.5)
    assert float(loss) == 1
    assert not torch.autograd.grad(loss, tied)[0].any()


def test_nan_that_counts_is_seen():
    x = torch.randn(2, 6)
    x[0, 3] = N
    assert spearman_loss(x, torch.arange(6.0).expand(2, 6), window=1.0, reduction="none").isnan().tolist() == [
        True,
        False,
    ]


def test_forms():
    x, y = torch.from_numpy(X[1:]), torch.from_numpy(Y[1:])
    rows = spearman_loss(x, y, window=0.5, reduction="none")
    assert torch.equal(spearman_loss(x, rank(y, missing="pairwise"), window=0.5, reduction="none"), rows)
    assert soft_rank(x.bfloat16(), 0.5).dtype == soft_rank(x.float(), 0.5).dtype == torch.float32
    assert isinstance(soft_rank(X, 0.5), np.ndarray)
    assert soft_rank(x.reshape(2, 2, 8), 0.5).shape == (2, 2, 8)
    for n in (0, 1):
        assert float(spearman_loss(torch.zeros(2, n), torch.zeros(2, n), window=1.0)) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: soft_rank(X, 0.0), "window=0.0"),
        (lambda: soft_rank(X, 1.0, noise="pink"), "noise='pink'"),
        (lambda: spearman_loss(X, Y, window=1.0, reduction="all"), "reduction='all'"),
        (lambda: spearman_loss(X, Y[:, :3], window=1.0), "target has shape"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
