"""Parameters with their intervals, and curves of accuracy or error."""

from collections.abc import Mapping
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from torchrank.plots.axes import MARKERS, PALETTE, as_array, axes_or_new
from torchrank.rankings.validate import check_finite

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_parameters(
    values: Any,
    errors: Any = None,
    *,
    names: "list[str] | tuple[str, ...] | None" = None,
    level: float = 0.95,
    label: str = "log-worth",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw parameters as points with intervals, the largest on top: Plackett-Luce log-worths, concentrations.

    Args:
        values: ``(n,)`` estimates.
        errors: ``(n,)`` standard errors; None draws no intervals.
        names: of the n parameters.
        level: coverage of the normal intervals, between 0 and 1.
        label: what the values are.
        ax: axes to draw into.

    Returns:
        The axes.

    Raises:
        ValueError: shapes that do not fit, a level outside 0 to 1.
    """
    estimates = as_array(values, "values", 1)
    n = len(estimates)
    spread = np.zeros(n) if errors is None else as_array(errors, "errors", 1)
    words = tuple(map(str, range(n))) if names is None else tuple(map(str, names))
    if len(spread) != n or len(words) != n:
        raise ValueError(f"values has {n} elements, errors {len(spread)} and names {len(words)}; they must agree")
    check_finite(level, "level", 0)
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} is out of range; it is the coverage of the intervals, between 0 and 1")
    ax = axes_or_new(ax, (5.0, 1.2 + 0.3 * n))
    order = np.argsort(-estimates, kind="stable")
    reach = NormalDist().inv_cdf((1 + level) / 2) * spread[order]
    ax.errorbar(
        estimates[order], range(n), xerr=None if errors is None else reach, fmt="o", color=PALETTE[0], capsize=3
    )
    ax.set_yticks(range(n), [words[index] for index in order])
    ax.invert_yaxis()
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
    ax.set_xlabel(label if errors is None else f"{label}, {level:.0%} intervals")
    return ax


def plot_curves(
    x: Any,
    curves: Mapping[str, Any],
    errors: Mapping[str, Any] | None = None,
    *,
    xlabel: str = "",
    ylabel: str = "accuracy",
    log: bool = True,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw accuracy or error against a window, a cost C, a ridge or the number of iterations, a line a method.

    Args:
        x: ``(t,)`` settings.
        curves: name to ``(t,)`` values.
        errors: name to ``(t,)`` standard errors, drawn as a band of one on either side.
        xlabel: what was varied.
        ylabel: what was measured.
        log: whether the settings are spread over orders of magnitude.
        ax: axes to draw into.

    Returns:
        The axes.

    Raises:
        ValueError: a curve with another number of values than ``x``, or errors for a curve that is not there.
    """
    settings = as_array(x, "x", 1)
    unknown = set(errors or {}) - set(curves)
    if unknown:
        raise ValueError(f"errors has {sorted(unknown)}; curves has {sorted(curves)}")
    ax = axes_or_new(ax)
    for number, (name, values) in enumerate(curves.items()):
        line = as_array(values, f"curves[{name!r}]", 1)
        if line.shape != settings.shape:
            raise ValueError(f"curves[{name!r}] has {len(line)} values; x has {len(settings)}")
        colour = PALETTE[number % len(PALETTE)]
        ax.plot(settings, line, color=colour, marker=MARKERS[number % len(MARKERS)], markersize=4, label=name)
        if errors is not None and name in errors:
            spread = as_array(errors[name], f"errors[{name!r}]", 1)
            ax.fill_between(settings, line - spread, line + spread, color=colour, alpha=0.2, linewidth=0)
    if log:
        ax.set_xscale("log")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.grid(color="0.9")
    ax.set_axisbelow(True)
    if len(curves) > 1:
        ax.legend(frameon=False)
    return ax
