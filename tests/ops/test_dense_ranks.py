"""Dense ranks from scores of every dtype, both implementations."""

import numpy as np
import pytest
import torch
from hypothesis import given

from tests.oracles.pair_counts import is_ranked, pair_classes
from tests.strategies import score_tensors
from torchrank.cpu import dense_ranks as engine
from torchrank.ops.dense_ranks import dense_ranks
from torchrank.rankings import ties


def oracle(row):
    """Rank of each score among the distinct scores of its row."""
    distinct = sorted({float(s) if isinstance(s, float) else s for s in row if is_ranked(s)})
    return [distinct.index(s) if is_ranked(s) else -1 for s in row]


@given(score_tensors(missing=True))
def test_ranks_and_strict_pairs_equal_the_oracle(scores):
    rows = scores.tolist()
    for ranks, strict in (dense_ranks(scores, "allow", "X"), ties.dense_ranks(ties.sortable(scores))):
        assert ranks.dtype == torch.int32
        assert strict.dtype == torch.int64
        assert ranks.tolist() == [oracle(row) for row in rows]
        assert strict.tolist() == [pair_classes(row, row).concordant for row in rows]


def test_both_zeros_are_one_score_and_infinities_are_ordinary():
    scores = torch.tensor([[0.0, -0.0, torch.inf, -torch.inf, torch.nan]])
    assert dense_ranks(scores, "allow", "X")[0].tolist() == [[1, 1, 2, 0, -1]]


def test_rows_are_ranked_in_blocks(monkeypatch):
    scores = torch.randint(0, 6, (2, 7, 9)).double()
    whole = ties.dense_ranks(scores)
    monkeypatch.setattr(ties, "_BLOCK_BYTES", 64 * 9 * 3)
    assert all(map(torch.equal, ties.dense_ranks(scores), whole))


def test_more_rows_than_one_tile():
    scores = torch.from_numpy(np.random.default_rng(0).integers(0, 50, (700, 200)))
    assert all(map(torch.equal, dense_ranks(scores, "allow", "X"), ties.dense_ranks(scores)))


@pytest.mark.parametrize("short", [0, 10**9], ids=["sorted", "counted"])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 99, 100, 101, 300])
def test_rows_that_are_sorted_or_counted(n, short, monkeypatch):
    monkeypatch.setattr(engine, "_SHORT", short)
    rng = np.random.default_rng(n)
    floats = np.concatenate([rng.normal(size=(9, n)), rng.integers(-2, 3, (9, n)) / 4, np.full((1, n), np.nan)])
    floats[rng.random(floats.shape) < 0.1] = np.nan
    floats[rng.random(floats.shape) < 0.1] = np.inf
    floats[rng.random(floats.shape) < 0.1] = -np.inf
    for scores in (floats, rng.integers(-(2**63), 2**63 - 1, (5, n)), rng.integers(0, 3, (5, n)).astype(bool)):
        ranks, strict = engine.dense_ranks(torch.from_numpy(scores))
        rows = scores.tolist()
        assert ranks.tolist() == [oracle(row) for row in rows]
        assert strict.tolist() == [int(np.sum(r[:, None] > r[r >= 0])) for r in ranks.numpy()]


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3), (3,), (2, 2, 2, 5)])
def test_any_number_of_batch_dimensions(shape):
    ranks, strict = dense_ranks(torch.zeros(shape), "allow", "X")
    assert ranks.shape == shape
    assert strict.shape == shape[:-1]
    assert not ranks.any()


def test_strict_pairs_beyond_int32():
    assert dense_ranks(torch.arange(70_000)[None], "allow", "X")[1].item() == 70_000 * 69_999 // 2


def test_unranked_items_are_refused_by_place_with_the_remedy():
    scores = torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [0.0, torch.nan]]])
    message = r"X has NaN .* at batch \(1,\), row 1, item 1"
    with pytest.raises(ValueError, match=message):
        dense_ranks(scores, "drop the row", "X")
    assert dense_ranks(scores, "allow", "X")[0][1, 1].tolist() == [0, -1]
