"""The rankings nearest to each one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from torchrank._docs import shares_arguments
from torchrank.kernels.arguments import ARGUMENTS
from torchrank.kernels.kendall_arguments import kernel_quantity
from torchrank.kernels.pair_stream import PairStream
from torchrank.kernels.plan import refuse_different_plans
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.rank import sides_to_count
from torchrank.processes import ARGUMENTS as OF_PROCESSES
from torchrank.processes import Group, rank_of, share_of, together
from torchrank.rankings.arrays import to_numpy
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Missing
from torchrank.rankings.unmapped import MANY, unmapped
from torchrank.rankings.validate import Scores, check_choice, check_count
from torchrank.stream.arguments import ARGUMENTS as OF_STREAMS
from torchrank.stream.nearest import ORDERS, merged_over, nearest
from torchrank.stream.sparse_matrices import narrow
from torchrank.typing import Array, Kind, PairMethod, Sign, Variant

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Neighbors(Generic[Kind]):
    """The k nearest of m2 rankings to each of m; ``indices, values = neighbors`` takes it apart.

    Attributes:
        indices: ``(m, k)`` int64, their rows, nearest first; -1 where there are no more.
        values: ``(m, k)`` their kernel values; NaN where there are no more.
        n_columns: m2.
        of_one_set: whether they are neighbors among the rankings themselves, not in ``Y``.
        rows: names of the m rankings, where they came with some: in a data frame or a data set; or None.
        columns: names of the m2 rankings, likewise.
        sign: which are near, as it was asked for.
    """

    indices: Kind
    values: Kind
    n_columns: int
    of_one_set: bool
    rows: Any = field(default=None, repr=False)
    columns: Any = field(default=None, repr=False)
    sign: Sign = "positive"

    def __iter__(self) -> Iterator[Kind]:
        return iter((self.indices, self.values))

    def __repr__(self) -> str:
        indices: Any = self.indices
        m, k = indices.shape
        return f"Neighbors({k} of {self.n_columns} rankings for each of {m})"

    def with_self(self) -> Neighbors[Kind]:
        """With each ranking of one set as its own first neighbor too, of value 1: k + 1 of them.

        So UMAP and scikit-learn count: ``umap.UMAP(precomputed_knn=(found.indices, 1 - found.values))``.

        Raises:
            ValueError: neighbors that have it already; neighbors in ``Y``, where a ranking itself is not; or with
                ``sign="negative"`` the most opposed ones, of which a ranking itself is the last.
        """
        if not self.of_one_set:
            raise ValueError("these neighbors are in Y, where a ranking itself is not; use them as they are")
        if self.sign == "negative":
            raise ValueError(
                "these neighbors are the most opposed rankings, sign='negative', and a ranking itself is the last "
                "of them; use them as they are"
            )
        joined: tuple[Any, Any]
        indices: Any = self.indices
        values: Any = self.values
        on_device = isinstance(indices, Tensor)
        own: Any = torch.arange(len(indices), device=indices.device) if on_device else np.arange(len(indices))
        own = own[:, None]
        if len(indices) and bool((indices[:, :1] == own).all()):
            raise ValueError("these neighbors have each ranking itself already; use them as they are")
        if on_device:
            joined = torch.cat([own, indices], 1), torch.cat([torch.ones_like(values[:, :1]), values], 1)
        else:
            joined = np.hstack([own, indices]), np.hstack([np.ones_like(values[:, :1]), values])
        return replace(self, indices=joined[0], values=joined[1])

    def to_csr(self, *, distance: bool = False) -> sparse.csr_array:
        r"""A sparse matrix ``(m, m2)`` of the values, in each row the nearest first.

        Half-precision values come in float32, since sparse matrices of SciPy have no half precision.

        Args:
            distance: whether it holds distances in place of values, at least 0 and the smaller the nearer: 1 - value,
                with ``sign="negative"`` 1 + value, with ``sign="either"`` 1 - \|value\|. scikit-learn's learners with
                ``metric="precomputed"`` take it, for the set that they are fitted to :meth:`with_self`.
        """
        indices, values = self._arrays()
        values = values.astype(np.promote_types(values.dtype, np.float32), copy=False)
        there = indices >= 0
        starts = np.concatenate([[0], there.sum(1).cumsum()])
        data = values[there]
        if distance:
            data = np.clip(1 - {"positive": data, "negative": -data, "either": np.abs(data)}[self.sign], 0, None)
        return narrow(sparse.csr_array((data, indices[there], starts), shape=(len(indices), self.n_columns)))

    def to_frame(self) -> pandas.DataFrame:
        """A data frame of pandas with a neighbor a row: "ranking", "neighbor" and "value".

        Both by their names where they have some, else by their rows. Rankings come in their order, the nearest of each
        first; where there are no more neighbors there is no row.
        """
        import pandas

        indices, values = self._arrays()
        row, place = np.nonzero(indices >= 0)
        column = indices[row, place]
        named = (at if names is None else names[at] for names, at in ((self.rows, row), (self.columns, column)))
        return pandas.DataFrame(dict(zip(("ranking", "neighbor"), named, strict=True)) | {"value": values[row, place]})

    def _arrays(self) -> list[Any]:
        """Indices and values for NumPy, which lacks bfloat16."""
        values: Any = self.values
        if isinstance(values, Tensor) and values.dtype == torch.bfloat16:
            values = values.float()
        return [to_numpy(part) if isinstance(part, Tensor) else part for part in (self.indices, values)]


@isolated
@unmapped(MANY)
@shares_arguments(ARGUMENTS, OF_STREAMS, OF_PROCESSES)
def kendall_neighbors(
    X: Scores[Array],
    k: int,
    Y: Scores[Array] | None = None,
    *,
    sign: Sign = "positive",
    variant: Variant | None = None,
    missing: Missing = None,
    missing_y: Missing = None,
    min_common: int | None = None,
    shrink: float = 0.0,
    block: int | None = None,
    method: PairMethod = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
    group: Group = None,
) -> Neighbors[Array]:
    """The k rankings nearest to each one by the Kendall kernel, exactly, without the matrix of all pairs.

    Args:
        X: {matrix}
        k: how many, at least 1 and at most as many as there are.
        Y: ``(m2, n)`` among which neighbors are looked for; None means among the other rows of ``X``, of which none is
            its own neighbor.
        sign: which are near: "positive", those of the largest values; "negative", of the smallest ones; "either", of
            the largest absolute ones.
        variant: {variant}
        missing: {missing}
        missing_y: {missing_y}
        min_common: fewest items that neighbors have to rank both, for ``missing="pairwise"`` alone.
        shrink: as for :func:`torchrank.kendall_gram`.
        block: {block}
        method: {method}
        workspace: {workspace}
        progress: {progress}
        group: {group}

    Returns:
        :class:`Neighbors`: indices and values ``(m, k)``, nearest first, of equally near ones those of the first rows;
        of the kind, dtype and device of :func:`torchrank.kendall_gram`. Values are the entries of that matrix, as for
        :func:`torchrank.kendall_blocks`. :meth:`Neighbors.to_frame` has the names of a data frame or a data set.

    Raises:
        ValueError, TypeError, RuntimeError: as :func:`torchrank.kendall_gram`; batch dimensions, ``k`` out of range.

    Example:
        >>> X = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 3.0, 2.0]])
        >>> indices, values = kendall_neighbors(X, 1)
        >>> indices.tolist(), values.round(3).tolist()
        ([[2], [2], [0]], [[0.333], [-0.333], [0.333]])
    """
    with together(group):
        check_choice(sign, "sign", ORDERS)
        pair = sides_to_count(X, Y, missing, missing_y)
        quantity = kernel_quantity(pair, variant, min_common, math.nan, shrink)
        stream = PairStream.of(pair, quantity, block=block, method=method, workspace=workspace)
        m, m2 = stream.shape
        check_count(k, "k", least=1)
        most = m2 - stream.symmetric
        if k > most and m:
            raise ValueError(f"k={k} is too large; there are {most} {'other ' if stream.symmetric else ''}rankings")
    refuse_different_plans(stream, group, k=int(k), sign=sign)
    with together(group):
        best = nearest(stream, share_of(stream.parts(), group), int(k), sign, bool(progress) and rank_of(group) == 0)
    values, indices = merged_over(best, sign, group)
    origin = pair.origin
    names = origin.rows, origin.rows if stream.symmetric else origin.rows_y
    return Neighbors(origin.wrap(indices), origin.wrap(values), m2, stream.symmetric, *names, sign=sign)
