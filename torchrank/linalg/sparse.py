"""Places in a matrix, and products with sparse matrices that have their entries there."""

import warnings
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from torchrank.ops.engines import why_missing


@dataclass(frozen=True)
class Places:
    """Index pairs as places in a matrix, sorted by row and column, repeated ones once."""

    shape: tuple[int, int]
    rows: Tensor  # (places,) int64
    columns: Tensor
    row_starts: Tensor  # (rows of the matrix + 1,) where the places of each row begin
    inverse: Tensor  # (q,) the place of each pair

    @classmethod
    def of(cls, pairs: Tensor, shape: tuple[int, int]) -> "Places":
        """The places of ``(2, q)`` int64 rows and columns in a matrix of that shape."""
        keys, inverse = torch.unique(pairs[0] * shape[1] + pairs[1], return_inverse=True)
        rows = keys // shape[1]
        return cls(shape, rows, keys % shape[1], _row_starts(rows, shape[0]), inverse)

    @property
    def mT(self) -> "Places":  # noqa: N802
        """The same places in the transposed matrix."""
        order = torch.argsort(self.columns, stable=True)
        rank = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
        rows, shape = self.columns[order], (self.shape[1], self.shape[0])
        return Places(shape, rows, self.rows[order], _row_starts(rows, shape[0]), rank[self.inverse])

    def __len__(self) -> int:
        """How many places there are."""
        return len(self.rows)

    def sum_repeated(self, v: Tensor) -> Tensor:
        """Values of pairs ``(q,)`` to values of places, those of repeated pairs added."""
        return v.new_zeros(len(self)).index_add_(0, self.inverse, v)

    def put(self, values: Tensor, matrix: Tensor) -> None:
        """Write values of places to a matrix."""
        matrix.index_put_((self.rows, self.columns), values)

    def take(self, matrix: Tensor) -> Tensor:
        """The entries of a matrix for each pair ``(q,)``."""
        return matrix[self.rows, self.columns][self.inverse]


def _row_starts(sorted_rows: Tensor, n_rows: int) -> Tensor:
    return torch.searchsorted(sorted_rows, torch.arange(n_rows + 1, device=sorted_rows.device))


class SparseProducts(Protocol):
    """Products of one dense matrix with sparse matrices that have their entries at one set of places."""

    def times_dense(self, weights: Tensor, out: Tensor) -> None:
        """``out = S @ dense``, where ``S`` has the weights at its places."""
        ...

    def sampled(self, left: Tensor, out: Tensor) -> None:
        """``out = left @ dense.mT`` at the places only."""
        ...


def has_sparse_products(device: torch.device) -> bool:
    """Whether :func:`sparse_products` works on a device."""
    return device.type in ("cpu", "cuda")


def sparse_products(places: Places, dense: Tensor) -> SparseProducts:
    """The products of ``dense``, one row for each column of the sparse matrix, by the engine of its device."""
    if dense.device.type == "cpu" and not why_missing("cpu"):
        from torchrank.cpu.edge_products import EdgeProducts  # numba takes half a second to import

        return EdgeProducts(places.row_starts, places.columns, dense)
    return TorchProducts(places, dense)


class TorchProducts:
    """By the sparse matrices of torch, on the CPU and on CUDA."""

    def __init__(self, places: Places, dense: Tensor) -> None:
        self._places, self._dense = places, dense.contiguous()

    def times_dense(self, weights: Tensor, out: Tensor) -> None:
        """See :class:`SparseProducts`."""
        torch.mm(self._matrix(weights), self._dense, out=out)

    def sampled(self, left: Tensor, out: Tensor) -> None:
        """See :class:`SparseProducts`."""
        zeros = self._matrix(torch.zeros_like(out))
        out.copy_(torch.sparse.sampled_addmm(zeros, left, self._dense.mT, beta=0.0).values())

    def _matrix(self, values: Tensor) -> Tensor:
        places = self._places
        with warnings.catch_warnings():  # torch announces once per process that its CSR tensors are new
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
            return torch.sparse_csr_tensor(
                places.row_starts, places.columns, values, places.shape, device=values.device, check_invariants=False
            )
