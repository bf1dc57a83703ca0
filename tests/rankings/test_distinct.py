import numpy as np
import pytest
import torch

from torchrank.rankings import distinct
from torchrank.rankings.distinct import distinct_rows


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32, torch.float64])
def test_against_numpy(dtype):
    rng = np.random.default_rng(0)
    rows = torch.from_numpy(rng.integers(0, 3, (40, 3))).to(dtype)
    found = distinct_rows(rows)
    expected, first, inverse = np.unique(rows.numpy(), axis=0, return_index=True, return_inverse=True)
    assert found.first.tolist() == first.tolist()
    assert found.inverse.tolist() == inverse.reshape(-1).tolist()
    assert torch.equal(rows[found.first][found.inverse], rows)
    weights = torch.from_numpy(rng.random(40))
    assert found.total(weights).tolist() == pytest.approx(np.bincount(inverse.reshape(-1), weights).tolist())
    assert len(found.first) == len(expected)


@pytest.mark.parametrize("bits", [1, 4, 62])  # of the numbers that columns are digits of
@pytest.mark.parametrize("scale", [1, 0.3, 2.0**50, 2.0**61, 1e300])
@pytest.mark.parametrize("values", [1, 2, 3, 300])
def test_numbers_of_any_size_against_numpy(values, scale, bits, monkeypatch):
    monkeypatch.setattr(distinct, "_BITS", bits)
    rng = np.random.default_rng(values)
    for shape in ((1, 1), (2, 12), (30, 1), (30, 12)):
        rows = scale * torch.from_numpy(rng.integers(0, values, shape) - values // 2).double()
        rows[0, 0] += 2.0**-20 * scale
        inverse = np.unique(rows.numpy(), axis=0, return_inverse=True)[1]
        assert distinct_rows(rows).inverse.tolist() == inverse.reshape(-1).tolist()


def test_large_numbers_that_differ_by_little():
    rows = torch.tensor([[2.0**53 + 2], [2.0**53], [-1.0], [2.0**53]], dtype=torch.float64)
    assert distinct_rows(rows).inverse.tolist() == [2, 1, 0, 1]
    assert distinct_rows(rows.long()[:, [0, 0]]).inverse.tolist() == [2, 1, 0, 1]
    assert distinct_rows(torch.tensor([[True], [False], [True]])).inverse.tolist() == [1, 0, 1]


def test_missing_values_and_zeros_are_equal_to_themselves():
    nan = float("nan")
    rows = torch.tensor([[nan, 1.0], [0.0, 1.0], [nan, 1.0], [-0.0, 1.0], [1.0, nan], [float("inf"), 1.0]])
    assert distinct_rows(rows).inverse.tolist()[:4] in ([1, 0, 1, 0], [0, 1, 0, 1])
    assert len(distinct_rows(rows).first) == 4


def test_rows_of_a_graph_are_numbers(recwarn):
    rows = torch.tensor([[1.0], [2.0], [1.0]], requires_grad=True)
    assert distinct_rows(rows).inverse.tolist() == [0, 1, 0]
    assert not recwarn.list


def test_no_rows():
    found = distinct_rows(torch.empty(0, 3))
    assert found.first.shape == found.inverse.shape == (0,)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda():
    rows = torch.randint(0, 3, (50, 3), generator=torch.Generator().manual_seed(0))
    found = distinct_rows(rows.cuda())
    assert torch.equal(found.inverse.cpu(), distinct_rows(rows).inverse)
    assert torch.equal(found.first.cpu(), distinct_rows(rows).first)
