"""``smoothed_kendall_gram`` on CPU: products of features beside the bare matrix product, and where the sweep wins."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from benchmarks.registry import Recorder, alternate, benchmark, median
from torchrank.cpu.smoothed_sweep import is_faster
from torchrank.kernels.smoothed import smoothed_kendall_gram

REPEATS = 5
GENES, SAMPLES = 7129, 60  # of a gene-expression study
WINDOW = 0.5
_SIDES = ((1, 1), (1, 4), (4, None), (12, None))  # rows of X and Y, None for Y=None
_LENGTHS = (1000, 2000, 4000, 8000, 16000)


@benchmark("smoothed")
def run(recorder: Recorder) -> None:
    """Time both questions; stop where the routes disagree."""
    beside_the_product(recorder)
    crossover(recorder)


def beside_the_product(recorder: Recorder) -> None:
    """A Gram matrix of few long float32 rows, its backward pass, and as many multiplications without anything else."""
    X = scores(SAMPLES, GENES, torch.float32)
    leaf = X.clone().requires_grad_()
    contestants: dict[str, Callable[[], object]] = {
        "exact": lambda: smoothed_kendall_gram(X, window=WINDOW),
        "forward and backward": lambda: smoothed_kendall_gram(leaf, window=WINDOW).sum().backward(),
    }
    for distances in (1, 2, 8):
        contestants[f"bare product, blocks of {distances} n"] = bare_product(distances)
    times = {name: median(seconds) for name, seconds in alternate(contestants, REPEATS).items()}
    bare = min(seconds for name, seconds in times.items() if name.startswith("bare"))
    recorder.append(n=GENES, m=SAMPLES, dtype="float32", seconds=times, ratio=times["exact"] / bare)
    print(f"n={GENES} m={SAMPLES} float32: {times['exact'] / bare:.2f} x the bare product")
    for name, seconds in times.items():
        print(f"  {name:<32} {seconds:8.3f} s")


def bare_product(distances: int) -> Callable[[], object]:
    """Features @ features.T for all pairs of items, as products of one block of features over and over."""
    block = torch.randn(SAMPLES, distances * GENES)
    calls = round(GENES * (GENES - 1) / 2 / block.shape[1])

    def multiply() -> Tensor:
        total = torch.zeros(SAMPLES, SAMPLES)
        for _ in range(calls):
            total += block @ block.mT
        return total

    return multiply


def crossover(recorder: Recorder) -> None:
    """Both exact routes for few rankings, beside the choice of ``method="auto"``."""
    print(f"{'dtype':>8} {'rows':>9} {'n':>6} {'exact':>10} {'sweep':>10}  auto")
    for dtype in (torch.float64, torch.float32):
        for m, m2 in _SIDES:
            for n in _LENGTHS:
                X, Y = scores(m, n, dtype), None if m2 is None else scores(m2, n, dtype, seed=1)
                check(X, Y)
                contestants: dict[str, Callable[[], object]] = {
                    method: lambda X=X, Y=Y, method=method: smoothed_kendall_gram(X, Y, window=WINDOW, method=method)
                    for method in ("exact", "sweep")
                }
                times = {name: median(seconds) for name, seconds in alternate(contestants, REPEATS).items()}
                auto = "sweep" if is_faster(X[None], None if Y is None else Y[None]) else "exact"
                name = str(dtype).removeprefix("torch.")
                recorder.append(n=n, m=m, m2=m2, dtype=name, seconds=times, auto=auto)
                rows = f"{m} x {m if m2 is None else m2}"
                exact, sweep = (1e3 * times[method] for method in ("exact", "sweep"))
                print(f"{name:>8} {rows:>9} {n:>6} {exact:>7.2f} ms {sweep:>7.2f} ms  {auto}", flush=True)


def check(X: Tensor, Y: Tensor | None) -> None:
    """The gate before every timing: the sweep and the features agree."""
    results = [smoothed_kendall_gram(X, Y, window=WINDOW, method=method) for method in ("exact", "sweep")]
    difference = float((results[0] - results[1]).abs().max())
    if not difference < (4e-7 if X.dtype == torch.float32 else 1e-13):
        raise AssertionError(f"the sweep differs from the features by {difference}")


def scores(m: int, n: int, dtype: torch.dtype, seed: int = 0) -> Tensor:
    """Normal scores."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((m, n))).to(dtype)
