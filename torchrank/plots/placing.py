"""Names beside points, where they cover neither points nor each other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torchrank.plots.text import lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIDES = np.deg2rad([0, 180, 90, 270, 30, 150, 210, 330, 60, 120, 240, 300])  # in the order in which they are tried
_AWAY = (0.0, 8.0, 18.0, 30.0, 45.0, 62.0, 80.0)  # points from where a name is beside its point, joined by a line
_LINE_POINTS = 48  # along a line, closer than names are high
_MOST_FAILURES = 100  # names in a row without room, after which no more are tried


class _Place(NamedTuple):
    """Where a name could be, in points from the corner of the figure."""

    box: np.ndarray  # (4,) left, bottom, right, top
    line: np.ndarray | None  # (q, 2) points of the line that joins it to its own point, if there is one


class _Room(NamedTuple):
    """What is taken, in points from the corner of the figure."""

    window: np.ndarray  # (2, 2) corners of the axes
    points: np.ndarray  # (m, 4) boxes
    names: list[np.ndarray]  # boxes (4,)
    lines: list[np.ndarray]  # (q, 2)

    def find(
        self, place: np.ndarray, radius: float, size: np.ndarray, distances: Sequence[float], sides: np.ndarray
    ) -> _Place | None:
        """The nearest free place of a text of this size, which is then taken."""
        for away in distances:
            for side in sides:
                found = _at(place, radius, size, away, side)
                if self._is_free(found):
                    self.names.append(found.box)
                    if found.line is not None:
                        self.lines.append(found.line)
                    return found
        return None

    def _is_free(self, found: _Place) -> bool:
        """Whether the box is inside the axes and on nothing, and its line on no other name and no point."""
        box = found.box
        if not ((box[:2] > self.window[0]).all() and (box[2:] < self.window[1]).all()):
            return False
        for taken in (self.points, *self.names):
            if ((box[:2] < taken[..., 2:]) & (taken[..., :2] < box[2:])).all(axis=-1).any():
                return False
        if any(_meets(line, box) for line in self.lines):
            return False
        if found.line is None:
            return True
        if any(_meets(found.line, name) for name in self.names):
            return False
        at = found.line[:, None]
        return not bool(((at > self.points[:, :2]) & (at < self.points[:, 2:])).all(axis=-1).any())


def _meets(line: np.ndarray, box: np.ndarray) -> bool:
    return bool(((line > box[:2]) & (line < box[2:])).all(axis=1).any())


def write_names(
    ax: "Axes",
    points: np.ndarray,  # (m, 2) in coordinates of the data
    names: list[str] | tuple[str, ...],
    radii: np.ndarray,  # (m,) of the points drawn, in points
    *,
    order: np.ndarray,  # which to name, the most important first
    far: int = 0,  # how many of these may be written at a distance, joined by a line
    outwards: bool = False,  # whether names are sought away from the origin of the data first
    styles: Sequence[dict[str, Any]] | None = None,  # of the texts, where they are not all alike
) -> None:
    """Write names beside points on the first side that is free; a name that has none is left out.

    Limits of the axes have to be set before.
    """
    from matplotlib.patheffects import withStroke

    unit = lay_out(ax)
    places, window = ax.transData.transform(points) * unit, ax.bbox.get_points() * unit
    room = _Room(window, np.column_stack([places - radii[:, None], places + radii[:, None]]), [], [])
    origin = ax.transData.transform((0.0, 0.0)) * unit if outwards else None
    failures, halo = 0, [withStroke(linewidth=1.5, foreground="white")]
    for number, index in enumerate(order.tolist()):
        style = {"fontsize": 7.0, "parse_math": False, **(styles[index] if styles is not None else {})}
        text = ax.annotate(names[index], tuple(points[index]), (0, 0), textcoords="offset points", **style)
        box = text.get_window_extent()
        text.remove()
        size = np.array([box.width, box.height]) * unit
        sides = _SIDES if origin is None else _sides(places[index] - origin)
        found = room.find(places[index], float(radii[index]), size, _AWAY if number < far else _AWAY[:1], sides)
        failures = failures + 1 if found is None else 0
        if failures == _MOST_FAILURES:
            break
        if found is None:
            continue
        thin = {
            "arrowstyle": "-",
            "color": "0.4",
            "linewidth": 0.6,
            "linestyle": ":",
            "shrinkA": 0,
            "shrinkB": radii[index],
        }
        ax.annotate(
            names[index],
            tuple(points[index]),
            tuple((found.box[:2] + found.box[2:]) / 2 - places[index]),
            textcoords="offset points",
            ha="center",
            va="center",
            arrowprops=None if found.line is None else thin,
            path_effects=halo,
            **style,
        )


def _sides(toward: np.ndarray) -> np.ndarray:
    """Directions in the order in which they are tried, those towards somewhere first."""
    turns = np.deg2rad([0, 25, -25, 50, -50, 80, -80, 110, -110, 145, -145, 180])
    return np.arctan2(toward[1], toward[0]) + turns


def _at(place: np.ndarray, radius: float, size: np.ndarray, away: float, side: float) -> _Place:
    """The place of a text of this size in a direction from its point."""
    direction = np.array([np.cos(side), np.sin(side)])
    middle = place + direction * (radius + 1.5 + away) + np.clip(1.5 * direction, -1, 1) * size / 2
    half = size / 2 + [1.5, 0.0]  # between two words
    box = np.concatenate([middle - half, middle + half])
    if not away:
        return _Place(box, None)
    line = place + np.linspace(0, 1, _LINE_POINTS)[:, None] * (middle - place)  # up to the box it is drawn
    inside = (np.abs(line - place) <= radius).all(axis=1) | ((line > box[:2]) & (line < box[2:])).all(axis=1)
    return _Place(box, line[~inside])
