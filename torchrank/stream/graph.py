"""Sparse graphs of rankings that are associated."""

import math

import numpy as np
import torch
from scipy import sparse

from torchrank._docs import shares_arguments
from torchrank.kernels.arguments import ARGUMENTS
from torchrank.kernels.kendall import kernel_quantity
from torchrank.kernels.pair_stream import PairStream
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.rank import sides_to_count
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Missing
from torchrank.rankings.validate import Scores, check_choice, check_finite, check_number
from torchrank.stream.arguments import ARGUMENTS as OF_STREAMS
from torchrank.stream.association import CORRECTIONS, Tests
from torchrank.stream.p_values import ALTERNATIVES
from torchrank.stream.significant import Significant


@isolated
@shares_arguments(ARGUMENTS, OF_STREAMS)
def kendall_graph(
    X: Scores,
    *,
    threshold: float | None = None,
    alpha: float | None = None,
    correction: str | None = "fdr_bh",
    alternative: str = "two-sided",
    missing: Missing = None,
    block: int | None = None,
    workspace: int = WORKSPACE,
    progress: bool = False,
) -> sparse.csr_array:
    """The graph of the rankings that are associated, an edge for each such pair, without the matrix of all pairs.

    Args:
        X: {matrix}
        threshold: least absolute value of the Kendall kernel; with ``alternative`` "greater" or "less" least value, or
            least negative one. At least 0.
        alpha: largest p-value of :func:`torchrank.kendall_test` after correction, between 0 and 1.
        correction: of p-values for the number of pairs: "fdr_bh", "fdr_by", "bonferroni", or None.
        alternative: "two-sided", "greater" or "less".
        missing: {missing} With ``alpha`` it is "raise" or "pairwise".
        block: {block}
        workspace: {workspace}
        progress: {progress}

    Returns:
        ``(m, m)`` symmetric ``scipy.sparse.csr_array`` of float64 kernel values, without a diagonal, with sorted
        indices. ``networkx.from_scipy_sparse_array`` makes a graph of it.

    Raises:
        ValueError, TypeError, RuntimeError: as :func:`torchrank.kendall_test`; neither ``threshold`` nor ``alpha``.

    Example:
        >>> X = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0, 3.0], [4.0, 3.0, 1.0, 2.0]])
        >>> kendall_graph(X, threshold=0.8).toarray().tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, -1.0, 0.0]]
    """
    check_choice(alternative, "alternative", ALTERNATIVES)
    if correction is not None:
        check_choice(correction, "correction", CORRECTIONS)
    if threshold is None and alpha is None:
        raise ValueError("neither threshold nor alpha is given; pass a least absolute value, or a largest p-value")
    least = -math.inf
    if threshold is not None:
        check_finite(threshold, "threshold", 0)
        least = float(threshold)
    pair = sides_to_count(X, None, missing)
    if alpha is None:
        quantity = kernel_quantity(pair, None, None, math.nan, 0.0)
        stream = PairStream.of(pair, quantity, block=block, method="auto", workspace=workspace, dtype=torch.float64)
        return _symmetric(*_far_pairs(stream, least, alternative, bool(progress)), stream.shape[0])
    check_number(alpha, "alpha")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha!r} is out of range; it is a probability between 0 and 1")
    tests = Tests.of(pair, block=block, workspace=workspace)
    found = Significant(float(alpha), correction, alternative, tests.stream.n_pairs)
    for part, scored in tests.run("kendall_graph", bool(progress)):
        found.add(scored, part)
    row, column, tau = found.pairs()
    kept = _is_far(tau, least, alternative)
    return _symmetric(row[kept], column[kept], tau[kept], tests.stream.shape[0])


def _far_pairs(
    stream: PairStream, least: float, alternative: str, progress: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of the pairs above the diagonal that the threshold leaves."""
    edges = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    for part, block_values in stream.run("kendall_graph", progress):
        values = block_values[0].detach().cpu().numpy()
        row, column = part.upper(_is_far(values, least, alternative))
        edges.append((row + part.rows.start, column + part.columns.start, values[row, column]))
    rows, columns, values = zip(*edges, strict=True)
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(values)


def _is_far(values: np.ndarray, least: float, alternative: str) -> np.ndarray:
    if alternative == "two-sided":
        return np.abs(values) >= least
    return (values if alternative == "greater" else -values) >= least


def _symmetric(row: np.ndarray, column: np.ndarray, values: np.ndarray, m: int) -> sparse.csr_array:
    ends = np.concatenate([row, column]), np.concatenate([column, row])
    graph = sparse.csr_array((np.concatenate([values, values]), ends), shape=(m, m))
    graph.sort_indices()
    return graph
