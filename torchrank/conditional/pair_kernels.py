"""Kernels between pairs of nodes, made from kernels between nodes and never formed.

Equations (7), (8) and (9) of Pahikkala, Airola, Stock, De Baets and Waegeman, "Efficient regularized least-squares
algorithms for conditional ranking on relational data", Machine Learning 93 (2013), doi:10.1007/s10994-013-5354-7.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from torchrank.conditional.arguments import (
    RELATIONS,
    Array,
    check_alike,
    edge_labels,
    edge_list,
    real_tensor,
    wrapper,
)
from torchrank.linalg import PairProduct, kron_matmul
from torchrank.rankings.surroundings import in_plain_surroundings
from torchrank.rankings.validate import check_choice

_SIGN = {"symmetric": 1, "reciprocal": -1}


@in_plain_surroundings
def symmetrize(F: Array) -> Array:
    """The symmetric part of labels or weights of edges, ``(F + F^T) / 2``.

    It is the symmetrizer matrix of Definition 7 of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, times
    ``vec(F)``.

    Args:
        F: ``(..., p, p)``, rows are start nodes and columns the same nodes as ends.

    Returns:
        ``(..., p, p)``.

    Raises:
        ValueError: not square.
        TypeError: not real numbers.
    """
    return _with_mirror_image(F, 1)


@in_plain_surroundings
def antisymmetrize(F: Array) -> Array:
    """The antisymmetric part of labels or weights of edges, ``(F - F^T) / 2``; otherwise as :func:`symmetrize`.

    Args:
        F: ``(..., p, p)``, rows are start nodes and columns the same nodes as ends.

    Returns:
        ``(..., p, p)``.

    Raises:
        ValueError: not square.
        TypeError: not real numbers.
    """
    return _with_mirror_image(F, -1)


def _with_mirror_image(F: Array, sign: int) -> Array:
    matrix = real_tensor(F, "F")
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError(f"F has shape {tuple(matrix.shape)}; expected (..., p, p), the same nodes as rows and columns")
    return wrapper(F)((matrix + sign * matrix.mT) / 2)


def apply_relation(F: Tensor, relation: str) -> Tensor:
    """``F`` itself, its symmetric or its antisymmetric part."""
    if relation == "ordinary":
        return F
    return symmetrize(F) if relation == "symmetric" else antisymmetrize(F)


def check_relation(relation: str, K_start: Array, K_end: Array | None) -> None:
    """Raise ``ValueError`` for an unknown relation, or a symmetric or reciprocal one between two sets of nodes."""
    check_choice(relation, "relation", RELATIONS)
    if relation != "ordinary" and not (K_end is None or K_end is K_start):
        raise ValueError(f"relation={relation!r} needs one set of nodes, so that pairs can be swapped: pass K_end=None")


@in_plain_surroundings
class PairKernel:
    """The kernel matrix between pairs of nodes as an operator.

    Between the pairs ``(v, v')`` of row nodes and ``(w, w')`` of column nodes it has the entries

        ordinary    k(v, w) k(v', w')                               equation (7)
        symmetric   (k(v, w) k(v', w') + k(v, w') k(v', w)) / 2     equation (8)
        reciprocal  (k(v, w) k(v', w') - k(v, w') k(v', w)) / 2     equation (9)

    of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7.

    Args:
        K_start: ``(r, m)`` node kernel of the starts; rectangular between new and training nodes.
        K_end: ``(s, n)`` node kernel of the ends; by default the same nodes. Two sets of nodes have the ordinary kernel
            only, since swapping a pair has no meaning for them.
        relation: "ordinary", "symmetric" or "reciprocal".

    Raises:
        TypeError: dtypes other than float32 and float64, or mixed ones.
        ValueError: not matrices, an unknown relation, or a symmetric or reciprocal one between two sets of nodes.
    """

    def __init__(self, K_start: Array, K_end: Array | None = None, *, relation: str = "ordinary") -> None:
        check_relation(relation, K_start, K_end)
        self.K_start = _kernel_block(K_start, "K_start")
        one_set = K_end is None or K_end is K_start
        self.K_end = self.K_start if one_set else _kernel_block(K_end, "K_end")
        check_alike(self.K_end, "K_end", self.K_start)
        self.relation = relation
        self._wrap = wrapper(K_start, K_end)

    @property
    def shape(self) -> tuple[int, int]:
        """``(r * s, m * n)``."""
        (r, m), (s, n) = self.K_start.shape, self.K_end.shape
        return r * s, m * n

    @property
    def mT(self) -> "PairKernel":  # noqa: N802
        """The transposed operator."""
        end = None if self.K_end is self.K_start else self.K_end.mT
        transposed = PairKernel(self.K_start.mT, end, relation=self.relation)
        transposed._wrap = self._wrap
        return transposed

    def matmul(self, F: Array) -> Array:
        """Multiply weights ``(..., m, n)`` of all column pairs; gives ``(..., r, s)`` values at all row pairs."""
        weights = real_tensor(F, "F")
        shape = self.K_start.shape[1], self.K_end.shape[1]
        if tuple(weights.shape[-2:]) != shape:
            raise ValueError(f"F has shape {tuple(weights.shape)}; expected (..., {shape[0]}, {shape[1]})")
        check_alike(weights, "F", self.K_start)
        # The symmetric and the antisymmetric part commute with the product, equation (12).
        return self._wrap(kron_matmul(self.K_start, self.K_end, apply_relation(weights, self.relation)))

    __matmul__ = matmul

    def to_dense(self) -> Array:
        """The matrix itself, ``(r * s, m * n)``, pair ``(i, j)`` at place ``i * s + j``; for small cases."""
        ordinary = torch.kron(self.K_start, self.K_end)
        if self.relation == "ordinary":
            return self._wrap(ordinary)
        m = self.K_start.shape[1]
        swapped = ordinary.unflatten(1, (m, m)).mT.flatten(1)
        return self._wrap((ordinary + _SIGN[self.relation] * swapped) / 2)

    def between(self, out_edges: Array, in_edges: Array) -> Callable[[Array], Array]:
        """The block between listed pairs, ``(q, 2)`` of row nodes and ``(q', 2)`` of column nodes, as an operator.

        It takes weights ``(q',)`` to values ``(q,)``; no gradient passes through.
        """
        device = self.K_start.device
        out_pairs = edge_list(out_edges, self.K_start.shape[0], self.K_end.shape[0], device, "out_edges")
        in_pairs = edge_list(in_edges, self.K_start.shape[1], self.K_end.shape[1], device, "in_edges")
        product = EdgeProduct(self.K_start, self.K_end, out_pairs, in_pairs, self.relation)
        n_in = in_pairs.shape[1]
        return lambda v: self._wrap(product(edge_labels(v, n_in, self.K_start, "v")))


def _kernel_block(K: Array, name: str) -> Tensor:
    tensor = real_tensor(K, name)
    if tensor.ndim != 2:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}; expected a matrix (row nodes, column nodes)")
    return tensor


class EdgeProduct:
    """A pair kernel between listed pairs, by :class:`torchrank.linalg.PairProduct`.

    A symmetric or reciprocal kernel is the ordinary one with every input pair entered in both directions at half
    weight.
    """

    def __init__(self, K_start: Tensor, K_end: Tensor, out_pairs: Tensor, in_pairs: Tensor, relation: str) -> None:
        self._sign = _SIGN.get(relation)
        if self._sign is not None:
            in_pairs = torch.cat([in_pairs, in_pairs.flip(0)], dim=1)
        self._product = PairProduct(K_start, K_end, out_pairs, in_pairs)

    def __call__(self, v: Tensor) -> Tensor:
        """Multiply weights ``(q',)`` of the input pairs; gives values ``(q,)`` at the output pairs."""
        if self._sign is not None:
            v = torch.cat([v, v * self._sign]) / 2
        return self._product(v)
