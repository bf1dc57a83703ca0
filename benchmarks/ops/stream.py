"""Neighbors and graphs of many rankings beside the bare kernel over the same pairs, each in a process of its own."""

import json
import os
import subprocess
import sys
import time

from benchmarks.env import ROOT
from benchmarks.registry import Recorder, benchmark, median

_RUN = """
import json, resource, time
import numpy as np, torchrank as tr
peak = lambda: 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
small = np.random.default_rng(1).normal(size=(200, {n}))
tr.kendall_neighbors(small, 3), tr.kendall_graph(small, alpha=0.05), [b for b in tr.kendall_blocks(small)]
X = np.random.default_rng(0).normal(size=({m}, {n})).astype(np.float32)
if {groups}: X += np.repeat(np.random.default_rng(2).normal(size=({groups}, {n})), {m} // {groups}, 0) / 3
before, start = peak(), time.perf_counter()
{what}
print(json.dumps([time.perf_counter() - start, peak() - before]))
"""
_RUNS = {
    "bare kernel": "for block in tr.kendall_blocks(X): pass",
    "30 neighbors": "tr.kendall_neighbors(X, 30)",
}


@benchmark("stream")
def run(recorder: Recorder) -> None:
    """50,000 rankings of 100 items: kernel and neighbors by turns."""
    m, n = 50_000, 100
    found: dict[str, list[list[float]]] = {name: [] for name in _RUNS}
    for _ in range(3):
        for name, what in _RUNS.items():
            found[name].append(_measured(what, m, n))
    for name, pairs in found.items():
        _say(recorder, name, [m, n], pairs)


@benchmark("graph")
def graph(recorder: Recorder) -> None:
    """60,000 rankings of 1,000 items, in 200 groups that go together: a graph at q < .05, an hour without AVX-512."""
    m, n = 60_000, 1000
    what = "print(tr.kendall_graph(X, alpha=0.05).nnz)"
    _say(recorder, "graph at q < .05, 200 groups", [m, n], [_measured(what, m, n, groups=200)])


def _measured(what: str, m: int, n: int, groups: int = 0) -> list[float]:
    code = _RUN.format(m=m, n=n, what=what, groups=groups)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    print(f"{what[:50]:<50}{time.perf_counter() - start:.0f} s in all; {done.stdout.strip()}", flush=True)
    return json.loads(done.stdout.splitlines()[-1])


def _say(recorder: Recorder, name: str, shape: list[int], pairs: list[list[float]]) -> None:
    seconds, memory = [pair[0] for pair in pairs], median([pair[1] for pair in pairs])
    recorder.append(what=name, shape=shape, seconds=median(seconds), all_seconds=seconds, peak_bytes=memory)
    print(f"{name:<30}{shape!s:<16}{median(seconds):.1f} s, {memory / 2**20:.0f} MiB beyond the input")
