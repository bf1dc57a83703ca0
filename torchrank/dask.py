"""Kendall kernels of all pairs of rankings as tasks of Dask, for those who have a cluster of it.

Needs Dask: ``pip install dask distributed``. Results are those of :func:`torchrank.kendall_gram` and
:func:`torchrank.kendall_neighbors`; of one set of rankings each pair of blocks is one task, not two. A task takes one
thread, so workers with as many threads as cores use all of them.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from torchrank._docs import shares_arguments
from torchrank.kernels import kendall_gram as gram_of_rows
from torchrank.kernels.arguments import ARGUMENTS
from torchrank.ops.rank import rank
from torchrank.rankings.arrays import to_numpy
from torchrank.rankings.missing import Missing
from torchrank.rankings.validate import check_choice, check_count
from torchrank.stream.nearest import ORDERS, Best, merged

try:
    import dask
    import dask.array
    import dask.base
except ImportError as _error:
    raise ModuleNotFoundError("torchrank.dask needs Dask: pip install dask distributed") from _error

__all__ = ["kendall_gram", "kendall_neighbors"]

_BLOCK = 2048  # rows, of which a task holds two blocks and the matrix between them
_MERGED_AT_ONCE = 8  # results that a task merges
_OF_DASK = {
    "rows": """\
``(m, n)`` scores: larger = preferred, equal = tied, NaN = unranked. A Dask array, whose rows are ranked where they are,
chunk by chunk; or what :func:`torchrank.rank` takes, which is ranked here, once, and sent to the workers block by
block.""",
    "block": """\
rows of a block; None takes 2,048, and of a Dask array its chunks.""",
    "missing": """\
