import pytest
import torch
import triton.language as tl

from kernels_triton import inversions
from kernels_triton.permutations import permutations
from kernels_triton.tiles import InversionTile
from tests.oracles.pair_counts import score_and_strict_gram
from tests.triton.interpret.guarded import Guarded, rankings

TILE = InversionTile(block=16, bins=4, warps=4)


def run(x, y, untied, workspace=2**28):
    out = Guarded((x.shape[0], x.shape[1], (x if y is None else y).shape[1]))
    inversions.score(x, y, out.tensor, untied=untied, workspace=workspace, tile=TILE)
    out.check()
    return out.tensor.numpy()


@pytest.mark.parametrize(
    ("kind", "b", "m", "m2", "n"),
    [
        ("total", 1, 3, None, 11),
        ("total", 1, 1, 1, 2),
        ("total", 2, 3, 2, 40),  # intervals one block wide
        ("total", 1, 2, None, 79),  # and two
        ("tied", 1, 2, None, 17),
        ("partial", 1, 2, 3, 20),
        ("constant", 1, 2, 1, 5),
    ],
)
def test_scores_equal_the_oracle(kind, b, m, m2, n):
    x = rankings(kind, b, m, n, seed=1)
    y = None if m2 is None else rankings(kind, b, m2, n, seed=2)
    expected = score_and_strict_gram(x.numpy(), (x if y is None else y).numpy())[0]
    assert (run(x, y, (kind == "total", kind == "total")) == expected).all()


@pytest.mark.parametrize("plain_side", [0, 1])
def test_ties_on_one_side_only(plain_side):
    sides = [rankings("partial", 1, 2, 18, seed=3), rankings("partial", 1, 2, 18, seed=4)]
    sides[plain_side] = rankings("total", 1, 2, 18, seed=5)
    expected = score_and_strict_gram(sides[0].numpy(), sides[1].numpy())[0]
    assert (run(*sides, untied=(plain_side == 0, plain_side == 1)) == expected).all()


@pytest.mark.parametrize(("kind", "m2"), [("tied", None), ("partial", None), ("partial", 1)])
def test_strict_pairs_equal_the_oracle(kind, m2):
    x = rankings(kind, 1, 2, 17, seed=6)
    y = None if m2 is None else rankings("tied", 1, m2, 17, seed=7)
    out = Guarded((1, 2, m2 or 2))
    inversions.strict(x, y, out.tensor, complete=kind == "tied", workspace=2**28, tile=TILE)
    assert (out.tensor.numpy() == score_and_strict_gram(x.numpy(), (x if y is None else y).numpy())[1]).all()
    out.check()


def test_blocks_of_rows_within_a_small_workspace():
    x, y = rankings("total", 2, 5, 9, seed=8), rankings("total", 2, 3, 9, seed=9)
    assert (run(x, y, (True, True), workspace=600) == score_and_strict_gram(x.numpy(), y.numpy())[0]).all()
    assert (run(x, None, (True, True), workspace=600) == score_and_strict_gram(x.numpy(), x.numpy())[0]).all()


def test_positions_beyond_half_precision_and_flushed_counts(monkeypatch):
    """What only a million items would reach: positions compared by interval and rest, counts summed in between."""
    monkeypatch.setattr("kernels_triton.pairwise.HALF_RANKS", 30)
    monkeypatch.setattr("kernels_triton.inversion_kernels.EXACT_HALF", tl.constexpr(2))
    x, y = rankings("total", 1, 1, 141, seed=10), rankings("total", 1, 2, 141, seed=11)
    assert (run(x, y, (True, True)) == score_and_strict_gram(x.numpy(), y.numpy())[0]).all()


def test_strided_ranks():
    x = rankings("total", 1, 9, 9, seed=12)[:, ::4].flip(1)
    assert (run(x, x.clone(), (True, True)) == score_and_strict_gram(x.numpy(), x.numpy())[0]).all()


def test_permutations_and_their_inverses_are_padded_within_bounds():
    ranks = torch.tensor([[[2, 0, 1, 3], [0, 1, 0, -1]]], dtype=torch.int32)
    up, down = permutations(ranks, untied=False, apart=True, multiple=8, sort_bytes=1)
    assert up.order.tolist() == [[1, 2, 0, 3, 4, 4, 4, 4], [0, 2, 1, 3, 4, 4, 4, 4]]
    assert down.order.tolist() == [[1, 2, 0, 3, 4, 4, 4, 4], [3, 2, 0, 1, 4, 4, 4, 4]]
    assert down.position.tolist() == [[2, 0, 1, 3, 4, 4, 4, 4], [2, 3, 1, 0, 4, 4, 4, 4]]
