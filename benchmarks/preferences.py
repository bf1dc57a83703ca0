"""Worths from comparisons and lists: the public call beside choix and evalica, on the same lists, alternating.

All get Python lists of tuples and give logits; torchrank adds standard errors and covariances unless told not to.
Errors are largest differences from the maximum that Newton's method reaches with ``tol=1e-13``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import torchrank
from benchmarks.peers.preferences import Orders, by_choix, by_choix_mm, by_evalica
from benchmarks.registry import Recorder, alternate, benchmark, median
from torchrank import SparseRankings

CASES = ((100, 10_000, 2), (100, 100_000, 2), (300, 30_000, 2), (1000, 100_000, 2), (100, 10_000, 3), (100, 10_000, 10))
REPEATS = 3
_MOST_MM = 100_000  # comparisons that choix's MM is asked for; beyond it takes minutes


@benchmark("preferences")
def run(recorder: Recorder) -> None:
    """Six sizes beside the peers, and a million comparisons of 10,000 players alone."""
    for n, m, length in CASES:
        orders = drawn(n, m, length, seed=n + length)
        what = f"{m:,} {'comparisons' if length == 2 else f'lists of {length}'} of {n:,}"
        truth = here(n, orders, tol=1e-13, covariance="none")
        contestants: dict[str, Callable[[], np.ndarray]] = {
            "torchrank": lambda n=n, orders=orders: here(n, orders),
            "torchrank, no covariance": lambda n=n, orders=orders: here(n, orders, covariance="none"),
            "choix ilsr": lambda n=n, orders=orders: by_choix(n, orders),
        }
        if m < _MOST_MM:
            contestants["choix mm"] = lambda n=n, orders=orders: by_choix_mm(n, orders)
        if length == 2:
            contestants["evalica"] = lambda n=n, orders=orders: by_evalica(n, orders)
        errors = {name: float(np.abs(call() - truth).max()) for name, call in contestants.items()}  # and warm up
        if errors["torchrank"] > 1e-6:
            raise AssertionError(f"{what}: torchrank misses the maximum by {errors['torchrank']:.3g}")
        record(recorder, what, alternate(contestants, REPEATS), errors)
    million(recorder)


def million(recorder: Recorder) -> None:
    """From an array, as a million comparisons come, and as a list."""
    n, m = 10_000, 1_000_000
    pairs = np.array(drawn(n, m, 2, seed=0))
    listed = [tuple(pair) for pair in pairs.tolist()]
    contestants = {"torchrank, array": lambda: here(n, pairs), "torchrank, list": lambda: here(n, listed)}
    truth = here(n, pairs, tol=1e-13)
    errors = {name: float(np.abs(call() - truth).max()) for name, call in contestants.items()}
    record(recorder, f"{m:,} comparisons of {n:,}", alternate(contestants, REPEATS), errors)


def record(recorder: Recorder, what: str, seconds: dict[str, list[float]], errors: dict[str, float]) -> None:
    for name, times in seconds.items():
        row = {"what": what, "by": name, "seconds": median(times), "all_seconds": times, "error": errors[name]}
        recorder.append(**row, threads=torch.get_num_threads())
        print(f"{what:<36}{name:<26}{median(times):9.4f} s   error {errors[name]:.1e}")


def here(n: int, orders: Any, **settings: Any) -> np.ndarray:
    return torchrank.fit_plackett_luce(SparseRankings.from_orders(orders, n), **settings).logits


def drawn(n: int, m: int, length: int, seed: int) -> Orders:
    """Lists of different items, ordered by Plackett-Luce with standard normal logits."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=n)
    items = rng.integers(0, n, (m, length))
    while len(again := np.flatnonzero((np.diff(np.sort(items, axis=1), axis=1) == 0).any(axis=1))):
        items[again] = rng.integers(0, n, (len(again), length))
    best_first = np.argsort(-(logits[items] + rng.gumbel(size=items.shape)), axis=1)
    return [tuple(row) for row in np.take_along_axis(items, best_first, axis=1).tolist()]
