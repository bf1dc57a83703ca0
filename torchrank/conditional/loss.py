"""The squared loss over pairs of edges as a differentiable function, for training any model of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from torchrank.conditional.arguments import tensor_of, wrapper
from torchrank.linalg import as_double
from torchrank.rankings.isolation import isolated
from torchrank.rankings.labels import as_labels
from torchrank.rankings.unmapped import COUNTS, unmapped
from torchrank.rankings.validate import check_choice, check_groups
from torchrank.typing import Array, Values


@isolated
@unmapped(COUNTS)
def conditional_rank_loss(
    scores: Values[Array],  # (q,)
    labels: Values[Array],  # (q,)
    groups: Values | Sequence[str],  # (q,) integers
    *,
    normalization: Literal["pair", "node"] = "pair",
) -> Array:
    """Mean of ``((y_e - y_e') - (f_e - f_e'))^2`` over the pairs of edges e, e' of one query, in O(q).

    Equation (6) of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7, normalized.

    Args:
        scores: ``(q,)`` predicted scores f.
        labels: ``(q,)`` true labels y.
        groups: ``(q,)`` query of each edge, integers from 0 on or strings, in any order.
        normalization: "pair" averages over all pairs; "node" over the pairs of each query, then over the queries that
            have any.

    Returns:
        A number, computed in float64 from values relative to the lowest of their query, so that labels such as times in
        nanoseconds keep their differences. Its dtype is that of floating scores, else that of floating labels, but
        float32 for half precision; for integers torch's default, NumPy's float64. Queries with a single edge add
        nothing; without any pair it is 0, with gradient 0.

    Raises:
        TypeError: complex numbers, or groups that are neither integers nor strings.
        ValueError: shapes that differ, negative groups, or an unknown normalization.
    """
    check_choice(normalization, "normalization", ("pair", "node"))
    y, f = tensor_of(labels, "labels"), tensor_of(scores, "scores")
    query = as_labels(groups, "groups").to(f.device)
    if f.ndim != 1 or y.shape != f.shape or query.shape != f.shape:
        shapes = ", ".join(str(tuple(x.shape)) for x in (f, y, query))
        raise ValueError(f"scores, labels and groups have shapes {shapes}; expected the same (edges,) for all")
    if y.is_complex() or f.is_complex():
        raise TypeError(f"scores have dtype {f.dtype} and labels {y.dtype}; complex numbers have no order")
    query = check_groups(query)
    loss = _mean_over_pairs(_above_lowest(y, query) - _above_lowest(f, query), query, normalization)
    return wrapper(scores, labels, groups)(loss.to(_dtype_of(f, y, isinstance(scores, Tensor))))


def _above_lowest(values: Tensor, groups: Tensor) -> Tensor:
    """Float64 differences to the least value of each group, integers subtracted as integers; gradients pass."""
    in_floats = values.is_floating_point() or values.dtype == torch.uint64  # torch cannot subtract those
    values = as_double(values) if in_floats else values.to(torch.int64)
    known = values.detach()
    lowest = torch.zeros_like(torch.bincount(groups), dtype=known.dtype)
    lowest = lowest.scatter_reduce(0, groups, known, "amin", include_self=False)
    return as_double(values - lowest[groups])


def _dtype_of(scores: Tensor, labels: Tensor, of_torch: bool) -> torch.dtype:
    for x in (scores, labels):
        if x.is_floating_point():
            return torch.promote_types(x.dtype, torch.float32)  # a sum of squares soon leaves the range of half floats
    return torch.get_default_dtype() if of_torch else torch.float64


def _mean_over_pairs(residual: Tensor, groups: Tensor, normalization: Literal["pair", "node"]) -> Tensor:
    sizes = torch.bincount(groups).to(residual.dtype)
    means = torch.zeros_like(sizes).index_add(0, groups, residual) / sizes.clamp(min=1)
    centered = torch.zeros_like(sizes).index_add(0, groups, (residual - means[groups]).square())
    # A query of l edges has l (l - 1) ordered pairs of two edges, and their squares sum to 2 l times the centered ones.
    if normalization == "pair":
        return (2 * sizes * centered).sum() / (sizes * (sizes - 1)).sum().clamp(min=1)
    return (2 * centered / (sizes - 1).clamp(min=1)).sum() / (sizes > 1).sum().clamp(min=1)
