"""Tests of association between all rankings, as a picture of how strong and how certain they are."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torchrank.plots.axes import as_array, axes_or_new, style
from torchrank.plots.placing import write_names
from torchrank.plots.text import as_names, fit_label, legend_beside
from torchrank.rankings.isolation import isolated
from torchrank.rankings.names import columns_of, index_of
from torchrank.rankings.validate import check_count, check_number
from torchrank.typing import Names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_DRAWN = 5000  # points that stay lines in a file of lines; more become pixels
_LEAST = 1e-300  # below the p-values that floating-point numbers tell apart


class _Pairs(NamedTuple):
    """Pairs of rankings that were tested."""

    tau: np.ndarray  # (q,)
    pvalue: np.ndarray  # (q,)
    first: np.ndarray  # (q,) rows
    second: np.ndarray  # (q,) columns


@isolated
def plot_test(
    test: Any,
    *,
    names: Names | None = None,
    names_y: Names | None = None,
    alpha: float = 0.05,
    most_named: int = 10,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw Kendall's tau of all pairs of rankings against their p-values (a volcano plot).

    The higher, the more certain an association is; at the right it is of equal orders, at the left of opposite ones.
    Significant pairs are colored, and the most certain ones named where there is room.

    Args:
        test: what :func:`torchrank.kendall_test` gives, with ``correction=`` where the pairs are many; or a tuple of
            statistics and p-values ``(m, m2)``. Where both are symmetric they are of one set of rankings, of which each
            pair is drawn once and none with itself.
        names: of the m rankings; a data frame brings its own, and others have numbers.
        names_y: of those of ``Y``, where these are others.
        alpha: largest p-value that is significant, above 0 and below 1.
        most_named: how many pairs may be named.
        ax: axes to draw into.

    Returns:
        The axes. Pairs with a p-value of NaN, of which nothing could be tested, are left out; p-values of 0, too small
        for floating-point numbers, are triangles at the top.

    Raises:
        ValueError: shapes that do not fit, no pair that was tested, a p-value or an ``alpha`` outside 0 to 1.
        TypeError: values that are not numbers.
    """
    check_number(alpha, "alpha")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha!r} is out of range; it is a probability above 0 and below 1")
    check_count(most_named, "most_named", least=0)
    pairs, words = _pairs(test, names, names_y)
    zero = pairs.pvalue < _LEAST
    height = -np.log10(np.where(zero, 1, pairs.pvalue))
    top = 1.08 * max(float(height.max()), -float(np.log10(alpha)))
    height[zero] = top
    ax = axes_or_new(ax, (5.2, 4.0))
    significant = pairs.pvalue <= alpha
    kinds = (
        ("not significant", ~significant, "0.6", "o"),
        ("opposite orders", significant & (pairs.tau < 0), *style(0)),
        ("equal orders", significant & (pairs.tau >= 0), style(5)[0], "s"),
    )
    size = max(4.0, 20.0 * min(1.0, 500 / len(height)))
    pixels = len(height) > _MOST_DRAWN
    for label, own, color, marker in kinds:
        for part, shape in ((own & ~zero, marker), (own & zero, "^")):
            if part.any():
                shown = f"{label} ({own.sum()})" if shape == marker or not (own & ~zero).any() else None
                look = {"s": size, "color": color, "marker": shape, "linewidths": 0, "rasterized": pixels}
                ax.scatter(pairs.tau[part], height[part], label=shown, alpha=0.8, clip_on=False, **look)
    ax.axhline(-np.log10(alpha), color="black", linestyle="--", linewidth=0.8, label=f"p-value {alpha:g}")
    ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    reach = 1.05 * max(0.05, float(np.abs(pairs.tau).max()))
    ax.set(xlim=(-reach, reach), ylim=(0, top * (1.02 if words is None else 1.2)))
    ax.set(xlabel="Kendall's tau", ylabel="-log10 of the p-value")
    legend_beside(ax)
    fit_label(ax)
    order = np.lexsort([-np.abs(pairs.tau), pairs.pvalue])[: most_named if words is not None else 0]
    order = order[significant[order]]
    named = len(order)
    if words is not None and named:
        texts = [f"{words[0][pairs.first[k]]} -\n{words[1][pairs.second[k]]}" for k in order]
        places = np.column_stack([pairs.tau, height])
        order = np.append(order, np.setdiff1d(np.arange(len(height)), order))  # names may not cover the others
        texts += [""] * (len(height) - len(texts))
        radii = np.full(len(height), np.sqrt(size / np.pi))
        write_names(ax, places[order], texts, radii, order=np.arange(named), far=named)
    return ax


def _pairs(test: Any, names: Any, names_y: Any) -> tuple[_Pairs, tuple[tuple[str, ...], tuple[str, ...]] | None]:
    """The pairs that were tested, and names of their rankings if there are any."""
    try:
        statistic, pvalue = test
    except (TypeError, ValueError):
        raise TypeError(
            f"test is {type(test).__name__}; expected what kendall_test gives, statistics and p-values"
        ) from None
    tau, p = as_array(statistic, "statistic", 2), as_array(pvalue, "pvalue", 2)
    if tau.shape != p.shape:
        raise ValueError(f"statistic has shape {tau.shape} and pvalue {p.shape}; they must agree")
    if (p < 0).any() or (p > 1).any():
        raise ValueError(f"pvalue has {p[(p < 0) | (p > 1)][0]:g}; p-values are between 0 and 1")
    m, m2 = tau.shape
    one_set = m == m2 and np.array_equal(tau, tau.T, equal_nan=True) and np.array_equal(p, p.T, equal_nan=True)
    tested = ~np.isnan(tau) & ~np.isnan(p)
    first, second = np.nonzero(np.triu(tested, 1) if one_set else tested)
    if len(first) == 0:
        raise ValueError(f"no pair of the {m} x {m2} was tested; there is nothing to draw")
    own = index_of(statistic) if names is None else names
    other = columns_of(statistic) if names_y is None else names_y
    if one_set and names_y is None:
        other = own
    if own is None and other is None:
        return _Pairs(tau[first, second], p[first, second], first, second), None
    words = as_names(own, m, "names", "test has {n} rows"), as_names(other, m2, "names_y", "test has {n} columns")
    return _Pairs(tau[first, second], p[first, second], first, second), words
