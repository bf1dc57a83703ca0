"""Central rankings and fits of ranking distributions; every timing behind a check of the result."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import torchrank
from benchmarks.registry import Recorder, alternate, benchmark, median
from torchrank.aggregation import pair_preferences
from torchrank.aggregation.majority import components_in_order

REPEATS = 5


@benchmark("aggregation")
def run(recorder: Recorder) -> None:
    """5,000 rankings of 10 items, 50,000 of 16 drawn from Plackett-Luce, and one graph of 40 items in cycles."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=16)
    X = logits + rng.gumbel(size=(50_000, 16))
    few, hard = X[:5000, :10].copy(), rng.random((25, 40))
    check(few, hard, X, logits)
    runs: dict[str, Callable[[], Any]] = {
        "kemeny, 5,000 x 10": lambda: torchrank.kemeny(few),
        "borda, 5,000 x 10": lambda: torchrank.borda(few),
        "copeland, 5,000 x 10": lambda: torchrank.copeland(few),
        "fit_mallows, 5,000 x 10": lambda: torchrank.fit_mallows(few),
        "fit_plackett_luce newton, 50,000 x 16": lambda: torchrank.fit_plackett_luce(X),
        "fit_plackett_luce mm, 50,000 x 16": lambda: torchrank.fit_plackett_luce(X, method="mm"),
        "kemeny, one cycle of 40 items": lambda: torchrank.kemeny(hard),
    }
    for what, seconds in alternate(runs, REPEATS).items():
        recorder.append(what=what, seconds=median(seconds), all_seconds=seconds)
        print(f"{what:<40}{median(seconds):.4f} s")
    start = time.perf_counter()
    central = torchrank.kemeny(rng.random((25, 60)), time_limit=60.0)
    seconds = time.perf_counter() - start
    recorder.append(what="kemeny, 25 random rankings of 60 items", seconds=seconds, gap=float(central.gap))
    print(f"25 random rankings of 60 items: {seconds:.2f} s, gap {float(central.gap):g}")


def check(few: np.ndarray, hard: np.ndarray, X: np.ndarray, logits: np.ndarray) -> None:
    """The gate: costs are those of the orders, all 40 items are proven to be in one cycle, fits find the truth."""
    central, preferences = torchrank.kemeny(few), pair_preferences(few)
    order = np.argsort(-central.scores)
    cost = np.tril(preferences[np.ix_(order, order)], -1).sum()  # who prefers the lower of two items
    if cost != float(central.cost):
        raise AssertionError(f"the order costs {cost}, {float(central.cost)} came back")
    majorities = pair_preferences(hard)
    group = max(components_in_order(np.maximum(majorities.T - majorities, 0)), key=len)
    if len(group) != 40 or not torchrank.kemeny(hard).optimal:
        raise AssertionError(f"{len(group)} of 40 items in one cycle, optimal: {torchrank.kemeny(hard).optimal}")
    fit = torchrank.fit_plackett_luce(X)
    error = np.abs(fit.logits - (logits - logits.mean())) / fit.standard_errors
    if not (fit.converged and error.max() < 5):
        raise AssertionError(f"Plackett-Luce misses its logits by {error.max():.1f} standard errors")
