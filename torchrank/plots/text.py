"""Text that fits: short names that still differ, ticks that do not overlap, legends and labels inside the figure."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

import numpy as np

from torchrank.rankings.names import refuse_one_name
from torchrank.typing import Names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST_NAME = 24
_BELOW = ((80, 8.0), (20, 7.0), (16, 6.0), (16, 5.0), (10, 5.0))  # letters of a name, and points, in a key below
_MOST_BELOW = 0.4  # of a figure's height for such a key
_SMALLEST = 5.0  # points, of letters that are still read
_LINE = 1.2  # from one line to the next, in sizes of letters
_WIDEST_NAMES = 0.33  # of the room of axes, for the names of their rows
_LEAST_BESIDE = 190.0  # points of axes beside a legend


def as_names(names: Names | None, n: int, argument: str, there: str) -> tuple[str, ...]:
    """The n names as text, those beyond 24 letters cut so that they still differ; numbers from 0 on for None.

    Raises:
        TypeError: one text in place of several names.
        ValueError: another number of names.
    """
    refuse_one_name(names, argument)
    words = tuple(normalize("NFC", str(name)) for name in (range(n) if names is None else names))
    if len(words) != n:
        raise ValueError(f"{argument} has {len(words)} names; {there.format(n=n)}")
    return shortened(words)


def shortened(words: Sequence[str], longest: int = _LONGEST_NAME) -> tuple[str, ...]:
    """Words of at most so many letters: cut at the end, in the middle where ends tell them apart, or else numbered."""
    short = {word: word if len(word) <= longest else word[: longest - 1] + "…" for word in words}
    for tail in range(longest // 3, longest - 2, 2):
        for word in _alike(short):
            short[word] = word[: longest - 1 - tail] + "…" + word[-tail:]
    taken = set(short.values())
    for word in _alike(short):
        place = 1
        while short[word] in taken:
            place, end = place + 1, f"… {place + 1}"
            short[word] = word[: longest - len(end)] + end
        taken.add(short[word])
    return tuple(short[word] for word in words)


def _alike(short: dict[str, str]) -> list[str]:
    """Words that were cut to what another one is cut to, or is."""
    often = Counter(short.values())
    return [word for word, cut in short.items() if often[cut] > 1 and cut != word]


def room_of(ax: "Axes") -> float:
    """Points from left to right that the figure has for the axes and what stands beside them."""
    spec, width = ax.get_subplotspec(), ax.figure.bbox.width * 72 / ax.figure.dpi
    return width if spec is None else width * len(spec.colspan) / spec.get_gridspec().ncols


def lay_out(ax: "Axes") -> float:
    """Find out where everything is, and return how many points a pixel has."""
    ax.figure.canvas.figure.draw_without_rendering()
    ax.apply_aspect()  # which axes without a layout do last
    return 72 / ax.figure.dpi


class Ticks(NamedTuple):
    """What to write at sorted places along axes."""

    ax: "Axes"
    x: tuple[Sequence[float] | np.ndarray, Sequence[str]] | None = None  # places and names
    y: tuple[Sequence[float] | np.ndarray, Sequence[str]] | None = None


def write_ticks(*ticks: Ticks) -> None:
    """Names as large as there is room, in one layout of all axes; with too little room some are left out.

    Call it when what else takes room, such as a bar of colors, is there.
    """
    wished: dict[Any, float] = {}
    for ax, *both in ticks:
        for axis, given in zip((ax.xaxis, ax.yaxis), both, strict=True):
            if given is not None:
                axis.set_ticks(np.asarray(given[0], dtype=np.float64), given[1], parse_math=False)
                wished[axis] = float(axis.get_ticklabels()[0].get_fontsize())
                axis.set_tick_params(labelsize=_SMALLEST)
    unit = lay_out(ticks[0].ax)
    fitting = {axis: _fitting(axis, unit, size) for axis, size in wished.items()}
    for ax, *both in ticks:
        if ax.xaxis in fitting and ax.yaxis in fitting:  # names that grow leave less room
            _, letters, size, _ = fitting[ax.yaxis]
            narrower = min(0.5, (size - _SMALLEST) * letters / (ax.bbox.width * unit))
            fitting[ax.xaxis] = _fitting(ax.xaxis, unit, wished[ax.xaxis], 1 - narrower)
        for axis, given in zip((ax.xaxis, ax.yaxis), both, strict=True):
            if given is not None:
                fit = fitting[axis]
                step = max(1, int(np.ceil(fit.needed / fit.apart - 1e-9)))
                places, names = np.asarray(given[0], dtype=np.float64)[::step], list(given[1])[::step]
                axis.set_ticks(places, names, parse_math=False)
                axis.set_tick_params(labelsize=fit.size)
    for _ in range(2):  # names that grew move all else, which one layout does not settle
        lay_out(ticks[0].ax)


class _Fit(NamedTuple):
    """How names fit, in points."""

    apart: float  # the nearest two
    letters: float  # the width of the longest in letters of one point
    size: float  # of the letters
    needed: float  # between two names


def _fitting(axis: Any, unit: float, wished: float, share: float = 1.0) -> _Fit:
    """Size of an axis' names, where the axes keep a share of what they now measure."""
    ax, upwards = axis.axes, axis.axis_name == "y"
    places = axis.get_ticklocs()
    along = ax.transData.transform(np.column_stack([places, places]))[:, int(upwards)] * unit
    apart = share * float(np.abs(np.diff(along)).min(initial=np.inf))
    labels = axis.get_ticklabels()
    across = upwards or labels[0].get_rotation() == 90  # each name has a line of its own
    boxes = [label.get_window_extent() for label in labels]
    letters = max(box.height if across and not upwards else box.width for box in boxes) * unit / _SMALLEST
    letters = max(letters, 1e-9)
    if across:
        size = max(_SMALLEST, min(wished, apart / _LINE, _WIDEST_NAMES * room_of(ax) / letters))
        return _Fit(apart, letters, size, _LINE * size)
    size = max(_SMALLEST, min(wished, 0.75 * apart / letters))
    return _Fit(apart, letters, size, letters * size + 2)


