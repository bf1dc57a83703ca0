"""Voting blocs of the Eurovision song contest: Figure 4 of Jiao and Vert (2018), doi:10.1109/TPAMI.2017.2719680.

``TORCHRANK_DATA=folder python -m benchmarks.papers.clustering_figure4 [--quick]``. 34 countries, six finals with eight
finalists each, top-k ballots; kernel k-means with the multivariate partial Kendall kernel and equal weights, k = 2 to
6, 100 starts each; the mean silhouette chooses k. A table of clusters takes the place of the paper's map.
"""

import argparse
import time

import numpy as np

from benchmarks.papers.clustering_data import eurovision, eurovision_kernel, seeded
from benchmarks.pictures import pyplot_for_files
from benchmarks.registry import RESULTS, Recorder
from torchrank import KernelKMeans
from torchrank.metrics import silhouette_samples

NAME = "clustering_figure4"


def main() -> None:
    """Run, record and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="5 starts; nothing is recorded")
    quick = parser.parse_args().quick
    countries, scores = eurovision()
    starts, recorder = (5, None) if quick else (100, Recorder(NAME))
    kernel, runs = eurovision_kernel(), {}
    K = kernel(scores)
    distances = np.sqrt(np.maximum(np.diag(K)[:, None] + np.diag(K) - 2 * K, 0))
    KernelKMeans(2, kernel=kernel).fit(scores)  # compiles, or loads what an earlier run compiled
    for k in range(2, 7):
        begin = time.perf_counter()
        fit = KernelKMeans(k, kernel=kernel, init="random", n_init=starts).fit(scores, generator=seeded(0))
        seconds = time.perf_counter() - begin
        squared = float(silhouette_samples(distances**2, fit.labels).mean())
        runs[k] = (fit.labels, silhouette_samples(distances, fit.labels))
        row = {
            "k": k,
            "silhouette": float(runs[k][1].mean()),
            "silhouette by squared distance": squared,
            "sizes": np.bincount(fit.labels).tolist(),
            "objective": fit.objective[-1],
            "seconds": seconds,
            "starts": starts,
        }
        print(row)
        if recorder is not None:
            recorder.append(**row)
    best = max(runs, key=lambda k: runs[k][1].mean())
    labels, samples = runs[best]
    blocs = {f"cluster {j}": [countries[i] for i in np.flatnonzero(labels == j)] for j in range(best)}
    for name, members in blocs.items():
        print(f"{name}: {', '.join(members)}")
    if recorder is not None:
        recorder.append(chosen=best, clusters=blocs)
        draw(countries, labels, samples, {k: float(run[1].mean()) for k, run in runs.items()})


def draw(countries: list[str], labels: np.ndarray, samples: np.ndarray, means: dict[int, float]) -> None:
    """Every country's silhouette in the chosen clustering, which is the table too, and the mean for every k."""
    pyplot = pyplot_for_files()
    figure, (bars, curve) = pyplot.subplots(
        1, 2, figsize=(9, 6.5), width_ratios=(2, 1), layout="constrained", squeeze=True
    )
    order = np.lexsort((samples, -labels))
    colors = [f"C{label}" for label in labels[order]]
    bars.barh(np.arange(len(order)), samples[order], color=colors)
    bars.set_yticks(np.arange(len(order)), [countries[i].replace("_", " ") for i in order], fontsize=8)
    bars.set_ylim(-0.7, len(order) - 0.3)
    bars.axvline(samples.mean(), color="black", linestyle=":", linewidth=1)
    bars.set_xlabel(f"silhouette (mean {samples.mean():.3f}, dotted)")
    bars.set_title(f"{labels.max() + 1} clusters of voting countries", fontsize=11)
    curve.plot(list(means), list(means.values()), marker="o")
    curve.set_xticks(list(means))
    curve.set_xlabel("clusters")
    curve.set_title("mean silhouette", fontsize=11)
    curve.grid(alpha=0.3)
    figure.savefig(RESULTS / f"{NAME}.png", dpi=150)


if __name__ == "__main__":
    main()
