"""Maps of rankings: the first two principal components of a kernel."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from torchrank.plots.axes import as_gram, as_groups, as_square, axes_or_new, style
from torchrank.plots.placing import write_names
from torchrank.plots.text import as_names, key_word, lay_out, legend_beside
from torchrank.rankings.arrays import from_array
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import as_weights
from torchrank.typing import Names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LARGEST = 300.0  # area of the most frequent ranking, in points squared
_COVERED = 0.15  # of the axes by points, at most
_FARTHEST = 12  # of the largest points, whose names may be at a distance
_DENSE = 500  # rankings up to which all of a matrix is decomposed; Lanczos iterations are quicker beyond


@isolated
def plot_map(
    K: Any,
    labels: Any = None,
    *,
    weights: Any = None,
    neighbors: Any = None,
    names: Names | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw rankings as points on the first two principal components of a kernel.

    The components are those of the weighted sample, as if every ranking were repeated as often as its weight says
    (Schölkopf, Smola and Müller, Neural Computation 10, 1998).

    Args:
        K: ``(m, m)`` symmetric Gram matrix; it is centered here.
        labels: ``(m,)`` clusters, shown by color and marker.
        weights: ``(m,)``, how often each ranking was observed; the area of its point.
        neighbors: ``(m, m)``; points that are neighbors are joined. For total rankings ``kendall_distance(X) == 1``
            joins those that differ in the order of two adjacent items.
        names: of the m rankings, written beside the points where there is room; with weights those of the largest
            points are written at a distance if need be, and joined by a line. Those beyond 24 letters are cut.
        ax: axes to draw into.

    Returns:
        The axes; their labels tell the share of the variance that each component has.

    Raises:
        ValueError: shapes that do not fit, fewer than two rankings, a matrix that is not finite or not symmetric,
            or one of distances.
    """
    gram = as_gram(K)
    m = len(gram)
    if m < 2:
        raise ValueError(f"K has shape {gram.shape}; a map needs at least two rankings")
    if not np.isfinite(gram).all():
        row, column = np.argwhere(~np.isfinite(gram))[0]
        raise ValueError(f"K has {gram[row, column]:g} at row {row}, column {column}; a map needs finite values")
    if not np.allclose(gram, gram.T, rtol=1e-4, atol=1e-6):
        raise ValueError("K is not symmetric; a map needs the kernel of the same rankings on both sides")
    groups = as_groups(labels, m)
    counts = as_weights(None if weights is None else np.asarray(_host(weights)), from_array(gram, "K")).numpy()
    words = None if names is None else as_names(names, m, "names", "K has {n} rankings")
    points, share = principal_points(gram, counts)
    joined = None if neighbors is None else as_square(neighbors, "neighbors")
    if joined is not None and len(joined) != m:
        raise ValueError(f"neighbors has shape {joined.shape}; K has {m} rankings")
    ax = axes_or_new(ax, (5.6, 4.4))
    if joined is not None:
        for i, j in np.argwhere(np.triu(joined, 1)):
            ax.plot(*points[[i, j]].T, color="0.8", linewidth=0.8, zorder=0)
    areas = np.full(m, max(4.0, 30.0 * min(1.0, 500 / m))) if weights is None else areas_of(counts)
    areas = areas * min(1.0, _COVERED * np.prod(ax.bbox.size) * lay_out(ax) ** 2 / areas.sum())
    scatter_groups(ax, points, groups.codes, areas, groups.names)
    ax.set(xlabel=f"component 1 ({share[0]:.0%})", ylabel=f"component 2 ({share[1]:.0%})")
    ax.set_aspect("equal", adjustable="datalim")
    if labels is not None:
        legend_beside(ax)
    _make_room(ax, points, float(radii_of(areas).max()))
    if words is not None:
        most = np.argsort(-areas, kind="stable")
        write_names(ax, points, words, radii_of(areas), order=most, far=0 if weights is None else _FARTHEST)
    return ax


def _host(weights: Any) -> Any:
    return weights.detach().cpu() if hasattr(weights, "detach") else weights


def principal_points(gram: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates ``(m, 2)`` on the first two components of the weighted sample, and their shares of its variance.

    With centered kernel C, shares p and an eigenpair of ``diag(p)^(1/2) C diag(p)^(1/2)`` the coordinates are
    ``C diag(p)^(1/2) u / sqrt(value)``; the sign is such that the largest is positive.
    """
    p = counts / counts.sum()
    means = gram @ p
    centered = gram - means - means[:, None] + means @ p
    root = np.sqrt(p)
    symmetric = root[:, None] * (centered + centered.T) / 2 * root
    total, m = max(float(np.trace(symmetric)), 0.0), len(gram)
    if m <= _DENSE or total == 0:
        values, vectors = eigh(symmetric, subset_by_index=[m - 2, m - 1])
    else:
        values, vectors = eigsh(symmetric, k=2, which="LA", v0=np.random.default_rng(0).standard_normal(m))
    largest_first = np.argsort(-values)
    values, vectors = values[largest_first], vectors[:, largest_first]
    spread = values > 1e-12 * max(total, float(np.abs(gram).max()))  # the others are rounding
    points = centered @ (root[:, None] * vectors) / np.sqrt(np.where(spread, values, 1)) * spread
    signs = np.sign(points[np.abs(points).argmax(axis=0), [0, 1]])
    return points * np.where(signs == 0, 1, signs), np.where(spread, values, 0) / (total or 1)


def _make_room(ax: "Axes", points: np.ndarray, radius: float) -> None:
    """Widen the limits so that the frame cuts no point of this radius, in points."""
    unit = lay_out(ax)
    free = np.array([ax.bbox.width, ax.bbox.height]) * unit - 2 * radius
    reach = radius * float((np.ptp(points, axis=0) / np.maximum(free, 1.0)).max())
    ax.update_datalim(np.concatenate([points - reach, points + reach]))
    ax.autoscale_view()


def areas_of(counts: np.ndarray) -> np.ndarray:
    """Areas of points in proportion to their counts."""
    return _LARGEST * counts / counts.max()


def radii_of(areas: np.ndarray) -> np.ndarray:
    """Radii of points of these areas."""
    return np.sqrt(areas / np.pi)


def scatter_groups(
    ax: "Axes",
    points: np.ndarray,  # (m, 2)
    codes: np.ndarray,  # (m,) which of the names
    areas: np.ndarray,  # (m,)
    names: tuple[str, ...],
) -> None:
    """Scatter points, a color and a marker for each group."""
    for code in np.unique(codes):
        own = codes == code
        color, marker = style(code)
        x, y = points[own].T
        line = 0.4 if areas[own].max() > 15 else 0.0  # around small points it would hide the color
        ax.scatter(
            x,
            y,
            s=areas[own],
            color=color,
            marker=marker,
            edgecolors="black",
            linewidths=line,
            alpha=0.85,
            label=key_word(names[code]),
        )
