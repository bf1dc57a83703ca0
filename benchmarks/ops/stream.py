"""Neighbors and graphs of many rankings beside the bare kernel over the same pairs, each in a process of its own."""

from benchmarks.apart import Cost, apart
from benchmarks.registry import Recorder, benchmark, median

_SETUP = """
small = np.random.default_rng(1).normal(size=(200, {n}))
tr.kendall_neighbors(small, 3), tr.kendall_graph(small, alpha=0.05), [b for b in tr.kendall_blocks(small)]
X = np.random.default_rng(0).normal(size=({m}, {n}))
if {groups}: X += np.repeat(np.random.default_rng(2).normal(size=({groups}, {n})), {m} // {groups}, 0) / 3
"""
_RUNS = {
    "bare kernel": "for block in tr.kendall_blocks(X): pass",
    "30 neighbors": "tr.kendall_neighbors(X, 30)",
}


@benchmark("stream")
def run(recorder: Recorder) -> None:
    """50,000 rankings of 100 items: kernel and neighbors by turns."""
    m, n = 50_000, 100
    found: dict[str, list[Cost]] = {name: [] for name in _RUNS}
    for _ in range(3):
        for name, what in _RUNS.items():
            found[name].append(apart(_SETUP.format(m=m, n=n, groups=0), what))
            print(name, found[name][-1], flush=True)
    for name, costs in found.items():
        _say(recorder, name, [m, n], costs)


@benchmark("graph")
def graph(recorder: Recorder, sizes: tuple[int, ...] = (12_000, 60_000)) -> None:
    """60,000 rankings of 1,000 items, in 200 groups that go together: a graph at q < .05, an hour without AVX-512."""
    for m in sizes:
        _graph(recorder, m, 1000)


def _graph(recorder: Recorder, m: int, n: int) -> None:
    cost = apart(_SETUP.format(m=m, n=n, groups=200), "print(tr.kendall_graph(X, alpha=0.05).nnz)")
    print(f"{cost.said[-1]} entries")
    _say(recorder, "graph at q < .05, 200 groups", [m, n], [cost])


def _say(recorder: Recorder, name: str, shape: list[int], costs: list[Cost]) -> None:
    seconds, memory = [cost.seconds for cost in costs], median([cost.peak_bytes for cost in costs])
    processor = median([cost.cpu_seconds for cost in costs])
    recorder.append(
        what=name,
        shape=shape,
        seconds=median(seconds),
        all_seconds=seconds,
        cpu_seconds=processor,
        peak_bytes=memory,
    )
    print(
        f"{name:<30}{shape!s:<16}{median(seconds):.1f} s, {processor:.1f} s of processors, "
        f"{memory / 2**20:.0f} MiB beyond the input"
    )
