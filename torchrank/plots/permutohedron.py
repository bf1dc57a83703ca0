"""The permutohedron: all total rankings of three or four items, neighbors joined, and the votes each received."""

from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from torchrank.plots.axes import as_groups, as_rankings, axes_or_new, positions_of
from torchrank.plots.maps import areas_of, radii_of, scatter_groups
from torchrank.plots.placing import write_names
from torchrank.plots.text import lay_out, legend_beside, wrap_label
from torchrank.rankings.isolation import isolated
from torchrank.typing import Names, PositionWord

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Orthonormal directions to the right, upwards and towards the reader, for three items and for four. Those for four look
# at the solid from where the nearest two corners are farthest from each other.
_TILT, _TURN = 0.44, 0.79
_NAMES = 32.0  # points around the solid, for the names of its corners


@isolated
def plot_permutohedron(
    X: Any,
    labels: Any = None,
    *,
    weights: Any = None,
    items: Names | None = None,
    missing: PositionWord | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw rankings of three or four items on the permutohedron.

    Its corners are the total rankings, at the positions of the items as coordinates; an edge exchanges two items that
    are adjacent in the order, so that the number of edges between two corners is Kendall's distance. Tied items share
    the mean of their positions, which puts a ranking with ties in the middle of the edge or face whose corners break
    them (Marden, Analyzing and Modeling Rank Data, 1995, Section 2.6). Three items make a hexagon, four a truncated
    octahedron; its back is dashed.

    Args:
        X: ``(m, n)`` scores or :class:`torchrank.datasets.RankingData`, n = 3 or 4.
        labels: ``(m,)`` clusters, shown by color and marker.
        weights: ``(m,)``, how often each ranking was observed. Equal rankings are added up, and the area of a point is
            in proportion to its votes.
        items: names of the n items; corners are named by their first letters, or by A to D where those coincide, as
            many of them as there is room for.
        missing: what unranked items mean: "raise" (an error) or "topk" (tied, below all ranked items). None
            leaves it to prepared rankings, and is "raise" for scores.
        ax: axes to draw into.

    Returns:
        The axes.

    Raises:
        ValueError: another number of items, unranked items with ``missing="raise"``, shapes that do not fit.
    """
    rankings = as_rankings(X, weights, items, missing)
    names, counts = rankings.items, rankings.weights
    m, n = rankings.scores.shape
    if n not in (3, 4):
        raise ValueError(f"X ranks {n} items; of more than 4 draw plot_map(kendall_gram(X)), of 2 there is one edge")
    groups, positions = as_groups(labels, m), positions_of(rankings)
    ax = axes_or_new(ax, (5.0, 5.0))
    corners = np.array(list(permutations(range(1, n + 1))), dtype=np.float64)
    view = _view(n)
    _draw_edges(ax, corners, view)
    spots, spot = np.unique(np.column_stack([positions, groups.codes]), axis=0, return_inverse=True)
    votes = np.bincount(spot.reshape(m), counts)
    order = np.argsort(-votes, kind="stable")  # small points lie on large ones
    order = order[votes[order] > 0]
    spots, areas = spots[order], areas_of(votes[order])
    flat = spots[:, :n] @ view[:2].T
    scatter_groups(ax, flat, spots[:, n].astype(int), areas, groups.names)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_aspect("equal")
    letters, key = _letters(names)
    largest = f"largest point: {votes.max():g} of {votes.sum():g} rankings"
    wrap_label(ax, key, largest)
    if labels is not None:
        legend_beside(ax)
        wrap_label(ax, key, largest)  # beside the legend there is less room
    _leave_room(ax)
    _write_corners(ax, corners, view, letters, flat, radii_of(areas))
    return ax


def _view(n: int) -> np.ndarray:
    """Directions ``(2, 3)`` to the right and upwards, for four items also ``(3, 4)`` towards the reader."""
    if n == 3:
        return np.array([[1.0, -2, 1], [-1, 0, 1]]) / np.sqrt([[6], [2]])
    along = np.array([[1.0, -1, 1, -1], [-1, -1, 1, 1], [-1, 1, 1, -1]]) / 2  # the normals of the square faces
    (c, s), (d, t) = ((np.cos(angle), np.sin(angle)) for angle in (_TURN, _TILT))
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    tilt = np.array([[1, 0, 0], [0, d, -t], [0, t, d]])
    return tilt @ turn @ along


def _in_front(corners: np.ndarray, view: np.ndarray) -> np.ndarray:
    """``(faces, corners)`` bool: the corners of every face that is seen.

    A face holds the rankings whose first items are those of a subset S; towards it, the positions of S are least.
    """
    n = corners.shape[1]
    if n == 3:
        return np.ones((1, len(corners)), dtype=bool)
    subsets = [list(first) for size in range(1, n) for first in combinations(range(n), size)]
    towards = [first for first in subsets if view[2, first].sum() < 0]
    return np.array([(corners[:, first] <= len(first)).all(axis=1) for first in towards])


def _draw_edges(ax: "Axes", corners: np.ndarray, view: np.ndarray) -> None:
    seen, flat = _in_front(corners, view), corners @ view[:2].T
    for i, j in combinations(range(len(corners)), 2):
        if np.abs(corners[i] - corners[j]).sum() == 2:  # positions k and k + 1 are exchanged
            front = bool((seen[:, i] & seen[:, j]).any())
            line = ("0.45", "-", 1.2) if front else ("0.7", "--", 0.8)
            ax.plot(*flat[[i, j]].T, color=line[0], linestyle=line[1], linewidth=line[2], zorder=0)


def _leave_room(ax: "Axes") -> None:
    """Margins around the solid in which there is room for the names of its corners."""
    unit = lay_out(ax)
    least = min(ax.bbox.width, ax.bbox.height) * unit
    ax.margins(min(1.0, _NAMES / max(least - 2 * _NAMES, _NAMES)))


def _letters(names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """A letter for each item, and what letters mean that are not the names."""
    letters = [name[:1] for name in names]
    if len(set(letters)) < len(names):
        letters = list("ABCD"[: len(names)])
    return letters, [f"{letter} {name}" for letter, name in zip(letters, names, strict=True) if letter != name]


def _write_corners(
    ax: "Axes",
    corners: np.ndarray,
    view: np.ndarray,
    letters: list[str],
    spots: np.ndarray,  # (k, 2) where there are points
    radii: np.ndarray,  # (k,)
) -> None:
    """Name corners by the order of the items, those in front first, away from the middle and from the points."""
    words = ["".join(letters[item] for item in np.argsort(corner)) for corner in corners]
    front = np.asarray(_in_front(corners, view).any(axis=0))
    flat = corners @ view[:2].T
    near = np.linalg.norm(flat[:, None] - spots, axis=2) < 1e-6
    reach = np.where(near, radii, 2.0).max(axis=1)
    styles: list[dict[str, Any]] = [{"color": "black" if seen else "0.4"} for seen in front.tolist()]
    order = np.lexsort([-np.linalg.norm(flat, axis=1), ~front])
    write_names(ax, flat, words, reach, order=order, far=len(order), outwards=True, styles=styles)
