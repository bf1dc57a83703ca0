"""The diffusion kernel on permutations: heat that has spread over their Cayley graph."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from torchrank.ops.memory import explaining_memory
from torchrank.ops.rank import rankings_of_sides
from torchrank.rankings.derivatives import on_values
from torchrank.rankings.isolation import isolated
from torchrank.rankings.pairs import n_pairs
from torchrank.rankings.validate import Scores, as_float, check_at_least
from torchrank.typing import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_ITEMS = 9
_BLOCK_ENTRIES = 2**20
_REMEDY = "the diffusion kernel is for total rankings: drop these rows"


@isolated
def diffusion_gram(X: Scores[Array], Y: Scores[Array] | None = None, *, beta: float) -> Array:
    r"""Diffusion kernel between all total rankings: the share of heat that has gone from one to the other.

    .. math:: K(x, y) = \bigl[e^{\beta \Delta}\bigr]_{x, y}, \qquad \Delta = A - (n - 1) I

    with A the adjacency matrix of the graph on the n! rankings in which two are neighbors if one becomes the other by
    exchanging two items of adjacent ranks (Kondor and Barbosa, COLT 2010; Jiao and Vert, IEEE TPAMI 40(7), 2018,
    equation 16, whose Laplacian has this sign). Positive definite; over all n! rankings a row adds up to 1. It is the
    identity for ``beta=0`` and 1/n! everywhere for a large one. The distance in this graph is the number of discordant
    pairs, but the kernel is no function of it: unlike :func:`torchrank.mallows_gram` it counts all paths.

    Renaming the items of both rankings changes nothing, so one column of the exponential is enough. It has n! entries,
    and no formula for a single one is known that would avoid them.

    Args:
        X: ``(..., m, n)`` scores, larger = preferred, without ties and complete; n at most 9.
        Y: ``(..., m2, n)``; None means ``X``, and a result that is symmetric bit for bit. Batch dimensions broadcast.
        beta: how long heat spreads, at least 0.

    Returns:
        ``(..., m, m2)``, dtype and kind as for :func:`torchrank.kendall_gram`; no entry is negative. The result
        is piecewise constant in the scores: asking for its gradient raises. The column is kept, so that further calls
        with the same n and ``beta`` are fast.

    Raises:
        ValueError: ties or unranked items (naming the row), more than 9 items, ``beta`` negative or NaN; shapes or
            devices that do not fit.
        TypeError: scores that are not real numbers.
        RuntimeError: backward through the scores.

    Example:
        >>> diffusion_gram(np.array([[1.0, 2.0], [2.0, 1.0]]), beta=0.5).round(3).tolist()
        [[0.684, 0.316], [0.316, 0.684]]
    """
    check_at_least(beta, "beta", 0)
    pair = rankings_of_sides(X, Y, "raise", remedy=_REMEDY)
    n = pair.X.shape[-1]
    if n > MOST_ITEMS:
        raise ValueError(
            f"X ranks {n} items; the diffusion kernel needs the exponential of a matrix of n! rows, which is feasible "
            f"up to {MOST_ITEMS} items ({math.factorial(MOST_ITEMS)} rows): use mallows_gram, which takes n log n"
        )
    batch = torch.broadcast_shapes(*(side.shape[:-2] for side in pair.sides()))
    sides = [
        table.expand(*batch, *shape)
        for side in pair.sides()
        for table, shape in ((side.ranks, side.shape[-2:]), (side.strict, side.shape[-2:-1]))
    ]
    result = on_values(lambda *sides: _entries(sides, as_float(beta), pair.dtype), *sides)
    return pair.origin.gram(
        pair.without_gradient(result, what="values of the diffusion kernel are"), symmetric=pair.Y is None
    )


@explaining_memory
def _entries(sides: tuple[Tensor, ...], beta: float, dtype: torch.dtype) -> Tensor:
    """The kernel of all pairs of rows, ``(..., m, m2)``, of ranks and strict pairs of one side or both."""
    n = sides[0].shape[-1]
    x = _untied_ranks(sides[0], sides[1], "X")
    y = x if len(sides) == 2 else _untied_ranks(sides[2], sides[3], "Y")
    column = _heat(n, beta).to(x.device)
    batch, m2 = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2]), y.shape[-2]
    result = torch.empty(*batch, x.shape[-2], m2, dtype=dtype, device=x.device)
    items = x.argsort(dim=-1).expand(*batch, -1, n)  # the item of every rank
    y = y.expand(*batch, -1, n)
    step = max(1, _BLOCK_ENTRIES // (n * max(1, math.prod(batch) * m2)))
    for start in range(0, x.shape[-2], step):
        rows = slice(start, start + step)
        relative = torch.take_along_dim(y[..., None, :, :], items[..., rows, None, :], dim=-1)
        result[..., rows, :] = column[_number(relative)].to(dtype)
    return result


def _untied_ranks(ranks: Tensor, strict: Tensor, name: str) -> Tensor:
    """Ranks 0 to n - 1 of every row, int64."""
    tied = strict < n_pairs(ranks.shape[-1])
    if bool(tied.any()):
        *batch, row = tied.nonzero()[0].tolist()
        where = f"batch {tuple(batch)}, row {row}" if batch else f"row {row}"
        raise ValueError(
            f"{name} has ties at {where}; the diffusion kernel is for total rankings: break the ties, or use "
            "mallows_gram, which takes them"
        )
    return ranks.long()


def _number(orderings: Tensor) -> Tensor:
    """Place of every permutation ``(..., n)`` of 0 to n - 1 among all of them in lexicographic order."""
    n = orderings.shape[-1]
    number = orderings.new_zeros(orderings.shape[:-1])
    for k in range(n - 1):
        smaller_later = (orderings[..., k + 1 :] < orderings[..., k : k + 1]).sum(-1)
        number += smaller_later * math.factorial(n - 1 - k)
    return number


@lru_cache(maxsize=2)
def _graph(n: int) -> tuple[csr_array, np.ndarray]:
    """Adjacency matrix of the Cayley graph, and the number of every permutation's inverse."""
    from scipy.sparse import csr_array  # takes a tenth of a second to import

    orderings = torch.tensor(list(permutations(range(n))))
    neighbors = []
    for rank in range(n - 1):
        exchange = torch.arange(n)
        exchange[[rank, rank + 1]] = exchange[[rank + 1, rank]]
        neighbors.append(_number(exchange[orderings]))
    columns = torch.stack(neighbors, dim=-1).int().numpy().ravel()
    starts = np.arange(0, len(columns) + 1, n - 1, dtype=np.int32)
    adjacency = csr_array((np.ones(len(columns)), columns, starts), shape=(len(orderings), len(orderings)))
    return adjacency, _number(orderings.argsort(dim=-1)).numpy()


@lru_cache(maxsize=16)
def _heat(n: int, beta: float) -> Tensor:
    """The column of exp(beta Delta) that belongs to the identity, by uniformization.

    It is the law of a random walk after a Poisson number of steps, the sum over k of the probability of k steps times
    that of k-step walks: all terms are positive, so nothing cancels.
    """
    adjacency, inverses = _graph(n)
    vertices = len(inverses)
    gap = 2 - 2 * math.cos(math.pi / n)  # least positive eigenvalue of -Delta (Bacher, J. Algebra 167, 1994)
    if beta * gap > 60:
        return torch.full((vertices,), 1 / vertices, dtype=torch.float64)
    mean = beta * (n - 1)
    most = int(mean + 10 * math.sqrt(mean)) + n * (n - 1) // 2 + 20  # beyond, probabilities are below 1e-18
    walk = np.zeros(vertices)
    walk[0] = 1
    heat = math.exp(-mean) * walk
    for k in range(1, most + 1 if mean else 1):
        walk = adjacency @ walk / (n - 1)
        heat += math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) * walk
    return torch.from_numpy((heat + heat[inverses]) / 2)  # equal up to rounding, and now bit for bit
