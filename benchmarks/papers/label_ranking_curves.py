"""Figures 14 and 15 of Grbovic et al. (2013): loss by number of clusters and by share of missing labels.

``TORCHRANK_DATA=folder python -m benchmarks.papers.label_ranking_curves [--rows 12000] [--folds 3] [--quick]``.
Fried and elevators, in the inverted reading that the published figures seem to have; see ``label_ranking_data``. Points
that stand in the results already are not computed again, so that the run can be stopped and resumed.

The published curves are pictures, of which the text tells some traits. As there: two clusters are far better than one;
more than 20 would still help fried, but not elevators, which needs no more than 5 here and 10 there; K-means changes
little up to 70 % missing labels, clustering of rankings before a tree gets much worse from 60 % on, RT-prune less, and
MM-PL is the best from 50 % to 90 %. Unlike there: K-means with Plackett-Luce is no steadier than with Borda at 90 %;
naive K-means gets worse long before 70 % on fried; and trees are ahead of MM-PL on complete rankings but for K = 2 and
20 on fried. Δ_rank weighs small clusters as much as large ones, so that it may rise with K while the loss falls.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch

from benchmarks.papers.conditional_data import data_folder
from benchmarks.papers.label_ranking_data import READINGS, folds, load
from benchmarks.papers.label_ranking_methods import K, fit_rows, test_loss
from benchmarks.papers.label_ranking_results import Row, add_options, finished, results_folder
from benchmarks.registry import Recorder
from torchrank.metrics import delta_rank

NAME = "label_ranking_curves"
SETS = ("fried", "elevators")
METHODS = ("Km-Mal", "Km-PL", "Naive-Km", "Naive-RT", "EBMS-RT", "K-o'm-RT", "RT-prune", "RT-iter", "MM-PL defaults")
CLUSTERS = (1, 2, 3, 5, 10, 15, 20)
RATES = (0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.9)
COLUMNS = ("data", "reading", "method", "clusters", "missing", "rows", "folds")
MEASURES = {"loss": "loss_LR", "delta_rank": "Δ_rank (1 - τ)"}
Point = Callable[[str, str, int, float], Row]  # set, method, clusters, missing


def measure(data: Any, method: str, n_clusters: int, missing: float, n_folds: int) -> dict[str, float]:
    """Mean test loss, and mean compactness of the training clusters, over the first folds."""
    losses, compact = [], []
    for fold, _ in zip(folds(data, missing, 0), range(n_folds), strict=False):
        model: Any = fit_rows(method, fold.train, n_clusters, fold.seed)
        losses.append(test_loss(model, fold.test))
        X = torch.from_numpy(fold.train.X)
        scores = model.central_orders.argsort(dim=-1).neg().double()  # minus the place of each label
        compact.append(delta_rank(torch.from_numpy(fold.train.Y), model.predict_cluster(X), scores))
    return {"loss": float(np.mean(losses)), "delta_rank": float(np.mean(compact))}


def resumed(arguments: argparse.Namespace, n_rows: int, n_folds: int, folder: Path) -> Point:
    """A function that gives one point of a curve: from the results, or computed and appended to them."""
    recorder = Recorder(NAME, folder)
    known = finished(recorder.path, COLUMNS)
    sets = {}
    for name in SETS:
        data = load(data_folder(), name, arguments.reading)
        sets[name] = data.take(np.random.default_rng(0).permutation(len(data.X))[:n_rows])

    def point(name: str, method: str, n_clusters: int, missing: float) -> Row:
        key = (name, arguments.reading, method, n_clusters, missing, n_rows, n_folds)
        if key not in known:
            row = dict(zip(COLUMNS, key, strict=True)) | measure(sets[name], method, n_clusters, missing, n_folds)
            recorder.append(**row)
            known[key] = row
            print(*key, f"{row['loss']:.4f} {row['delta_rank']:.4f}", flush=True)
        return known[key]

    return point


def draw(point: Point, arguments: argparse.Namespace, folder: Path) -> None:
    """Figure 14, a row of panels for each measure, and figure 15."""
    how = f"{arguments.rows:,} rows, {arguments.folds} of 5 folds, {arguments.reading} reading"
    figure, axes = plt.subplots(2, len(SETS), figsize=(11, 7.5), squeeze=False, layout="constrained")
    for column, name in enumerate(SETS):
        for axis, (measured, label) in zip(axes[:, column], MEASURES.items(), strict=True):
            for method in METHODS:
                values = [point(name, method, n_clusters, 0.0)[measured] for n_clusters in CLUSTERS]
                _curve(axis, CLUSTERS, values, method)
            axis.set(xlabel="clusters K", ylabel=label, title=name, xticks=CLUSTERS)
    _legend(figure)
    figure.suptitle(f"Figure 14: {how}")
    figure.savefig(folder / f"{NAME}_clusters.png", dpi=100)
    figure, axes = plt.subplots(1, len(SETS), figsize=(11, 4.2), squeeze=False, layout="constrained")
    for axis, name in zip(axes[0], SETS, strict=True):
        for method in METHODS:
            _curve(axis, RATES, [point(name, method, K, rate)["loss"] for rate in RATES], method)
        axis.set(xlabel="share of missing labels", ylabel=MEASURES["loss"], title=f"{name}, K = {K}")
    _legend(figure)
    figure.suptitle(f"Figure 15: {how}")
    figure.savefig(folder / f"{NAME}_missing.png", dpi=100)


def _legend(figure: Any) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", fontsize="small")


def _curve(axis: Any, x: Sequence[float], y: Sequence[float], method: str) -> None:
    axis.plot(x, y, marker="os^vDP*X<"[METHODS.index(method)], markersize=4, label=method)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and draw both figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=12_000, help="rows at random of each data set")
    parser.add_argument("--folds", type=int, default=3, help="folds of five that are computed")
    parser.add_argument("--reading", choices=READINGS, default="inverted")
    add_options(parser, "300 rows, one fold, 2 and 5 clusters, no pictures")
    arguments = parser.parse_args(argv)
    if arguments.quick:
        point = resumed(arguments, 300, 1, results_folder(arguments))
        for name in SETS:
            for method in METHODS:
                for n_clusters in (2, 5):
                    point(name, method, n_clusters, 0.3)
        return
    folder = results_folder(arguments)
    draw(resumed(arguments, arguments.rows, arguments.folds, folder), arguments, folder)


if __name__ == "__main__":
    main()
