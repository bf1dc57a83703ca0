"""The picture of the README: ``TORCHRANK_DATA=folder python -m benchmarks.readme_picture``.

The 5,738 complete ballots of the American Psychological Association's election of 1980 for five candidates, A to E, in
three clusters of kernel k-means: their Gram matrix, their map, and who was put where in each cluster.
"""

from io import BytesIO
from typing import Any

import numpy as np

from benchmarks.env import ROOT
from benchmarks.papers.clustering_data import apa, seeded
from benchmarks.pictures import pyplot_for_files
from torchrank import KernelKMeans, kemeny, kendall_distance, kendall_gram
from torchrank.plots.axes import PALETTE
from torchrank.plots.maps import principal_points

FILE = ROOT / "docs" / "pictures" / "readme.png"
NAMES = "ABCDE"
CLUSTERS = 3
INK = "0.25"


def main() -> None:
    """Cluster and draw."""
    votes = apa()
    X, counts = votes.scores, votes.counts
    K = kendall_gram(X)
    labels = np.asarray(KernelKMeans(CLUSTERS, kernel="precomputed").fit(K, counts, generator=seeded(0)).labels)
    labels = np.argsort(np.argsort(-np.bincount(labels, counts)))[labels]  # the largest first
    centers = np.stack([kemeny(X, np.where(labels == c, counts, 0)).scores for c in range(CLUSTERS)])
    order = np.lexsort((kendall_distance(X, centers)[np.arange(len(X)), labels], labels))

    pyplot = pyplot_for_files()
    pyplot.rcParams.update({"font.size": 9, "axes.edgecolor": INK, "text.color": INK, "xtick.color": INK})
    figure = pyplot.figure(figsize=(9, 3.5), layout="constrained")
    left, middle, right = figure.subfigures(1, 3, width_ratios=(1.08, 1.1, 0.82))
    draw_gram(left, K[np.ix_(order, order)], labels[order], counts[order])
    draw_map(middle, K, kendall_distance(X) == 1, labels, counts)
    draw_positions(right, X, centers, labels, counts)
    save(figure)
    print(f"{FILE.name}: {FILE.stat().st_size / 1000:.0f} kB")


def save(figure: Any) -> None:
    """Write the file with 256 colors, which halves it."""
    from PIL import Image

    full = BytesIO()
    figure.savefig(full, dpi=100)
    Image.open(full).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(FILE, optimize=True)


def draw_gram(figure: Any, K: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> None:
    """The kernel between all voters, a square a pair of voters, and the clusters along it."""
    axes, edges = figure.subplots(), np.concatenate([[0], np.cumsum(counts)])
    image = axes.pcolormesh(edges, edges, K, cmap="cividis", vmin=-1, vmax=1, rasterized=True)
    total, width = edges[-1], 0.035 * edges[-1]
    for cluster in range(CLUSTERS):
        first, last = edges[:-1][labels == cluster][0], edges[1:][labels == cluster][-1]
        bar = {"color": PALETTE[cluster], "linewidth": 0, "clip_on": False}
        axes.add_patch(_rectangle((-1.6 * width, first), width, last - first, **bar))
        axes.add_patch(_rectangle((first, -1.6 * width), last - first, width, **bar))
        axes.axhline(first, color="white", linewidth=1)
        axes.axvline(first, color="white", linewidth=1)
    axes.set(xlim=(0, total), ylim=(total, 0), aspect="equal", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, orientation="horizontal", fraction=0.05, pad=0.03, ticks=(-1, 0, 1))
    bar.outline.set_visible(False)
    axes.set_title(f"Kendall kernel of {total:,} ballots", fontsize=10, pad=16)


def draw_map(figure: Any, K: np.ndarray, neighbors: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> None:
    """All rankings on the first two principal components; an edge exchanges two neighboring candidates."""
    axes, (points, share) = figure.subplots(), principal_points(K, counts.astype(float))
    for i, j in np.argwhere(np.triu(neighbors, 1)):
        axes.plot(*points[[i, j]].T, color="0.87", linewidth=0.7, marker="", zorder=0)
    for cluster in range(CLUSTERS):
        own = labels == cluster
        axes.scatter(*points[own].T, s=1.6 * counts[own], color=PALETTE[cluster], marker="o", alpha=0.85, linewidth=0)
    axes.set(aspect="equal", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.set_title(f"all {len(K)} rankings, by votes", fontsize=10, pad=16)
    axes.set_xlabel(f"two components, {100 * share.sum():.0f} % of the variance", color=INK)


def draw_positions(figure: Any, X: np.ndarray, centers: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> None:
    """For every cluster, the share of its voters that put a candidate in a place; candidates in Kemeny's order."""
    from matplotlib.colors import LinearSegmentedColormap

    n = X.shape[1]
    places = np.argsort(np.argsort(-X, axis=1), axis=1)  # 0 for the best
    panels = figure.subplots(CLUSTERS, 1, sharex=True)
    for cluster, axes in enumerate(panels):
        weight, order = np.where(labels == cluster, counts, 0), np.argsort(-centers[cluster])
        share = np.stack([np.bincount(places[:, item], weight, n) for item in order]) / weight.sum()
        colors = LinearSegmentedColormap.from_list("", ["white", PALETTE[cluster]])
        axes.imshow(share, cmap=colors, vmin=0, vmax=0.9, aspect="auto")
        axes.set_yticks(range(n), [NAMES[item] for item in order])
        axes.tick_params(length=0, labelcolor=INK)
        axes.set_ylabel(f"{100 * weight.sum() / counts.sum():.0f} %", rotation=0, labelpad=16, va="center", color=INK)
        axes.yaxis.label.set_fontweight("bold")
        axes.spines[:].set_color("0.8")
    panels[-1].set_xticks(range(n), [f"{place + 1}." for place in range(n)])
    figure.suptitle("who is put where", fontsize=10)


def _rectangle(*arguments: Any, **settings: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(*arguments, **settings)


if __name__ == "__main__":
    main()
