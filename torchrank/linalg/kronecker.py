"""Products with Kronecker matrices that are never formed, and their engine where only some index pairs count.

Order of entries, here and everywhere in the package: the pair ``(i, j)`` is entry ``i * n + j``, so that
``kron(A, B) @ F.reshape(-1) == (A @ F @ B.T).reshape(-1)`` for a row-major ``F``.
"""

import itertools
from typing import NamedTuple

import torch
from torch import Tensor

from torchrank.linalg.sparse import SparsityPattern, has_sparse_engine, sparse_engine
from torchrank.rankings.isolation import isolated

# One multiplication with a sparse factor takes about as long as this many with dense ones: 1.7e10 against 4.8e10 a
# second in float64 on 2 CPU cores with AVX-512 for 2,000 nodes and 1e6 pairs, 1.2e10 for 1e5 pairs.
SPARSE_COST = 4


@isolated
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
    """How :class:`VecTrickEngine` multiplies."""

    start_first: bool  # A before B
    sparse_first: bool  # the first product runs over the input pairs only, not over all
    sparse_then: bool  # the second product runs over the output pairs only


class VecTrickEngine:
    """``R (A (x) B) C^T`` times vectors by the generalized vec trick; the engine of :class:`torchrank.PairKernel`.

    ``R`` picks rows of the Kronecker product and ``C`` columns, so for vectors ``v`` of weights the result is

        u[e] = sum over e' of A[row_e, row_e'] B[column_e, column_e'] v[e'].

    With ``q`` pairs on either side and ``p`` nodes this takes O(q p) multiplications instead of O(q^2): ``M = A V``,
    then rows of ``M`` times rows of ``B``, or the same from the other side. Each of the two steps runs over the listed
    pairs or, with dense products, over all of them, whichever needs less by count. Pairs may repeat. No gradient
    passes through. The engine keeps working memory, so one thread may use it at a time.

    Args:
        A: ``(r, m)`` dense matrix.
        B: ``(s, n)`` dense matrix.
        out_pairs: ``(2, q)`` int64, rows of ``A`` and rows of ``B``.
        in_pairs: ``(2, q')`` int64, columns of ``A`` and columns of ``B``.
        plan: how to multiply; by default the cheapest plan.
    """

    def __init__(self, A: Tensor, B: Tensor, out_pairs: Tensor, in_pairs: Tensor, *, plan: Plan | None = None) -> None:
        A, B = A.detach(), B.detach()
        inputs = SparsityPattern.of(in_pairs, (A.shape[1], B.shape[1]))
        outputs = SparsityPattern.of(out_pairs, (A.shape[0], B.shape[0]))
        self.plan = plan or cheapest_plan(inputs, outputs, has_sparse_engine(A.device))
        if self.plan.start_first:
            inputs = inputs.mT
        else:  # the same from the other side: exchanging the sides transposes V and the result
            A, B, outputs = B, A, outputs.mT
        self._A, self._B, self._inputs, self._outputs = A, B, inputs, outputs  # inputs are the pattern of V^T
        # Large results go to memory that is kept: page faults of fresh memory would cost more than the arithmetic.
        self._half = A.new_empty((A.shape[0], B.shape[1]))
        if self.plan.sparse_first:
            self._first = sparse_engine(inputs, A.mT)
            self._half_transposed = A.new_empty((B.shape[1], A.shape[0]))
        else:
            self._V_transposed = A.new_zeros(inputs.shape)  # filled at the same entries each time
        if self.plan.sparse_then:
            self._then = sparse_engine(outputs, B)
            self._sampled = A.new_empty(len(outputs))
        else:
            self._all = A.new_empty(outputs.shape)

    def __call__(self, v: Tensor) -> Tensor:
        """``(q',)`` weights of the input pairs to ``(q,)`` values at the output pairs, in memory of their own."""
        weights = self._inputs.sum_repeated(v.detach())
        if self.plan.sparse_first:
            self._first.spmm(weights, out=self._half_transposed)
            self._half.copy_(self._half_transposed.mT)
        else:
            self._inputs.put(weights, self._V_transposed)
            torch.mm(self._A, self._V_transposed.mT, out=self._half)
        if self.plan.sparse_then:
            self._then.sddmm(self._half, out=self._sampled)
            return self._sampled[self._outputs.inverse]
        torch.mm(self._half, self._B.mT, out=self._all)
        return self._outputs.take(self._all)


def cheapest_plan(inputs: SparsityPattern, outputs: SparsityPattern, sparse: bool = True) -> Plan:
    """The plan of least :func:`plan_cost`, among dense ones only unless ``sparse``."""
    choices = (True, False) if sparse else (False,)
    plans = itertools.starmap(Plan, itertools.product((True, False), choices, choices))
    return min(plans, key=lambda plan: plan_cost(plan, inputs, outputs))


def plan_cost(plan: Plan, inputs: SparsityPattern, outputs: SparsityPattern) -> int:
    """Multiplications of one product, sparse ones counted :data:`SPARSE_COST` times."""
    (m, n), (r, s) = inputs.shape, outputs.shape
    if not plan.start_first:
        m, n, r, s = n, m, s, r
    first = SPARSE_COST * len(inputs) * r if plan.sparse_first else r * m * n
    return first + (SPARSE_COST * len(outputs) * n if plan.sparse_then else r * n * s)
