"""How often each item was put in each position, beside the central ranking."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torchrank.aggregation.borda import borda
from torchrank.plots.axes import CountedRankings, as_array, as_groups, as_rankings, axes_or_new, new_axes
from torchrank.rankings.convert import to_positions
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import Missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

_MOST_WRITTEN = 12  # items for which shares are written into the cells
_WIDEST = 18.0  # inches of a figure with several panels


@isolated
def plot_positions(
    X: Any,
    *,
    weights: Any = None,
    items: "Sequence[str] | None" = None,
    center: Any = None,
    missing: Missing = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the share of rankings that put each item in each position, items in the order of the central ranking.

    Args:
        X: ``(m, n)`` scores, NaN = unranked, or :class:`torchrank.datasets.RankingData`. Tied items share the positions
            that they take together.
        weights: ``(m,)``, how often each ranking was observed.
        items: names of the n items; those beyond 24 letters are cut.
        center: ``(n,)`` scores of the central ranking, larger = preferred; by default Borda's.
        missing: what unranked items mean to Borda's count: "raise" (an error), "interleaving" or "topk", or one of
            these two for each ranking; see :func:`torchrank.borda`.
        ax: axes to draw into.

    Returns:
        The axes. Rows add up to the share of rankings that rank the item.

    Raises:
        ValueError: as :func:`torchrank.borda`, another number of names, or a center that does not rank all items.
    """
    rankings = as_rankings(X, weights, items, missing)
    n = len(rankings.items)
    shares, order = _shares(rankings), _central_order(rankings, center)
    ax = axes_or_new(ax, _size(n, 1.2))
    image = _draw(ax, shares[order], [rankings.items[item] for item in order], float(shares.max()))
    ax.figure.colorbar(image, ax=ax, label="share of rankings")
    return ax


@isolated
def plot_cluster_positions(
    X: Any,
    labels: Any,
    *,
    weights: Any = None,
    items: "Sequence[str] | None" = None,
    centers: Any = None,
    missing: Missing = None,
    axes: "Sequence[Axes] | np.ndarray | None" = None,
) -> np.ndarray:
    """Draw :func:`plot_positions` of each cluster, in one scale of colors, with the cluster's share as the title.

    Args:
        X: as :func:`plot_positions`.
        labels: ``(m,)`` clusters.
        weights: ``(m,)``, how often each ranking was observed.
        items: names of the n items.
        centers: ``(clusters, n)`` scores of central rankings in the order of the labels, such as the ``centers`` of
            :class:`torchrank.RankingKMeans` and :class:`torchrank.MallowsMixture`; by default Borda's.
        missing: as :func:`plot_positions`.
        axes: at least as many axes as there are clusters, to draw into.

    Returns:
        ``(clusters,)`` array of axes.

    Raises:
        ValueError: as :func:`plot_positions`; fewer axes than clusters, or another number of centers, as when a cluster
            is empty; or a cluster whose rankings have no weight.
    """
    everything = as_rankings(X, weights, items, missing)
    counts, names = everything.weights, everything.items
    groups = as_groups(labels, len(counts))
    k, n = len(groups.names), len(names)
    middles = [None] * k if centers is None else list(as_array(centers, "centers", 2))
    if len(middles) != k:
        raise ValueError(f"centers has {len(middles)} rows; labels name {k} clusters that have rankings")
    panels, shrink = (
        (_new_panels(k, n), 1 / _rows(k, n)) if axes is None else (np.asarray(axes, dtype=object).ravel(), 1)
    )
    if len(panels) < k:
        raise ValueError(f"axes has {len(panels)} axes; labels name {k} clusters")
    panels = panels[:k]
    parts = [everything.part(groups.own(code)) for code in range(k)]
    shares = [_shares(part) for part in parts]
    limit = max(float(share.max()) for share in shares)
    images = []
    for code, (part, share) in enumerate(zip(parts, shares, strict=True)):
        order = _central_order(part, middles[code])
        images.append(_draw(panels[code], share[order], [names[item] for item in order], limit))
        panels[code].set_title(f"{groups.names[code]}: {part.weights.sum() / counts.sum():.0%} of rankings")
    label = "share of the cluster's rankings"
    panels[0].figure.colorbar(images[0], ax=list(panels), pad=0.02, shrink=shrink, label=label)
    for panel in panels[1:]:
        if axes is None and not panel.get_subplotspec().is_first_col():
            panel.set_ylabel("")
    return panels


