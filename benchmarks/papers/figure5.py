"""Figure 5 of Jiao and Vert (2018), doi:10.1109/TPAMI.2017.2719680: classifiers, C, and the number of top pairs.

``TORCHRANK_DATA=folder python -m benchmarks.papers.figure5 [--draw]``. Left: the accuracies that
``benchmarks.papers.table2`` keeps in ``benchmarks/results/table2.jsonl``. Middle: accuracy of support vector machines
against C. The paper draws breast cancer 1; where that is not at hand, colon. Right: accuracy on prostate 1 against the
number of top scoring pairs, whose features the machines take. Marks are what inner cross-validation chooses, in the
middle most often.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn import config_context
from tqdm import tqdm

from benchmarks.papers.classification_data import SOURCES, Samples, at_hand, load
from benchmarks.papers.classification_protocol import (
    KERNELS,
    TOP_KERNELS,
    Grid,
    Kernels,
    Pairs,
    inner_counts,
    inner_splits,
    right,
    splits,
    svm_decisions,
)
from benchmarks.papers.conditional_data import data_folder
from benchmarks.papers.table2 import PAPER, rows_of, summary
from benchmarks.pictures import pyplot_for_files
from benchmarks.registry import RESULTS, Recorder

COSTS = tuple(10.0 ** np.arange(-2, 3.1, 0.5))
Curve = tuple[tuple[float, ...], list[float], int]  # abscissae, accuracy in per cent, index of the chosen one


def cost_curves(samples: Samples, repeats: int = 10) -> dict[str, Curve]:
    """Accuracy against C over all splits, and the C that inner folds choose most often, for each kernel."""
    kernels, y, wanted = Kernels(samples.X), samples.y, splits(samples, repeats, seed=0)
    curves = {}
    for kernel in tqdm(KERNELS, desc=f"C on {samples.name}", unit="kernel"):
        correct, chosen = np.zeros(len(COSTS)), np.zeros(len(COSTS))
        for split in wanted:
            correct += right(svm_decisions(kernels, kernel, split, y, COSTS), y, split) / len(split.test)
            inner = inner_splits(split.train, y, seed=0)
            counts = sum(right(svm_decisions(kernels, kernel, fold, y, COSTS), y, fold) for fold in inner)
            chosen[int(np.argmax(counts))] += 1
        curves[f"SVM{kernel}ALL"] = (COSTS, (100 * correct / len(wanted)).tolist(), int(np.argmax(chosen)))
    return curves


def pair_curves(samples: Samples, grid: Grid) -> dict[str, Curve]:
    """Test accuracy against the number of top pairs, C chosen by inner folds for each number."""
    (split,), y = splits(samples, 1, grid.seed), samples.y
    counts = inner_counts(samples, list(inner_splits(split.train, y, grid.seed)), grid)
    pairs, share = Pairs(samples, split, grid.ks), 100 / len(split.test)
    curves: dict[str, Curve] = {
        "kTSP": (grid.ks, (share * right(pairs.margins(), y, split)).tolist(), int(np.argmax(counts["kTSP"])))
    }
    for kernel in TOP_KERNELS:
        count, accuracy = counts[f"SVM{kernel}TOP"], []
        for index in range(len(grid.ks)):
            cost = grid.costs[int(np.argmax(count[index]))]
            decisions = svm_decisions(pairs.kernels(index), kernel, split, y, [cost])
            accuracy.append(float(share * right(decisions, y, split)[0]))
        curves[f"SVM{kernel}TOP"] = (grid.ks, accuracy, int(np.argmax(count.max(axis=1))))
    return curves


def compute(folder: Path) -> None:
    """Record the curves of the middle and right panel."""
    recorder = Recorder("figure5")
    shown = "breast_cancer1" if "breast_cancer1" in at_hand(folder) else "colon"
    with config_context(assume_finite=True, skip_parameter_validation=True):
        panels = {
            f"C ({shown})": cost_curves(load(folder, shown)),
            "top scoring pairs (prostate1)": pair_curves(load(folder, "prostate1"), Grid()),
        }
    for panel, curves in panels.items():
        for name, (x, accuracy, chosen) in curves.items():
            recorder.append(panel=panel, method=name, x=list(x), accuracy=accuracy, chosen=chosen)


def recorded(path: Path) -> dict[str, dict[str, Curve]]:
    """The curves of the latest run, by panel and method."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows = [row for row in rows if row["run"] == rows[-1]["run"]]
    panels: dict[str, dict[str, Curve]] = {}
    for row in rows:
        if "panel" in row:
            panels.setdefault(row["panel"], {})[row["method"]] = (tuple(row["x"]), row["accuracy"], row["chosen"])
    return panels


def main() -> None:
    """Compute, record and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draw", action="store_true", help="only draw what is recorded")
    if not parser.parse_args().draw:
        compute(data_folder())
    _draw(RESULTS / "table2.jsonl", recorded(RESULTS / "figure5.jsonl"))


def _draw(table: Path, panels: dict[str, dict[str, Curve]]) -> None:
    pyplot = pyplot_for_files()
    figure, axes = pyplot.subplots(1, 3, figsize=(15, 4.6), layout="constrained", width_ratios=[1.4, 1, 1])
    accuracy = {name: of for name, of in summary(rows_of(table), "accuracy").items() if SOURCES[name].paper}
    ordered = sorted(PAPER, key=lambda method: -np.mean([of[method][0] for of in accuracy.values()]))
    for name, of in accuracy.items():
        axes[0].plot(
            range(len(ordered)),
            [of[m][0] for m in ordered],
            linestyle="",
            markersize=5,
            label=f"{name} ({SOURCES[name].paper})",
        )
    means = [np.mean([of[method][0] for of in accuracy.values()]) for method in ordered]
    axes[0].plot(range(len(ordered)), means, "k_", markersize=14, label="mean")
    axes[0].set_xticks(range(len(ordered)), ordered, rotation=60, ha="right")
    axes[0].set_ylabel("accuracy, per cent")
    for axis, (label, curves) in zip(axes[1:], panels.items(), strict=True):
        for name, (x, values, chosen) in curves.items():
            (line,) = axis.semilogx(x, values, markersize=4, label=name)
            axis.plot(x[chosen], values[chosen], "*", markersize=12, color=line.get_color())
        axis.plot([], [], "k*", markersize=10, label="chosen by inner folds")
        axis.set_xlabel(label)
    for axis, columns in zip(axes, (4, 3, 3), strict=True):
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=8, ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 1))
    figure.savefig(RESULTS / "figure5.png", dpi=130)


if __name__ == "__main__":
    main()
