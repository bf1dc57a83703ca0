import numpy as np
import pytest
import torch

from torchrank.linalg import sparse
from torchrank.linalg.sparse import SparsityPattern, TorchSparseEngine, sparse_engine


def random_pattern(rows, columns, q):
    return SparsityPattern.of(torch.stack([torch.randint(rows, (q,)), torch.randint(columns, (q,))]), (rows, columns))


def dense_matrix(pattern, values):
    matrix = values.new_zeros(pattern.shape)
    matrix[pattern.rows, pattern.columns] = values
    return matrix


def test_entries_are_sorted_and_distinct_and_remember_their_pairs():
    pairs = torch.tensor([[2, 0, 2, 0, 2], [1, 3, 0, 3, 1]])
    found = SparsityPattern.of(pairs, (3, 4))
    assert list(zip(found.rows.tolist(), found.columns.tolist(), strict=True)) == [(0, 3), (2, 0), (2, 1)]
    assert found.row_starts.tolist() == [0, 1, 1, 3]
    assert torch.equal(torch.stack([found.rows, found.columns])[:, found.inverse], pairs)
    assert found.sum_repeated(torch.tensor([1.0, 2, 4, 8, 16])).tolist() == [10, 4, 17]


def test_transposed_entries_are_those_of_swapped_pairs():
    pairs = torch.stack([torch.randint(7, (40,)), torch.randint(5, (40,))])
    swapped, transposed = SparsityPattern.of(pairs.flip(0), (5, 7)), SparsityPattern.of(pairs, (7, 5)).mT
    assert swapped.shape == transposed.shape
    for name in ("rows", "columns", "row_starts", "inverse"):
        assert torch.equal(getattr(swapped, name), getattr(transposed, name)), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("engine", [sparse_engine, TorchSparseEngine])
@pytest.mark.parametrize(("rows", "columns", "q"), [(1, 1, 1), (5, 3, 0), (6, 9, 30), (40, 30, 1000)])
@pytest.mark.parametrize("width", [1, 7, 511, 512, 513, 1100])  # panels have up to 512 columns
def test_products_equal_those_of_the_dense_matrix(dtype, engine, rows, columns, q, width):
    pattern = random_pattern(rows, columns, q)
    # small integers: every sum is exact in any order
    dense = torch.randint(-8, 9, (columns, width)).to(dtype)
    left, weights = torch.randint(-8, 9, (rows, width)).to(dtype), torch.randint(-8, 9, (len(pattern),)).to(dtype)
    products = engine(pattern, dense)
    out = torch.full((rows, width), torch.nan, dtype=dtype)
    products.spmm(weights, out=out)
    assert torch.equal(out, dense_matrix(pattern, weights) @ dense)
    values = torch.full((len(pattern),), torch.nan, dtype=dtype)
    products.sddmm(left, out=values)
    assert torch.equal(values, (left @ dense.mT)[pattern.rows, pattern.columns])


def test_the_number_of_threads_changes_no_bit():
    pattern, width, before = random_pattern(300, 200, 20_000), 600, torch.get_num_threads()
    dense, left = torch.randn(200, width), torch.randn(300, width)
    weights, results = torch.randn(len(pattern)), []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            products, out, values = sparse_engine(pattern, dense), torch.empty(300, width), torch.empty(len(pattern))
            products.spmm(weights, out=out)
            products.sddmm(left, out=values)
            results.append((out, values))
    finally:
        torch.set_num_threads(before)
    for out, values in results[1:]:
        assert torch.equal(out, results[0][0])
        assert torch.equal(values, results[0][1])


def test_one_node_with_nearly_all_edges():
    star = torch.stack([torch.zeros(500, dtype=torch.int64), torch.arange(500)])
    pattern = SparsityPattern.of(torch.cat([star, torch.tensor([[3], [7]])], dim=1), (4, 500))
    dense, left = torch.randn(500, 2100, dtype=torch.float64), torch.randn(4, 2100, dtype=torch.float64)
    values = torch.empty(len(pattern), dtype=torch.float64)
    sparse_engine(pattern, dense).sddmm(left, out=values)
    np.testing.assert_allclose(values, (left @ dense.mT)[pattern.rows, pattern.columns], rtol=0, atol=1e-11)


def test_without_numba_the_cpu_takes_the_products_of_torch(monkeypatch):
    monkeypatch.setattr(sparse, "why_missing", lambda device: "numba is not there")
    assert isinstance(sparse_engine(random_pattern(3, 3, 4), torch.ones(3, 2)), TorchSparseEngine)
