"""Sparse graphs of rankings that are associated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from scipy import sparse

from torchrank._docs import shares_arguments
from torchrank.kernels.arguments import ARGUMENTS
from torchrank.kernels.kendall_arguments import kernel_quantity
from torchrank.kernels.pair_stream import PairStream, Part
from torchrank.kernels.plan import refuse_different_plans
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.rank import sides_to_count
from torchrank.processes import ARGUMENTS as OF_PROCESSES
from torchrank.processes import Group, joined, rank_of, share_of, together
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Missing
from torchrank.rankings.unmapped import SHAPES, unmapped
from torchrank.rankings.validate import Scores, check_choice, check_finite, check_number
from torchrank.stream.arguments import ARGUMENTS as OF_STREAMS
from torchrank.stream.association import CORRECTIONS, Tests
from torchrank.stream.p_values import ALTERNATIVES
from torchrank.stream.significant import Significant
from torchrank.stream.sparse_matrices import narrow
from torchrank.typing import Alternative, Array, Correction


@isolated
@unmapped(SHAPES)
@shares_arguments(ARGUMENTS, OF_STREAMS, OF_PROCESSES)
def kendall_graph(
    X: Scores[Array],
    *,
    threshold: float | None = None,
    alpha: float | None = None,
    correction: Correction | None = "fdr_bh",
    alternative: Alternative = "two-sided",
    missing: Missing = None,
    block: int | None = None,
    workspace: int = WORKSPACE,
    progress: bool = False,
    group: Group = None,
) -> sparse.csr_array:
    """The graph of the rankings that are associated, an edge for each such pair, without the matrix of all pairs.

    Args:
        X: {matrix}
        threshold: least absolute value of the Kendall kernel; with ``alternative`` "greater" or "less" least value, or
            least negative one. At least 0.
        alpha: largest p-value of :func:`torchrank.kendall_test` after correction, above 0 and below 1.
        correction: of the p-values for ``alpha``, for the number of pairs: "fdr_bh", "fdr_by", "bonferroni", or None.
        alternative: "two-sided", "greater" or "less".
        missing: {missing} With ``alpha`` it is "raise" or "pairwise".
        block: {block}
        workspace: {workspace}
        progress: {progress}
        group: {group}

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
    with together(group):
        least = _checked(threshold, alpha, correction, alternative)
        pair = sides_to_count(X, None, missing)
        tests: Any = None
        if alpha is None:
            quantity = kernel_quantity(pair, None, None, math.nan, 0.0)
            stream = PairStream.of(pair, quantity, block=block, method="auto", workspace=workspace, dtype=torch.float64)
        else:
            tests = Tests.of(pair, block=block, workspace=workspace)
            stream = tests.stream
    asked = {"threshold": threshold, "alpha": alpha, "correction": correction, "alternative": alternative}
    refuse_different_plans(stream, group, **asked)
    parts, shown = share_of(stream.parts(), group), bool(progress) and rank_of(group) == 0
    if tests is None or alpha is None:
        with together(group):
            edges = _far_pairs(stream, parts, least, alternative, shown)
        row, column, values = (joined(part, group) for part in edges)
        return _symmetric(row, column, values, stream.shape[0])
    with together(group):
        found = Significant(float(alpha), correction, alternative, stream.n_pairs)
        for part, scored in tests.run("kendall_graph", shown, parts):
            found.add(scored, part)
    row, column, tau = found.of_all(group).pairs()
    kept = _is_far(tau, least, alternative)
    return _symmetric(row[kept], column[kept], tau[kept], stream.shape[0])


def _checked(threshold: float | None, alpha: float | None, correction: str | None, alternative: str) -> float:
    """The least value of an edge, -inf for no threshold.

    Raises:
        ValueError, TypeError: what is out of range, unknown, or not given at all.
    """
    check_choice(alternative, "alternative", ALTERNATIVES)
    if correction is not None:
        check_choice(correction, "correction", CORRECTIONS)
    if threshold is None and alpha is None:
        raise ValueError("neither threshold nor alpha is given; pass a least absolute value, or a largest p-value")
    if threshold is not None:
        check_finite(threshold, "threshold", 0)
    if alpha is not None:
        check_number(alpha, "alpha")
        if not 0 < alpha < 1:
            raise ValueError(f"alpha={alpha!r} is out of range; it is a probability above 0 and below 1")
    return -math.inf if threshold is None else float(threshold)


def _far_pairs(
    stream: PairStream, parts: list[Part], least: float, alternative: str, progress: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and values of the pairs above the diagonal that the threshold leaves."""
    edges = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    for part, block_values in stream.run("kendall_graph", progress, parts):
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
    return narrow(graph)
