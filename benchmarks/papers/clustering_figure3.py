"""Clusters of the APA votes: Figure 3 of Jiao and Vert (2018), doi:10.1109/TPAMI.2017.2719680, Section 7.3.

``TORCHRANK_DATA=folder python -m benchmarks.papers.clustering_figure3 [--part PART] [--method TEXT] [--k K ...]
[--quick]``. The 5,738 complete ballots of 1980, k = 2 to 10, 50 random starts for every method and k, as in the paper:
seconds of a run of k-means, mean silhouette of k-means, mean silhouette of mixtures. Silhouettes are by Kendall
distance. Methods may be run one after the other; the picture is drawn from the last rows of each.
"""

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.papers.clustering_data import CANDIDATES, Votes, apa, seeded
from benchmarks.pictures import pyplot_for_files
from benchmarks.registry import RESULTS, Recorder
from torchrank import (
    KernelGaussianMixture,
    KernelKMeans,
    KernelMallowsMixture,
    MallowsMixture,
    RankingKMeans,
    kendall_distance,
)
from torchrank.metrics import silhouette_score

NAME = "clustering_figure3"
ONE_START = {"init": "random", "n_init": 1}
EM = {**ONE_START, "tol": 1e-5, "max_iter": 2000}
KMEANS: dict[str, Callable] = {
    "kernel k-means": lambda k: KernelKMeans(k, **ONE_START),
    "Kemeny centers": lambda k: RankingKMeans(k, center="kemeny", **ONE_START),
    "Borda centers": lambda k: RankingKMeans(k, center="borda", **ONE_START),
    "Copeland centers": lambda k: RankingKMeans(k, center="copeland", **ONE_START),
}
MIXTURES: dict[str, Callable] = {
    "kernel Gaussian": lambda k: KernelGaussianMixture(k, **EM),
    "kernel Mallows": lambda k: KernelMallowsMixture(CANDIDATES, k, **EM),
    "Mallows, Kemeny centers": lambda k: MallowsMixture(CANDIDATES, k, center="kemeny", **EM),
    "Mallows, Borda centers": lambda k: MallowsMixture(CANDIDATES, k, center="borda", **EM),
    "Mallows, Copeland centers": lambda k: MallowsMixture(CANDIDATES, k, center="copeland", **EM),
}


def main() -> None:
    """Run, record and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("times", "silhouettes"))
    parser.add_argument("--method", default="", help="only methods whose names have this text in them")
    parser.add_argument("--k", type=int, nargs="+", default=range(2, 11), help="numbers of clusters")
    parser.add_argument("--quick", action="store_true", help="k = 2 to 4, 3 starts; nothing is recorded")
    arguments = parser.parse_args()
    votes, starts, clusters = apa(), 3 if arguments.quick else 50, range(2, 5) if arguments.quick else arguments.k
    recorder = None if arguments.quick else Recorder(NAME)
    warnings.filterwarnings("ignore", message=".*hold equal rankings only")
    for part, measure in (("times", times), ("silhouettes", silhouettes)):
        if arguments.part in (None, part):
            for row in measure(votes, arguments.method, clusters, starts):
                print(row, flush=True)
                if recorder is not None:
                    recorder.append(part=part, **row)
    if recorder is not None:
        draw()


def times(votes: Votes, text: str, clusters: Sequence[int], starts: int) -> Iterator[dict[str, Any]]:
    """Seconds of one run of k-means on all ballots, one by one; median over starts."""
    ballots = votes.one_by_one()
    for name, model in KMEANS.items():
        if text not in name:
            continue
        model(2).fit(ballots)  # compiles, or loads what an earlier run compiled
        for k in clusters:
            seconds = []
            for seed in range(starts):
                begin = time.perf_counter()
                model(k).fit(ballots, generator=seeded(seed))
                seconds.append(time.perf_counter() - begin)
            yield {"method": name, "k": k, "seconds": statistics.median(seconds), "runs": starts}


def silhouettes(votes: Votes, text: str, clusters: Sequence[int], starts: int) -> Iterator[dict[str, Any]]:
    """Mean silhouette of all ballots, over starts; and the highest."""
    distances = kendall_distance(votes.scores)
    for kind, methods in (("k-means", KMEANS), ("mixture", MIXTURES)):
        for name, model in methods.items():
            for k in clusters if text in name else ():
                scores, filled = [], []
                for seed in range(starts):
                    fitted = model(k)
                    fitted.fit(votes.scores, votes.counts, generator=seeded(seed))
                    labels = fitted.predict(votes.scores)
                    filled.append(len(np.unique(labels)))
                    if filled[-1] > 1:
                        scores.append(silhouette_score(distances, labels, votes.counts))
                yield {
                    "kind": kind,
                    "method": name,
                    "k": k,
                    "silhouette": statistics.mean(scores),
                    "highest": max(scores),
                    "runs": len(scores),
                    "fewest clusters": min(filled),
                }


def draw() -> None:
    """The three panels, from the last rows of each part."""
    pyplot = pyplot_for_files()
    rows = [json.loads(line) for line in (RESULTS / f"{NAME}.jsonl").read_text().splitlines()]
    latest = {(row["part"], row.get("kind"), row["method"], row["k"]): row for row in rows if "part" in row}
    figure, axes = pyplot.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    panels = (
        ("times", None, "seconds", "seconds a run of k-means"),
        ("silhouettes", "k-means", "silhouette", "mean silhouette, k-means"),
        ("silhouettes", "mixture", "silhouette", "mean silhouette, mixtures"),
    )
    for axis, (part, kind, value, title) in zip(axes, panels, strict=True):
        for name in MIXTURES if kind == "mixture" else KMEANS:
            points = sorted((k, row[value]) for (p, q, m, k), row in latest.items() if (p, q, m) == (part, kind, name))
            axis.plot([k for k, _ in points], [y for _, y in points], markersize=4, label=name)
        axis.set_title(title, fontsize=11)
        axis.set_xlabel("clusters")
        axis.set_xticks(range(2, 11))
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=8)
    axes[0].set_ylim(bottom=0)
    figure.savefig(RESULTS / f"{NAME}.png", dpi=150)


if __name__ == "__main__":
    main()
