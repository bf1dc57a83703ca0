"""Kendall kernels block by block, for whatever takes blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Generic

from typing_extensions import NamedTuple

from torchrank._docs import shares_arguments
from torchrank.kernels.arguments import ARGUMENTS
from torchrank.kernels.kendall_arguments import kernel_quantity
from torchrank.kernels.pair_stream import PairStream, Part
from torchrank.kernels.plan import refuse_different_plans
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.rank import sides_to_count
from torchrank.processes import ARGUMENTS as OF_PROCESSES
from torchrank.processes import Group, rank_of, share_of, together
from torchrank.rankings.isolation import isolated, isolation
from torchrank.rankings.missing import Missing
from torchrank.rankings.unmapped import MANY, unmapped
from torchrank.rankings.validate import Scores
from torchrank.stream.arguments import ARGUMENTS as OF_STREAMS
from torchrank.typing import Array, Kind, PairMethod, Variant


class Block(NamedTuple, Generic[Kind]):
    """A part of a matrix over all pairs of rankings: ``K[rows, columns] = values``."""

    rows: slice
    columns: slice
    values: Kind


@isolated
@unmapped(MANY)
@shares_arguments(ARGUMENTS, OF_STREAMS, OF_PROCESSES)
def kendall_blocks(
    X: Scores[Array],
    Y: Scores[Array] | None = None,
    *,
    block: int | None = None,
    variant: Variant | None = None,
    missing: Missing = None,
    missing_y: Missing = None,
    min_common: int | None = None,
    fill_value: float = math.nan,
    shrink: float = 0.0,
    method: PairMethod = "auto",
    workspace: int = WORKSPACE,
    progress: bool = False,
    group: Group = None,
) -> Iterator[Block[Array]]:
    """:func:`torchrank.kendall_gram` block by block, for matrices that are larger than memory.

    Without ``Y`` blocks on and right of the diagonal come, row by row; the transposed ones hold the same numbers. All
    entries are those of :func:`torchrank.kendall_gram`, bit for bit, whatever the blocks.

    Args:
        X: {matrix}
        Y: {other_matrix}
        block: {block}
        variant: {variant}
        missing: {missing}
        missing_y: {missing_y}
        min_common: {min_common}
        fill_value: {fill_value}
        shrink: as for :func:`torchrank.kendall_gram`.
        method: {method}
        workspace: {workspace}
        progress: {progress}
        group: {group} Each one gets its own share of them; errors in what is done with a block are not told.

    Returns:
        An iterator of :class:`Block`: slices of rows and of columns, and values of the dtype and kind of
        :func:`torchrank.kendall_gram`, without names. Arguments are checked by the call, not by the first block.

    Raises:
        ValueError, TypeError, RuntimeError: as :func:`torchrank.kendall_gram`, and for batch dimensions.

    Example:
        >>> X = np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [3.0, 2.0, 1.0]])
        >>> for rows, columns, values in kendall_blocks(X, block=2):
        ...     print(rows.start, columns.start, values.round(2).tolist())
        0 0 [[1.0, 0.33], [0.33, 1.0]]
        0 2 [[-1.0], [-0.33]]
        2 2 [[1.0]]
    """
    with together(group):
        pair = sides_to_count(X, Y, missing, missing_y)
        quantity = kernel_quantity(pair, variant, min_common, fill_value, shrink)
        stream = PairStream.of(pair, quantity, block=block, method=method, workspace=workspace)
    refuse_different_plans(stream, group)
    return _blocks(stream, share_of(stream.parts(), group), bool(progress) and rank_of(group) == 0)


def _blocks(stream: PairStream, parts: list[Part], progress: bool) -> Iterator[Block]:
    blocks = stream.run("kendall_blocks", progress, parts)
    while True:
        with isolation():  # not around what is done with a block
            part, values = next(blocks, (None, None))
        if part is None or values is None:
            return
        yield Block(part.rows, part.columns, stream.pair.origin.wrap(values[0]))
