"""How often each item was put in each position, beside the central ranking."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torchrank.aggregation.borda import borda
from torchrank.plots.axes import CountedRankings, as_array, as_groups, as_rankings, axes_or_new, new_axes
from torchrank.plots.text import Ticks, fit_title, lay_out, write_ticks
from torchrank.rankings.convert import to_positions
from torchrank.rankings.isolation import isolated
from torchrank.rankings.missing import MissingVotes
from torchrank.typing import Names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

_MOST_WRITTEN = 12  # items for which shares are written into the cells
_WIDEST = 18.0  # inches of a figure with several panels
_SMALLEST, _LARGEST = 5.0, 8.0  # points of the numbers in cells


class _Shares(NamedTuple):
    """Where the rankings of a cluster put the items."""

    placed: np.ndarray  # (n, n) share of the weight that has the item in the position
    unranked: np.ndarray  # (n,) share that does not rank it

    def last(self) -> int:
        """Positions up to the last one that is used."""
        return max(1, int(self.placed.any(axis=0).nonzero()[0].max(initial=0)) + 1)


class _Panel(NamedTuple):
    """One cluster's picture."""

    ax: "Axes"
    shares: _Shares
    order: np.ndarray  # (n,) items, the best first
    image: "AxesImage"
    end: int  # of the positions drawn


