"""Errors of rankings that are conditioned on a query: misordered pairs within each group of edges."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.rankings.arrays import as_tensor, to_numpy
from torchrank.rankings.isolation import isolated
from torchrank.rankings.labels import as_labels
from torchrank.rankings.ties import sortable
from torchrank.rankings.unmapped import COUNTS, unmapped
from torchrank.rankings.validate import check_groups

Array: TypeAlias = Any  # NumPy array or tensor

_SHARED = {
    "labels": "``(q,)`` true labels of edges, or a matrix ``(queries, items)`` whose NaN entries are left out.",
    "scores": "predicted scores, same shape; larger = ranked higher.",
    "groups": "``(q,)`` integers from 0 on, or strings, the query of each edge, in any order.",
}


@dataclass(frozen=True, kw_only=True)
class ConditionalRankingError:
    """Misordered pairs, counted, and as a share of all pairs in two ways.

    Pairs are those of two edges of one query with different labels.
    """

    count: float  # pairs with scores in the wrong order, and half of those with equal scores
    pairs: int  # all pairs
    pooled: float  # count / pairs; NaN without pairs
    per_node: float  # the error of each query, as a mean over those that have pairs; NaN without any
    by_node: Array  # (queries,) error of each query 0, 1, ...; NaN for a query without pairs


@isolated
@unmapped(COUNTS)
@shares_arguments(**_SHARED)
def conditional_ranking_error(labels: Array, scores: Array, groups: Array | None = None) -> ConditionalRankingError:
    """How often scores order two edges of the same query against their labels.

    Equation (4) of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7: over all pairs of edges of one query with
    different labels, 1 for scores in the wrong order and 1/2 for equal scores. O(q log q) for q edges.

    Args:
        labels: {labels}
        scores: {scores}
        groups: {groups} By default the row of a matrix, and one query for a vector.

    Returns:
        The error pooled over all pairs, as a mean over queries, and of each query: 0 is perfect, 1/2 is chance. Its
        ``by_node`` is an array unless an argument is a tensor.

    Raises:
        TypeError: complex numbers, or groups that are neither integers nor strings.
        ValueError: shapes that differ, NaN scores or labels of edges that count, negative groups.
    """
    y, f, query, n_queries = _edges(labels, scores, groups)
    order = _lexsort(query, y, f)
    y, f, query = y[order], f[order], query[order]
    # Now edges are sorted by query, then by label, and those with equal labels by score. A stable sort by query and
    # score gives each edge its rank. An edge with a larger rank before one with a smaller rank is an inversion. Two
    # edges of different queries make none, nor do two with equal labels, nor two with equal scores. So the inversions
    # are the pairs whose scores contradict their labels.
    by_score = _lexsort(query, f)
    ranks = torch.empty_like(by_score)
    ranks[by_score] = torch.arange(len(ranks), device=ranks.device)
    wrong = _per_query(query[by_score], n_queries, _inversions(ranks))
    equal_labels = _tied_pairs(n_queries, query, y)
    equal_scores = _tied_pairs(n_queries, query[by_score], f[by_score]) - _tied_pairs(n_queries, query, y, f)
    sizes = torch.bincount(query, minlength=n_queries)
    pairs = sizes * (sizes - 1) // 2 - equal_labels
    errors = (wrong.double() + equal_scores.double() / 2) / pairs.double()  # 0 / 0 is NaN for a query without pairs
    count, total = float(wrong.sum()) + float(equal_scores.sum()) / 2, int(pairs.sum())
    any_tensor = any(isinstance(x, Tensor) for x in (labels, scores, groups))
    return ConditionalRankingError(
        count=count,
        pairs=total,
        pooled=count / total if total else float("nan"),
        per_node=float(errors.nanmean()),
        by_node=errors if any_tensor else to_numpy(errors),
    )


@isolated
@unmapped(COUNTS)
@shares_arguments(**_SHARED)
def concordance_index(labels: Array, scores: Array, groups: Array | None = None) -> float:
    """Share of pairs of edges with different labels that the scores order as the labels do; equal scores count half.

    It is one minus the pooled :func:`conditional_ranking_error` but for the default of ``groups``.

    Args:
        labels: {labels}
        scores: {scores}
        groups: {groups} By default all edges are compared with each other, also those of different rows of a matrix.

    Returns:
        From 0 to 1: 1/2 is chance, 1 is perfect. NaN where all labels are equal.

    Raises:
        TypeError: complex numbers, or groups that are neither integers nor strings.
        ValueError: shapes that differ, NaN scores or labels of edges that count, negative groups.
    """
    if groups is None:
        y, f, query, _ = _edges(labels, scores, None)
        labels, scores, groups = y, f, torch.zeros_like(query)
    return 1 - conditional_ranking_error(labels, scores, groups).pooled


def _edges(labels: Array, scores: Array, groups: Array | None) -> tuple[Tensor, Tensor, Tensor, int]:
    """Labels, scores and query of each edge that counts, and the number of queries."""
    y, f = _vector_or_matrix(labels, "labels"), _vector_or_matrix(scores, "scores")
    if y.shape != f.shape:
        raise ValueError(f"labels have shape {tuple(y.shape)} and scores {tuple(f.shape)}; they must be the same")
    if y.ndim == 2:
        if groups is not None:
            raise ValueError("groups belong to a vector of labels; the rows of a matrix are its queries already")
        query = torch.arange(y.shape[0], device=y.device)[:, None].expand(y.shape)
        n_queries, known = y.shape[0], ~y.isnan() if y.is_floating_point() else torch.ones_like(y, dtype=torch.bool)
        y, f, query = y[known], f[known], query[known]
    elif groups is None:
        query, n_queries = torch.zeros(len(y), dtype=torch.int64, device=y.device), 1
    else:
        query = as_labels(groups, "groups").to(y.device)
        if query.shape != y.shape:
            raise ValueError(
                f"groups have shape {tuple(query.shape)} and labels {tuple(y.shape)}; one group for each edge"
            )
        query = check_groups(query)
        n_queries = int(query.max()) + 1 if len(query) else 0
    for name, values in (("labels", y), ("scores", f)):
        if values.is_floating_point() and values.isnan().any():
            place = int(values.isnan().nonzero()[0])
            raise ValueError(f"{name} have NaN at edge {place}; leave out what is not known")
    return y, f, query, n_queries


def _vector_or_matrix(x: Array, name: str) -> Tensor:
    tensor = as_tensor(x, name)[0].detach()
    if tensor.is_complex():
        raise TypeError(f"{name} have dtype {tensor.dtype}; complex numbers have no order")
    if tensor.ndim not in (1, 2):
        raise ValueError(f"{name} have shape {tuple(tensor.shape)}; expected (edges,) or (queries, items)")
    return tensor


def _lexsort(*keys: Tensor) -> Tensor:
    """The order by the first key, among equals by the second, and so on; what is equal in all keys keeps its order."""
    keys = tuple(map(sortable, keys))
    order = torch.argsort(keys[-1], stable=True)
    for key in reversed(keys[:-1]):
        order = order[torch.argsort(key[order], stable=True)]
    return order


def _per_query(query: Tensor, n_queries: int, counts: Tensor) -> Tensor:
    """Sums of the counts ``(q,)`` of edges over each query."""
    return counts.new_zeros(n_queries).index_add_(0, query, counts)


def _tied_pairs(n_queries: int, query: Tensor, *keys: Tensor) -> Tensor:
    """For each query, pairs of edges equal in all keys. The edges come sorted by query and keys."""
    starts = torch.zeros(len(query), dtype=torch.bool, device=query.device)
    starts[:1] = True
    for key in (query, *keys):
        starts[1:] |= key[1:] != key[:-1]
    first = starts.nonzero()[:, 0]
    sizes = torch.diff(first, append=first.new_tensor([len(query)]))
    return _per_query(query[first], n_queries, sizes * (sizes - 1) // 2)


def _inversions(permutation: Tensor) -> Tensor:
    """How many larger values each value of a permutation of ``0 .. q-1`` has before it; O(q log q) on any device.

    The values are sorted bit by bit, the highest bit first. Before each step, values with the same higher bits are
    together, in their original order: a block. Of two values of one block the larger is the one whose bit is 1. So a
    value whose bit is 0 is inverted with the values before it in its block whose bit is 1. Then the zeros of each
    block move before its ones. Since all values occur, it is known where each block begins.
    """
    q = len(permutation)
    place = torch.arange(q, device=permutation.device)
    values, counts = permutation, torch.zeros_like(permutation)
    for bit in reversed(range(max(q - 1, 0).bit_length())):
        ones = values >> bit & 1
        start = values >> (bit + 1) << (bit + 1)  # the least value of the block, which is also where the block begins
        before = ones.cumsum(0) - ones
        before -= before[start]  # how many ones come before in the same block
        zeros_in_block = (q - start).clamp_(max=1 << bit)
        target = torch.where(ones == 1, start + zeros_in_block + before, place - before)
        counts += before * (1 - ones)
        values, counts = (torch.empty_like(x).scatter_(0, target, x) for x in (values, counts))
    return counts  # by now the values are sorted, so entry v is that of value v
