"""Graphs of rankings that are near to each other, drawn so that neighbors lie together."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from torchrank.plots.axes import as_array, as_groups, axes_or_new
from torchrank.plots.maps import radii_of, scatter_groups
from torchrank.plots.placing import write_names
from torchrank.plots.text import as_names, lay_out, legend_beside, wrap_label
from torchrank.rankings.isolation import isolated
from torchrank.typing import Names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 2000  # rankings, whose places take some seconds
_STEPS = 300
_COVERED = 0.12  # of the axes by points, at most


class Edges(NamedTuple):
    """Edges of a graph, each once."""

    row: np.ndarray  # (q,)
    col: np.ndarray  # (q,) larger than row
    data: np.ndarray  # (q,) weights
    m: int  # nodes


@isolated
def plot_graph(
    graph: Any,
    labels: Any = None,
    *,
    names: Names | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a graph of rankings, such as their nearest neighbors or those with a significant association.

    Edges draw rankings together and all rankings push each other apart (Fruchterman and Reingold, Software: Practice
    and Experience 21, 1991), so that places mean nothing but what is near what. The same graph gives the same picture.

    Args:
        graph: what :func:`torchrank.kendall_graph` or :func:`torchrank.kendall_neighbors` give, or any square matrix,
            sparse or not, of weights of edges; 0 and NaN are none. Solid edges are of positive weight, red dashed ones
            of negative weight; the heavier, the wider. An edge in one direction is drawn as one.
        labels: ``(m,)`` clusters, shown by color and marker.
        names: of the m rankings, written where there is room, those with the most edges first.
        ax: axes to draw into.

    Returns:
        The axes. Rankings without an edge are at the border.

    Raises:
        ValueError: a matrix that is not square, neighbors in other rankings, no rankings or more than 2,000, another
            number of labels or names.
        TypeError: a matrix that is not of real numbers.
    """
    edges = _edges(graph)
    m = edges.m
    if m > _MOST:
        raise ValueError(f"graph has {m} rankings; draw a part of at most {_MOST}, graph[rows][:, rows], or plot_map")
    groups = as_groups(labels, m)
    words = None if names is None else as_names(names, m, "names", "graph has {n} rankings")
    ax = axes_or_new(ax, (5.6, 4.6))
    points = spring_places(edges)
    _draw_edges(ax, points, edges)
    areas = np.full(m, 45.0)
    areas = areas * min(1.0, _COVERED * np.prod(ax.bbox.size) * lay_out(ax) ** 2 / areas.sum())
    scatter_groups(ax, points, groups.codes, areas, groups.names)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.08 if words is None else 0.16)
    negative = int((edges.data < 0).sum())
    told = [
        f"{m} rankings",
        f"{len(edges.data)} edges",
        *([f"{negative} of them negative (dashed)"] if negative else []),
    ]
    wrap_label(ax, told)
    if labels is not None:
        legend_beside(ax)
        wrap_label(ax, told)  # beside the legend there is less room
    if words is not None:
        degrees = np.bincount(np.concatenate([edges.row, edges.col]), minlength=m)
        order = np.argsort(-degrees, kind="stable")
        write_names(ax, points, words, radii_of(areas), order=order, far=12)
    return ax


def _edges(graph: Any) -> Edges:
    """Weights of edges ``(m, m)`` above the diagonal, the one of larger size where directions differ."""
    if hasattr(graph, "to_csr"):
        if not graph.of_one_set:
            raise ValueError("graph are neighbors in other rankings, Y; a graph needs neighbors in one set of rankings")
        graph = graph.to_csr()
    if hasattr(graph, "detach"):
        graph = graph.detach().cpu().to_dense().numpy()
    matrix: Any = sparse.coo_array(graph if sparse.issparse(graph) else as_array(graph, "graph", 2))
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"graph has dtype {matrix.dtype}; expected real numbers")
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"graph has shape {shape}; expected a square matrix")
    matrix = matrix.astype(np.float64)
    row, column = (np.concatenate(ends) for ends in ((matrix.row, matrix.col), (matrix.col, matrix.row)))
    weight = np.concatenate([matrix.data, matrix.data])
    kept = (row < column) & (weight != 0) & ~np.isnan(weight)
    row, column, weight = row[kept], column[kept], weight[kept]
    order = np.lexsort([-np.abs(weight), column, row])
    place = row[order].astype(np.int64) * shape[0] + column[order]
    first = order[np.append(True, place[1:] != place[:-1])[: len(order)]]
    return Edges(row[first], column[first], weight[first], shape[0])


def spring_places(edges: Edges) -> np.ndarray:
    """Places ``(m, 2)`` of a graph's nodes, about the unit square around 0, by springs and repulsion."""
    m = edges.m
    angle = np.arange(m) * np.pi * (3 - np.sqrt(5))  # on a spiral that fills a disk
    points = np.sqrt((np.arange(m) + 0.5) / m)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    spacing = 1 / np.sqrt(m)
    pulls = np.zeros((m, m))
    size = np.abs(edges.data) / max(float(np.abs(edges.data).max(initial=0)), 1e-300)
    pulls[edges.row, edges.col] = pulls[edges.col, edges.row] = 0.3 + 0.7 * size
    steps = _STEPS if m <= 500 else _STEPS // 4
    for step in np.linspace(0.1, 0.002, steps):
        difference = points[:, None] - points
        distance = np.maximum(np.hypot(difference[..., 0], difference[..., 1]), 1e-3 * spacing)
        force = spacing**2 / distance**2 - pulls * distance / spacing
        move = (force[..., None] * difference).sum(axis=1) - points * spacing * 2  # the rest keeps parts together
        length = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-12)
        points = points + move / length * np.minimum(length, step)
    points = points - points.mean(axis=0)
    return points / max(float(np.abs(points).max()), 1e-12)


def _draw_edges(ax: "Axes", points: np.ndarray, edges: Edges) -> None:
    from matplotlib.collections import LineCollection

    largest = max(float(np.abs(edges.data).max(initial=0)), 1e-300)
    for own, color, dashes in ((edges.data > 0, "0.55", "-"), (edges.data < 0, "#D55E00", "--")):
        ends = np.stack([points[edges.row[own]], points[edges.col[own]]], axis=1)
        widths = 0.3 + 1.2 * np.abs(edges.data[own]) / largest
        ax.add_collection(
            LineCollection(list(ends), colors=color, linestyles=dashes, linewidths=list(widths), zorder=0)
        )
