"""Curves of accuracy or error against a setting, and of searches over settings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from torchrank.plots.axes import PALETTE, as_array, axes_or_new, style
from torchrank.plots.text import Ticks, fit_label, key_word, legend_beside, shortened, write_ticks
from torchrank.rankings.isolation import isolated

if TYPE_CHECKING:
    from matplotlib.axes import Axes
_LONGEST_LINE = 40  # letters of the settings of a line


@isolated
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
        x: ``(t,)`` settings, in any order.
        curves: name to ``(t,)`` values, or ``(r, t)`` values of r repetitions, of which the mean is drawn.
        errors: name to ``(t,)`` standard errors, drawn as a band of one on either side; those of means over repetitions
            are found from these. The legend says what the band is.
        xlabel: what was varied.
        ylabel: what was measured.
        log: whether the settings are spread over orders of magnitude.
        ax: axes to draw into.

    Returns:
        The axes. NaN leaves a gap.

    Raises:
        ValueError: a curve with another number of values than ``x``, errors for a curve that is not there, no curves,
            or settings that have no logarithm with ``log=True``.
        TypeError: values that are not numbers.
    """
    settings = as_array(x, "x", 1)
    if not isinstance(curves, Mapping):
        raise TypeError(f"curves is {type(curves).__name__}; expected names and values, such as {{'accuracy': values}}")
    if len(curves) == 0:
        raise ValueError("curves is empty; there is nothing to draw")
    unknown = set(errors or {}) - set(curves)
    if unknown:
        raise ValueError(f"errors has {sorted(unknown)}; curves has {sorted(curves)}")
    if log and not (settings > 0).all():
        raise ValueError(f"x has {settings.min():g}, which has no place on a logarithmic axis; pass log=False")
    lines = {name: _mean_and_error(values, f"curves[{name!r}]", len(settings)) for name, values in curves.items()}
    for name, values in (errors or {}).items():
        lines[name] = lines[name][0], _fitting(as_array(values, f"errors[{name!r}]", 1), f"errors[{name!r}]", settings)
    order = np.argsort(settings, kind="stable")
    ax = axes_or_new(ax, (5.0 if len(lines) == 1 else 6.2, 4.0))
    for number, (name, (mean, error)) in enumerate(lines.items()):
        color, marker = style(number)
        every = -(-len(settings) // 25)  # more markers would hide the line
        line = {"color": color, "marker": marker, "markersize": 4, "markevery": every, "linestyle": dashes(number)}
        ax.plot(settings[order], mean[order], label=key_word(name), **line)
        if error is not None:
            low, high = (mean - error)[order], (mean + error)[order]
            ax.fill_between(settings[order], low, high, color=color, alpha=0.2, linewidth=0)
    if log:
        ax.set_xscale("log")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.grid(color="0.9")
    ax.set_axisbelow(True)
    band = [_band()] if any(error is not None for _, error in lines.values()) else []
    if len(curves) > 1 or band:
        legend_beside(ax, *band)
    fit_label(ax)
    return ax


def _band() -> Any:
    """What stands for a band in a legend."""
    from matplotlib.patches import Patch

    return Patch(facecolor="0.6", alpha=0.5, label="± 1 standard error")


def dashes(number: int) -> str:
    """Solid for the first lines, others where colors come again."""
    return ("-", "--", ":", "-.")[number // len(PALETTE) % 4]


def _mean_and_error(values: Any, name: str, t: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Values as they are, or mean and standard error of repetitions."""
    table = as_array(values, name, 1, 2)
    if table.shape[-1] != t:
        raise ValueError(f"{name} has {table.shape[-1]} values; x has {t}")
    if table.ndim == 1:
        return table, None
    repeats = len(table)
    return table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(repeats) if repeats > 1 else None


def _fitting(values: np.ndarray, name: str, settings: np.ndarray) -> np.ndarray:
    if values.shape != settings.shape:
        raise ValueError(f"{name} has {len(values)} values; x has {len(settings)}")
    return values


@isolated
def plot_search(
    search: Any,
    param: str | None = None,
    *,
    metric: str = "score",
    ylabel: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw what a search over settings found: the mean over folds against one setting, a line for the others' values.

    Bands are one standard error of the mean over the folds on either side; a star is what was chosen; the legend says
    so. The axis is logarithmic where settings are positive and the largest is at least ten times the least. Settings
    of the steps of a pipeline lose the names of the steps, "svc__C" becomes "C", where they differ without.

    Args:
        search: a fitted ``GridSearchCV`` or another search of scikit-learn, its ``cv_results_``, or a fitted
            :class:`torchrank.estimators.KroneckerRLSCV`, of which errors against ``alpha`` are drawn.
        param: what is varied along the axis, as in the grid: "C", "svc__C", "kernel__window". None where it is the
            only one.
        metric: which of several metrics, as in ``scoring``.
        ylabel: what was measured.
        ax: axes to draw into.

    Returns:
        The axes.

    Raises:
        ValueError: nothing fitted, a setting that was not varied, several and none named, an unknown metric.
    """
    if hasattr(search, "cv_errors_"):
        word = "mean squared error" if search.loss == "regression" else "conditional ranking error"
        alphas = np.asarray(search.alphas, dtype=np.float64)
        ax = plot_curves(
            alphas, {"": search.cv_errors_}, xlabel="alpha", log=_wide(alphas), ylabel=ylabel or word, ax=ax
        )
        best = int(np.argmin(search.cv_errors_))
        return _star(ax, float(alphas[best]), float(search.cv_errors_[best]), 0)
    results = search if isinstance(search, Mapping) else getattr(search, "cv_results_", None)
    if results is None:
        raise ValueError(f"search is a {type(search).__name__} without cv_results_; call its fit first")
    varied = [key.removeprefix("param_") for key in results if key.startswith("param_")]
    if param is None and len(varied) == 1:
        param = varied[0]
    if param is None or param not in varied:
        asked = "name one of them by param=" if param is None else f"param={param!r} is none of them"
        raise ValueError(f"search varied {', '.join(varied) or 'nothing'}; {asked}")
    if f"mean_test_{metric}" not in results:
        known = [key.removeprefix("mean_test_") for key in results if key.startswith("mean_test_")]
        raise ValueError(f"metric={metric!r} is unknown; choose one of {', '.join(known)}")
    words = _without_steps(varied)
    names = _line_names(results, [name for name in varied if name != param], words)
    used = [row for row, value in enumerate(results[f"param_{param}"]) if value is not np.ma.masked]
    values = {row: results[f"param_{param}"][row] for row in used}
    numbers = all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in values.values())
    ticks = sorted(set(values.values())) if numbers else list(dict.fromkeys(map(str, values.values())))
    x = np.array(ticks if numbers else range(len(ticks)), dtype=np.float64)
    place = {row: ticks.index(value if numbers else str(value)) for row, value in values.items()}
    folds = np.array([results[key] for key in results if _is_fold(key, metric)])  # [folds, rows]
    lines = list(dict.fromkeys(names[row] for row in used))
    curves = {name: np.full((max(1, len(folds)), len(ticks)), np.nan) for name in lines}
    for row in used:
        curves[names[row]][:, place[row]] = folds[:, row] if len(folds) else results[f"mean_test_{metric}"][row]
    measured = ylabel or f"{metric}, mean over folds"
    ax = plot_curves(x, curves, xlabel=words[param], ylabel=measured, log=numbers and _wide(x), ax=ax)
    if not numbers:
        write_ticks(Ticks(ax, x=(x, [str(tick) for tick in ticks])))
    rank = np.asarray(results[f"rank_test_{metric}"], dtype=np.float64)[used]
    best = used[int(rank.argmin())]
    band = [_band()] if len(folds) > 1 else []
    mean = float(results[f"mean_test_{metric}"][best])
    return _star(ax, float(x[place[best]]), mean, lines.index(names[best]), *band)


def _without_steps(varied: list[str]) -> dict[str, str]:
    """Names of settings without the steps of the pipeline that have them, where these differ."""
    last = [name.rpartition("__")[2] for name in varied]
    return {name: end if last.count(end) == 1 else name for name, end in zip(varied, last, strict=True)}


def _line_names(results: Mapping[str, Any], others: list[str], words: dict[str, str]) -> list[str]:
    """For every row of the results the values of the settings that are not on the axis."""
    rows = len(results["params"])
    said = []
    for row in range(rows):
        given = [(words[name], results[f"param_{name}"][row]) for name in others]
        said.append(", ".join(f"{word}={value}" for word, value in given if value is not np.ma.masked))
    without = f"without {', '.join(words[name] for name in others)}" if others else ""
    return list(shortened([name or without for name in said], _LONGEST_LINE))


def _is_fold(key: str, metric: str) -> bool:
    return key.startswith("split") and key.endswith(f"_test_{metric}") and key[5 : -len(metric) - 6].isdigit()


def _wide(x: np.ndarray) -> bool:
    """Whether positive settings span an order of magnitude."""
    return bool(x.min() > 0 and x.max() >= 10 * x.min())


def _star(ax: "Axes", x: float, y: float, number: int, *band: Any) -> "Axes":
    look = {"color": style(number)[0], "markeredgecolor": "black", "markersize": 14, "zorder": 3, "linestyle": "none"}
    ax.plot(x, y, marker="*", label="chosen", **look)
    legend_beside(ax, *band)
    fit_label(ax)
    return ax
