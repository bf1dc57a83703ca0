"""Speed of supervised clustering by label rankings: ``python -m benchmarks.label_ranking [NAME ...]``.

``folds`` times 5-fold cross-validation on fried-sized data (40,768 rows, 9 features, 5 labels), K = 10 with 10
prototypes each, beside the seconds published for it; ``cost`` draws processor time by rows and by prototypes; ``sets``
times 5-fold cross-validation on the 21 sets of the paper, complete and with 60 % of the training labels missing
(needs ``TORCHRANK_DATA``).
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor

from benchmarks.papers.conditional_data import data_folder
from benchmarks.papers.label_ranking_data import SETS, load
from benchmarks.registry import RESULTS, Recorder, benchmark
from torchrank import MMPL, EMSettings, rank_tree
from torchrank.datasets import drop_labels
from torchrank.metrics import label_ranking_loss

PUBLISHED = {"MM-PL": 632.0, "RT-iter": 3500.0}  # on fried
PUBLISHED_MEAN = {0.0: 234.0, 0.6: 188.0}  # of MM-PL over all sets, by share of missing labels


def rows(n: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Features and rankings of five labels by nonlinear functions of them, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 9))
    scores = np.sin(X @ rng.standard_normal((9, 5))) + 0.5 * X[:, :5] + 0.3 * rng.standard_normal((n, 5))
    return torch.from_numpy(X), torch.from_numpy(scores)


def seeded(seed: int = 0) -> torch.Generator:
    """A generator of random numbers."""
    return torch.Generator().manual_seed(seed)


def fit_mm_pl(X: Tensor, Y: Tensor, n_prototypes: int = 10, settings: EMSettings | None = None) -> MMPL:
    """MM-PL with ten clusters."""
    model = MMPL(X.shape[1], Y.shape[1], 10, n_prototypes, dtype=torch.float64)
    model.fit(X, Y, settings, generator=seeded())
    return model


FITS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "MM-PL": fit_mm_pl,
    "RT-iter": lambda X, Y: rank_tree(X, Y, 10, n_init=1, generator=seeded()),
    "RT-iter, 5 starts": lambda X, Y: rank_tree(X, Y, 10, n_init=5, generator=seeded()),
}


def five_folds(fit: Callable[[Tensor, Tensor], Any], X: Tensor, Y: Tensor, missing: float = 0.0) -> tuple[float, float]:
    """Seconds of a 5-fold cross-validation, predictions among them, and the mean loss."""
    known = torch.from_numpy(drop_labels(Y.numpy(), missing, seed=0))
    fold = torch.from_numpy(np.random.default_rng(0).permutation(np.arange(len(X)) % 5))
    fit(X[:100], Y[:100])  # compiles
    start, losses = time.perf_counter(), []
    for number in range(5):
        train, test = fold != number, fold == number
        losses.append(label_ranking_loss(Y[test], fit(X[train], known[train]).predict(X[test]).detach()))
    return time.perf_counter() - start, float(np.mean(losses))


def folds(recorder: Recorder) -> None:
    """Seconds of a 5-fold cross-validation on data of fried's size."""
    X, Y = rows(40_768)
    for name, fit in FITS.items():
        seconds, loss = five_folds(fit, X, Y)
        recorder.append(name=name, rows=len(X), seconds=seconds, loss=loss, published=PUBLISHED.get(name))
        print(f"{name:<18} 5-fold {seconds:6.1f} s (published {PUBLISHED.get(name)}), loss {loss:.4f}")


def cost(recorder: Recorder) -> None:
    """Seconds of one pass over the rows, by rows and by prototypes; both should grow linearly."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    sizes, prototypes = (2500, 5000, 10_000, 20_000), (2, 5, 10, 20, 40)
    by_rows = [_pass_seconds(recorder, n, 10) for n in sizes]
    by_prototypes = [_pass_seconds(recorder, 5000, p) for p in prototypes]
    axes[0].plot(sizes, by_rows, "o-")
    axes[0].set(xlabel="rows N (K = 10, 100 prototypes)", ylabel="processor seconds a pass", xlim=0, ylim=0)
    axes[1].plot([10 * p for p in prototypes], by_prototypes, "o-")
    axes[1].set(xlabel="prototypes K·P (N = 5,000)", ylabel="processor seconds a pass", xlim=0, ylim=0)
    figure.savefig(RESULTS / "label_ranking_cost.png", dpi=110)


def _pass_seconds(recorder: Recorder, n: int, n_prototypes: int) -> float:
    """Processor seconds of one pass: those of 11 passes less those of one, the least of five measurements each."""
    X, Y = rows(n)
    least = []
    for passes in (1, 11):
        settings, seconds = EMSettings(init="random", n_updates=passes * n, recenter=False), []
        for _ in range(5):
            start = time.process_time()
            fit_mm_pl(X, Y, n_prototypes, settings)
            seconds.append(time.process_time() - start)
        least.append(min(seconds))
    value = (least[1] - least[0]) / 10
    recorder.append(name="one pass", rows=n, prototypes=10 * n_prototypes, processor_seconds=value)
    print(f"N={n:>6} prototypes={10 * n_prototypes:>4} {value:.4f} processor seconds a pass")
    return value


def sets(recorder: Recorder) -> None:
    """Seconds of a 5-fold cross-validation of MM-PL and RT-iter on each set, as the files are."""
    for missing, published in PUBLISHED_MEAN.items():
        taken: dict[str, list[float]] = {}
        for name in SETS:
            data = load(data_folder(), name, "true")
            X = (data.X - data.X.mean(0)) / np.where(data.X.std(0) > 0, data.X.std(0), 1)
            for method in ("MM-PL", "RT-iter"):
                seconds, loss = five_folds(FITS[method], torch.from_numpy(X), torch.from_numpy(data.Y), missing)
                recorder.append(name=f"{method} on {name}", rows=len(X), missing=missing, seconds=seconds, loss=loss)
                taken.setdefault(method, []).append(seconds)
        for method, seconds in taken.items():
            mean, most = float(np.mean(seconds)), max(seconds)
            theirs = published if method == "MM-PL" else None
            recorder.append(
                name=f"{method}, mean over {len(SETS)} sets", missing=missing, seconds=mean, most=most, published=theirs
            )
            print(
                f"{method:<18} {100 * missing:.0f} % missing: mean {mean:.1f} s, most {most:.1f} s (published {theirs})"
            )


PARTS = {"folds": folds, "cost": cost, "sets": sets}


@benchmark("label_ranking_speed")
def run(recorder: Recorder) -> None:
    """Run all parts."""
    for part in PARTS.values():
        part(recorder)


def main() -> None:
    """Run some parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    arguments, recorder = parser.parse_args(), Recorder("label_ranking_speed")
    for name in arguments.parts or PARTS:
        PARTS[name](recorder)


if __name__ == "__main__":
    main()