def key_word(name: str) -> str:
    """A name as a key shows it: matplotlib leaves out what begins with an underscore."""
    return f" {name}" if name.startswith("_") else name


def legend_beside(ax: "Axes", *more: Any) -> None:
    """Put the legend where it hides nothing: beside the axes, or where there is no room, below them.

    Axes of a figure that makes no room for it have it inside. ``more`` are handles of what is not in the axes. Call it
    when the axes have their labels.
    """
    from matplotlib.collections import PathCollection

    handles = [*ax.get_legend_handles_labels()[0], *more]
    outside = ax.figure.get_layout_engine() is not None
    beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
    legend = ax.legend(handles=handles, **(beside if outside else {}))
    if outside and room_of(ax) - legend.get_window_extent().width * 72 / ax.figure.dpi < _LEAST_BESIDE:
        legend.remove()
        legend = _legend_below(ax, handles, len(more))
    for text in legend.get_texts():
        text.set_parse_math(False)
    for handle in legend.legend_handles:
        if isinstance(handle, PathCollection):  # of scattered points, whose areas mean something else
            handle.set_sizes([40.0])


def _legend_below(ax: "Axes", handles: list[Any], others: int) -> Any:
    """A legend under the label of the axis, in as many columns as there is room for left of the axes' right end.

    Where it would leave too little to the axes letters are smaller, and names, the labels of all handles but the last
    ``others``, are cut.
    """
    from matplotlib.transforms import ScaledTranslation

    look: dict[str, Any] = {
        "handles": handles,
        "borderaxespad": 0.0,
        "frameon": False,
        "columnspacing": 1.0,
    }
    look |= {"handlelength": 1.5, "handletextpad": 0.5}
    unit, spec = lay_out(ax), ax.get_subplotspec()
    left = 0.0 if spec is None else spec.colspan.start / spec.get_gridspec().ncols * ax.figure.bbox.width
    said = [handle.get_label() for handle in handles]
    names, columns = said[: len(said) - others], 1
    for letters, look["fontsize"] in _BELOW:  # the fewer and the smaller where there are many
        look["labels"] = [*shortened(names, letters), *said[len(names) :]]
        single = ax.legend(**look)
        size = single.get_window_extent()
        single.remove()
        columns = max(1, min(len(handles), int((ax.bbox.x1 - ax.figure.bbox.x0 - left) / size.width)))
        rows = -(-len(handles) // columns)
        if size.height * rows / len(handles) <= _MOST_BELOW * ax.figure.bbox.height:
            break
    ticks = ax.xaxis.get_tightbbox()
    down = 2.0 if ticks is None else max(0.0, (ax.bbox.y0 - ticks.y0) * unit) + 2
    below = ax.transAxes + ScaledTranslation(0, -down / 72, ax.figure.dpi_scale_trans)
    return ax.legend(ncols=columns, loc="upper right", bbox_to_anchor=(1.0, 0.0), bbox_transform=below, **look)


def fit_label(ax: "Axes") -> None:
    """Make the label of the vertical axis smaller where it is longer than the figure is high."""
    unit, label = lay_out(ax), ax.yaxis.label
    length, figure = label.get_window_extent().height * unit, ax.figure.bbox
    middle = (ax.bbox.y0 + ax.bbox.y1) / 2
    room = 2 * min(middle - figure.y0, figure.y1 - middle) * unit
    if length > room:
        label.set_fontsize(max(_SMALLEST, float(label.get_fontsize()) * room / length))


def fit_title(ax: "Axes") -> None:
    """Make the title smaller where it is wider than the axes."""
    lay_out(ax)
    width = ax.title.get_window_extent().width
    if width > ax.bbox.width:
        ax.title.set_fontsize(max(_SMALLEST, float(ax.title.get_fontsize()) * ax.bbox.width / width))


def wrap_label(ax: "Axes", parts: Sequence[str], *lines: str) -> None:
    """Write parts of a text under the axes, as many in a line as there is room for around their middle, and lines.

    Letters are small, and smaller where a part alone is too long.
    """
    unit, label = lay_out(ax), ax.xaxis.label
    middle, figure = (ax.bbox.x0 + ax.bbox.x1) / 2, ax.figure.bbox
    room = 2 * min(middle - figure.x0, figure.x1 - middle) * unit - 4
    label.set_fontsize("small")

    def width(text: str) -> float:
        ax.set_xlabel(text, parse_math=False)
        return label.get_window_extent().width * unit

    longest = max(width(part) for part in (*parts, *lines))
    label.set_fontsize(max(_SMALLEST, float(label.get_fontsize()) * min(1.0, room / longest)))
    written: list[str] = []
    for part in parts:
        joined = f"{written[-1]}, {part}" if written else part
        if written and width(joined) <= room:
            written[-1] = joined
        else:
            written.append(part)
    ax.set_xlabel("\n".join([*written, *lines]), parse_math=False)


def spread(places: np.ndarray, least: float, low: float, high: float) -> np.ndarray:
    """The sorted places within bounds, moved by so much that all are so far from each other."""
    ideal = least * np.arange(len(places))
    free = places - ideal  # which must not fall
    moved = (np.maximum.accumulate(free) + np.minimum.accumulate(free[::-1])[::-1]) / 2
    return np.clip(moved, low, high - ideal[-1]) + ideal