def _rows(k: int, n: int) -> int:
    """Rows of panels for k clusters of n items, none wider than a page."""
    return -(-k // max(1, int(_WIDEST / _size(n, 0.4)[0])))


def _new_panels(k: int, n: int) -> np.ndarray:
    """``(k,)`` axes of a new figure, in rows of about one length."""
    rows, (width, height) = _rows(k, n), _size(n, 0.4)
    columns = -(-k // rows)
    panels = new_axes(rows, columns, (columns * width + 0.8, rows * (height + 0.2))).ravel()
    for unused in panels[k:]:
        unused.remove()
    return panels[:k]


def _shares(rankings: CountedRankings) -> np.ndarray:
    """``(n, n)`` share of the weight that has the item in the position; t tied items have 1/t of each of theirs."""
    scores, counts = rankings.scores, rankings.weights
    n = scores.shape[1]
    if counts.sum() == 0:
        raise ValueError("a cluster's weights add up to 0; leave out the rankings that nobody gave")
    first = np.asarray(to_positions(scores, ties="min"))
    tied = 2 * (np.asarray(to_positions(scores)) - first) + 1
    share = np.zeros((n, n))
    row, item = np.nonzero(~np.isnan(first))
    start, size = first[row, item].astype(int) - 1, tied[row, item].astype(int)
    for step in range(int(size.max(initial=0))):
        more = size > step
        weight = counts[row[more]] / counts.sum() / size[more]
        np.add.at(share, (item[more], start[more] + step), weight)
    return share


def _central_order(rankings: CountedRankings, center: Any) -> np.ndarray:
    """Items from the most to the least preferred."""
    n = len(rankings.items)
    if center is None:
        middle = np.asarray(borda(rankings.scores, rankings.weights, missing=rankings.meaning))
    else:
        middle = as_array(center, "center", 1)
    if len(middle) != n or np.isnan(middle).any():
        raise ValueError(f"center has {len(middle)} scores, {int(np.isnan(middle).sum())} of them NaN; X ranks {n}")
    return np.argsort(-middle, kind="stable")


def _size(n: int, beside: float) -> tuple[float, float]:
    """Inches of axes for n items, with names and what stands beside."""
    cells = max(1.6, min(8.0, (0.42 if n <= _MOST_WRITTEN else 0.14) * n))
    return 1.2 + cells + beside, 0.8 + cells


def _draw(ax: "Axes", share: np.ndarray, names: list[str], limit: float) -> "AxesImage":
    n = len(names)
    limit = limit or 1.0  # nobody ranked anything
    image = ax.imshow(share, cmap="Blues", vmin=0, vmax=limit, aspect="auto", interpolation="nearest")
    if n <= _MOST_WRITTEN:
        for (row, column), value in np.ndenumerate(share):
            if value > 0:
                color = "white" if value > 0.6 * limit else "black"
                ax.text(column, row, f"{100 * value:.0f}", ha="center", va="center", fontsize="x-small", color=color)
        ax.set_xlabel("position (numbers: per cent)")
    else:
        ax.set_xlabel("position")
    shown = range(0, n, -(-n // 40))  # names of more items would overlap
    size = "medium" if n <= _MOST_WRITTEN else "x-small"
    numbers = range(0, n, -(-n // 20))
    ax.set_xticks(numbers, [str(place + 1) for place in numbers], fontsize=size)
    ax.set_yticks(shown, [names[place] for place in shown], fontsize=size)
    ax.set_ylabel("central ranking, best first")
    return image
