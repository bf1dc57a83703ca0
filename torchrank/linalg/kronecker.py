"""Products with Kronecker matrices that are never formed: whole, and restricted to given pairs of indices.

Order of entries, here and everywhere in the package: the pair ``(i, j)`` is entry ``i * n + j``, so that
``kron(A, B) @ F.reshape(-1) == (A @ F @ B.T).reshape(-1)`` for a row-major ``F``.
"""

import itertools
import warnings
from typing import NamedTuple

import torch
from torch import Tensor

# One multiplication with a sparse factor takes about as long as this many with dense ones: 5.6e9 against 5e10 a second
# in float64 on 2 CPU cores with AVX-512, for 2,000 nodes and 2e4 or 2e5 pairs.
SPARSE_COST = 9


def kron_matmul(A: Tensor, B: Tensor, F: Tensor) -> Tensor:
    """``A F B^T``, that is ``kron(A, B)`` times ``F``, in the cheaper of the two orders.

    Args:
        A: ``(r, m)``.
        B: ``(s, n)``.
        F: ``(..., m, n)``.

    Returns:
        ``(..., r, s)``.
    """
    (r, m), (s, n) = A.shape, B.shape
    if r * n * (m + s) <= m * s * (n + r):
        return (A @ F) @ B.mT
    return A @ (F @ B.mT)


class Plan(NamedTuple):
    """How :class:`PairProduct` multiplies."""

    start_first: bool  # A before B
    sparse_first: bool  # the first product runs over the input pairs only, not over all
    sparse_then: bool  # the second product runs over the output pairs only


class PairProduct:
    """The operator ``R (A (x) B) C^T`` between lists of index pairs, by the generalised vec trick.

    ``R`` picks rows of the Kronecker product and ``C`` columns, so for vectors ``v`` of weights the result is

        u[e] = sum over e' of A[row_e, row_e'] B[column_e, column_e'] v[e'].

    With ``q`` pairs on either side and ``p`` nodes this takes O(q p) multiplications instead of O(q^2): ``M = V B^T``,
    then rows of ``A`` times columns of ``M``, or the same from the other side. Each of the two steps runs over the
    listed pairs or, with dense products, over all of them, whichever needs less by count. Pairs may repeat.
    The operator keeps working memory, so one thread may use it at a time.

    Args:
        A: ``(r, m)`` dense matrix.
        B: ``(s, n)`` dense matrix.
        out_pairs: ``(2, q)`` int64, rows of ``A`` and rows of ``B``.
        in_pairs: ``(2, q')`` int64, columns of ``A`` and columns of ``B``.
        plan: how to multiply; by default the cheapest plan.
    """

    def __init__(self, A: Tensor, B: Tensor, out_pairs: Tensor, in_pairs: Tensor, *, plan: Plan | None = None) -> None:
        self.A, self.B = A, B
        self._in = _Pattern(in_pairs, (A.shape[1], B.shape[1]))
        self._out = _Pattern(out_pairs, (A.shape[0], B.shape[0]))
        sparse = (True, False) if A.device.type in ("cpu", "cuda") else (False,)  # others have no sparse products
        plans = itertools.starmap(Plan, itertools.product((True, False), sparse, sparse))
        self.plan = plan or min(plans, key=self.cost)
        # Large results go to memory that is kept: page faults of fresh memory would cost more than the arithmetic.
        first, other = (A, B.shape[1]) if self.plan.start_first else (B, A.shape[1])
        self._half = A.new_empty((first.shape[0], other))
        if self.plan.sparse_first:
            self._first_transposed = first.mT.contiguous()
            self._half_transposed = A.new_empty((other, first.shape[0]))
        else:
            self._weights = A.new_zeros((first.shape[1], other))  # filled at the same places each time
        self._all = None if self.plan.sparse_then else A.new_empty((A.shape[0], B.shape[0]))

    def cost(self, plan: Plan) -> int:
        """Multiplications of one product, sparse ones counted :data:`SPARSE_COST` times."""
        (r, m), (s, n) = self.A.shape, self.B.shape
        q_in, q_out = SPARSE_COST * self._in.n_distinct, SPARSE_COST * self._out.n_distinct
        if plan.start_first:
            return (q_in * r if plan.sparse_first else r * m * n) + (q_out * n if plan.sparse_then else r * n * s)
        return (q_in * s if plan.sparse_first else m * n * s) + (q_out * m if plan.sparse_then else r * m * s)

    def __call__(self, v: Tensor) -> Tensor:
        """``(q',)`` weights of the input pairs to ``(q,)`` values at the output pairs."""
        weights = self._in.sum_duplicates(v)
        half = self._half_product(weights)
        left, right = (half, self.B.mT) if self.plan.start_first else (self.A, half.mT)
        if self._all is None:
            return self._out.sampled_product(left, right)
        return torch.mm(left, right, out=self._all)[self._out.rows, self._out.columns]

    def _half_product(self, weights: Tensor) -> Tensor:
        """``A V`` or ``B V^T``, with the weights at their places in ``V``."""
        if self.plan.sparse_first:
            V = self._in.sparse(weights, transposed=self.plan.start_first)
            torch.mm(V, self._first_transposed, out=self._half_transposed)
            return self._half.copy_(self._half_transposed.mT)
        V = self._weights if self.plan.start_first else self._weights.mT
        self._in.put(weights, V)
        return torch.mm(self.A if self.plan.start_first else self.B, self._weights, out=self._half)


class _Pattern:
    """Index pairs as places in a matrix, repeated ones stored once."""

    def __init__(self, pairs: Tensor, shape: tuple[int, int]) -> None:
        self.rows, self.columns = pairs
        self.shape = shape
        keys, self.inverse = torch.unique(self.rows * shape[1] + self.columns, return_inverse=True)
        self.n_distinct = len(keys)
        self._rows, self._columns = keys // shape[1], keys % shape[1]
        self._transposed: tuple[Tensor, Tensor, Tensor] | None = None
        self._crow = _row_starts(self._rows, shape[0])

    def sum_duplicates(self, v: Tensor) -> Tensor:
        return v.new_zeros(self.n_distinct).index_add_(0, self.inverse, v)

    def put(self, weights: Tensor, matrix: Tensor) -> None:
        """Write the weights to their places in a matrix."""
        matrix.index_put_((self._rows, self._columns), weights)

    def sparse(self, weights: Tensor, transposed: bool = False) -> Tensor:
        """A sparse matrix of the weights, or its transpose."""
        if not transposed:
            return _csr(self._crow, self._columns, weights, self.shape)
        if self._transposed is None:
            order = torch.argsort(self._columns, stable=True)
            self._transposed = order, _row_starts(self._columns[order], self.shape[1]), self._rows[order]
        order, crow, columns = self._transposed
        return _csr(crow, columns, weights[order], (self.shape[1], self.shape[0]))

    def sampled_product(self, left: Tensor, right: Tensor) -> Tensor:
        """``left @ right`` at these places only."""
        places = self.sparse(left.new_zeros(self.n_distinct))
        return torch.sparse.sampled_addmm(places, left, right, beta=0.0).values()[self.inverse]


def _row_starts(sorted_rows: Tensor, n_rows: int) -> Tensor:
    return torch.searchsorted(sorted_rows, torch.arange(n_rows + 1, device=sorted_rows.device))


def _csr(crow: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    with warnings.catch_warnings():  # torch announces once per process that its CSR tensors are new
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
        return torch.sparse_csr_tensor(crow, columns, values, shape, device=values.device, check_invariants=False)
