"""Kernels of partial rankings beside the complete one, and of lists out of a million items."""

import numpy as np

import torchrank
from benchmarks.ops.kendall_gram import make_scores
from benchmarks.registry import Recorder, alternate, benchmark, median


@benchmark("partial")
def run(recorder: Recorder) -> None:
    """500 rankings of 1,000 items, complete and with 20 % missing; 2,000 lists of 50 out of 1,000,000."""
    X = make_scores(500, 1000, None)
    P = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    rng = np.random.default_rng(2)
    lists = np.stack([rng.choice(1_000_000, 50, replace=False) for _ in range(2000)])
    check(P[:5])
    runs = {
        "complete": lambda: torchrank.kendall_gram(X),
        "interleaving": lambda: torchrank.kendall_gram(P, missing="interleaving"),
        "topk": lambda: torchrank.kendall_gram(P, missing="topk"),
        "pairwise": lambda: torchrank.kendall_gram(P, missing="pairwise"),
        "lists": lambda: torchrank.partial_kendall_gram(lists, n_items=1_000_000, missing="topk"),
    }
    for warm_up in runs.values():
        warm_up()
    for name, seconds in alternate(runs, 7).items():
        recorder.append(what=name, seconds=median(seconds), all_seconds=seconds)
        print(f"{name:<14}{median(seconds):.3f} s")


def check(P: np.ndarray) -> None:
    """The gate: equal to the product of expected signs, pair by pair."""
    ranked = ~np.isnan(P)
    k = ranked.sum(axis=1, keepdims=True)
    mid = np.where(ranked, np.argsort(np.argsort(P, axis=1), axis=1) + 1, 0)  # NaN sorts last
    against = np.where(ranked, (2 * mid - k - 1) / (k + 1), 0)
    i, j = np.triu_indices(P.shape[1], 1)
    both = ranked[:, i] & ranked[:, j]
    E = np.where(both, np.sign(np.nan_to_num(P[:, i]) - np.nan_to_num(P[:, j])), against[:, i] - against[:, j])
    difference = np.abs(torchrank.kendall_gram(P, missing="interleaving") - E @ E.T / len(i)).max()
    if not difference < 1e-12:
        raise AssertionError(f"interleaving kernel differs from the product of expected signs by {difference}")
