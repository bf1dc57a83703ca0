"""What streams of pairs cost: each sink over the number of rankings, the disk, two processes, and eight cards.

Sinks are what blocks of pairs go into: nothing, a matrix in memory, a file, a zarr folder, neighbors, edges, and class
sums of k-means, which needs no pairs. Each is measured in a process of its own, for the sake of its peak memory.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np

import torchrank as tr
from benchmarks.apart import Cost, apart
from benchmarks.env import ROOT
from benchmarks.registry import Recorder, benchmark, median

_SETUP = """
rng = np.random.default_rng(0)
small, X = rng.normal(size=(200, {n})), rng.normal(size=({m}, {n}))
generator = lambda: torch.Generator().manual_seed(0)
"""
_SINKS = {  # a call to warm up, and the one that is measured
    "nothing (bare kernel)": "for block in tr.kendall_blocks({rows}): pass",
    "matrix in memory": "tr.kendall_gram({rows})",
    "file .npy": "tr.kendall_gram({rows}, out=r'{folder}/{rows}.npy')",
    "folder .zarr": "tr.kendall_gram({rows}, out=r'{folder}/{rows}.zarr')",
    "30 neighbors": "tr.kendall_neighbors({rows}, 30)",
    "edges, |tau| >= .3": "tr.kendall_graph({rows}, threshold=0.3)",
    "edges at q < .05": "tr.kendall_graph({rows}, alpha=0.05)",
    "10 clusters, class sums": "tr.KernelKMeans(10).fit(tr.Batches({rows}, 2000), generator=generator())",
}
_WRITES = """
path = r"{folder}/sequential"
part = np.random.default_rng(0).bytes(2**22)
"""
_WRITE = """
import os
with open(path, "wb") as file:
    for start in range(0, {size}, len(part)): file.write(part[:{size} - start])
    file.flush()
    os.fsync(file.fileno())
os.unlink(path)
"""
_PROCESS = """
import json, time
import numpy as np, torch, torchrank as tr
from torchrank.processes import started_by_torchrun, told
torch.set_num_threads(1)
X = np.random.default_rng(0).normal(size=({m}, {n}))
tr.kendall_neighbors(X[:200], 30)
with started_by_torchrun() as group:
    told(None, group)
    start, busy = time.perf_counter(), time.process_time()
    tr.kendall_neighbors(X, 30, group=group)
    busy = time.process_time() - busy
    told(None, group)
    print(json.dumps([time.perf_counter() - start, busy]))
"""


@benchmark("scale")
def run(recorder: Recorder, repeats: int = 3) -> None:
    """Sinks over m, rates of the disk, two processes beside one, and predicted shares of eight cards."""
    _sinks(recorder, repeats)
    _disk(recorder, repeats)
    _processes(recorder, repeats)
    _cards(recorder, repeats)


def _sinks(recorder: Recorder, repeats: int, sizes: tuple[int, ...] = (2000, 8000), n: int = 100) -> None:
    for m in sizes:
        costs: dict[str, list[Cost]] = {name: [] for name in _SINKS}
        for _ in range(repeats):
            for name, call in _SINKS.items():
                costs[name].append(_cost(call, m, n))
        for name, found in costs.items():
            _say(recorder, "sink", name, [m, n], found)


def _cost(call: str, m: int, n: int) -> Cost:
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:  # on the disk of the checkout: /tmp may be memory
        warm_up = call.format(rows="small", folder=folder)
        return apart(_SETUP.format(m=m, n=n) + warm_up, call.format(rows="X", folder=folder))


def _disk(recorder: Recorder, repeats: int) -> None:
    """A matrix to disk beside its kernel alone and its bytes alone, written one after the other and flushed."""
    for m, n in ((12_000, 20), (12_000, 100), (4000, 1000)):
        found: dict[str, list[Cost]] = {"kernel": [], "disk": [], "file .npy": []}
        for _ in range(repeats):
            found["kernel"].append(_cost(_SINKS["nothing (bare kernel)"], m, n))
            with tempfile.TemporaryDirectory(dir=ROOT) as folder:
                found["disk"].append(apart(_WRITES.format(folder=folder), _WRITE.format(size=8 * m * m)))
            found["file .npy"].append(_cost(_SINKS["file .npy"], m, n))
        for name, costs in found.items():
            _say(recorder, "disk", name, [m, n], costs, bytes=8 * m * m)
        kernel, disk, whole = (median([cost.seconds for cost in costs]) for costs in found.values())
        share = max(kernel, disk) / whole
        recorder.append(what="disk", name="share of the slower of kernel and disk", shape=[m, n], share=share)
        print(f"the slower of both takes {share:.0%} of the time of the file", flush=True)


def _processes(recorder: Recorder, repeats: int, m: int = 24_000, n: int = 100) -> None:
    """Two processes of one thread beside one; busy is the processor's share of the time until the last one is ready."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    busy = []
    for _ in range(repeats):
        for world, times in seconds.items():
            found = _started(world, _PROCESS.format(m=m, n=n))
            times.append(max(took for took, _ in found))
            if world == 2:
                busy.append(sum(share for _, share in found) / (2 * times[-1]))
    speedup = median(seconds[1]) / median(seconds[2])
    recorder.append(what="processes", shape=[m, n], seconds=seconds, busy=median(busy), all_busy=busy, speedup=speedup)
    print(f"two processes: {speedup:.2f} times as fast as one, busy {median(busy):.1%}", flush=True)


def _started(world: int, code: str) -> list[tuple[float, float]]:
    """What the processes of a group print."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"PYTHONPATH": str(ROOT), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=os.environ | common | {"RANK": str(k)}, stdout=subprocess.PIPE, text=True
        )
        for k in range(world)
    ]
    said = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        raise RuntimeError("a process failed")
    found = []
    for text in said:
        took, share = text.strip().splitlines()[-1].strip("[]").split(",")
        found.append((float(took), float(share)))
    return found


def _cards(recorder: Recorder, repeats: int, m: int = 16_000, n: int = 100, cards: int = 8) -> None:
    """How even the shares of eight cards would be, from the median time of each block on this processor: predicted."""
    X = np.random.default_rng(0).normal(size=(m, n))
    for block in (1024, 512, 256):
        runs: list[list[float]] = []
        for _ in range(repeats):
            runs.append([])
            start = time.perf_counter()
            for _ in tr.kendall_blocks(X, block=block):
                runs[-1].append(time.perf_counter() - start)
                start = time.perf_counter()
        times = np.median(runs, axis=0).tolist()
        shares = [sum(times[k::cards]) for k in range(cards)]
        predicted = sum(times) / (cards * max(shares))
        recorder.append(what="predicted share of eight cards", shape=[m, n], block=block, share=predicted)
        print(f"predicted: eight cards busy {predicted:.1%} with {len(times)} blocks of {block} rows", flush=True)


def _say(recorder: Recorder, what: str, name: str, shape: list[int], costs: list[Cost], **more: int) -> None:
    seconds, memory = [cost.seconds for cost in costs], median([cost.peak_bytes for cost in costs])
    recorder.append(
        what=what, name=name, shape=shape, seconds=median(seconds), all_seconds=seconds, peak_bytes=memory, **more
    )
    print(f"{what:<6}{name:<28}{shape!s:<16}{median(seconds):8.2f} s {memory / 2**20:8.0f} MiB", flush=True)
