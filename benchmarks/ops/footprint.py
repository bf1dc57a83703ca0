"""What torchrank costs beside its work: imports, first and small calls, memory; each in processes of their own."""

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.env import ROOT
from benchmarks.registry import Recorder, benchmark, median

_IMPORT = "import time; t = time.perf_counter(); import torch{more}; print(time.perf_counter() - t)"
_FIRST_CALL = """
import time, torch, torchrank
X = torch.randn(40, {n})
t = time.perf_counter(); torchrank.kendall_gram(X); print(time.perf_counter() - t)
"""
_SMALL_CALL = """
import time, torch, torchrank
X = torch.randn(2, 10)
torchrank.kendall_gram(X)
times = []
for _ in range(3000):
    t = time.perf_counter(); torchrank.kendall_gram(X); times.append(time.perf_counter() - t)
print(sorted(times)[len(times) // 2])
"""
_MEMORY = """
import resource, torch, torchrank
torchrank.kendall_gram(torch.randn({warm}, dtype=torch.float64), method={method!r})
X = torch.randn(2000, 5000, dtype=torch.float64)
if {ties}: X.mul_(2).round_()
peak = lambda: 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
K = torchrank.kendall_gram(X, method={method!r})
print(peak() - before - K.nbytes)
"""


@benchmark("footprint")
def run(recorder: Recorder) -> None:
    """Measure and print imports and calls."""
    turns = [(_python(_IMPORT.format(more="")), _python(_IMPORT.format(more=", torchrank"))) for _ in range(7)]
    alone, both = (median([turn[side] for turn in turns]) for side in (0, 1))
    _say(recorder, "import torch", alone, "s")
    _say(recorder, "import torch, torchrank", both, "s")
    for n, engine in ((1000, "signs"), (20_000, "inversions")):
        with tempfile.TemporaryDirectory() as cache:
            cold = _python(_FIRST_CALL.format(n=n), NUMBA_CACHE_DIR=cache)
            warm = _python(_FIRST_CALL.format(n=n), NUMBA_CACHE_DIR=cache)
        _say(recorder, f"first call, {engine}, compiling", cold, "s")
        _say(recorder, f"first call, {engine}, in a second process", warm, "s")
    _say(recorder, "kendall_gram of two rows of 10 items", 1e3 * median([_python(_SMALL_CALL) for _ in range(5)]), "ms")


_MANY_ROWS = """
import resource, torch, torchrank
calls = {{"kendall_gram": torchrank.kendall_gram, "kendall_distance": torchrank.kendall_distance,
         "mallows_gram": lambda X: torchrank.mallows_gram(X, lam=0.1)}}
call = calls[{name!r}]
call(torch.randn(4, 8))
X = torch.randn(20_000, {n})
peak = lambda: 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
K = call(X)
print(peak() - before - K.nbytes)
"""


@benchmark("memory")
def run_memory(recorder: Recorder) -> None:
    """Peak memory of one large call beyond what goes in and comes out."""
    for name in ("kendall_gram", "kendall_distance", "mallows_gram"):
        for n in (10, 100):
            used = _python(_MANY_ROWS.format(name=name, n=n)) / 2**20
            _say(recorder, f"memory beyond input and output, {name}, m=20000 n={n}, float32", used, "MiB")
    for method in ("auto", "signs", "inversions"):
        for ties in (False, True):
            used = _python(_MEMORY.format(warm="4, 8", method=method, ties=ties)) / 2**20
            _say(
                recorder,
                f"memory beyond input and output, m=2000 n=5000, {method}{', ties' if ties else ''}",
                used,
                "MiB",
            )


def _say(recorder: Recorder, what: str, value: float, unit: str) -> None:
    recorder.append(what=what, value=value, unit=unit)
    print(f"{what:<75}{value:>9.3f} {unit}")


def _python(code: str, **variables: str) -> float:
    environment: dict[str, Any] = {**os.environ, **variables, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])
