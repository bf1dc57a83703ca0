"""Clusters of rankings: Gram matrices in cluster order, silhouettes, and maps."""

from typing import TYPE_CHECKING, Any

import numpy as np

from torchrank.kernels.normalize import center_gram
from torchrank.plots.axes import MARKERS, PALETTE, as_array, as_labels, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_gram(K: Any, labels: Any = None, *, ax: "Axes | None" = None) -> "Axes":
    """Draw a Gram matrix as a heat map, rows and columns in the order of their clusters.

    Args:
        K: ``(m, m)`` kernel values. The colour scale is symmetric about 0.
        labels: ``(m,)`` clusters; white lines part them. None keeps the order.
        ax: axes to draw into.

    Returns:
        The axes.

    Raises:
        ValueError: not a square matrix, or another number of labels.
    """
    gram = as_array(K, "K", 2)
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(f"K has shape {gram.shape}; expected a square matrix")
    groups = as_labels(labels, len(gram))
    ax = axes_or_new(ax)
    order = np.argsort(groups, kind="stable")
    limit = float(np.abs(gram).max()) if gram.size else 1.0
    image = ax.imshow(gram[np.ix_(order, order)], cmap="PuOr", vmin=-limit, vmax=limit, interpolation="nearest")
    for end in np.cumsum(np.bincount(groups))[:-1]:
        ax.axhline(end - 0.5, color="white", linewidth=1)
        ax.axvline(end - 0.5, color="white", linewidth=1)
    ax.figure.colorbar(image, ax=ax, label="kernel")
    ax.set(xlabel="ranking", ylabel="ranking")
    return ax


def plot_silhouette(widths: Any, labels: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw silhouette widths as bars, cluster by cluster, widest first, and their mean as a line.

    Args:
        widths: ``(m,)`` in [-1, 1], see :func:`torchrank.metrics.silhouette_samples`.
        labels: ``(m,)`` clusters.
        ax: axes to draw into.

    Returns:
        The axes.

    Raises:
        ValueError: shapes that do not fit.
    """
    values = as_array(widths, "widths", 1)
    groups = as_labels(labels, len(values))
    ax = axes_or_new(ax)
    order = np.lexsort((-values, groups))
    gap = max(1, len(values) // 50)
    heights = np.arange(len(values)) + gap * groups[order]
    colours = [PALETTE[group % len(PALETTE)] for group in groups[order]]
    ax.barh(heights, values[order], height=1.0, color=colours, linewidth=0)
    present = np.unique(groups)
    ax.set_yticks([heights[groups[order] == group].mean() for group in present], [str(group) for group in present])
    if len(values):
        ax.axvline(values.mean(), color="black", linestyle="--", linewidth=1, label=f"mean {values.mean():.2f}")
        ax.legend(loc="lower right", frameon=False)
    ax.invert_yaxis()
    ax.set(xlabel="silhouette width", ylabel="cluster")
    return ax


def plot_map(
    K: Any,
    labels: Any = None,
    *,
    weights: Any = None,
    neighbours: Any = None,
    names: "list[str] | tuple[str, ...] | None" = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw rankings as points on the first two principal components of a kernel.

    Args:
        K: ``(m, m)`` Gram matrix; it is centred here.
        labels: ``(m,)`` clusters, shown by colour and marker.
        weights: ``(m,)``, how often each ranking was observed; the area of its point.
        neighbours: ``(m, m)``; points that are neighbours are joined. For total rankings,
            ``kendall_distance(X) == 1`` gives the permutohedron, whose edges exchange two adjacent items.
        names: of the m rankings, written beside the points.
        ax: axes to draw into.

    Returns:
        The axes; their labels tell the share of the variance that each component has.

    Raises:
        ValueError: shapes that do not fit, fewer than three rankings.
    """
    gram = as_array(K, "K", 2)
    m = len(gram)
    if gram.shape != (m, m) or m < 3:
        raise ValueError(f"K has shape {gram.shape}; expected a square matrix of at least three rankings")
    groups = as_labels(labels, m)
    counts = np.ones(m) if weights is None else as_array(weights, "weights", 1)
    words = () if names is None else tuple(names)
    if len(counts) != m or len(words) not in (0, m):
        raise ValueError(f"K has {m} rankings, weights {len(counts)} and names {len(words)}; they must agree")
    area = np.full(m, 30.0) if weights is None else 200 * counts / counts.max()
    values, vectors = np.linalg.eigh(np.asarray(center_gram(gram)))
    points = vectors[:, -2:] * np.sqrt(values[-2:].clip(min=0))
    share = values[-2:] / values.clip(min=0).sum() if values[-1] > 0 else np.zeros(2)
    ax = axes_or_new(ax)
    if neighbours is not None:
        for i, j in np.argwhere(np.triu(as_array(neighbours, "neighbours", 2), 1)):
            ax.plot(points[[i, j], 1], points[[i, j], 0], color="0.8", linewidth=0.8, zorder=0)
    for group in np.unique(groups):
        own = groups == group
        ax.scatter(
            points[own, 1],
            points[own, 0],
            s=area[own],
            color=PALETTE[group % len(PALETTE)],
            marker=MARKERS[group % len(MARKERS)],
            label=f"cluster {group}",
            alpha=0.85,
        )
    for point, name in zip(points, words, strict=False):
        ax.annotate(str(name), (point[1], point[0]), textcoords="offset points", xytext=(4, 4), fontsize="x-small")
    if labels is not None:
        ax.legend(frameon=False)
    ax.set(xlabel=f"component 1 ({share[1]:.0%})", ylabel=f"component 2 ({share[0]:.0%})")
    ax.set_aspect("equal", adjustable="datalim")
    return ax
