"""``kendall_gram`` on CPU beside pandas, SciPy and sign features, and beside the popcount rate of this machine."""

from collections.abc import Callable
from threading import Thread
from typing import NamedTuple

import numpy as np
import torch
from numba import njit

import torchrank
from benchmarks.peers.kendall import by_numpy, by_pandas, by_scipy, by_torch
from benchmarks.registry import Recorder, alternate, benchmark, median
from torchrank.cpu.planes import plain_tile

REPEATS = 3


class Case(NamedTuple):
    """A data set and what it is wanted to be faster than pandas by."""

    n: int
    m: int
    levels: int | None  # None: continuous scores; else integers 0 to levels - 1
    wanted: float
    slow_peers: dict[str, int]  # rows that a slow peer gets, which it is then compared on per pair


CASES = (
    Case(10, 2000, None, 15, {"scipy": 30, "numpy": 1000, "torch": 1000}),
    Case(100, 2000, None, 100, {"scipy": 30, "numpy": 1000, "torch": 1000}),
    Case(1000, 500, None, 100, {"scipy": 30, "numpy": 500, "torch": 100}),
    Case(1000, 500, 9, 50, {"scipy": 30, "torch": 100}),
    Case(20_000, 40, None, 30, {"scipy": 10}),
    Case(100_000, 10, None, 20, {"scipy": 5}),
)
_PEERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"scipy": by_scipy, "numpy": by_numpy, "torch": by_torch}


@benchmark("kendall_gram")
def run(recorder: Recorder) -> None:
    """Time every case; stop at the first result that differs from pandas."""
    print(f"{'n':>7} {'m':>5} {'scores':>11} {'torchrank':>12} {'pandas':>10} {'ratio':>7} {'wanted':>7}  others in us")
    for case in CASES:
        X = make_scores(case.m, case.n, case.levels)
        check(X)
        pairs = case.m * (case.m - 1) // 2
        times = alternate(
            {"torchrank": lambda X=X: torchrank.kendall_gram(X), "pandas": lambda X=X: by_pandas(X)}, REPEATS
        )
        us = {name: 1e6 * median(seconds) / pairs for name, seconds in times.items()}
        for peer, rows in case.slow_peers.items():
            part = X[:rows]
            seconds = alternate({peer: lambda part=part, peer=peer: _PEERS[peer](part)}, 3)[peer]
            times[peer], us[peer] = seconds, 1e6 * median(seconds) / (rows * (rows - 1) // 2)
        ratio = us["pandas"] / us["torchrank"]
        recorder.append(
            **case._asdict(),
            us_per_pair=us,
            ratio_to_pandas=ratio,
            seconds={name: list(s) for name, s in times.items()},
        )
        others = ", ".join(f"{peer} {us[peer]:.3g}" for peer in case.slow_peers)
        print(
            f"{case.n:>7} {case.m:>5} {'continuous' if case.levels is None else f'0..{case.levels - 1}':>11} "
            f"{us['torchrank']:>9.3f} us {us['pandas']:>7.1f} us {ratio:>6.0f}x {case.wanted:>6.0f}x  {others}"
        )
    _report_limit(recorder)


def make_scores(m: int, n: int, levels: int | None, seed: int = 0) -> np.ndarray:
    """Random float64 scores, continuous or of a few levels."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, n)) if levels is None else rng.integers(0, levels, (m, n)).astype(np.float64)


def check(X: np.ndarray) -> None:
    """The gate before every timing: equal to pandas on the first rows."""
    part = X[:6]
    difference = np.abs(torchrank.kendall_gram(X)[:6, :6] - by_pandas(part)).max()
    if not difference < 1e-12:
        raise AssertionError(f"kendall_gram differs from pandas by {difference}")


def _report_limit(recorder: Recorder) -> None:
    """What part of the machine's popcount rate a large Gram matrix of untied rankings reaches."""
    n, m = 1000, 500
    X = make_scores(m, n, None)
    comparisons = n * (n - 1) // 2 * m * (m - 1) // 2
    times = alternate({"torchrank": lambda: torchrank.kendall_gram(X), "peak": popcount_peak}, 9)
    rate, peak = comparisons / median(times["torchrank"]), PEAK_COMPARISONS / median(times["peak"])
    recorder.append(n=n, m=m, comparisons_per_second=rate, peak_comparisons_per_second=peak, share_of_peak=rate / peak)
    share = f"{rate / peak:.0%} of XOR + popcount from L1, {peak:.3g}"
    print(f"n=1000 m=500, ranking included: {rate:.3g} comparisons/s, {share}")


_PEAK_ROWS, _PEAK_WORDS, _PEAK_ROUNDS = 4, 448, 40_000
PEAK_COMPARISONS = 64 * _PEAK_WORDS * _PEAK_ROWS**2 * _PEAK_ROUNDS * torch.get_num_threads()


def popcount_peak() -> None:
    """XOR and popcount of eight rows of 3.5 KiB, again and again, on every thread."""
    threads = [Thread(target=_compare_rows, args=(_PEAK_ROUNDS,)) for _ in range(torch.get_num_threads())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@njit(nogil=True)
def _compare_rows(rounds):
    x, y = np.ones((4, 448), np.uint64), np.zeros((4, 448), np.uint64)
    score = np.zeros((4, 4), np.int64)
    for _ in range(rounds):
        plain_tile(x, y, 0, 4, 0, 4, False, score)
    return score[0, 0]
