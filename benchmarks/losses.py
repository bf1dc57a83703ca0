"""Losses of rankings on the CPU: ``kendall_loss`` and ``spearman_loss`` beside torchsort's soft ranks, alternating.

torchsort need not be there. It has no wheel; without a CUDA toolkit its source builds for the CPU when ``setup.py`` is
told so. What it computes is another relaxation of ranks, by projections (Blondel et al., ICML 2020), so that times are
compared and no values.
"""

import importlib
import resource
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

import torchrank
from benchmarks.registry import Recorder, alternate, benchmark, median
from torchrank.cpu import agreement as engine

REPEATS = 41
LISTS, ITEMS = 512, 100
LONG = 10_000
WINDOWS = (0.1, 0.5, 4.0)
_CROSSOVER = (500, 1000, 1500, 2000, 4000)


@benchmark("losses")
def run(recorder: Recorder) -> None:
    """Short lists beside torchsort, long lists with their memory, and where the sweep wins."""
    check()
    for window in WINDOWS:
        beside_torchsort(recorder, window)
    long_lists(recorder)
    crossover(recorder)


def beside_torchsort(recorder: Recorder, window: float) -> None:
    """Forward and backward of 512 lists of 100."""
    x, y = scores(LISTS, ITEMS).requires_grad_(), scores(LISTS, ITEMS, seed=1)
    weights = torch.rand(LISTS, ITEMS, generator=torch.Generator().manual_seed(2))
    contestants: dict[str, Callable[[], Tensor]] = {
        "kendall_loss": lambda: torchrank.kendall_loss(x, y, window=window),
        "kendall_loss, hyperbolic": lambda: torchrank.kendall_loss(x, y, window=window, weights="hyperbolic"),
        "kendall_loss, weights": lambda: torchrank.kendall_loss(x, y, window=window, weights=weights),
        "kendall_loss, gaussian": lambda: torchrank.kendall_loss(x, y, window=window, noise="gaussian"),
        "spearman_loss": lambda: torchrank.spearman_loss(x, y, window=window),
        "soft_rank": lambda: (torchrank.soft_rank(x, window) * weights).sum(),
    }
    soft_rank = torchsort()
    if soft_rank is not None:
        contestants["torchsort soft_rank"] = lambda: (soft_rank(x, regularization_strength=window) * weights).sum()
    record(recorder, f"{LISTS} lists of {ITEMS}, window {window}", x, contestants, REPEATS)


def long_lists(recorder: Recorder) -> None:
    """Eight lists of 10,000, and by how much the process grows."""
    x, y = scores(8, LONG).requires_grad_(), scores(8, LONG, seed=1)
    contestants: dict[str, Callable[[], Tensor]] = {
        "kendall_loss": lambda: torchrank.kendall_loss(x, y, window=0.5),
        "kendall_loss, gaussian": lambda: torchrank.kendall_loss(x, y, window=0.5, noise="gaussian"),
        "spearman_loss": lambda: torchrank.spearman_loss(x, y, window=0.5),
    }
    for name, run in contestants.items():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        run().backward()
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        recorder.append(what=f"8 lists of {LONG}, peak memory", by=name, mebibytes=grown)
        print(f"  {name:<32} {grown:8.0f} MiB more than before")
    record(recorder, f"8 lists of {LONG}", x, contestants, 3)


def crossover(recorder: Recorder) -> None:
    """Both routes of the compiled engine, beside the length from which the sweep is taken."""
    window = torch.full((4,), 0.5, dtype=torch.float64)
    chosen = engine.SWEEP_FROM
    for n in _CROSSOVER:
        x, ranks = scores(4, n).double(), scores(4, n, seed=1).argsort(-1).int()

        def at(start: int, x: Tensor = x, ranks: Tensor = ranks) -> None:
            engine.SWEEP_FROM = start
            engine.sums_and_slopes(x, ranks, None, window, "product", True, False)

        try:
            times = alternate({"sweep": lambda at=at: at(0), "pairs": lambda at=at: at(10**9)}, 9)
        finally:
            engine.SWEEP_FROM = chosen
        seconds = {name: median(values) / 4 for name, values in times.items()}
        recorder.append(what="crossover", n=n, seconds=seconds, sweep_from=chosen)
        print(f"n={n:<6} sweep {1e3 * seconds['sweep']:8.2f} ms   pairs {1e3 * seconds['pairs']:8.2f} ms a list")


def record(recorder: Recorder, what: str, leaf: Tensor, losses: dict[str, Callable[[], Tensor]], repeats: int) -> None:
    def step(loss: Callable[[], Tensor]) -> Callable[[], None]:
        def both() -> None:
            leaf.grad = None
            loss().backward()

        return both

    contestants = {name: step(loss) for name, loss in losses.items()}
    for warm_up in contestants.values():
        warm_up()
    print(what)
    times = alternate(contestants, repeats)
    for name, seconds in times.items():
        middle = sorted(seconds)
        row: dict[str, Any] = {"what": what, "by": name, "seconds": median(seconds), "least": middle[0]}
        recorder.append(**row, p80=middle[int(0.8 * len(middle))], threads=torch.get_num_threads())
        print(f"  {name:<32} {1e3 * median(seconds):8.2f} ms   least {1e3 * middle[0]:8.2f} ms")


def torchsort() -> Callable[..., Tensor] | None:
    """Soft ranks of torchsort, or None where it is not installed."""
    try:
        return importlib.import_module("torchsort").soft_rank
    except ImportError as error:
        print(f"torchsort is missing: {error}")
        return None


def check() -> None:
    """The gate before every timing: both routes of the engine and plain torch agree."""
    from torchrank.ops.reference.agreement import Terms, sums_and_slopes

    x, ranks = scores(4, 300).double(), scores(4, 300, seed=1).argsort(-1).int()
    window = torch.full((4,), 0.5, dtype=torch.float64)
    expected = sums_and_slopes(x, None, window, Terms(ranks, "uniform", "product"), 2**27, True, True)
    chosen = engine.SWEEP_FROM
    try:
        for engine.SWEEP_FROM in (0, 10**9):
            for part, other in zip(
                engine.sums_and_slopes(x, ranks, None, window, "product", True, True), expected, strict=True
            ):
                difference = float((part - other).abs().max())
                if not difference < 1e-9:
                    raise AssertionError(f"the engine differs from plain torch by {difference}")
    finally:
        engine.SWEEP_FROM = chosen


def scores(m: int, n: int, seed: int = 0) -> Tensor:
    """Normal scores."""
    return torch.randn(m, n, generator=torch.Generator().manual_seed(seed))
