"""The pictures of docs/performance.md, from the runs of its tables: ``python -m benchmarks.performance_pictures``."""

from typing import Any

from benchmarks.env import ROOT
from benchmarks.performance import PAGE, Rows, rows_of, shown
from benchmarks.pictures import pyplot_for_files

FOLDER = ROOT / "docs" / "pictures"


def draw(runs: dict[str, str]) -> None:
    """Draw all of them."""
    pyplot = pyplot_for_files()
    pyplot.rcParams.update({"axes.grid": True, "grid.alpha": 0.3, "legend.frameon": False, "lines.markersize": 4})
    rows = {name: rows_of(name, run)[1:] for name, run in runs.items()}
    _kernels(pyplot, rows)
    _gpu(pyplot, rows)
    _clusters(pyplot, rows)
    _conditional(pyplot, rows)


def _kernels(pyplot: Any, rows: dict[str, Rows]) -> None:
    figure, (beside, limit) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    cases = [row for row in rows["kendall_gram"] if "us_per_pair" in row and row["levels"] is None]
    for peer in ("torchrank", "pandas", "scipy"):
        beside.loglog([row["n"] for row in cases], [1e-6 * row["us_per_pair"][peer] for row in cases], label=peer)
    beside.set(title="beside pandas and SciPy", xlabel="items", ylabel="seconds for a pair of rankings")
    for color, method in zip(("C0", "C1"), ("signs", "inversions"), strict=True):
        own = [row for row in rows["cost"] if row["method"] == method]
        items = [row["n"] for row in own]
        limit.loglog(items, [1e-6 * row["us_per_pair"] for row in own], color=color, label=f"{method}, measured")
        predicted = [1e-6 * row["predicted_us_per_pair"] for row in own]
        limit.loglog(items, predicted, "--", marker="", color=color, label="predicted")
    limit.set(title="beside what operation counts predict", xlabel="items")
    _finish(figure, (beside, limit), "kernels")


def _gpu(pyplot: Any, rows: dict[str, Rows]) -> None:
    grid = rows["gpu"][0]["grid"]["rows"]
    sizes = (64, 512, 2048)
    figure, axes = pyplot.subplots(1, len(sizes), figsize=(9, 3.4), layout="constrained", sharey=True)
    names = {"signs": "GPU, signs", "inversions": "GPU, inversions", "torch": "GPU, plain torch", "cpu": "CPU"}
    for axis, m in zip(axes, sizes, strict=True):
        for engine, name in names.items():
            own = sorted((row["n"], row[engine]) for row in grid if row["m"] == m and engine in row)
            axis.loglog(*zip(*own, strict=True), label=name)
        axis.set(title=f"{m:,} rankings", xlabel="items", xlim=(7, 1.5e5))
    axes[0].set_ylabel("seconds for all pairs")
    _finish(figure, axes[:1], "gpu")


def _clusters(pyplot: Any, rows: dict[str, Rows]) -> None:
    own = [row for row in rows["clustering_speed"] if row["name"].startswith("APA") and row["starts"] == 10]
    own.sort(key=lambda row: -row["seconds"])
    figure, axis = pyplot.subplots(figsize=(7, 3), layout="constrained")
    seconds = [row["seconds"] for row in own]
    below = [row["seconds"] - min(row["all_seconds"]) for row in own]
    above = [max(row["all_seconds"]) - row["seconds"] for row in own]
    axis.errorbar(
        seconds, [row["name"].removeprefix("APA, k=5, ") for row in own], xerr=(below, above), fmt="o", capsize=3
    )
    axis.set(xscale="log", xlim=(5e-3, 2), xlabel="seconds for ten starts")
    _finish(figure, (), "clusters")


def _conditional(pyplot: Any, rows: dict[str, Rows]) -> None:
    figure, (parts, edges) = pyplot.subplots(1, 2, figsize=(9.4, 3.2), layout="constrained")
    closed = [row for row in rows["conditional_closed_form"] if "times_closed_form" in row]
    closed.sort(key=lambda row: -row["seconds"])
    parts.plot([row["seconds"] for row in closed], [row["name"] for row in closed], "o")
    parts.set(xscale="log", xlim=(0.05, 20), xlabel="seconds", title="1,000 nodes, all edges")
    for loss in ("regression", "ranking"):
        own = [row for row in rows["conditional_speed"] if row["loss"] == loss]
        edges.loglog([row["edges"] for row in own], [row["seconds"] for row in own], label=f"{loss} loss")
    edges.set(title="2,000 by 2,000 nodes", xlabel="edges", ylabel="seconds for 100 iterations", ylim=(1, 100))
    _finish(figure, (edges,), "conditional")


def _finish(figure: Any, axes: Any, name: str) -> None:
    for axis in axes:
        axis.legend(fontsize="small")
    FOLDER.mkdir(exist_ok=True)
    figure.savefig(FOLDER / f"performance_{name}.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    draw(shown(PAGE.read_text(encoding="utf-8")))
