"""The agreement kernel against plain torch in double precision, whose own test is one from the definition."""

from functools import partial

import pytest
import torch

from kernels_triton import agreement, tiles
from tests.triton.interpret.test_smoothed import GuardedTorch
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.reference.agreement import Terms, sums_and_slopes

CLOSE = 3e-6
# The difference of two infinite scores is thrown away, and those of finite ones may overflow.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow encountered in divide")


@pytest.fixture(autouse=True)
def small_tiles_and_guards(monkeypatch):
    monkeypatch.setattr(tiles, "AGREEMENT", tiles.AgreementTile(4, 8, chunk=16, warps=4))
    guarded = GuardedTorch()
    monkeypatch.setattr(agreement, "torch", guarded)
    yield
    guarded.check()


def rows_of(rows: int, n: int, seed: int = 0):
    """Scores, ranks with ties and items that do not count, weights, and a window for each row."""
    draw = partial(torch.rand, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    ranks = (draw(rows, n) * (n + 1)).int() - 1
    return (draw(rows, n) * 4).float(), ranks, draw(rows, n), draw(rows) + 0.2


def both(x, ranks, weights, window, noise, scheme):
    got = agreement.launch(x, ranks, weights, window, noise=noise, scheme=scheme, slopes=True)
    wanted = sums_and_slopes(x.double(), weights, window, Terms(ranks, noise, scheme), WORKSPACE, True, True)
    return got, wanted


@pytest.mark.parametrize("weighted", [None, "product", "sum"])
@pytest.mark.parametrize("noise", agreement.NOISES)
@pytest.mark.parametrize(("rows", "n"), [(1, 2), (3, 5), (2, 33), (5, 16)])
def test_sums_and_slopes(rows, n, noise, weighted):
    x, ranks, weights, window = rows_of(rows, n)
    got, wanted = both(x, ranks, weights if weighted else None, window, noise, weighted or "product")
    assert [part.dtype for part in got] == [torch.float64, torch.float32, torch.float64]
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one.double(), other.double(), rtol=CLOSE, atol=CLOSE * max(1, n))


def test_sums_alone():
    x, ranks, weights, window = rows_of(3, 21)
    whole = agreement.launch(x, ranks, weights, window, noise="uniform", scheme="sum", slopes=True)
    sums, of_x, of_window = agreement.launch(x, ranks, weights, window, noise="uniform", scheme="sum", slopes=False)
    assert torch.equal(sums, whole[0])
    assert (of_x.shape, of_window.shape) == ((3, 2, 0), (3, 0))


def test_infinite_equal_and_uncounted_scores():
    x, ranks, _, window = rows_of(4, 12, seed=1)
    x[0, :3] = torch.inf
    x[0, 3] = -torch.inf
    x[1] = 1.5
    x[2, 4:7], ranks[2, 4:7] = torch.nan, -1
    ranks[3] = -1
    got, wanted = both(x, ranks, None, window, "uniform", "product")
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one.double(), other.double(), rtol=CLOSE, atol=CLOSE)
    assert not got[1][0, :, :4].any()  # infinity does not move
    assert not got[0][3].any()


def test_what_is_not_a_number_and_counts_is_seen():
    x, ranks, _, window = rows_of(2, 9, seed=2)
    x[0, 4], ranks[0, 4] = torch.nan, 3
    got, _ = both(x, ranks, None, window, "gaussian", "product")
    assert got[0][0, :2].isnan().all()
    assert got[0].isfinite()[1].all()


@pytest.mark.parametrize("window", [1e-300, 1e300])
def test_windows_that_single_precision_lacks(window):
    x, ranks, _, _ = rows_of(2, 9, seed=3)
    got, wanted = both(x, ranks, None, torch.full((2,), window, dtype=torch.float64), "uniform", "product")
    torch.testing.assert_close(got[0], wanted[0], rtol=CLOSE, atol=CLOSE)
    assert all(part.isfinite().all() for part in got)


def test_no_rows_and_strides():
    x, ranks, weights, window = rows_of(0, 5)
    sums, of_x, _ = agreement.launch(x, ranks, weights, window, noise="uniform", scheme="sum", slopes=True)
    assert (sums.shape, of_x.shape) == ((0, 4), (0, 2, 5))
    x, ranks, weights, window = rows_of(6, 8)
    settings = {"noise": "uniform", "scheme": "sum", "slopes": True}
    plain = agreement.launch(x[:, 1::2].contiguous(), ranks[:, 1::2].contiguous(), weights[:, 1::2].contiguous(),
                             window, **settings)  # fmt: skip
    strided = agreement.launch(x[:, 1::2], ranks[:, 1::2], weights[:, 1::2], window, **settings)
    assert all(map(torch.equal, plain, strided))
    of_one = agreement.launch(x, ranks, None, window[:1].expand(6), **settings)
    assert of_one[0].shape == (6, 4)


def test_what_it_takes():
    x = torch.empty(3, 100)
    assert agreement.suits(x, "sum")
    assert not agreement.suits(x.double(), "sum")
    assert not agreement.suits(x, "pairs")
    assert not agreement.suits(torch.empty(1, dtype=torch.float32).expand(2**31, 2), "sum")
