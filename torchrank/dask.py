"""Kendall kernels of all pairs of rankings as tasks of Dask, for those who have a cluster of it.

Needs Dask: ``pip install dask distributed``. Results are those of :func:`torchrank.kendall_gram` and
:func:`torchrank.kendall_neighbors`; each pair of blocks is one task, of one thread, so workers with as many threads as
cores use all of them.
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
    "other_rows": """\
``(m2, n)`` likewise; None means ``X``, of which each pair of blocks is one task.""",
    "block": """\
rows of a block; None takes 2,048, and of a Dask array its chunks.""",
    "missing": """\
what unranked items mean, one word for all rows of both sides: "raise" (the default for scores), "interleaving", "topk"
or "pairwise", as :func:`torchrank.kendall_gram` explains.""",
}


@shares_arguments(ARGUMENTS, _OF_DASK)
def kendall_gram(X: Any, Y: Any = None, *, block: int | None = None, missing: Missing = None, **settings: Any) -> Any:
    """:func:`torchrank.kendall_gram` as a lazy Dask array; of one set of rankings made of the blocks of one triangle.

    Args:
        X: {rows}
        Y: {other_rows}
        block: {block}
        missing: {missing}
        **settings: ``variant``, ``min_common``, ``fill_value``, ``shrink`` and ``method`` of
            :func:`torchrank.kendall_gram`.

    Returns:
        ``(m, m2)`` Dask array. Without ``Y`` the blocks below the diagonal are those above it, transposed.

    Raises:
        ValueError, TypeError: what :func:`torchrank.kendall_gram` refuses, and bfloat16, which NumPy lacks; unranked
            items of a Dask array are refused when it is computed.
    """
    sides = _sides(X, Y, block, missing, settings)
    of_two = dask.delayed(sides.call)
    tiles = {pair: of_two(*sides.parts(*pair)) for pair in sides.pairs()}
    heights, widths = sides.rows.sizes, sides.columns.sizes

    def placed(i: int, j: int) -> Any:
        tile = tiles[i, j] if (i, j) in tiles else dask.delayed(np.transpose)(tiles[j, i])
        return dask.array.from_delayed(tile, (heights[i], widths[j]), sides.dtype)

    if not heights or not widths:
        return dask.array.empty((sum(heights), sum(widths)), dtype=sides.dtype)
    return dask.array.block([[placed(i, j) for j in range(len(widths))] for i in range(len(heights))])


@shares_arguments(ARGUMENTS, _OF_DASK)
def kendall_neighbors(
    X: Any,
    k: int,
    Y: Any = None,
    *,
    sign: str = "positive",
    block: int | None = None,
    missing: Missing = None,
    **settings: Any,
) -> tuple[Any, Any]:
    """:func:`torchrank.kendall_neighbors` as lazy Dask arrays: a task keeps the best of two blocks, a tree merges them.

    Args:
        X: {rows}
        k: how many, at least 1 and at most as many as there are.
        Y: {other_rows} Rows of ``X`` are not their own neighbors then.
        sign: as for :func:`torchrank.kendall_neighbors`.
        block: {block}
        missing: {missing}
        **settings: ``variant``, ``min_common``, ``shrink`` and ``method`` of :func:`torchrank.kendall_gram`.

    Returns:
        Indices and values ``(m, k)``, two Dask arrays: ``dask.compute(*kendall_neighbors(X, 5))``.

    Raises:
        ValueError, TypeError: as :func:`torchrank.kendall_neighbors`, and bfloat16, which NumPy lacks; unranked items
            of a Dask array are refused when it is computed.
    """
    check_choice(sign, "sign", ORDERS)
    check_count(k, "k", least=1)
    sides = _sides(X, Y, block, missing, settings)
    rows, columns = sides.rows.spans, sides.columns.spans
    most = sum(sides.columns.sizes) - sides.symmetric
    if k > most and rows:
        raise ValueError(f"k={k} is too large; there are {most} {'other ' if sides.symmetric else ''}rankings")
    best_of: Any = dask.delayed(partial(_best_of_two, sides.call, int(k), sign, sides.symmetric), nout=2)
    found: dict[int, list[Any]] = {i: [] for i in range(len(rows))}
    for i, j in sides.pairs():
        both = best_of(*sides.parts(i, j), rows[i][0], columns[j][0])
        found[i].append(both[0])
        if sides.symmetric and i != j:
            found[j].append(both[1])
    kept = [_tree(bests, dask.delayed(partial(_merged, int(k), sign))) for bests in found.values()]
    shapes = [(size, int(k)) for size in sides.rows.sizes]
    dtypes = sides.dtype, np.dtype(np.int64)
    if not kept:
        return dask.array.empty((0, int(k)), dtype=dtypes[1]), dask.array.empty((0, int(k)), dtype=dtypes[0])

    def whole(part: int) -> Any:
        blocks = zip(kept, shapes, strict=True)
        return dask.array.concatenate([dask.array.from_delayed(b[part], shape, dtypes[part]) for b, shape in blocks])

    return whole(1), whole(0)


class _Rows(NamedTuple):
    """Blocks of prepared rankings, where they are."""

    parts: Sequence[Any]  # delayed, or futures
    spans: list[tuple[int, int]]  # their first rows and those behind their last ones
    some: Any  # no rows of them, by which settings are checked

    @property
    def sizes(self) -> list[int]:
        """How many rows each block has."""
        return [stop - start for start, stop in self.spans]


class _Sides(NamedTuple):
    """What kernels are between, block by block."""

    rows: _Rows
    columns: _Rows
    symmetric: bool  # whether both are the same
    call: Any  # makes the matrix of two blocks, or of one and None
    dtype: np.dtype[Any]  # of kernels

    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of blocks; of one set each once."""
        m, m2 = len(self.rows.spans), len(self.columns.spans)
        return [(i, j) for i in range(m) for j in range(i if self.symmetric else 0, m2)]

    def parts(self, i: int, j: int) -> tuple[Any, Any]:
        """Two blocks, or one and None."""
        return self.rows.parts[i], None if self.symmetric and i == j else self.columns.parts[j]


