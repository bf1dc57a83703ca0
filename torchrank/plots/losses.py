"""What fits minimized or maximized, iteration by iteration."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from torchrank.plots.axes import as_array, axes_or_new, style
from torchrank.plots.curves import dashes
from torchrank.plots.text import fit_label, key_word, legend_beside
from torchrank.rankings.isolation import isolated

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_END: dict[bool, dict[str, Any]] = {
    True: {"marker": "o", "markersize": 6},
    False: {"marker": "x", "markersize": 8, "markeredgewidth": 2},
}


@isolated
def plot_losses(fits: Any, *, ylabel: str = "objective", log: bool = False, ax: "Axes | None" = None) -> "Axes":
    """Draw the objective of fits after each iteration, to see whether they have converged.

    Args:
        fits: what a fit gives, :class:`torchrank.Evidence`; an estimator that was fitted; values ``(t,)``, such as the
            losses of a training loop; or a mapping from names to any of these, a line each.
        ylabel: what the values are; whether they fall or rise each kind of fit says.
        log: whether to draw, on a logarithmic axis, how far each value is from the last one of its fit, which is left
            out: a straight line is convergence at a constant rate.
        ax: axes to draw into.

    Returns:
        The axes. The end of a fit is a filled circle where it converged, and a cross where it did not; values alone
        have neither.

    Raises:
        ValueError: no fits, or one without iterations, such as a closed form.
        TypeError: what is neither a fit nor numbers.
    """
    named = fits if isinstance(fits, Mapping) else {"": fits}
    if len(named) == 0:
        raise ValueError("fits is empty; there is nothing to draw")
    traces = {str(name): _trace(fit, f"fits[{name!r}]" if named is fits else "fits") for name, fit in named.items()}
    ax = axes_or_new(ax, (5.0 if len(traces) == 1 else 6.2, 4.0))
    ends: set[bool] = set()
    for number, (name, (values, converged)) in enumerate(traces.items()):
        color = style(number)[0]
        shown = np.abs(values - values[-1])[:-1] if log else values
        shown = np.where(shown > 0, shown, np.nan) if log else shown
        steps = np.arange(1, len(shown) + 1)
        alone = "." if np.isfinite(shown).sum() == 1 else "None"  # which no line shows
        ax.plot(steps, shown, marker=alone, color=color, linestyle=dashes(number), label=key_word(name))
        if converged is not None and len(shown):
            last = np.flatnonzero(np.isfinite(shown))[-1:]  # none of values that are all the last one
            ax.plot(steps[last], shown[last], color=color, **_END[converged])
            ends.add(converged)
    if log:
        ax.set_yscale("log")
    ax.set(xlabel="iteration", ylabel=f"{ylabel},\ndistance from the last" if log else ylabel)
    ax.locator_params(axis="x", integer=True)
    ax.grid(color="0.9")
    ax.set_axisbelow(True)
    if len(traces) > 1 or False in ends:
        legend_beside(ax, *_ends(ends))
    fit_label(ax)
    return ax


def _trace(fit: Any, argument: str) -> tuple[np.ndarray, bool | None]:
    """Values of a fit, and whether it converged, where that is known."""
    end = "_" if hasattr(fit, "objective_") else ""
    if not hasattr(fit, f"objective{end}"):
        if hasattr(fit, "fit"):
            raise TypeError(
                f"{argument} is a {type(fit).__name__} without objective_; pass what its fit gives, or fit it"
            )
        return as_array(fit, argument, 1), None
    values, converged = getattr(fit, f"objective{end}"), getattr(fit, f"converged{end}")
    if len(values) == 0:
        reason = getattr(fit, f"reason{end}")
        raise ValueError(f"{argument} has no iterations ({reason}); there is nothing to draw")
    return as_array(values, argument, 1), bool(converged)


def _ends(kinds: set[bool]) -> list[Any]:
    """What ends of lines stand for in a legend."""
    from matplotlib.lines import Line2D

    words = {True: "converged", False: "did not converge"}
    return [Line2D([], [], color="0.4", linestyle="none", label=words[kind], **_END[kind]) for kind in sorted(kinds)]
