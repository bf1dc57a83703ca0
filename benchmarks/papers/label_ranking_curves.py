"""Figures 14 and 15 of Grbovic et al. (2013): loss by number of clusters and by share of missing labels.

``TORCHRANK_DATA=folder python -m benchmarks.papers.label_ranking_curves [--rows 6000] [--folds 2] [--quick]``. Fried
and elevators, in the inverted reading that the published figures seem to have; see ``label_ranking_data``.
"""

import argparse
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch

from benchmarks.papers.conditional_data import data_folder
from benchmarks.papers.label_ranking_data import READINGS, folds, load
from benchmarks.papers.label_ranking_methods import fit_rows, test_loss
from benchmarks.registry import RESULTS, Recorder
from torchrank.metrics.label_ranking import delta_rank

NAME = "label_ranking_curves"
METHODS = ("Km-Mal", "Km-PL", "Naive-Km", "Naive-RT", "EBMS-RT", "K-o'm-RT", "RT-prune", "RT-iter", "MM-PL defaults")
CLUSTERS = (1, 2, 3, 5, 10, 15, 20)
RATES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)


def measure(data: Any, method: str, n_clusters: int, missing: float, n_folds: int) -> tuple[float, float]:
    """Mean test loss, and mean compactness of the training clusters, over the first folds."""
    losses, compact = [], []
    for fold, _ in zip(folds(data, missing, 0), range(n_folds), strict=False):
        model: Any = fit_rows(method, fold.train, n_clusters, fold.seed)
        losses.append(test_loss(model, fold.test))
        X = torch.from_numpy(fold.train.X)
        scores = model.central_orders.argsort(dim=-1).neg().double()  # minus the place of each label
        compact.append(delta_rank(torch.from_numpy(fold.train.Y), model.predict_cluster(X), scores))
    return float(np.mean(losses)), float(np.mean(compact))


def draw(curves: dict[tuple[str, str], dict[str, list[float]]], x: tuple[float, ...], label: str, file: str) -> None:
    """One panel for each data set and measure."""
    figure, axes = plt.subplots(1, len(curves), figsize=(4.5 * len(curves), 4), squeeze=False, layout="constrained")
    for axis, ((name, measured), methods) in zip(axes[0], curves.items(), strict=True):
        for number, (method, values) in enumerate(methods.items()):
            axis.plot(x, values, marker="os^vDP*X<>"[number], markersize=4, label=method)
        axis.set(xlabel=label, ylabel=measured, title=name)
    axes[0][0].legend(fontsize="x-small")
    figure.savefig(RESULTS / f"{NAME}_{file}.png", dpi=110)


def main() -> None:
    """Measure and draw both figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6000, help="rows at random of each data set")
    parser.add_argument("--folds", type=int, default=2, help="folds of five that are computed")
    parser.add_argument("--reading", choices=READINGS, default="inverted")
    parser.add_argument("--quick", action="store_true", help="300 rows, one fold, no pictures")
    arguments = parser.parse_args()
    rows, n_folds = (300, 1) if arguments.quick else (arguments.rows, arguments.folds)
    recorder = Recorder(NAME)
    by_clusters: dict[tuple[str, str], dict[str, list[float]]] = {}
    by_missing: dict[tuple[str, str], dict[str, list[float]]] = {}
    for name in ("fried", "elevators"):
        data = load(data_folder(), name, arguments.reading)
        data = data.take(np.random.default_rng(0).permutation(len(data.X))[:rows])
        for method in METHODS:
            for K in CLUSTERS:
                loss, compact = measure(data, method, K, 0.0, n_folds)
                recorder.append(
                    data=name, method=method, clusters=K, missing=0.0, rows=rows, loss=loss, delta_rank=compact
                )
                by_clusters.setdefault((name, "loss_LR"), {}).setdefault(method, []).append(loss)
                by_clusters.setdefault((name, "Δ_rank (1 - τ)"), {}).setdefault(method, []).append(compact)
            for rate in RATES:
                loss, _ = measure(data, method, 10, rate, n_folds)
                recorder.append(data=name, method=method, clusters=10, missing=rate, rows=rows, loss=loss)
                by_missing.setdefault((name, "loss_LR"), {}).setdefault(method, []).append(loss)
            print(name, method, by_missing[name, "loss_LR"][method], flush=True)
    if not arguments.quick:
        draw(by_clusters, CLUSTERS, "clusters K", "clusters")
        draw(by_missing, RATES, "share of missing labels", "missing")


if __name__ == "__main__":
    main()