what unranked items mean, one word for all rows: "raise" (the default for scores), "interleaving", "topk" or "pairwise",
as :func:`torchrank.kendall_gram` explains.""",
}


@shares_arguments(ARGUMENTS, _OF_DASK)
def kendall_gram(X: Any, *, block: int | None = None, missing: Missing = None, **settings: Any) -> Any:
    """:func:`torchrank.kendall_gram` of one set of rankings as a lazy Dask array, made of the blocks of one triangle.

    Args:
        X: {rows}
        block: {block}
        missing: {missing}
        **settings: ``variant``, ``min_common``, ``fill_value``, ``shrink`` and ``method`` of
            :func:`torchrank.kendall_gram`.

    Returns:
        ``(m, m)`` Dask array. The blocks below the diagonal are those above it, transposed.

    Raises:
        ValueError, TypeError: what :func:`torchrank.kendall_gram` refuses; unranked items of a Dask array are refused
            when it is computed.
    """
    rows, call = _rows(X, block, missing, settings)
    of_two = dask.delayed(call)
    tiles = {(i, j): of_two(rows.parts[i], None if i == j else rows.parts[j]) for i, j in rows.upper()}
    flip = dask.delayed(np.transpose)
    sizes = [stop - start for start, stop in rows.spans]

    def placed(i: int, j: int) -> Any:
        tile = tiles[i, j] if i <= j else flip(tiles[j, i])
        return dask.array.from_delayed(tile, (sizes[i], sizes[j]), rows.dtype)

    if not sizes:
        return dask.array.empty((0, 0), dtype=rows.dtype)
    return dask.array.block([[placed(i, j) for j in range(len(sizes))] for i in range(len(sizes))])


@shares_arguments(ARGUMENTS, _OF_DASK)
def kendall_neighbors(
    X: Any, k: int, *, sign: str = "positive", block: int | None = None, missing: Missing = None, **settings: Any
) -> tuple[Any, Any]:
    """:func:`torchrank.kendall_neighbors` among the rows of one set of rankings, as lazy Dask arrays.

    Each pair of blocks is one task, which keeps the best of its rows; these are merged in a tree.

    Args:
        X: {rows}
        k: how many, at least 1 and fewer than there are rows.
        sign: as for :func:`torchrank.kendall_neighbors`.
        block: {block}
        missing: {missing}
        **settings: ``variant``, ``min_common``, ``shrink`` and ``method`` of :func:`torchrank.kendall_gram`.

    Returns:
        Indices and values ``(m, k)``, two Dask arrays: ``dask.compute(*kendall_neighbors(X, 5))``.

    Raises:
        ValueError, TypeError: as :func:`torchrank.kendall_neighbors`; unranked items of a Dask array are refused when
            it is computed.
    """
    check_choice(sign, "sign", ORDERS)
    check_count(k, "k", least=1)
    rows, call = _rows(X, block, missing, settings)
    m = sum(stop - start for start, stop in rows.spans)
    if k >= m and m:
        raise ValueError(f"k={k} is too large; there are {m - 1} other rankings")
    best_of: Any = dask.delayed(partial(_best_of_two, call, int(k), sign), nout=2)
    found: dict[int, list[Any]] = {i: [] for i in range(len(rows.spans))}
    for i, j in rows.upper():
        both = best_of(rows.parts[i], None if i == j else rows.parts[j], rows.spans[i][0], rows.spans[j][0])
        found[i].append(both[0])
        if i != j:
            found[j].append(both[1])
    kept = [_tree(bests, dask.delayed(partial(_merged, int(k), sign))) for bests in found.values()]
    shapes = [(stop - start, int(k)) for start, stop in rows.spans]
    dtypes = rows.dtype, np.dtype(np.int64)
    if not kept:
        return dask.array.empty((0, int(k)), dtype=dtypes[1]), dask.array.empty((0, int(k)), dtype=dtypes[0])
    values, indices = (
        dask.array.concatenate(
            [dask.array.from_delayed(best[part], shape, dtypes[part]) for best, shape in zip(kept, shapes, strict=True)]
        )
        for part in (0, 1)
    )
    return indices, values


class _Rows(NamedTuple):
    """Blocks of prepared rankings, where they are."""

    parts: Sequence[Any]  # delayed, or futures
    spans: list[tuple[int, int]]  # their first rows and those behind their last ones
    dtype: np.dtype[Any]  # of kernels

    def upper(self) -> list[tuple[int, int]]:
        """All pairs of blocks, each once."""
        return [(i, j) for i in range(len(self.spans)) for j in range(i, len(self.spans))]


def _rows(X: Any, block: int | None, missing: Missing, settings: dict[str, Any]) -> tuple[_Rows, Any]:
    """The rankings, and what makes the matrix of two blocks of them; settings are checked on no rows."""
    if block is not None:
        check_count(block, "block", least=1, unit="row")
    call = partial(_gram, settings)
    if isinstance(X, dask.array.Array):
        if X.ndim != 2 or np.isnan(X.shape).any():
            raise ValueError(
                f"X has shape {X.shape}; expected a Dask array (rankings, items) of known shape, as "
                "compute_chunk_sizes makes it"
            )
        if not isinstance(missing, str | None):
            raise ValueError(
                "missing has a word for each row, and X is a Dask array; pass one word, or prepared rankings"
            )
        chunks: Any = {1: -1} if block is None else {0: int(block), 1: -1}
        X = X.rechunk(chunks)
        some = rank(np.empty((0, X.shape[1]), X.dtype), missing)
        ends = np.cumsum(X.chunks[0]).tolist()
        prepare = dask.delayed(partial(_ranked, missing))
        parts: Sequence[Any] = [prepare(part) for part in X.to_delayed()[:, 0]]
    else:
        prepared = rank(X, missing)
        if len(prepared.shape) != 2:
            raise ValueError(f"X has shape {tuple(prepared.shape)}; expected one matrix (rankings, items)")
        some = prepared[:0]
        ends = [*range(block or _BLOCK, len(prepared), block or _BLOCK), len(prepared)] if len(prepared) else []
        parts = _sent([prepared[start:stop] for start, stop in zip([0, *ends], ends, strict=False)])
    spans = list(zip([0, *ends], ends, strict=False))
    return _Rows(parts, spans, np.asarray(call(some, None)).dtype), call


def _sent(parts: list[Any]) -> Sequence[Any]:
    """The blocks on the workers of the client that would compute them, or without one in the graph, each once."""
    client = _client()
    if client is None or not parts:
        return [dask.delayed(part, traverse=False) for part in parts]
    return client.scatter(parts, hash=False)  # by content an earlier one of equal rankings may be on its way out


def _client() -> Any:
    try:
        from distributed import get_client

        client = get_client()
    except (ImportError, ValueError):  # ValueError: there is none
        return None
    return client if dask.base.get_scheduler() == client.get else None


def _ranked(missing: Missing, scores: Any) -> Any:
    with _one_thread():
        return rank(np.asarray(scores), missing)


def _gram(settings: dict[str, Any], x: Any, y: Any) -> np.ndarray:
    """The matrix of two blocks, or of one."""
    with _one_thread():
        values = gram_of_rows(x, y, **settings)
        return to_numpy(values) if isinstance(values, torch.Tensor) else np.asarray(values)  # without names of rows


def _best_of_two(call: Any, k: int, sign: str, x: Any, y: Any, first_row: int, first_column: int) -> tuple[Any, Any]:
    """The best of the rows of one block among those of another, and the other way round."""
    values = torch.from_numpy(np.require(call(x, y), requirements="W"))
    with _one_thread():
        if y is None:
            return _best(values.clone().fill_diagonal_(torch.nan), k, sign, first_column), None
        return _best(values, k, sign, first_column), _best(values.mT, k, sign, first_row)


def _best(values: torch.Tensor, k: int, sign: str, first: int) -> tuple[np.ndarray, np.ndarray]:
    indices = torch.arange(first, first + values.shape[1]).masked_fill(values.isnan(), -1)
    return _as_arrays(merged(values, indices, k, sign))


def _merged(k: int, sign: str, found: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    values, indices = (torch.from_numpy(np.concatenate(parts, axis=1)) for parts in zip(*found, strict=True))
    with _one_thread():
        return _as_arrays(merged(values, indices, k, sign))


def _as_arrays(best: Best) -> tuple[np.ndarray, np.ndarray]:
    return best.values.numpy(), best.indices.numpy()


def _tree(found: list[Any], merge: Any) -> Any:
    """Results merged, some at a time, until one is left."""
    while len(found) > 1:
        found = [merge(found[first : first + _MERGED_AT_ONCE]) for first in range(0, len(found), _MERGED_AT_ONCE)]
    return found[0]


class _Running:
    """Tasks of this process, of which Dask runs as many as there are cores: torch has one thread while any is there."""

    lock, tasks, threads = threading.Lock(), 0, 0


@contextmanager
def _one_thread() -> Iterator[None]:
    with _Running.lock:
        if not _Running.tasks:
            _Running.threads = torch.get_num_threads()
        _Running.tasks += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _Running.lock:
            _Running.tasks -= 1
            if not _Running.tasks:
                torch.set_num_threads(_Running.threads)
