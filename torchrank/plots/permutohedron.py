"""The permutohedron: all total rankings of three or four items, neighbors joined, and the votes each received."""

from collections.abc import Sequence
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from torchrank.plots.axes import as_groups, as_rankings, axes_or_new, legend_beside
from torchrank.plots.maps import areas_of, scatter_groups
from torchrank.rankings.convert import to_positions
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Orthonormal directions to the right, upwards and towards the reader, for three items and for four. Those for four look
# at the solid from where no two corners coincide.
_TILT, _TURN = 0.35, 0.79


@isolated
def plot_permutohedron(
    X: Any,
    labels: Any = None,
    *,
    weights: Any = None,
    items: "Sequence[str] | None" = None,
    missing: str | None = None,
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
        items: names of the n items; corners are named by their first letters, or by A to D where those coincide.
        missing: what unranked items mean: "raise" (an error) or "topk" (tied, below all ranked items). None
            leaves it to prepared rankings, and is "raise" for scores.
        ax: axes to draw into.

    Returns:
        The axes.

    Raises:
        ValueError: another number of items, unranked items with ``missing="raise"``, shapes that do not fit.
    """
    scores, counts, names, meaning = as_rankings(X, weights, items, missing)
    check_choice(meaning.word, "missing", ("raise", "topk"))
    m, n = scores.shape
    if n not in (3, 4):
        raise ValueError(f"X ranks {n} items; of more than 4 draw plot_map(kendall_gram(X)), of 2 there is one edge")
    groups = as_groups(labels, m)
    unranked = np.isnan(scores)
    if meaning.word == "raise" and unranked.any():
        row, item = np.argwhere(unranked)[0]
        raise ValueError(f"X has NaN (an unranked item) at row {row}, item {item}; pass missing='topk' if it is below")
    positions = np.asarray(to_positions(scores))
    last = (n + 1 + (~unranked).sum(axis=1)) / 2
    positions = np.where(unranked, last[:, None], positions)
    ax = axes_or_new(ax, (5.0, 5.0))
    corners = np.array(list(permutations(range(1, n + 1))), dtype=np.float64)
    view = _view(n)
    _draw_edges(ax, corners, view)
    key = _write_corners(ax, corners, view, names)
    spots, spot = np.unique(np.column_stack([positions, groups.codes]), axis=0, return_inverse=True)
    votes = np.bincount(spot.reshape(m), counts)
    order = np.argsort(-votes, kind="stable")  # small points lie on large ones
    order = order[votes[order] > 0]
    spots, votes = spots[order], votes[order]
    scatter_groups(ax, spots[:, :n] @ view[:2].T, spots[:, n].astype(int), areas_of(votes), groups.names)
    largest = f"largest point: {votes.max():g} of {votes.sum():g} rankings"
    ax.set(xticks=[], yticks=[], xlabel=f"{key}\n{largest}" if key else largest)
    ax.spines[:].set_visible(False)
    ax.set_aspect("equal")
    ax.margins(0.12)
    if labels is not None:
        legend_beside(ax)
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


def _write_corners(ax: "Axes", corners: np.ndarray, view: np.ndarray, names: tuple[str, ...]) -> str:
    """Name corners by the order of the items, and return what the letters mean; empty where names are letters."""
    letters = [name[:1] for name in names]
    if len(set(letters)) < len(names):
        letters = list("ABCD"[: len(names)])
    seen, flat = _in_front(corners, view).T, corners @ view[:2].T
    for corner, point, faces in zip(corners, flat, seen, strict=True):
        word = "".join(letters[item] for item in np.argsort(corner))
        front = bool(faces.any())
        across, up = point / np.linalg.norm(point)
        ax.annotate(
            word,
            point,
            (9 * across, 12 * up),
            textcoords="offset points",
            ha="right" if across < -0.3 else "left" if across > 0.3 else "center",
            va="center",
            fontsize="x-small",
            color="black" if front else "0.45",
        )
    meaning = [f"{letter} {name}" for letter, name in zip(letters, names, strict=True) if letter != name]
    return ", ".join(meaning)
