"""Integers beyond 2^53 where differences of scores count: as the same row less its least number, or refused."""

import math

import numpy as np
import pytest
import torch

import torchrank

SMALL = np.array([[0, 1, 3, 2, 7], [5, 5, 4, 0, 1]])
TARGET = np.array([[1, 2, 3, 4, 5], [3, 1, 2, 5, 4]])
STARTS = [
    (np.int64, 2**53),
    (np.int64, 2**60 + 1),
    (np.int64, -(2**63)),
    (np.uint64, 2**64 - 9),
    (np.uint64, 2**63 - 3),
]
CALLS = {
    "soft_rank": lambda x: torchrank.soft_rank(x, 2.0),
    "soft_top_k": lambda x: torchrank.soft_top_k(x, 2, 2.0),
    "kendall_loss": lambda x: torchrank.kendall_loss(x, TARGET, window=2.0, reduction="none"),
    "spearman_loss": lambda x: torchrank.spearman_loss(x, TARGET, window=2.0, reduction="none"),
    "smoothed_kendall_gram": lambda x: torchrank.smoothed_kendall_gram(x, window=2.0),
    "smoothed_features": lambda x: torchrank.smoothed_features(x, window=2.0),
    "smoothed_borda": lambda x: torchrank.smoothed_borda(x, window=2.0),
    "smoothed_copeland": lambda x: torchrank.smoothed_copeland(x, window=2.0, margin_window=0.5),
    "monte_carlo": lambda x: torchrank.monte_carlo_kendall_gram(
        x, window=2.0, n_samples=5, generator=torch.Generator().manual_seed(0)
    ),
}


def large(dtype: type, start: int) -> np.ndarray:
    return np.array([[start + int(v) for v in row] for row in SMALL], dtype)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(("dtype", "start"), STARTS)
def test_as_small_ones(call, dtype: type, start: int) -> None:
    wanted = call(SMALL)
    np.testing.assert_allclose(call(large(dtype, start)), wanted, rtol=1e-15)
    np.testing.assert_allclose(call(large(dtype, start).tolist()), wanted, rtol=1e-15)
    mixed = np.stack([large(dtype, start)[0].astype(object), SMALL[1].astype(object)])  # rows of any size
    np.testing.assert_allclose(call(mixed), wanted, rtol=1e-15)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_too_far_apart_is_refused(call) -> None:
    for row in ([0, 1, 2, 3, 2**53 + 1], [-(2**63), 0, 1, 2, 2**63 - 1], [2**64 - 1, 0, 1, 2, 3]):
        with pytest.raises(ValueError, match="in row 1 that float64 does not hold"):
            call([SMALL[0].tolist(), row])


def test_powers_of_two_are_held() -> None:
    x = np.array([[2**62, 2**61, -(2**63), 0, 2**10]])
    assert torchrank.soft_rank(x, 1.0).tolist() == [[5, 4, 1, 2, 3]]
    x = np.array([[2**63, 2**64 - 2**11, 0, 2**53]], np.uint64)
    assert torchrank.soft_rank(x, 1.0).tolist() == [[3, 4, 1, 2]]


@pytest.mark.parametrize("start", [2**53, 2**64, 10**30, -(10**30)])
def test_beside_gaps(start: int) -> None:
    x = [[start, start + 1, math.nan, start + 3]]
    assert torchrank.soft_rank(x, 1.0).tolist()[0][:2] == [1, 2]
    assert torchrank.kendall_loss([[start, start + 1]], [[2, 1]], window=1.0) == 2
    with pytest.raises(ValueError, match="x has integers in row 0 that float64 does not hold"):
        torchrank.soft_rank([[2**53 + 1, 0.5, 0, math.nan]], 1.0)


def test_padding_may_hold_anything() -> None:
    x = torch.tensor([[2**60 + 1, 2**60, 2**60 + 2, -(2**63)]])
    mask = torch.tensor([[True, True, True, False]])
    target = torch.tensor([[1.0, 2.0, math.nan, 3.0]])
    loss = torchrank.kendall_loss(x, target, window=1.0, mask=mask)
    assert float(loss) == 2
    assert torchrank.soft_rank(x, 1.0, mask=mask)[0, :3].tolist() == [2, 1, 3]
    assert torchrank.soft_top_k(x, 1, 0.5, mask=mask).tolist() == [[0, 0, 1, 0]]
    none = torch.zeros(1, 4, dtype=torch.bool)
    assert float(torchrank.kendall_loss(x, target, window=1.0, mask=none)) == 0


def test_transforms() -> None:
    x = torch.from_numpy(large(np.int64, 2**60 + 1))
    wanted = torchrank.soft_rank(x, 2.0)
    assert torch.equal(torch.func.vmap(lambda x: torchrank.soft_rank(x, 2.0))(x), wanted)
    compiled = torch.compile(lambda x: torchrank.soft_rank(x, 2.0), fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), wanted)
    far = torch.tensor([[0, 2**60 + 1]])
    for call in (compiled, torch.func.vmap(lambda x: torchrank.soft_rank(x, 2.0))):
        with pytest.raises(ValueError, match="float64 does not hold"):
            call(far)
