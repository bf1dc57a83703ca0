"""Clusters of rankings: Gram matrices in cluster order, and silhouettes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from torchrank.plots.axes import as_array, as_groups, as_square, axes_or_new, style
from torchrank.rankings.arrays import from_array
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import as_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CELLS = 1000  # along each axis, which is more than there are pixels
_CLOSEST = 0.035  # of the axis: names of clusters nearer to the one before are left out


@isolated
def plot_gram(K: Any, labels: Any = None, *, ax: "Axes | None" = None) -> "Axes":
    """Draw a Gram matrix as a heat map, rows and columns in the order of their clusters.

    Args:
        K: ``(m, m)`` kernel values; NaN is gray. Lighter means larger, and the scale is that of the values off the
            diagonal, which would leave no contrast to the others. Above 1,000 rankings cells are means of blocks.
        labels: ``(m,)`` clusters; white lines part them. None keeps the order.
        ax: axes to draw into.

    Returns:
        The axes.

    Raises:
        ValueError: not a square matrix, no rows, or another number of labels.
    """
    gram = as_square(K)
    groups = as_groups(labels, len(gram))
    ax = axes_or_new(ax, (5.2, 4.2))
    order = np.argsort(groups.codes, kind="stable")
    step = -(-len(gram) // _MOST_CELLS)
    cells = _block_means(gram[np.ix_(order, order)], step)
    (low, high), end = _limits(cells), len(cells) * step - 0.5
    image = ax.imshow(cells, cmap="cividis", vmin=low, vmax=high, extent=(-0.5, end, end, -0.5))
    ax.set(xlim=(-0.5, len(gram) - 0.5), ylim=(len(gram) - 0.5, -0.5))
    ax.set_facecolor("0.75")  # shows where there is no number
    ends = np.cumsum(np.bincount(groups.codes))
    for end in ends[:-1]:
        ax.axhline(end - 0.5, color="white", linewidth=1)
        ax.axvline(end - 0.5, color="white", linewidth=1)
    beyond = bool(np.nanmax(cells, initial=-np.inf) > high)
    ax.figure.colorbar(image, ax=ax, label="kernel", extend="max" if beyond else "neither")
    if labels is None:
        ax.set(xlabel="ranking", ylabel="ranking")
        ax.locator_params(integer=True)
    else:
        middles = (np.append(0, ends[:-1]) + ends - 1) / 2
        shown = _apart(middles, _CLOSEST * len(gram))
        ax.set_yticks(middles[shown], [groups.names[group] for group in shown])
        ax.set_xticks([])
        ax.set_xlabel(f"{len(gram)} rankings, by cluster")
    return ax


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


def _apart(places: np.ndarray, least: float) -> list[int]:
    """Which of the sorted places to keep so that all are so far from each other."""
    kept: list[int] = []
    for index, place in enumerate(places):
        if not kept or place - places[kept[-1]] >= least:
            kept.append(index)
    return kept


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
    ax.set_yticks(middles, names)
    ax.set_ylim(start, -gap)
    mean = float(values @ counts / counts.sum())
    ax.axvline(0, color="black", linewidth=0.8)
    ax.axvline(mean, color="black", linestyle="--", linewidth=1)
    ax.set_xlabel(f"silhouette width (dashed: mean {mean:.2f})")
    return ax
