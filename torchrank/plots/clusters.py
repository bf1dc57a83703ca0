"""Clusters of rankings: Gram matrices in cluster order, and silhouettes."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torchrank.plots.axes import Groups, as_array, as_gram, as_groups, axes_or_new, style
from torchrank.plots.text import Ticks, as_names, lay_out, spread, wrap_label, write_ticks
from torchrank.rankings.arrays import from_array
from torchrank.rankings.isolation import isolated
from torchrank.rankings.names import index_of
from torchrank.rankings.validate import as_weights, check_choice
from torchrank.typing import LeafOrder, Names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CELLS = 1000  # along each axis, which is more than there are pixels
_CLOSEST = 0.035  # of the axis, between names of clusters
_LETTER = 6  # points, of a name that may be written across
_MARGIN = 0.02  # of the axis, between the matrix and names of clusters


@isolated
def plot_gram(
    K: Any,
    labels: Any = None,
    *,
    names: Names | None = None,
    order: LeafOrder = "given",
    rows: str = "rankings",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a Gram matrix as a heat map, rows and columns in the order of their clusters.

    Args:
        K: ``(m, m)`` kernel values, or what :func:`torchrank.kendall_test` gives; NaN is gray. The scale is that of the
            values off the diagonal, which would leave no contrast to the others. Where these are of both signs, 0 is
            white, red means positive and blue negative; else lighter means larger. Above 1,000 rankings cells are means
            of blocks.
        labels: ``(m,)`` clusters; lines part them. None is one cluster.
        names: of the m rows, as many as there is room for; a data frame brings its own.
        order: of the rows of a cluster: "given", or "leaves", those of a dendrogram, which is drawn above the matrix:
            average linkage of the distances between feature vectors, with the order of leaves in which neighbors are
            most alike (Bar-Joseph, Gifford and Jaakkola, Bioinformatics 17, 2001, by SciPy). Heights of joins begin a
            little below the lowest one, not at 0.
        rows: what they are, such as "samples", for the label of the axis.
        ax: axes to draw into.

    Returns:
        The axes.

    Raises:
        ValueError: not a square matrix, one of distances, no rows, another number of labels or names, an unknown order,
            or with "leaves" a matrix that is not finite or not symmetric.
    """
    values = "Kendall's tau" if hasattr(K, "statistic") else "kernel"
    K = getattr(K, "statistic", K)
    gram = as_gram(K)
    m = len(gram)
    groups = as_groups(labels, m)
    check_choice(order, "order", ("given", "leaves"))
    names = index_of(K) if names is None else names
    words = None if names is None else as_names(names, m, "names", "K has {n} rows")
    if order == "leaves" and not np.isfinite(gram).all():
        raise ValueError(
            "K has values that are not finite, which have no place in a dendrogram: leave out their rows, such "
            "as those that tie all items, or pass order='given'"
        )
    if order == "leaves" and not np.allclose(gram, gram.T, rtol=1e-4, atol=1e-6):
        raise ValueError("K is not symmetric, so that rows have no distances; pass order='given'")
    trees = (
        [dendrogram_of(gram, np.flatnonzero(groups.own(code))) for code in range(len(groups.names))]
        if order == "leaves"
        else []
    )
    side = 4.2 if words is None else max(4.2, min(10.0, 1.2 + 0.1 * m))  # inches
    ax = axes_or_new(ax, (side + 1.0 + 0.8 * (words is not None), side))
    ranks = np.concatenate([tree.leaves for tree in trees]) if trees else np.argsort(groups.codes, kind="stable")
    step = -(-m // _MOST_CELLS)
    cells = _block_means(gram[np.ix_(ranks, ranks)], step)
    (low, high), edge = _limits(cells), len(cells) * step - 0.5
    signed = low < 0 < high
    if signed:
        low, high = -max(-low, high), max(-low, high)
    extent = (-0.5, edge, edge, -0.5)
    image = ax.imshow(cells, cmap="RdBu_r" if signed else "cividis", vmin=low, vmax=high, extent=extent)
    ax.set(xlim=(-0.5, m - 0.5), ylim=(m - 0.5, -0.5))
    ax.set_facecolor("0.75")  # shows where there is no number
    ends = np.cumsum(np.bincount(groups.codes))
    for end in ends[:-1]:
        ax.axhline(end - 0.5, color="black" if signed else "white", linewidth=1)
        ax.axvline(end - 0.5, color="black" if signed else "white", linewidth=1)
    beyond = bool(np.nanmax(cells, initial=-np.inf) > high)
    _color_bar(ax, image, values, "max" if beyond else "neither")
    if trees:
        _draw_trees(ax, trees, ends)
    if labels is None and words is None:
        ax.set(xlabel=rows, ylabel=rows)
        ax.locator_params(integer=True)
        return ax
    ax.set_xlabel(f"{m} {rows}" if labels is None else f"{m} {rows}, by cluster")
    middles = (np.append(0, ends[:-1]) + ends - 1) / 2
    ax.set_xticks([])
    clusters = None if labels is None else _cluster_ticks(ax, middles, groups, beside=words is None)
    rankings = None if words is None else (range(m), [words[row] for row in ranks])
    write_ticks(Ticks(ax, y=clusters) if words is None else Ticks(ax, clusters, rankings))
    return ax


def _cluster_ticks(ax: "Axes", middles: np.ndarray, groups: Groups, *, beside: bool) -> tuple[np.ndarray, list[str]]:
    """Places and names of clusters, of the largest as many as there is room for; lines lead to names that moved."""
    m = len(groups.codes)
    sizes = np.bincount(groups.codes)
    shown = np.sort(np.argsort(-sizes, kind="stable")[: int(1 / _CLOSEST) + 1])
    places = spread(middles[shown], _CLOSEST * m, -0.5, m - 0.5)
    unit = lay_out(ax)
    names = [groups.names[group] for group in shown]
    narrowest = np.diff(places).min(initial=m) / m * ax.bbox.width * unit
    turned = not beside and max(map(len, names)) * _LETTER > narrowest
    room = _MARGIN * unit * (ax.bbox.width if beside else ax.bbox.height)
    ax.tick_params(axis="y" if beside else "x", length=0, pad=room + 2, rotation=90 if turned else 0)
    for along in zip(middles[shown], places, strict=True):
        across = (0.0, -_MARGIN)
        line = {"color": "black", "linewidth": 0.8, "clip_on": False}
        if beside:
            ax.plot(across, along, transform=ax.get_yaxis_transform(), **line)
        else:
            ax.plot(along, across, transform=ax.get_xaxis_transform(), **line)
    return places, names


def _color_bar(ax: "Axes", image: Any, label: str, extend: str) -> None:
    """Beside the matrix and as high; where the figure makes no room, in a part of the axes'."""
    if ax.figure.get_layout_engine() is None:
        ax.figure.colorbar(image, ax=ax, label=label, extend=extend)
    else:
        ax.figure.colorbar(image, cax=ax.inset_axes((1.03, 0.0, 0.05, 1.0)), label=label, extend=extend)


class Tree(NamedTuple):
    """A dendrogram of the rows of a cluster."""

    leaves: np.ndarray  # (m,) the rows, in the order of leaves
    lines: np.ndarray  # (m - 1, 4, 2) corners of each join: place, where the first leaf has 0, and height


def dendrogram_of(gram: np.ndarray, own: np.ndarray) -> Tree:
    """Average linkage of some rows by their distances as feature vectors, with the best order of leaves."""
    from scipy.cluster.hierarchy import dendrogram, linkage
    from scipy.spatial.distance import squareform

    if len(own) < 2:
        return Tree(own, np.empty((0, 4, 2)))
    part = gram[np.ix_(own, own)]
    lengths = np.diag(part)
    squares = np.maximum(lengths + lengths[:, None] - part - part.T, 0)
    np.fill_diagonal(squares, 0)
    distances = np.sqrt((squares + squares.T) / 2)
    joins = linkage(squareform(distances, checks=False), "average", optimal_ordering=True)
    drawn = dendrogram(joins, no_plot=True)
    across = (np.array(drawn["icoord"]) - 5) / 10  # SciPy puts leaves at 5, 15, ...
    return Tree(own[drawn["leaves"]], np.stack([across, np.array(drawn["dcoord"])], axis=2))


def _draw_trees(ax: "Axes", trees: list[Tree], ends: np.ndarray) -> None:
    """Dendrograms of the clusters above the matrix, in one scale of heights that begins below the lowest join.

    Rows of many columns are nearly as far from one another as any: from 0 on, all joins would be at one height.
    """
    from matplotlib.collections import LineCollection

    above = ax.inset_axes((0.0, 1.01, 1.0, 0.14), sharex=ax)
    heights = np.concatenate([tree.lines[:, 1, 1] for tree in trees])
    low, top = float(heights.min(initial=np.inf)), float(heights.max(initial=0.0)) or 1.0
    bottom = max(0.0, low - (top - low) / 3) if low < top else 0.0
    starts = np.append(0, ends[:-1])
    lines = np.concatenate([tree.lines + np.array([start, 0]) for tree, start in zip(trees, starts, strict=True)])
    above.add_collection(LineCollection(list(lines), colors="0.3", linewidths=0.7))
    above.set_ylim(bottom, top + (top - bottom) / 20)
    above.set_axis_off()


def _block_means(gram: np.ndarray, step: int) -> np.ndarray:
    """Means of blocks of so many rows and columns."""
    if step == 1:
        return gram
    starts = np.arange(0, len(gram), step)
    sizes = np.diff(np.append(starts, len(gram)))
    return np.add.reduceat(np.add.reduceat(gram, starts, axis=0), starts, axis=1) / np.outer(sizes, sizes)


def _limits(gram: np.ndarray) -> tuple[float, float]:
    """Least and largest finite value off the diagonal, or of all where those do not differ."""
    outside = gram[~np.eye(len(gram), dtype=bool)]
    for values in (outside, gram):
        finite = values[np.isfinite(values)]
        if len(finite) and finite.min() < finite.max():
            return float(finite.min()), float(finite.max())
    return (float(finite[0]) - 0.5, float(finite[0]) + 0.5) if len(finite) else (0.0, 1.0)


@isolated
def plot_silhouette(widths: Any, labels: Any, *, weights: Any = None, ax: "Axes | None" = None) -> "Axes":
    """Draw silhouette widths as bars, cluster by cluster, widest first, and their mean as a line.

    Args:
        widths: ``(m,)`` in [-1, 1], see :func:`torchrank.metrics.silhouette_samples`.
        labels: ``(m,)`` clusters.
        weights: ``(m,)``, how often each ranking was observed: the height of its bar; None means once.
        ax: axes to draw into.

    Returns:
        The axes. Numbers in brackets are those of the rankings in each cluster.

    Raises:
        ValueError: shapes that do not fit, no rows, widths that are NaN.
    """
    values = as_array(widths, "widths", 1)
    if np.isnan(values).any():
        raise ValueError(f"widths has NaN for row {int(np.isnan(values).argmax())}; silhouettes are between -1 and 1")
    groups = as_groups(labels, len(values))
    counts = np.ones(len(values)) if weights is None else as_array(weights, "weights", 1)
    counts = as_weights(counts, from_array(values[:, None], "widths")).numpy()
    ax = axes_or_new(ax, (5.0, max(3.0, 1.2 + 0.35 * len(groups.names))))
    gap, start, middles = counts.sum() / 50, 0.0, []
    for code in range(len(groups.names)):
        own = np.flatnonzero(groups.own(code))
        own = own[np.argsort(-values[own], kind="stable")]
        edges = start + np.append(0, counts[own].cumsum())
        corners = np.repeat(edges, 2)[1:-1]
        ax.fill_betweenx(corners, 0, np.repeat(values[own], 2), color=style(code)[0], linewidth=0)
        middles.append((edges[0] + edges[-1]) / 2)
        start = edges[-1] + gap
    names = [f"{name} ({counts[groups.own(code)].sum():g})" for code, name in enumerate(groups.names)]
    ax.set_ylim(start, -gap)
    mean = float(values @ counts / counts.sum())
    ax.axvline(0, color="black", linewidth=0.8)
    ax.axvline(mean, color="black", linestyle="--", linewidth=1)
    write_ticks(Ticks(ax, y=(middles, names)))
    wrap_label(ax, ["silhouette width", f"dashed: mean {mean:.2f}"])
    return ax
