"""Parameters of Mallows and Plackett-Luce fits with their intervals."""

from collections.abc import Mapping
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torchrank.distributions import MallowsFit, PlackettLuceFit
from torchrank.label_ranking.mm_pl import MMPL
from torchrank.mixtures.mallows import MallowsMixture
from torchrank.plots.axes import as_array, axes_or_new, style
from torchrank.plots.text import Ticks, as_names, key_word, legend_beside, write_ticks
from torchrank.rankings.isolation import isolated
from torchrank.rankings.validate import check_finite
from torchrank.typing import Names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDEST = 300  # times the spread of the values and a usual interval
_WORTH, _CONCENTRATION = "log-worth", "concentration"


class _Series(NamedTuple):
    """Parameters of one fit."""

    values: np.ndarray  # (n,)
    errors: np.ndarray | None  # (n,)
    label: str
    least: float = -np.inf  # of what the parameter can be


@isolated
def plot_parameters(
    fit: Any,
    errors: Any = None,
    *,
    names: Names | None = None,
    level: float = 0.95,
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw parameters as points with normal intervals, the largest on top; several fits side by side.

    Args:
        fit: what :func:`torchrank.fit_plackett_luce` gives (log-worths of the items), or
            :func:`torchrank.fit_mallows` (concentrations, one for each row of weights), with the standard errors in
            it; a fitted :class:`torchrank.MallowsMixture`, :class:`torchrank.MMPL` or their estimators, which have
            none; an array ``(n,)``, or ``(k, n)`` for k series; or a mapping from names to any of these.
        errors: standard errors of arrays, in their shape. None draws no intervals, but for fits that have errors.
        names: of the n parameters; by default numbers, of concentrations those of clusters.
        level: coverage of the intervals, between 0 and 1. Those of concentrations end at 0.
        label: what the values are; by default log-worth or concentration, as the fit has it.
        ax: axes to draw into.

    Returns:
        The axes. A hollow point has no interval although others do: its standard error is not finite, or hundreds of
        times what is seen without it, so that nothing else could be seen beside the interval.

    Raises:
        ValueError: shapes that do not fit, a level outside 0 to 1, errors beside a fit that has its own.
        TypeError: values that are not numbers, learners that are not fitted or have no such parameters.
    """
    check_finite(level, "level", 0)
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} is out of range; it is the coverage of the intervals, between 0 and 1")
    series = _all_series(fit, errors)
    n = len(next(iter(series.values())).values)
    for name, one in series.items():
        if len(one.values) != n:
            raise ValueError(f"{name} has {len(one.values)} parameters, another {n}; they must agree")
    first = next(iter(series.values()))
    if names is None and first.label == _CONCENTRATION:
        names = [f"cluster {number}" for number in range(n)]
    words = as_names(names, n, "names", f"there are {{n}} {first.label}s")
    ax = axes_or_new(ax, (5.0, 1.2 + n * max(0.25, 0.12 * len(series))))
    means = np.mean([one.values for one in series.values()], axis=0)
    order = np.argsort(-means, kind="stable")  # NaN comes last
    quantile = NormalDist().inv_cdf((1 + level) / 2)
    for number, (name, one) in enumerate(series.items()):
        height = np.arange(n) + (number - (len(series) - 1) / 2) * 0.7 / len(series)
        _draw(ax, one, order, height, quantile, number, name)
    ax.set_ylim(n - 0.5, -0.5)
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
    with_errors = any(one.errors is not None for one in series.values())
    title = label or first.label
    ax.set_xlabel(f"{title}, {100 * level:g}% intervals" if with_errors else title)
    if len(series) > 1:
        ax.set_yticks(np.arange(n - 1) + 0.5, minor=True)
        ax.grid(axis="y", which="minor", color="0.9")
        ax.tick_params(axis="y", which="minor", length=0)
        legend_beside(ax)
    write_ticks(Ticks(ax, y=(range(n), [words[index] for index in order])))
    return ax


def _all_series(fit: Any, errors: Any) -> dict[str, _Series]:
    if not isinstance(fit, Mapping):
        return _series(fit, errors, "fit")
    if len(fit) == 0:
        raise ValueError("fit is an empty mapping; there is nothing to draw")
    unknown = set(errors or {}) - set(fit)
    if unknown:
        raise ValueError(f"errors has {sorted(unknown)}; fit has {sorted(fit)}")
    found: dict[str, _Series] = {}
    for name, one in fit.items():
        parts = _series(one, (errors or {}).get(name), f"fit[{name!r}]")
        found |= {f"{name}, {part}" if len(parts) > 1 else str(name): value for part, value in parts.items()}
    return found


def _series(fit: Any, errors: Any, argument: str) -> dict[str, _Series]:
    """One series for a fit or a vector, and one a cluster for a matrix."""
    fit = getattr(fit, "model_", fit)  # the module in an estimator
    known: tuple[Any, Any, str, float] | None = None
    if isinstance(fit, PlackettLuceFit):
        known = fit.logits, fit.standard_errors, _WORTH, -np.inf
    elif isinstance(fit, MallowsFit):
        known = fit.lam.reshape(-1), fit.standard_error.reshape(-1), _CONCENTRATION, 0.0
    elif isinstance(fit, MallowsMixture):
        known = fit.lam, None, _CONCENTRATION, 0.0
    elif isinstance(fit, MMPL):
        known = fit.logits - fit.logits.mean(dim=1, keepdim=True), None, _WORTH, -np.inf
    if known is not None and errors is not None:
        raise ValueError(f"errors are for arrays; {argument} is a {type(fit).__name__}")
    if known is None and hasattr(fit, "fit"):
        raise TypeError(
            f"{argument} is a {type(fit).__name__}; expected a fitted MallowsMixture or MMPL, what fit_mallows or "
            "fit_plackett_luce give, or an array"
        )
    values, errors, label, least = known or (fit, errors, "parameter", -np.inf)
    table = as_array(values, argument, 1, 2)
    spread = None if errors is None else as_array(errors, "errors", table.ndim)
    if spread is not None and spread.shape != table.shape:
        raise ValueError(f"{argument} has shape {table.shape} and errors {spread.shape}; they must agree")
    if spread is not None and (spread < 0).any():
        raise ValueError(f"errors has {spread.min():g}; standard errors are at least 0")
    if table.ndim == 1:
        return {argument: _Series(table, spread, label, least)}
    return {
        f"cluster {row}": _Series(values, None if spread is None else spread[row], label, least)
        for row, values in enumerate(table)
    }


def _draw(
    ax: "Axes", series: _Series, order: np.ndarray, height: np.ndarray, quantile: float, number: int, name: str
) -> None:
    values, (color, marker) = series.values[order], style(number)
    certain = np.ones(len(values), dtype=bool)
    if series.errors is not None:
        reach = quantile * series.errors[order]
        known = np.isfinite(reach) & np.isfinite(values)
        if known.any():
            certain = np.isfinite(reach) & (reach <= _WIDEST * (np.ptp(values[known]) + np.median(reach[known])))
        else:
            certain = np.isfinite(reach)
        low = np.maximum(values - reach, series.least)[certain]
        ax.errorbar(
            values[certain],
            height[certain],
            xerr=[values[certain] - low, reach[certain]],
            fmt="none",
            ecolor=color,
            capsize=3,
        )
    for own, face in ((certain, color), (~certain, "white")):
        if own.any():
            shown = key_word(name) if own[0] == certain[0] else None
            ax.plot(
                values[own],
                height[own],
                marker,
                color=color,
                markerfacecolor=face,
                markersize=5,
                label=shown,
            )
