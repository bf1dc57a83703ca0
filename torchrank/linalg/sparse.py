"""Sparsity patterns, and the engines of products with sparse matrices that have one."""

import warnings
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from torchrank.ops.engines import why_missing


@dataclass(frozen=True)
class SparsityPattern:
    """Where a sparse matrix has its entries: index pairs sorted by row and column, repeated ones once."""

    shape: tuple[int, int]
    rows: Tensor  # (entries,) int64
    columns: Tensor  # (entries,) int64
    row_starts: Tensor  # (rows of the matrix + 1,) where the entries of each row begin
    inverse: Tensor  # (q,) the entry of each index pair

    @classmethod
    def of(cls, pairs: Tensor, shape: tuple[int, int]) -> "SparsityPattern":
        """The pattern of ``(2, q)`` int64 rows and columns in a matrix of that shape."""
        keys, inverse = torch.unique(pairs[0] * shape[1] + pairs[1], return_inverse=True)
        rows = keys // shape[1]
        return cls(shape, rows, keys % shape[1], _row_starts(rows, shape[0]), inverse)

    @property
    def mT(self) -> "SparsityPattern":  # noqa: N802
        """The pattern of the transposed matrix."""
        order = torch.argsort(self.columns, stable=True)
        rank = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
        rows, shape = self.columns[order], (self.shape[1], self.shape[0])
        return SparsityPattern(shape, rows, self.rows[order], _row_starts(rows, shape[0]), rank[self.inverse])

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self.rows)

    def sum_repeated(self, v: Tensor) -> Tensor:
        """Values of index pairs ``(q,)`` to values of entries, those of repeated pairs added."""
        return v.new_zeros(len(self)).index_add_(0, self.inverse, v)

    def put(self, values: Tensor, matrix: Tensor) -> None:
        """Write values of entries to a dense matrix."""
        matrix.index_put_((self.rows, self.columns), values)

    def take(self, matrix: Tensor) -> Tensor:
        """The values of a dense matrix for each index pair ``(q,)``."""
        return matrix[self.rows, self.columns][self.inverse]


def _row_starts(sorted_rows: Tensor, n_rows: int) -> Tensor:
    return torch.searchsorted(sorted_rows, torch.arange(n_rows + 1, device=sorted_rows.device))


class SparseEngine(Protocol):
    """Products of one dense matrix with sparse matrices of one pattern."""

    def spmm(self, weights: Tensor, out: Tensor) -> None:
        """Sparse times dense: ``out = S @ dense``, where ``S`` has the weights as its entries."""
        ...

    def sddmm(self, left: Tensor, out: Tensor) -> None:
        """Sampled product of dense matrices: ``out = left @ dense.mT`` at the entries of the pattern only."""
        ...


def has_sparse_engine(device: torch.device) -> bool:
    """Whether :func:`sparse_engine` works on a device."""
    return device.type in ("cpu", "cuda")


def sparse_engine(pattern: SparsityPattern, dense: Tensor) -> SparseEngine:
    """The engine for the device of ``dense``, which has one row for each column of the sparse matrices."""
    if dense.device.type == "cpu" and not why_missing("cpu"):
        from torchrank.cpu.sparse_products import NumbaSparseEngine  # numba takes half a second to import

        return NumbaSparseEngine(pattern.row_starts, pattern.columns, dense)
    return TorchSparseEngine(pattern, dense)


class TorchSparseEngine:
    """By the sparse matrices of torch, on the CPU and on CUDA; see :class:`SparseEngine`."""

    def __init__(self, pattern: SparsityPattern, dense: Tensor) -> None:
        self._pattern, self._dense = pattern, dense.contiguous()

    def spmm(self, weights: Tensor, out: Tensor) -> None:
        """``out = S @ dense``, where ``S`` has the weights as its entries."""
        torch.mm(self._matrix(weights), self._dense, out=out)

    def sddmm(self, left: Tensor, out: Tensor) -> None:
        """``out = left @ dense.mT`` at the entries of the pattern only."""
        zeros = self._matrix(torch.zeros_like(out))
        out.copy_(torch.sparse.sampled_addmm(zeros, left, self._dense.mT, beta=0.0).values())

    def _matrix(self, values: Tensor) -> Tensor:
        pattern = self._pattern
        with warnings.catch_warnings():  # torch announces once per process that its CSR tensors are new
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
            return torch.sparse_csr_tensor(
                pattern.row_starts, pattern.columns, values, pattern.shape, device=values.device, check_invariants=False
            )
