"""The linear systems behind the iterative solvers: products with the edge kernel G and the centering matrix L.

With duals ``a`` indexed by edge, predictions on the training edges are ``G a``. The regression loss leads to
``(G + lam I) a = y``, the ranking loss to the symmetric ``(L G L + lam I) a = L y``, or reduced ``(L G + lam I) a = L
y``, which has the same solution since that is centered. Both are far better conditioned than the normal equations
``(G L G + lam G) a = G L y`` of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, Section 4.4.
"""

from typing import Protocol

import torch
from torch import Tensor

from torchrank.conditional.pair_kernel import PairKernel
from torchrank.conditional.relations import part_of
from torchrank.linalg import Eigen, as_double

_ROUNDING = 8  # epsilons of the labels' dtype: labels of one query that differ by no more are equal


class System(Protocol):
    """The coordinates of the iteration and the two products it needs."""

    def product(self, v: Tensor, lam: float, symmetric: bool) -> Tensor:
        """``L G L v + lam v`` if symmetric, else ``L G v + lam v``; the next call may overwrite the result."""
        ...

    def center(self, v: Tensor) -> Tensor:
        """``L v``; ``v`` itself for the regression loss."""
        ...

    def right_side(self, labels: Tensor) -> Tensor:
        """``L y`` in the coordinates of the iteration, 0 where the labels of a query differ by rounding only."""
        ...

    def to_duals(self, v: Tensor) -> Tensor:
        """From the coordinates of the iteration to duals, one for each edge."""
        ...

    def from_duals(self, duals: Tensor) -> Tensor:
        """The inverse of :meth:`to_duals`."""
        ...


class EdgeSystem:
    """Any list of edges, also repeated ones and loops.

    Args:
        kernel: between the edges and themselves, without gradients.
        groups: ``(q,)`` the node whose edges the ranking loss compares, or None for the regression loss.
    """

    def __init__(self, kernel: PairKernel, groups: Tensor | None) -> None:
        self._kernel, self._groups = kernel, groups
        if groups is not None:  # a node without edges has no group to divide by
            self._sizes = torch.bincount(groups, minlength=1).clamp(min=1).to(kernel.K_start.dtype)

    def product(self, v: Tensor, lam: float, symmetric: bool) -> Tensor:
        """See :class:`System`."""
        return self.center(self._kernel @ (self.center(v) if symmetric else v)).add_(v, alpha=lam)

    def center(self, v: Tensor) -> Tensor:
        """Subtract the mean over each group."""
        if self._groups is None:
            return v
        means = torch.zeros_like(self._sizes).index_add_(0, self._groups, v) / self._sizes
        return v - means[self._groups]

    def right_side(self, labels: Tensor) -> Tensor:
        """See :class:`System`."""
        if self._groups is None:
            return labels
        above = labels - self._of_groups(labels, "amin")  # without what a query's labels share, whose sums round
        return _without_rounding(
            self.center(above), self._of_groups(above, "amax"), self._of_groups(labels.abs(), "amax")
        )

    def _of_groups(self, v: Tensor, reduce: str) -> Tensor:
        """The least or largest value of every edge's group."""
        assert self._groups is not None
        found = torch.zeros_like(self._sizes).scatter_reduce(0, self._groups, v, reduce, include_self=False)
        return found[self._groups]

    def to_duals(self, v: Tensor) -> Tensor:
        """Nothing to do."""
        return v

    def from_duals(self, duals: Tensor) -> Tensor:
        """Nothing to do."""
        return duals


class CompleteSystem:
    """All pairs of nodes once, in the eigenbasis of the node kernels, where both products take O(m n) operations.

    ``G`` is diagonal there, centering subtracts a rank-one matrix, and swapping the nodes of all edges is still a
    transposition. The change of basis is orthogonal, so Krylov iterates are those of the original system.

    Args:
        start: all eigenpairs of the kernel of the start nodes.
        end: those of the end nodes; the same object for one set of nodes.
        query: the axis of the nodes whose edges the ranking loss compares, or None for the regression loss.
        relation: of the pair kernel.
    """

    def __init__(self, start: Eigen, end: Eigen, query: int | None, relation: str) -> None:
        self._V, self._U = start.vectors, end.vectors
        self._values = torch.outer(start.values, end.values)
        self._relation, self._query = relation, query
        ranked = self._U if query == 0 else self._V
        self._constant = ranked.sum(0) / len(ranked) ** 0.5
        self._work = torch.empty_like(self._values)  # products are bound by memory, so they allocate none
        self._part = torch.empty_like(self._values) if relation != "ordinary" else None

    def product(self, v: Tensor, lam: float, symmetric: bool) -> Tensor:
        """See :class:`System`; ``G`` multiplies by products of eigenvalues and keeps what the relation allows."""
        result = self._work.copy_(v)
        if symmetric:
            self._center_(result)
        result.mul_(self._values)
        result = part_of(result, self._relation, out=self._part)
        return self._center_(result).add_(v, alpha=lam)

    def center(self, v: Tensor) -> Tensor:
        """Take out the component along the constants, on the ranked side."""
        return self._center_(v.clone())

    def right_side(self, labels: Tensor) -> Tensor:
        """See :class:`System`; centered before the change of basis, which rounds what the labels of a query share."""
        if self._query is None:
            return self.from_duals(as_double(labels))
        ranked = 1 - self._query
        above = labels - labels.amin(ranked, keepdim=True)
        spread, size = above.amax(ranked, keepdim=True), labels.abs().amax(ranked, keepdim=True)
        centered = _without_rounding(as_double(above - above.mean(ranked, keepdim=True)), spread, size)
        return self.center(self.from_duals(centered))

    def _center_(self, v: Tensor) -> Tensor:
        c = self._constant
        if self._query == 0:
            v.addr_(v @ c, c, alpha=-1)
        elif self._query == 1:
            v.addr_(c, c @ v, alpha=-1)
        return v

    def to_duals(self, v: Tensor) -> Tensor:
        """Out of the eigenbasis."""
        return self._V @ v @ self._U.mT

    def from_duals(self, duals: Tensor) -> Tensor:
        """Into the eigenbasis."""
        return self._V.mT @ duals @ self._U


def _without_rounding(centered: Tensor, spread: Tensor, size: Tensor) -> Tensor:
    """Zeros where the spread of a query's labels is that of rounding, beside the size of the largest of them."""
    return torch.where(spread > _ROUNDING * torch.finfo(size.dtype).eps * size, centered, 0.0)
