"""Edges as rows of a table: which nodes they join, and the kernel between nodes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from torchrank.estimators.named_kernels import named_kernel


@dataclass(frozen=True)
class Graph:
    """Edges as places in tables of nodes."""

    start: np.ndarray  # (q,)
    end: np.ndarray  # (q,)
    start_nodes: np.ndarray  # (m, d) features, or (m,) numbers of nodes
    end_nodes: np.ndarray | None  # None: the same table

    @property
    def edges(self) -> np.ndarray:
        """``(q, 2)`` places of start and end nodes."""
        return np.stack([self.start, self.end], axis=1)

    @property
    def shape(self) -> tuple[int, int]:
        """How many start and end nodes there are."""
        return len(self.start_nodes), len(self.start_nodes if self.end_nodes is None else self.end_nodes)

    def matrix(self, y: np.ndarray) -> np.ndarray | None:
        """Labels as a matrix, or None unless every pair of nodes is there once."""
        if len(y) != self.shape[0] * self.shape[1]:
            return None
        F = np.full(self.shape, np.nan)
        F[self.start, self.end] = y
        return None if np.isnan(F).any() else F


def graph_of_features(X: np.ndarray, n_start_features: int | None, one_set: bool) -> Graph:
    """The graph whose edges are the rows of ``X``: features of the start node, then of the end node.

    Args:
        X: ``(q, features)``.
        n_start_features: how many columns belong to the start node; by default half.
        one_set: start and end nodes are the same set.
    """
    width = X.shape[1] // 2 if n_start_features is None else n_start_features
    if not 0 < width < X.shape[1] or (n_start_features is None and 2 * width != X.shape[1]):
        raise ValueError(
            f"X has {X.shape[1]} feature(s), n_start_features={n_start_features}; a row holds the features of "
            "the start node and then of the end node, half each unless n_start_features says otherwise"
        )
    start, end = X[:, :width], X[:, width:]
    if one_set:
        if start.shape != end.shape:
            raise ValueError(
                f"n_start_features={n_start_features} of {X.shape[1]}; a symmetric or reciprocal relation needs "
                "as many features of the start as of the end node"
            )
        return _one_set(np.concatenate([start, end]))
    return _two_sets(start, end)


def graph_of_numbers(X: np.ndarray, nodes: Any, end_nodes: Any) -> Graph:
    """The graph whose edges are the rows of ``X``: numbers of nodes in one or two tables."""
    if X.shape[1] != 2 or (np.floor(X) != X).any():
        raise ValueError(
            f"X has shape {X.shape}; with nodes given it holds (start, end) node numbers, two integers a row"
        )
    edges = X.astype(np.int64)
    for column, table in enumerate((nodes, nodes if end_nodes is None else end_nodes)):
        outside = (edges[:, column] < 0) | (edges[:, column] >= len(table))
        if outside.any():
            row = int(outside.argmax())
            raise ValueError(f"X[{row}, {column}] is {edges[row, column]}; nodes are numbered 0 to {len(table) - 1}")
    return _one_set(edges.T.reshape(-1)) if end_nodes is None else _two_sets(edges[:, 0], edges[:, 1])


def _one_set(nodes: np.ndarray) -> Graph:
    """From the start nodes of all edges, then their end nodes."""
    table, places = np.unique(nodes, axis=0, return_inverse=True)
    start, end = places.reshape(2, -1)
    return Graph(start, end, table, None)


def _two_sets(start: np.ndarray, end: np.ndarray) -> Graph:
    start_table, start_places = np.unique(start, axis=0, return_inverse=True)
    end_table, end_places = np.unique(end, axis=0, return_inverse=True)
    return Graph(start_places.reshape(-1), end_places.reshape(-1), start_table, end_table)


@dataclass(frozen=True)
class NodeKernel:
    """A kernel between nodes, by name, as a function, or out of a matrix."""

    kernel: str | Callable[[Any, Any], Any]
    params: dict[str, Any] | None

    def __call__(self, left: np.ndarray, right: np.ndarray, table: Any) -> np.ndarray:
        """The kernel ``(r, s)`` between nodes: features, or numbers of rows in ``table`` where there is one.

        Named kernels are computed in float64. Others keep their dtype: by it small negative eigenvalues are judged.
        """
        if table is not None:
            table = np.asarray(table)
            if self.kernel == "precomputed":
                if table.ndim != 2 or table.shape[0] != table.shape[1]:
                    raise ValueError(
                        f"kernel='precomputed' and nodes of shape {table.shape}; expected the square kernel matrix of "
                        "all nodes"
                    )
                return table[np.ix_(left, right)]
            left, right = table[left], table[right]
        if callable(self.kernel):
            return np.asarray(self.kernel(left, right))
        left, right = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
        return named_kernel(left, right, self.kernel, self.params or {})
