"""What becomes sparse rankings beside ratings and lists: sparse matrices, and rankings with all items."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from torchrank.rankings.listed import starts_of
from torchrank.rankings.prepared import Rankings
from torchrank.rankings.sparse import SparseRankings


def from_sparse_matrix(X: Any, name: str) -> SparseRankings:
    """Rankings of the stored entries of a sparse matrix, zeros among them; what is not stored is unranked, "pairwise".

    Raises:
        ValueError: other than two dimensions, an entry stored twice, what :class:`SparseRankings` refuses.
        TypeError: a layout other than COO, CSR or CSC, values that are not real numbers.
    """
    if len(X.shape) != 2:
        raise ValueError(f"{name} has shape {tuple(X.shape)}; expected one sparse matrix (rankings, items)")
    total = X.sum() if isinstance(X, Tensor) and X.requires_grad and torch.is_grad_enabled() else None
    if isinstance(X, Tensor):
        X = X.detach()
        try:
            coo = X if X.layout == torch.sparse_coo else X.to_sparse_coo()
        except RuntimeError as error:
            raise TypeError(f"{name} has layout {X.layout}; pass a sparse CSR or COO tensor ({error})") from None
        (row, item), values = coo._indices(), coo._values()  # not coalesced: that would add up entries stored twice
    else:
        coo = X.tocoo()
        row, item, values = coo.row, coo.col, coo.data
    rankings = SparseRankings.from_triples(row, item, values, shape=(X.shape[0], X.shape[1]))
    return rankings if total is None else replace(rankings, scores=total)


def from_rankings(X: Rankings, name: str) -> SparseRankings:
    """Rankings ``(m, n)`` held item by item.

    Raises:
        ValueError: batch dimensions.
    """
    if X.ndim != 2:
        raise ValueError(
            f"{name} has shape {tuple(X.shape)}; with sparse rankings on the other side it has to be one set of "
            "rankings (rankings, items)"
        )
    m, n = X.shape
    row, item = (X.ranks >= 0).nonzero(as_tuple=True)
    ranks = X.ranks[row, item]
    order = (row * n + (n - 1 - ranks)).argsort(stable=True)
    starts = starts_of(torch.bincount(row, minlength=m))
    total = None if X.scores is None else X.scores.sum()
    return SparseRankings(starts, item[order], ranks[order], n, X.meaning, X.dtype, X.origin, X.weights, total)
