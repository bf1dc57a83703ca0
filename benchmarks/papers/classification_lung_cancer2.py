"""Lung cancer 2 with training sets like the one that Jiao and Vert (2018) had: 16 samples of each class, 149 to test.

``TORCHRANK_DATA=folder python -m benchmarks.papers.classification_lung_cancer2``. Which samples they trained on is not
recorded, and cross-validation trains on 120 and 25 instead, where a threshold of zero sways discriminants to one class.
This draws training sets at random and so says which differences in the LC2 column of Table 2 come from that alone.
"""

import numpy as np
from sklearn import config_context

from benchmarks.papers.classification_data import load
from benchmarks.papers.classification_protocol import (
    KERNELS,
    Grid,
    Kernels,
    Split,
    fisher_decision,
    inner_splits,
    right,
    svm_decisions,
)
from benchmarks.papers.conditional_data import data_folder
from benchmarks.papers.table2 import COLUMNS, PAPER
from benchmarks.registry import Recorder
from torchrank.classification import all_pairs_margins

DRAWS = 20


def accuracies(X: np.ndarray, y: np.ndarray, kernels: Kernels, split: Split, grid: Grid) -> dict[str, float]:
    """Accuracy in per cent of the methods that take all features."""
    decisions = {"APMV": all_pairs_margins(X[split.train], y[split.train], X[split.test], ties="strict")}
    for kernel in KERNELS:
        inner = inner_splits(split.train, y, grid.seed)
        counts = sum(right(svm_decisions(kernels, kernel, fold, y, grid.costs), y, fold) for fold in inner)
        cost = grid.costs[int(np.argmax(counts))]
        decisions[f"SVM{kernel}ALL"] = svm_decisions(kernels, kernel, split, y, [cost])[0]
        options = {"ridge_on": "scatter", "threshold": "zero"}
        decisions[f"KFD{kernel}ALL"] = fisher_decision(kernels, kernel, split, y, **options)
    return {m: 100 * float(((decision > 0) == y[split.test]).mean()) for m, decision in decisions.items()}


def main() -> None:
    """Draw, record and print beside the paper's figures."""
    samples, grid, rng = load(data_folder(), "lung_cancer2"), Grid(), np.random.default_rng(0)
    y, kernels, recorder = samples.y, Kernels(samples.X), Recorder("lung_cancer2_balanced")
    results = []
    for _ in range(DRAWS):
        train = np.concatenate([rng.choice(np.flatnonzero(y == c), 16, replace=False) for c in (0, 1)])
        split = Split(train, np.setdiff1d(np.arange(len(y)), train))
        with config_context(assume_finite=True, skip_parameter_validation=True):
            results.append(accuracies(samples.X, y, kernels, split, grid))
    for method in results[0]:
        values, paper = [result[method] for result in results], PAPER[method][COLUMNS.index("LC2")]
        mean, spread = float(np.mean(values)), float(np.std(values, ddof=1))
        recorder.append(method=method, accuracy=mean, spread=spread, draws=DRAWS, paper=paper)
        print(f"{method:<13} {mean:6.2f}, between draws {spread:.2f} (paper {paper:.2f})")


if __name__ == "__main__":
    main()
