import pytest
import torch

from kernels_triton.prepare import prepare
from kernels_triton.signs import signs
from kernels_triton.tiles import SignTile
from tests.oracles.pair_counts import score_and_strict_gram
from tests.triton.interpret.guarded import Guarded, rankings

TILE = SignTile(32, 16, 16, chunk=32, warps=4, registers=128)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("kind", "b", "m", "m2", "n"),
    [
        ("total", 1, 5, None, 11),
        ("total", 1, 1, None, 2),
        ("total", 1, 35, None, 20),  # tiles on, above and below the diagonal
        ("tied", 1, 3, 18, 49),  # several chunks of first items
        ("partial", 2, 17, 3, 33),
        ("partial", 2, 17, None, 17),
        ("constant", 1, 2, 2, 5),
    ],
)
def test_counts_equal_the_oracle(kind, b, m, m2, n, strict):
    x = rankings(kind, b, m, n, seed=1)
    y = None if m2 is None else rankings(kind, b, m2, n, seed=2)
    out = Guarded((b, m, m if m2 is None else m2))
    signs(x, y, out.tensor, strict=strict, workspace=2**28, arch=90, tile=TILE)
    expected = score_and_strict_gram(x.numpy(), (x if y is None else y).numpy())[strict]
    assert (out.tensor.numpy() == expected).all()
    out.check()


@pytest.mark.parametrize("y_is_x", [True, False])
def test_blocks_of_rows_within_a_small_workspace(y_is_x):
    x = rankings("partial", 2, 40, 9, seed=3)
    y = None if y_is_x else rankings("tied", 2, 37, 9, seed=4)
    out = Guarded((2, 40, 40 if y_is_x else 37), torch.int64)
    signs(x, y, out.tensor, strict=False, workspace=2**10, arch=90, tile=TILE)
    assert (out.tensor.numpy() == score_and_strict_gram(x.numpy(), (x if y is None else y).numpy())[0]).all()
    out.check()


def test_ranks_in_single_precision(monkeypatch):
    monkeypatch.setattr("kernels_triton.pairwise.HALF_RANKS", 5)
    x = rankings("partial", 1, 6, 21, seed=5)
    out = Guarded((1, 6, 6))
    signs(x, None, out.tensor, strict=False, workspace=2**28, arch=90, tile=TILE)
    assert (out.tensor.numpy() == score_and_strict_gram(x.numpy(), x.numpy())[0]).all()


def test_strided_ranks_are_read_in_place():
    x = rankings("tied", 1, 12, 26, seed=6)[:, ::2, ::2]
    y = rankings("tied", 1, 13, 13, seed=7).mT
    out = Guarded((1, 6, 13))
    signs(x, y, out.tensor, strict=False, workspace=2**28, arch=90, tile=TILE)
    assert (out.tensor.numpy() == score_and_strict_gram(x.numpy(), y.numpy())[0]).all()


def test_numbers_for_ranks_are_ordered_finite_and_normal():
    ranks = torch.cat([torch.arange(0, 61_440, 487), torch.tensor([1, 30_719, 30_720, 61_439])]).sort().values
    values = prepare(ranks.int().reshape(1, 1, -1), 32, 144, torch.float16)[0, : len(ranks), 0].float()
    assert (values.diff() > 0).all()
    assert values.isfinite().all()
    assert (values.abs() >= torch.finfo(torch.float16).tiny).all()
