"""How often each item was put in each position, beside the central ranking."""

from typing import TYPE_CHECKING, Any

import numpy as np

from torchrank.aggregation.borda import borda
from torchrank.plots.axes import axes_or_new
from torchrank.rankings.convert import to_positions
from torchrank.rankings.validate import Scores, as_scores, to_numpy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_positions(
    X: Scores,
    *,
    weights: Any = None,
    items: "list[str] | tuple[str, ...] | None" = None,
    variant: str = "ordinary",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the share of rankings that put each item in each position, items in the order of the central ranking.

    Args:
        X: ``(m, n)`` scores of one cluster, NaN = unranked. Tied items share a position, the mean of theirs, which
            is rounded up.
        weights: ``(m,)``, how often each ranking was observed.
        items: names of the n items.
        variant: of Borda's count, which orders the items: "ordinary", or "interleaving" or "topk" for unranked items.
        ax: axes to draw into.

    Returns:
        The axes. Rows add up to the share of rankings that rank the item.

    Raises:
        ValueError: as :func:`torchrank.borda`, or another number of names.
    """
    scores = to_numpy(as_scores(X, "X")[0]).astype(np.float64)
    m, n = scores.shape
    names = tuple(map(str, range(n))) if items is None else tuple(map(str, items))
    if len(names) != n:
        raise ValueError(f"items has {len(names)} names; X ranks {n} items")
    weight = np.ones(m) if weights is None else np.asarray(weights, dtype=np.float64)
    order = np.argsort(-np.asarray(borda(scores, weight, variant=variant)), kind="stable")
    positions = np.asarray(to_positions(scores))
    share = np.zeros((n, n))
    row, item = np.nonzero(~np.isnan(positions))
    np.add.at(share, (item, np.ceil(positions[row, item]).astype(int) - 1), weight[row] / weight.sum())
    ax = axes_or_new(ax, (1.5 + 0.45 * n, 1.2 + 0.4 * n))
    image = ax.imshow(share[order], cmap="Blues", vmin=0, vmax=max(share.max(), 1e-12), aspect="auto")
    if n <= 12:
        for r, c in np.ndindex(n, n):
            value = share[order[r], c]
            ax.text(
                c,
                r,
                f"{value:.0%}",
                ha="center",
                va="center",
                fontsize="x-small",
                color="white" if value > share.max() / 2 else "black",
            )
    ax.figure.colorbar(image, ax=ax, label="share of rankings")
    ax.set(xlabel="position", ylabel="central ranking, best first")
    ax.set_xticks(range(n), [str(place + 1) for place in range(n)])
    ax.set_yticks(range(n), [names[index] for index in order])
    return ax
