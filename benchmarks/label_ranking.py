"""Speed of supervised clustering by label rankings: ``python -m benchmarks.label_ranking [NAME ...]``.

``folds`` times 5-fold cross-validation on fried-sized data (40,768 rows, 9 features, 5 labels), K = 10 with 10
prototypes each, beside the seconds published for it; ``cost`` draws processor time by rows and by prototypes.
"""

import argparse
import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor

from benchmarks.registry import RESULTS, Recorder, benchmark
from torchrank import MMPL, EMSettings, rank_tree
from torchrank.metrics.label_ranking import label_ranking_loss

PUBLISHED = {"MM-PL": 632.0, "RT-iter": 3500.0}


def rows(n: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Features and rankings of five labels by nonlinear functions of them, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 9))
    scores = np.sin(X @ rng.standard_normal((9, 5))) + 0.5 * X[:, :5] + 0.3 * rng.standard_normal((n, 5))
    return torch.from_numpy(X), torch.from_numpy(scores)


def fit_mm_pl(X: Tensor, Y: Tensor, n_prototypes: int = 10, settings: EMSettings | None = None) -> MMPL:
    """MM-PL with ten clusters."""
    model = MMPL(X.shape[1], Y.shape[1], 10, n_prototypes, dtype=torch.float64)
    model.fit(X, Y, settings, seed=0)
    return model


def folds(recorder: Recorder) -> None:
    """Seconds of a 5-fold cross-validation."""
    X, Y = rows(40_768)
    fold = torch.arange(len(X)) % 5
    fits = {
        "MM-PL": fit_mm_pl,
        "RT-iter": lambda X, Y: rank_tree(X, Y, 10, n_starts=1, seed=0),
        "RT-iter, 5 starts": lambda X, Y: rank_tree(X, Y, 10, n_starts=5, seed=0),
    }
    for name, fit in fits.items():
        fit(X[:500], Y[:500])  # compiles
        start, losses = time.perf_counter(), []
        for number in range(5):
            train, test = fold != number, fold == number
            losses.append(label_ranking_loss(Y[test], fit(X[train], Y[train]).predict(X[test]).detach()))
        seconds, loss = time.perf_counter() - start, float(np.mean(losses))
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
        settings, seconds = EMSettings(start="random", n_updates=passes * n, recenter=False), []
        for _ in range(5):
            start = time.process_time()
            fit_mm_pl(X, Y, n_prototypes, settings)
            seconds.append(time.process_time() - start)
        least.append(min(seconds))
    value = (least[1] - least[0]) / 10
    recorder.append(name="one pass", rows=n, prototypes=10 * n_prototypes, processor_seconds=value)
    print(f"N={n:>6} prototypes={10 * n_prototypes:>4} {value:.4f} processor seconds a pass")
    return value


PARTS = {"folds": folds, "cost": cost}


@benchmark("label_ranking")
def run(recorder: Recorder) -> None:
    """Run all parts."""
    for part in PARTS.values():
        part(recorder)


def main() -> None:
    """Run some parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    recorder, arguments = Recorder("label_ranking_speed"), parser.parse_args()
    for name in arguments.parts or PARTS:
        PARTS[name](recorder)


if __name__ == "__main__":
    main()
