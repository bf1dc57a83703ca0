"""Errors of rankings that are conditioned on a query: misordered pairs within each group of edges."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from torchrank.rankings.arrays import as_tensor, to_numpy
from torchrank.rankings.surroundings import in_plain_surroundings
from torchrank.rankings.ties import sortable
from torchrank.rankings.validate import check_groups

Array: TypeAlias = Any  # NumPy array or tensor


@dataclass(frozen=True)
class ConditionalRankingError:
    """Misordered pairs, counted and averaged in two ways."""

    count: (
        float  # pairs of edges of one query whose labels differ and whose scores are in the wrong order, ties one half
    )
    pairs: int  # pairs of edges of one query whose labels differ
    pooled: float  # count / pairs; NaN without pairs
    per_node: float  # mean over queries that have pairs of the error of each; NaN without any
    by_node: Array  # (queries,) error of each query 0, 1, ...; NaN for a query without pairs


@in_plain_surroundings
def conditional_ranking_error(labels: Array, scores: Array, groups: Array | None = None) -> ConditionalRankingError:
    """How often scores order two edges of the same query against their labels.

    Equation (4) of Pahikkala et al. (2013), doi:10.1007/s10994-013-5354-7: over all pairs of edges of one query with
    different labels, 1 for scores in the wrong order and 1/2 for equal scores. O(q log q) for q edges.

    Args:
        labels: ``(q,)`` true labels, or a matrix ``(queries, items)`` whose NaN entries are left out.
        scores: predicted scores, same shape; larger = ranked higher.
        groups: ``(q,)`` integers, the query of each edge, in any order. None means the row of a matrix, one query for
            a vector.

    Returns:
        The error pooled over all pairs, as a mean over queries, and of each query: 0 is perfect, 1/2 is chance. Its
        ``by_node`` is an array unless an argument is a tensor.

    Raises:
        TypeError: complex numbers, or groups that are not integers.
        ValueError: shapes that differ, NaN scores or labels of edges that count, negative groups.
    """
    y, f, query, n_queries = _edges(labels, scores, groups)
    order = _lexsort(query, y, f)
    y, f, query = y[order], f[order], query[order]
    # Edges stand by query, then label; equal labels by score. Ranks of (query, score) that keep this order among ties
    # are inverted exactly where two edges of one query are misordered.
    by_score = _lexsort(query, f)
    ranks = torch.empty_like(by_score)
    ranks[by_score] = torch.arange(len(ranks), device=ranks.device)
    wrong = _per_query(query[by_score], n_queries, _inversions(ranks))
    pairs_with_label = _tied_pairs(n_queries, query, y)
    tied = _tied_pairs(n_queries, query[by_score], f[by_score]) - _tied_pairs(n_queries, query, y, f)
    sizes = torch.bincount(query, minlength=n_queries)
    pairs = sizes * (sizes - 1) // 2 - pairs_with_label
    errors = (wrong.double() + tied.double() / 2) / pairs.double()  # 0 / 0 is NaN, as promised
    count, total = float(wrong.sum()) + float(tied.sum()) / 2, int(pairs.sum())
    foreign = not any(isinstance(x, Tensor) for x in (labels, scores, groups))
    return ConditionalRankingError(
        count,
        total,
        count / total if total else float("nan"),
        float(errors.nanmean()),
        to_numpy(errors) if foreign else errors,
    )


@in_plain_surroundings
def concordance_index(labels: Array, scores: Array, groups: Array | None = None) -> float:
    """Share of pairs of edges with different labels that the scores order alike, equal scores one half.

    One minus the pooled :func:`conditional_ranking_error`; but without ``groups`` all edges are compared with each
    other, also those of a matrix.

    Args:
        labels: as for :func:`conditional_ranking_error`, as are the others.
        scores: see there.
        groups: see there; None compares all edges.

    Returns:
        From 0 to 1: 1/2 is chance, 1 is perfect. NaN where all labels are equal.

    Raises:
        TypeError, ValueError: as :func:`conditional_ranking_error`.
    """
    if groups is None:
        y, f, query, _ = _edges(labels, scores, None)
        labels, scores, groups = y, f, torch.zeros_like(query)
    return 1 - conditional_ranking_error(labels, scores, groups).pooled


def _edges(labels: Array, scores: Array, groups: Array | None) -> tuple[Tensor, Tensor, Tensor, int]:
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
        query = (as_tensor(groups, "groups")[0]).to(y.device)
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
    """The stable order by the first key, ties by the second, and so on."""
    keys = tuple(map(sortable, keys))
    order = torch.argsort(keys[-1], stable=True)
    for key in reversed(keys[:-1]):
        order = order[torch.argsort(key[order], stable=True)]
    return order


def _per_query(query: Tensor, n_queries: int, counts: Tensor) -> Tensor:
    return counts.new_zeros(n_queries).index_add_(0, query, counts)


def _tied_pairs(n_queries: int, query: Tensor, *keys: Tensor) -> Tensor:
    """For each query, pairs of edges equal in all keys; the edges stand sorted by query and keys."""
    starts = torch.zeros(len(query), dtype=torch.bool, device=query.device)
    starts[:1] = True
    for key in (query, *keys):
        starts[1:] |= key[1:] != key[:-1]
    first = starts.nonzero()[:, 0]
    sizes = torch.diff(first, append=first.new_tensor([len(query)]))
    return _per_query(query[first], n_queries, sizes * (sizes - 1) // 2)


def _inversions(permutation: Tensor) -> Tensor:
    """For each value of a permutation of ``0 .. q-1``, how many larger values stand before it; O(q log q), any device.

    Values are partitioned by their bits, the highest first, keeping their order: within a block of equal higher bits, a
    zero is inverted with the ones before it. Since all values occur, block boundaries are known.
    """
    q = len(permutation)
    place = torch.arange(q, device=permutation.device)
    values, counts = permutation, torch.zeros_like(permutation)
    for bit in reversed(range(max(q - 1, 0).bit_length())):
        ones = values >> bit & 1
        start = values >> (bit + 1) << (bit + 1)  # where the block begins; it has the values from start up
        before = ones.cumsum(0) - ones
        before -= before[start]  # ones before in the same block
        zeros_in_block = (q - start).clamp_(max=1 << bit)
        target = torch.where(ones == 1, start + zeros_in_block + before, place - before)
        counts += before * (1 - ones)
        values, counts = (torch.empty_like(x).scatter_(0, target, x) for x in (values, counts))
    return counts  # the values now stand in order
