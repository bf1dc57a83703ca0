"""Average ranks of methods over data sets, and which of them differ by more than chance (Demsar's diagram)."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from torchrank.plots.axes import as_rankings, axes_or_new, positions_of, style
from torchrank.plots.text import lay_out, room_of, wrap_label
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import check_number
from torchrank.typing import Names, PositionWord

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE, _BAR, _TOP = 11.0, 5.0, 38.0  # points from one name, and from one bar, to the next; of what is above the line
_BESIDE = 0.36  # of the room of axes, for the names at each side


@isolated
def plot_average_ranks(
    X: Any,
    *,
    weights: Any = None,
    items: Names | None = None,
    alpha: float = 0.05,
    missing: PositionWord | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw average ranks on a line, with bars that join items whose ranks do not differ significantly.

    The critical difference is that of Nemenyi's test: two of n items differ where their average ranks over N rankings
    are ``q sqrt(n (n + 1) / (12 N))`` apart or more, with the upper quantile q of the studentized range of n means
    (Demsar, Journal of Machine Learning Research 7, 2006, whose q is this one over the square root of 2).

    Args:
        X: ``(m, n)`` scores, a row a data set and a column a method, larger = better, or
            :class:`torchrank.datasets.RankingData`. Tied items share the mean of their ranks.
        weights: ``(m,)``, how often each ranking was observed; N is their sum.
        items: names of the n items; those beyond 24 letters are cut.
        alpha: probability that items without a difference are told apart, above 0 and below 1.
        missing: what unranked items mean: "raise" (an error) or "topk" (tied, below all ranked items). None
            leaves it to prepared rankings, and is "raise" for scores.
        ax: axes to draw into.

    Returns:
        The axes, with the best item at the left.

    Raises:
        ValueError: unranked items with ``missing="raise"``, shapes that do not fit, ``alpha`` out of range.
    """
    check_number(alpha, "alpha")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha!r} is out of range; it is a probability above 0 and below 1")
    rankings = as_rankings(X, weights, items, missing)
    n, total = len(rankings.items), float(rankings.weights.sum())
    means = rankings.weights @ positions_of(rankings) / total
    order = np.argsort(means, kind="stable")
    means, names = means[order], [rankings.items[item] for item in order]
    difference = critical_difference(n, total, alpha)
    groups = alike(means, difference)
    left = (n + 1) // 2
    ax = axes_or_new(ax, (6.4, (_TOP + 50 + _BAR * len(groups) + _LINE * left) / 72))
    first = -10.0 - _BAR * len(groups)
    bottom = first - _LINE * left
    ax.set_ylim(bottom - 6, _TOP)
    unit = _draw_scale(ax, means, difference)
    bar = {"color": style(0)[0], "linewidth": min(2.5, 0.6 * _BAR * unit), "solid_capstyle": "round"}
    for number, (start, end) in enumerate(groups):
        ax.plot(means[[start, end]], [-7.0 - _BAR * number] * 2, **bar)
    size = _letters(ax, names, bottom)
    for place, (mean, name) in enumerate(zip(means, names, strict=True)):
        at_left = place < left
        line = first - _LINE * (place if at_left else n - 1 - place) - 4
        end = 0.0 if at_left else 1.0
        across = ax.get_yaxis_transform()
        ax.plot([mean, mean], [0, line], color="0.4", linewidth=0.8)
        side = ax.get_xlim()[0 if at_left else 1]
        ax.plot([side, mean], [line, line], color="0.4", linewidth=0.8, clip_on=False)
        look: dict[str, Any] = {"ha": "right" if at_left else "left", "va": "center", "parse_math": False}
        shift = (-3 if at_left else 3, 0)
        where = {"xycoords": across, "textcoords": "offset points", "fontsize": size}
        ax.annotate(f"{name} {mean:.2f}" if at_left else f"{mean:.2f} {name}", (end, line), shift, **where, **look)
    told = [f"average rank over {total:g} rankings", f"bars join what is less than {difference:.3g} apart"]
    wrap_label(ax, [*told, f"Nemenyi, level {alpha:g}"])
    return ax


def _draw_scale(ax: "Axes", means: np.ndarray, difference: float) -> float:
    """The line of ranks with its numbers, and the critical difference above it; points that a unit is high."""
    from matplotlib.ticker import MaxNLocator

    low, high = np.floor(means[0]), max(np.ceil(means[-1]), np.floor(means[0]) + 1)
    ax.set(xlim=(low, high), yticks=[], xticks=[])
    ax.spines[:].set_visible(False)
    ax.plot([low, high], [0, 0], color="black", linewidth=1)
    unit = ax.bbox.height * lay_out(ax) / float(np.ptp(ax.get_ylim()))
    size = min(8.0, max(4.5, 8.0 * unit))
    most = max(2, min(8, int(0.3 * room_of(ax) / 18)))  # numbers that have room
    for tick in MaxNLocator(most, integer=True).tick_values(low, high):
        if low <= tick <= high:
            ax.plot([tick, tick], [0, 4], color="black", linewidth=0.8)
            ax.text(tick, 6, f"{tick:g}", ha="center", va="bottom", fontsize=size)
    shown = min(difference, high - low)  # a difference beyond the line has an open end
    ax.plot([low, low + shown], [24, 24], color="black", linewidth=1)
    for end in (low, low + shown) if shown == difference else (low,):
        ax.plot([end, end], [22, 26], color="black", linewidth=1)
    ax.text(low + shown / 2, 26, f"CD = {difference:.3g}", ha="center", va="bottom", fontsize=size)
    return unit


def _letters(ax: "Axes", names: list[str], bottom: float) -> float:
    """Size of the names that fits between two lines, and beside the axes."""
    high = ax.bbox.height * lay_out(ax) / (_TOP - bottom) * _LINE
    text = ax.text(0, 0, max(names, key=len) + " 00.00", fontsize=10, parse_math=False)
    width = text.get_window_extent().width * 72 / ax.figure.dpi
    text.remove()
    return max(4.5, min(8.0, 0.9 * high, 10 * _BESIDE * room_of(ax) / width))


def critical_difference(n: int, total: float, alpha: float) -> float:
    """Least difference between average ranks of n items over so many rankings that Nemenyi's test calls one."""
    quantile = float(stats.studentized_range.ppf(1 - alpha, n, np.inf))
    return quantile * float(np.sqrt(n * (n + 1) / (12 * total)))


def alike(means: np.ndarray, difference: float) -> list[tuple[int, int]]:
    """First and last of the sorted means of every largest group that lies within the difference, of two and more."""
    found: list[tuple[int, int]] = []
    for start in range(len(means)):
        end = int(np.searchsorted(means, means[start] + difference, side="left")) - 1
        if end > start and (not found or end > found[-1][1]):
            found.append((start, end))
    return found