@isolated
def plot_positions(
    X: Any,
    *,
    weights: Any = None,
    items: Names | None = None,
    center: Any = None,
    missing: MissingVotes = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the share of rankings that put each item in each position, items in the order of the central ranking.

    Names and numbers are as large as the axes have room for.

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
        The axes. Where rankings leave items out, gray cells at the right say how many do not rank the item, positions
        end with the last that is used, and rows add up to 1 with the gray cell.

    Raises:
        ValueError: as :func:`torchrank.borda`, another number of names, or a center that does not rank all items.
    """
    rankings = as_rankings(X, weights, items, missing)
    shares, order = _shares(rankings), _central_order(rankings, center)
    end = shares.last()
    ax = axes_or_new(ax, _size(len(rankings.items), end, 1.2))
    image = _draw(ax, shares, order, end, bool(shares.unranked.any()), float(shares.placed.max()))
    ax.figure.colorbar(image, ax=ax, label="share of rankings")
    _write([_Panel(ax, shares, order, image, end)], rankings.items)
    return ax


@isolated
def plot_cluster_positions(
    X: Any,
    labels: Any,
    *,
    weights: Any = None,
    items: Names | None = None,
    centers: Any = None,
    missing: MissingVotes = None,
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
    parts = [everything.part(groups.own(code)) for code in range(k)]
    shares = [_shares(part) for part in parts]
    end = max(share.last() for share in shares)
    size = _size(n, end, 0.4)
    panels, shrink = (
        (_new_panels(k, size), 1 / _rows(k, size)) if axes is None else (np.asarray(axes, dtype=object).ravel(), 1)
    )
    if len(panels) < k:
        raise ValueError(f"axes has {len(panels)} axes; labels name {k} clusters")
    panels = panels[:k]
    limit = max(float(share.placed.max()) for share in shares)
    beside = any(share.unranked.any() for share in shares)
    orders = [_central_order(part, middle) for part, middle in zip(parts, middles, strict=True)]
    drawn: list[_Panel] = []
    for code, (part, share) in enumerate(zip(parts, shares, strict=True)):
        image = _draw(panels[code], share, orders[code], end, beside, limit)
        drawn.append(_Panel(panels[code], share, orders[code], image, end))
        title = f"{groups.names[code]}:\n{part.weights.sum() / counts.sum():.0%} of rankings"
        panels[code].set_title(title, parse_math=False)
    label = "share of the cluster's rankings"
    panels[0].figure.colorbar(drawn[0].image, ax=list(panels), pad=0.02, shrink=shrink, label=label)
    for panel in panels[1:]:
        if axes is None and not panel.get_subplotspec().is_first_col():
            panel.set_ylabel("")
    _write(drawn, names)
    for panel in panels:
        fit_title(panel)
    return panels


def _rows(k: int, size: tuple[float, float]) -> int:
    """Rows of k panels of this size, none wider than a page."""
    return -(-k // max(1, int(_WIDEST / size[0])))


def _new_panels(k: int, size: tuple[float, float]) -> np.ndarray:
    """``(k,)`` axes of a new figure, in rows of about one length."""
    rows, (width, height) = _rows(k, size), size
    columns = -(-k // rows)
    panels = new_axes(rows, columns, (columns * width + 0.8, rows * (height + 0.2))).ravel()
    for unused in panels[k:]:
        unused.remove()
    return panels[:k]


def _shares(rankings: CountedRankings) -> _Shares:
    """Shares of the weight; t tied items have 1/t of each of their positions."""
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
    return _Shares(share, counts @ np.isnan(first) / counts.sum())


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


def _size(n: int, columns: int, beside: float) -> tuple[float, float]:
    """Inches of axes for n items in so many positions, with names and what stands beside."""
    wide, high = (0.42, 0.42) if n <= _MOST_WRITTEN else (0.1, 0.14)
    height, width = (max(1.6, min(8.0, cells)) for cells in (high * n, wide * columns + 0.4 * (columns < n)))
    return 1.2 + width + beside, 0.8 + height


def _draw(ax: "Axes", shares: _Shares, order: np.ndarray, end: int, beside: bool, limit: float) -> "AxesImage":
    """Cells of the positions, and of what is not ranked."""
    n = len(order)
    look: dict[str, Any] = {"aspect": "auto", "interpolation": "nearest", "vmin": 0}
    limit = limit or 1.0  # nobody ranked anything
    image = ax.imshow(shares.placed[order, :end], cmap="Blues", vmax=limit, **look)
    if beside:
        left, right = _unranked_cells(end)
        where = (left, right, n - 0.5, -0.5)
        ax.imshow(shares.unranked[order, None], cmap="Greys", vmax=2.0, extent=where, **look)
        ax.set_xlim(-0.5, right)
        ax.axvspan(end - 0.5, left, color="white", linewidth=0)
    ax.set_xlabel("position")
    ax.set_ylabel("central ranking, best first")
    return image


def _unranked_cells(end: int) -> tuple[float, float]:
    """Where the cells of what is not ranked begin and end, in positions."""
    width = max(1.0, end / 10)
    return end - 0.5 + width / 3, end - 0.5 + 4 * width / 3


def _write(panels: list[_Panel], items: tuple[str, ...]) -> None:
    """Names of items, numbers of positions, and those in cells that they fit into."""
    n, end = len(items), panels[0].end
    beside = len(panels[0].ax.images) > 1
    numbers = range(end), [str(place + 1) for place in range(end)]
    for panel in panels if beside else ():  # above, where no position's number is
        panel.ax.set_xticks([sum(_unranked_cells(end)) / 2], ["not\nranked"], minor=True)
        where = {"top": True, "labeltop": True, "labelbottom": False, "bottom": False}
        panel.ax.tick_params(axis="x", which="minor", labelsize=6, length=0, pad=1, **where)
    write_ticks(*(Ticks(p.ax, numbers, (range(n), [items[item] for item in p.order])) for p in panels))
    unit = lay_out(panels[0].ax)
    for ax, shares, order, image, _ in panels:
        cell = ax.transData.transform([(0, 0), (1, 1)]) * unit
        width, height = np.abs(cell[1] - cell[0])
        size, limit = min(_LARGEST, width / 1.5, height / 1.2), image.get_clim()[1]
        if n <= _MOST_WRITTEN and size >= _SMALLEST:
            ax.set_xlabel("position (numbers: per cent)")
            for (row, column), value in np.ndenumerate(shares.placed[order, :end]):
                if value > 0:
                    _number(ax, column, row, value, size, dark=value > 0.72 * limit)
        left, right = _unranked_cells(end)
        size = min(_LARGEST, width * (right - left) / 1.5, height / 1.2)
        for row, value in enumerate(shares.unranked[order] if beside and size >= _SMALLEST else ()):
            _number(ax, (left + right) / 2, row, value, size, dark=False)


def _number(ax: "Axes", x: float, y: float, share: float, size: float, *, dark: bool) -> None:
    color = "white" if dark else "black"
    ax.text(x, y, f"{100 * share:.0f}", ha="center", va="center", fontsize=size, color=color)
