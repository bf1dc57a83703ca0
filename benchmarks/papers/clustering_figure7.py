"""Stability of clusters of the APA votes: Figure 7 of Jiao and Vert (2018), doi:10.1109/TPAMI.2017.2719680, appendix B.

``TORCHRANK_DATA=folder python -m benchmarks.papers.clustering_figure7 [--method TEXT] [--quick]``. For k = 2 to 10
and every kind of k-means, 100 pairs of bootstrap samples of the 5,738 ballots: clusters are found in each, both sets of
centers partition all ballots, and the Rand index says how alike the two partitions are. Every clustering is the best of
10 random starts. Methods may be run one after the other; the picture is drawn from the last rows of each.
"""

import argparse
import json
from collections.abc import Callable

import numpy as np
import torch

from benchmarks.papers.clustering_data import Votes, apa, seeded
from benchmarks.pictures import pyplot_for_files
from benchmarks.registry import RESULTS, Recorder
from torchrank import KernelKMeans, RankingKMeans
from torchrank.metrics import bootstrap_stability

NAME = "clustering_figure7"
STARTS = 10
KMEANS: dict[str, Callable] = {
    "kernel k-means": lambda k: KernelKMeans(k, init="random", n_init=STARTS),
    "Kemeny centers": lambda k: RankingKMeans(k, center="kemeny", init="random", n_init=STARTS),
    "Borda centers": lambda k: RankingKMeans(k, center="borda", init="random", n_init=STARTS),
    "Copeland centers": lambda k: RankingKMeans(k, center="copeland", init="random", n_init=STARTS),
}


def main() -> None:
    """Run, record and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="k = 2 to 4, 3 pairs; nothing is recorded")
    parser.add_argument("--method", default="", help="only methods whose names have this text in them")
    arguments = parser.parse_args()
    quick = arguments.quick
    votes, repeats, recorder = apa(), 3 if quick else 100, None if quick else Recorder(NAME)
    for name, model in KMEANS.items():
        for k in range(2, 5 if quick else 11) if arguments.method in name else ():
            found = stability(votes, model(k), repeats)
            quartiles = np.quantile(found, (0.25, 0.5, 0.75)).round(4).tolist()
            row = {"method": name, "k": k, "quartiles": quartiles, "mean": float(found.mean())}
            print(row, flush=True)
            if recorder is not None:
                recorder.append(**row, indices=found.round(6).tolist())
    if recorder is not None:
        draw()


def stability(votes: Votes, model: KernelKMeans | RankingKMeans, repeats: int) -> np.ndarray:
    """Rand indices of ``repeats`` pairs of bootstrap samples."""
    generator = seeded(0)

    def cluster(sample: torch.Tensor) -> np.ndarray:
        model.fit(votes.scores, sample.numpy(), generator=generator)
        return model.predict(votes.scores)

    return bootstrap_stability(cluster, votes.counts, repeats=repeats, generator=generator)


def draw() -> None:
    """Boxes of the Rand index for every number of clusters, from the last rows of each method."""
    pyplot = pyplot_for_files()
    rows = [json.loads(line) for line in (RESULTS / f"{NAME}.jsonl").read_text().splitlines()]
    found: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        if "method" in row:
            found.setdefault(row["method"], {})[row["k"]] = row["indices"]
    figure, axis = pyplot.subplots(figsize=(9, 4), layout="constrained")
    width = 0.8 / len(found)
    for place, (name, by_k) in enumerate(found.items()):
        offsets = [k + (place - (len(found) - 1) / 2) * width for k in by_k]
        boxes = axis.boxplot(
            list(by_k.values()),
            positions=offsets,
            widths=0.85 * width,
            patch_artist=True,
            flierprops={"markersize": 2},
            medianprops={"color": "black"},
            manage_ticks=False,
        )
        for box in boxes["boxes"]:
            box.set_facecolor(f"C{place}")
        boxes["boxes"][0].set_label(name)
    axis.set_xticks(range(2, 11))
    axis.set_xlabel("clusters")
    axis.set_ylabel("Rand index of two bootstrap samples")
    axis.legend(frameon=False, fontsize=9, loc="lower right")
    axis.grid(axis="y", alpha=0.3)
    figure.savefig(RESULTS / f"{NAME}.png", dpi=150)


if __name__ == "__main__":
    main()
