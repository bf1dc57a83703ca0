"""The kernel between pairs of nodes as a linear operator, made from kernels between nodes and never formed.

Equations (7), (8) and (9) of Pahikkala, Airola, Stock, De Baets and Waegeman, "Efficient regularized least-squares
algorithms for conditional ranking on relational data", Machine Learning 93 (2013), doi:10.1007/s10994-013-5354-7.
"""

from __future__ import annotations

import math
from typing import Any, Generic

import torch
from torch import Tensor

from torchrank._cached import cached_property
from torchrank._docs import shares_arguments
from torchrank.conditional.arguments import as_kernel_values, check_like_kernel, edge_list, real_tensor, wrapper
from torchrank.conditional.descriptions import RELATION
from torchrank.conditional.relations import (
    check_relation,
    mirrored_weights,
    part_of,
    with_mirror_images,
    without_mirror_images,
)
from torchrank.linalg import kron_matmul
from torchrank.linalg.kronecker import VecTrickEngine
from torchrank.rankings.derivatives import needs_derivative, on_values
from torchrank.rankings.isolation import isolated
from torchrank.rankings.unmapped import refuse_mapped
from torchrank.typing import Array, Kind, Relation, Values


@isolated
@shares_arguments(relation=RELATION)
class PairKernel(Generic[Kind]):
    """The kernel matrix between pairs of nodes as a linear operator: between all pairs, or between edges of a list.

    Between the pairs ``(v, v')`` of row nodes and ``(w, w')`` of column nodes it has the entries ::

        ordinary    k(v, w) k(v', w')                               equation (7)
        symmetric   (k(v, w) k(v', w') + k(v, w') k(v', w)) / 2     equation (8)
        reciprocal  (k(v, w) k(v', w') - k(v, w') k(v', w)) / 2     equation (9)

    of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7. ``kernel @ F`` takes two products of dense matrices.
    Between q edges and q edges of p nodes it takes O(q p) multiplications by the generalized vec trick, or the two
    dense products where that is less. Derivatives always go by the dense products. Between lists of edges the
    operator keeps working memory, so one thread may use it at a time.

    Args:
        K_start: ``(r, m)`` node kernel of the starts; rectangular between new and training nodes.
        K_end: ``(s, n)`` node kernel of the ends; by default the same nodes.
        relation: {relation}
        out_edges: ``(q, 2)`` row nodes (start, end) of the pairs at which values are wanted, repeated or not; by
            default all ``r * s`` pairs.
        in_edges: ``(q', 2)`` column nodes of the pairs that have weights; by default all ``m * n``.

    Attributes:
        K_start: as a tensor.
        K_end: as a tensor; ``K_start`` itself for one set of nodes.
        relation: as given.

    Raises:
        TypeError: dtypes other than float32 and float64, or mixed ones; nodes of edges that are not integers.
        ValueError: not matrices; an unknown relation, or a symmetric or reciprocal one between two sets of nodes; an
            edge between nodes that do not exist.
    """

    def __init__(
        self: PairKernel[Array],
        K_start: Values[Array],
        K_end: Values[Array] | None = None,
        *,
        relation: Relation = "ordinary",
        out_edges: Values | None = None,
        in_edges: Values | None = None,
    ) -> None:
        check_relation(relation, K_start, K_end)
        if out_edges is not None and in_edges is not None:
            refuse_mapped("PairKernel between lists of edges", "it keeps its matrices for all products", K_start, K_end)
        self.K_start = _matrix(K_start, "K_start")
        self.K_end = self.K_start if K_end is None or K_end is K_start else _matrix(K_end, "K_end")
        check_like_kernel(self.K_end, "K_end", self.K_start)
        self.relation: Relation = relation
        self._kernels = K_start, K_end  # as they were given: tensors give tensors
        (r, m), (s, n), device = self.K_start.shape, self.K_end.shape, self.K_start.device
        self._out = None if out_edges is None else edge_list(out_edges, r, s, device, "out_edges")
        self._in = None if in_edges is None else edge_list(in_edges, m, n, device, "in_edges")

    @property
    def out_edges(self) -> Tensor | None:
        """``(q, 2)``; None for all pairs of row nodes."""
        return None if self._out is None else self._out.mT

    @property
    def in_edges(self) -> Tensor | None:
        """``(q', 2)``; None for all pairs of column nodes."""
        return None if self._in is None else self._in.mT

    @property
    def shape(self) -> tuple[int, int]:
        """How many pairs have values, and how many have weights."""
        (r, m), (s, n) = self.K_start.shape, self.K_end.shape
        return (r * s if self._out is None else self._out.shape[1], m * n if self._in is None else self._in.shape[1])

    @property
    def mT(self) -> PairKernel[Kind]:  # noqa: N802
        """The transposed operator."""
        end = None if self.K_end is self.K_start else self.K_end.mT
        edges = {"out_edges": self.in_edges, "in_edges": self.out_edges}
        transposed: Any = PairKernel(self.K_start.mT, end, relation=self.relation, **edges)
        transposed._kernels = self._kernels
        return transposed

    def matmul(self, F: Values[Kind]) -> Kind:
        """Multiply weights ``(..., m, n)`` of all pairs or ``(..., q')`` of the input edges; ``kernel @ F`` does too.

        Gives values ``(..., r, s)`` at all pairs or ``(..., q)`` at the output edges.
        """
        weights = as_kernel_values(F, "F", self.K_start)
        self._check_shape(weights)
        follows = any(map(needs_derivative, (self.K_start, self.K_end, weights)))
        if self._out is None or self._in is None or follows:
            # The symmetric and the antisymmetric part commute with the product, equation (12).
            values = kron_matmul(self.K_start, self.K_end, self.scatter(weights))
            values = values if self._out is None else values[..., self._out[0], self._out[1]]
        else:
            values = on_values(self._between_edges, weights)
        return wrapper(*self._kernels, F)(values)

    def __matmul__(self, F: Values[Kind]) -> Kind:
        """``kernel.matmul(F)``."""
        return self.matmul(F)

    def scatter(self, v: Tensor) -> Tensor:
        """Weights ``(..., q')`` of the input edges as ``(..., m, n)`` weights of all pairs.

        Those of repeated edges are added, and the part that the relation allows is taken, so that
        ``K_start @ scatter(v) @ K_end.mT`` has the operator's values at all pairs.
        """
        if self._in is None:
            return part_of(v, self.relation)
        zeros = v.new_zeros((self.K_start.shape[1], self.K_end.shape[1], *v.shape[:-1]))
        summed = zeros.index_put((self._in[0], self._in[1]), v.movedim(-1, 0), accumulate=True)
        return part_of(summed.movedim((0, 1), (-2, -1)), self.relation)

    def gather(self, A: Tensor) -> Tensor:
        """The transpose of :meth:`scatter`: takes ``(..., m, n)`` to ``(..., q')``."""
        part = part_of(A, self.relation)
        return part if self._in is None else part[..., self._in[0], self._in[1]]

    def to_dense(self) -> Kind:
        """The matrix itself, for small cases; where all pairs count, ``(i, j)`` is at place ``i * s + j``."""
        rows, columns = self._all_or_listed(self._out, 0), self._all_or_listed(self._in, 1)
        columns = with_mirror_images(columns, self.relation)
        ordinary = self.K_start[rows[0]][:, columns[0]] * self.K_end[rows[1]][:, columns[1]]
        return wrapper(*self._kernels)(without_mirror_images(ordinary, self.relation))

    @cached_property
    def _engine(self) -> VecTrickEngine:
        assert self._out is not None
        assert self._in is not None
        return VecTrickEngine(self.K_start, self.K_end, self._out, with_mirror_images(self._in, self.relation))

    def _between_edges(self, weights: Tensor) -> Tensor:
        leading, count = weights.shape[:-1], math.prod(weights.shape[:-1])
        if not leading:
            return self._engine(mirrored_weights(weights, self.relation))
        values = weights.new_empty((count, self.shape[0]))
        for value, weight in zip(values, weights.reshape(count, self.shape[1]), strict=True):
            value.copy_(self._engine(mirrored_weights(weight, self.relation)))
        return values.reshape(*leading, self.shape[0])

    def _all_or_listed(self, pairs: Tensor | None, axis: int) -> Tensor:
        if pairs is not None:
            return pairs
        counts = self.K_start.shape[axis], self.K_end.shape[axis]
        return torch.cartesian_prod(*(torch.arange(n, device=self.K_start.device) for n in counts)).mT

    def _check_shape(self, weights: Tensor) -> None:
        if self._in is None:
            expected, what = (self.K_start.shape[1], self.K_end.shape[1]), "a weight for each pair of column nodes"
        else:
            expected, what = (self._in.shape[1],), "a weight for each of in_edges"
        if tuple(weights.shape[-len(expected) :]) != expected:
            wanted = ", ".join(map(str, ("...", *expected)))
            raise ValueError(f"F has shape {tuple(weights.shape)}; expected ({wanted}), {what}")


def _matrix(K: Values, name: str) -> Tensor:
    tensor = real_tensor(K, name)
    if tensor.ndim != 2:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}; expected a matrix (row nodes, column nodes)")
    return tensor
