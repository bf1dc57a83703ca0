"""What a relation says of the scores of edges, and what follows for labels, weights and edges.

A symmetric relation has ``f(a, b) = f(b, a)``, a reciprocal one ``f(a, b) = -f(b, a)``. Both are known here and nowhere
else: the other modules ask for the part of a matrix that a relation allows, or for edges with their mirror images.
"""

from __future__ import annotations

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.conditional.arguments import real_tensor, wrapper
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import check_choice
from torchrank.typing import Array, Values

_SQUARE = "``(..., p, p)``, rows are start nodes and columns the same nodes as ends."
_SIGNS = {"ordinary": 0, "symmetric": 1, "reciprocal": -1}  # of a matrix's mirror image in what the relation allows


@isolated
@shares_arguments(F=_SQUARE)
def symmetrize(F: Values[Array]) -> Array:
    """The symmetric part of labels or weights of edges, ``(F + F^T) / 2``.

    It is the symmetrizer matrix of Definition 7 of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, times
    ``vec(F)``.

    Args:
        F: {F}

    Returns:
        ``(..., p, p)``.

    Raises:
        ValueError: not square.
        TypeError: not real numbers.
    """
    return wrapper(F)(part_of(_square(F), "symmetric"))


@isolated
@shares_arguments(F=_SQUARE)
def antisymmetrize(F: Values[Array]) -> Array:
    """The antisymmetric part of labels or weights of edges, ``(F - F^T) / 2``.

    Args:
        F: {F}

    Returns:
        ``(..., p, p)``.

    Raises:
        ValueError: not square.
        TypeError: not real numbers.
    """
    return wrapper(F)(part_of(_square(F), "reciprocal"))


def _square(F: Values) -> Tensor:
    matrix = real_tensor(F, "F")
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError(f"F has shape {tuple(matrix.shape)}; expected (..., p, p), the same nodes as rows and columns")
    return matrix


def check_relation(relation: str, start: object, end: object) -> None:
    """Raise ``ValueError`` for an unknown relation, or a symmetric or reciprocal one between two sets of nodes.

    Args:
        relation: what the user said.
        start: what describes the start nodes, kernel or features.
        end: the same of end nodes; one set of nodes where it is None or ``start`` itself.
    """
    check_choice(relation, "relation", tuple(_SIGNS))
    if _SIGNS[relation] and not (end is None or end is start):
        raise ValueError(f"relation={relation!r} needs one set of nodes, so that pairs can be swapped: pass K_end=None")


def part_of(F: Tensor, relation: str, out: Tensor | None = None) -> Tensor:
    """The part of ``F`` ``(..., p, p)`` that the relation allows: all, the symmetric or the antisymmetric one.

    Args:
        F: labels or weights of all pairs.
        relation: a checked one.
        out: memory for the result, unless the relation is ordinary.
    """
    sign = _SIGNS[relation]
    return F if sign == 0 else torch.add(F, F.mT, alpha=sign, out=out).div_(2)


def with_mirror_images(pairs: Tensor, relation: str) -> Tensor:
    """Index pairs ``(2, q)``, with those of the edges turned round after them unless the relation is ordinary."""
    return pairs if _SIGNS[relation] == 0 else torch.cat([pairs, pairs.flip(0)], dim=1)


def mirrored_weights(v: Tensor, relation: str) -> Tensor:
    """Weights ``(q,)`` of edges as weights of :func:`with_mirror_images`, to be multiplied by the ordinary kernel."""
    sign = _SIGNS[relation]
    return v if sign == 0 else torch.cat([v, sign * v]) / 2


def without_mirror_images(entries: Tensor, relation: str) -> Tensor:
    """The transpose of :func:`mirrored_weights`: takes ``(..., 2 q)`` columns to ``(..., q)``."""
    sign = _SIGNS[relation]
    if sign == 0:
        return entries
    edges, mirrored = entries.chunk(2, dim=-1)
    return (edges + sign * mirrored) / 2