def _sides(X: Any, Y: Any, block: int | None, missing: Missing, settings: dict[str, Any]) -> _Sides:
    """The rankings of both sides, and what makes the matrix of two blocks of them; settings are checked on no rows."""
    if block is not None:
        check_count(block, "block", least=1, unit="row")
    rows = _rows(X, "X", block, missing)
    columns = rows if Y is None else _rows(Y, "Y", block, missing)
    some = gram_of_rows(rows.some, None if Y is None else columns.some, **settings)
    if isinstance(some, torch.Tensor) and some.dtype == torch.bfloat16:
        raise TypeError("X is bfloat16, which NumPy and so Dask's arrays lack; pass scores in float32")
    return _Sides(rows, columns, Y is None, partial(_gram, settings), _as_array(some).dtype)


def _rows(X: Any, name: str, block: int | None, missing: Missing) -> _Rows:
    """The rankings of one side."""
    if isinstance(X, dask.array.Array):
        if X.ndim != 2 or np.isnan(X.shape).any():
            raise ValueError(
                f"{name} has shape {X.shape}; expected a Dask array (rankings, items) of known shape, as "
                "compute_chunk_sizes makes it"
            )
        if not isinstance(missing, str | None):
            raise ValueError(
                f"missing has a word for each row, and {name} is a Dask array; pass one word, or prepared rankings"
            )
        chunks: Any = {1: -1} if block is None else {0: int(block), 1: -1}
        X = X.rechunk(chunks)
        prepare = dask.delayed(partial(_ranked, missing))
        parts: Sequence[Any] = [prepare(part) for part in X.to_delayed()[:, 0]]
        return _Rows(parts, _spans(np.cumsum(X.chunks[0]).tolist()), rank(np.empty((0, X.shape[1]), X.dtype), missing))
    prepared = rank(X, missing)
    if len(prepared.shape) != 2:
        raise ValueError(f"{name} has shape {tuple(prepared.shape)}; expected one matrix (rankings, items)")
    spans = _spans([*range(block or _BLOCK, len(prepared), block or _BLOCK), len(prepared)] if len(prepared) else [])
    return _Rows(_sent([prepared[start:stop] for start, stop in spans]), spans, prepared[:0])


def _spans(ends: list[int]) -> list[tuple[int, int]]:
    return list(zip([0, *ends], ends, strict=False))


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
        return _as_array(gram_of_rows(x, y, **settings))


def _as_array(values: Any) -> np.ndarray:
    return to_numpy(values) if isinstance(values, torch.Tensor) else np.asarray(values)  # without names of rows


def _best_of_two(
    call: Any, k: int, sign: str, symmetric: bool, x: Any, y: Any, first_row: int, first_column: int
) -> tuple[Any, Any]:
    """The best of the rows of one block among those of another, and of one set the other way round."""
    values = torch.from_numpy(np.require(call(x, y), requirements="W"))
    with _one_thread():
        if y is None:
            return _best(values.clone().fill_diagonal_(torch.nan), k, sign, first_column), None
        of_y = _best(values.mT, k, sign, first_row) if symmetric else None
        return _best(values, k, sign, first_column), of_y


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
