"""Speed of clustering: ``TORCHRANK_DATA=folder python -m benchmarks.clustering [many_rankings]``.

APA are the 5,738 complete ballots of 1980, passed one by one; Eurovision 34 countries with six partial ballots each;
the last data are random. The first fit of each model, in which compiled code may be loaded, is not timed. That the fits
are right is what the tests are for; here each row says whether they converged.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.papers.clustering_data import CANDIDATES, apa, eurovision, eurovision_kernel, seeded
from benchmarks.registry import Recorder, benchmark, median
from torchrank import KernelGaussianMixture, KernelKMeans, KernelMallowsMixture, MallowsMixture, RankingKMeans
from torchrank.typing import Center

CLUSTERS = 5


@benchmark("clustering_speed")
def clustering_speed(recorder: Recorder) -> None:
    """Record all of the below."""
    ballots = apa().one_by_one()
    models: dict[str, Callable[[int], Any]] = {
        "kernel k-means": lambda starts: KernelKMeans(CLUSTERS, n_init=starts),
        "k-means, Kemeny centers": lambda starts: RankingKMeans(CLUSTERS, n_init=starts),
        "k-means, Borda centers": lambda starts: RankingKMeans(CLUSTERS, center="borda", n_init=starts),
        "Mallows mixture, Borda centers": lambda starts: mallows("borda", starts),
        "Mallows mixture, Copeland centers": lambda starts: mallows("copeland", starts),
        "Mallows mixture, Kemeny centers": lambda starts: mallows("kemeny", starts),
        "kernel Mallows mixture": lambda starts: KernelMallowsMixture(
            CANDIDATES, CLUSTERS, n_init=starts, max_iter=3000
        ),
        "kernel Gaussian mixture": lambda starts: KernelGaussianMixture(CLUSTERS, n_init=starts),
    }
    for name, model in models.items():
        for starts, repeats in ((1, 7), (10, 3)):
            measure(recorder, f"APA, k=5, {name}", lambda m=model, s=starts: m(s), ballots, repeats, starts=starts)
    many_rankings(recorder)
    _, scores = eurovision()
    measure(recorder, "Eurovision, k=2..6, kernel k-means", eurovision_models, scores, 3, starts=100)


@benchmark("clustering_many_rankings")
def many_rankings(recorder: Recorder) -> None:
    """5,000 random rankings of 50 items, which have no clusters to find."""
    rankings = torch.rand((5000, 50), generator=seeded(0)).argsort(-1)
    measure(recorder, "m=5000, n=50, k=10, kernel k-means", lambda: KernelKMeans(10), rankings, 3, starts=10)


def mallows(center: Center, starts: int) -> MallowsMixture:
    """A mixture with one way of finding centers."""
    return MallowsMixture(CANDIDATES, CLUSTERS, center=center, n_init=starts)


def eurovision_models() -> list[KernelKMeans]:
    """Models of 2 to 6 clusters."""
    return [KernelKMeans(k, kernel=eurovision_kernel(), init="random", n_init=100) for k in range(2, 7)]


def measure(recorder: Recorder, name: str, make: Callable[[], Any], X: Any, repeats: int, starts: int) -> None:
    """Fit ``repeats`` times from different starts, after one fit that is not timed."""
    seconds, processor, fits, converged = [], [], [], True
    for seed in range(repeats + 1):
        made = make()
        models = made if isinstance(made, list) else [made]
        begin, used = time.perf_counter(), time.process_time()
        fits = [model.fit(X, generator=seeded(seed)) for model in models]
        seconds.append(time.perf_counter() - begin)
        processor.append(time.process_time() - used)
        converged = converged and all(fit.converged for fit in fits)
    middle = median(seconds[1:])
    print(f"{name:<45} {starts:>3} starts  {middle:.4f} s  (from {min(seconds[1:]):.4f} to {max(seconds[1:]):.4f})")
    recorder.append(
        name=name,
        starts=starts,
        seconds=middle,
        all_seconds=seconds[1:],
        processor_seconds=processor[1:],
        converged=converged,
        iterations=[fit.n_iter for fit in fits],
        last_objective=[fit.objective[-1] for fit in fits],
    )


if __name__ == "__main__":
    part = many_rankings if sys.argv[1:] == ["many_rankings"] else clustering_speed
    part(Recorder("clustering_speed"))
