"""An hour of mixed calls: ``python -m benchmarks.soak [--minutes 60] [--threads 2]``.

The main thread calls and is interrupted (Ctrl-C) again and again, other threads call at the same time, and children
are forked that call too. Every result has to be the first one's bit for bit, no child may hang, and memory may not
grow. One row is appended to ``benchmarks/results/soak.jsonl``.
"""

import argparse
import faulthandler
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import torchrank
from benchmarks.registry import RESULTS, Recorder
from torchrank.conditional import KroneckerEigh

Calls = dict[str, Callable[[], Any]]
CHILD_SECONDS = 120  # in which a child has to end
SUMS = {"mixture"}  # products of matrices, whose last digits depend on the number of threads; a child has one
BETWEEN_FORKS, BETWEEN_INTERRUPTS = 10.0, 3.0  # seconds


def calls(folder: Path) -> Calls:
    """Some milliseconds each, of every room; all give the same every time."""
    rng = np.random.default_rng(0)
    scores, other = rng.normal(size=(120, 60)), rng.normal(size=(40, 60))
    tied = rng.integers(0, 9, (120, 60)).astype(float)
    partial = np.where(rng.random(tied.shape) < 0.2, np.nan, tied)
    long = rng.normal(size=(6, 6000))
    labels = rng.normal(size=(150, 5)).argsort(-1).astype(float)
    features = torch.from_numpy(rng.normal(size=(150, 4)))
    nodes = rng.normal(size=(30, 5))
    graph = nodes @ nodes.T

    def seeded() -> torch.Generator:
        return torch.Generator().manual_seed(0)

    def gradient() -> Any:
        x = torch.from_numpy(scores).requires_grad_()
        torchrank.kendall_loss(x, tied, window=0.5).backward()
        return x.grad

    def smoothed() -> Any:
        x = torch.from_numpy(other).requires_grad_()
        torchrank.smoothed_kendall_gram(x, window=0.5).sum().backward()
        return x.grad

    def on_disk() -> Any:
        path = folder / f"{os.getpid()}-{threading.get_ident()}.npy"
        torchrank.kendall_gram(scores, out=str(path), resume=True)  # after an interrupt
        result = np.load(path)
        path.unlink()
        return result

    def clusters() -> Any:
        model = torchrank.KernelKMeans(3)
        model.fit(tied, generator=seeded())
        return model.predict(tied)

    def mixture() -> Any:
        model = torchrank.MallowsMixture(5, 2)
        model.fit(labels, generator=seeded())
        return model.log_prob(labels)

    def label_ranker() -> Any:
        model = torchrank.MMPL(4, 5, 2, 4, dtype=torch.float64)
        model.fit(features, torch.from_numpy(labels), torchrank.EMSettings(n_updates=20), generator=seeded())
        return model.predict(features)

    return {
        "kendall_gram": lambda: torchrank.kendall_gram(scores, other),
        "ties": lambda: torchrank.kendall_gram(tied),
        "pairwise": lambda: torchrank.kendall_gram(partial, missing="pairwise"),
        "interleaving": lambda: torchrank.kendall_gram(partial, missing="interleaving"),
        "long": lambda: torchrank.kendall_gram(long),
        "mallows": lambda: torchrank.mallows_gram(tied, lam=0.1),
        "neighbors": lambda: torchrank.kendall_neighbors(scores, 5).values,
        "test": lambda: torchrank.kendall_test(tied).pvalue,
        "kendall_loss": gradient,
        "smoothed": smoothed,
        "out": on_disk,
        "borda": lambda: torchrank.borda(partial, missing="topk"),
        "kemeny": lambda: torchrank.kemeny(labels).scores,
        "fit_mallows": lambda: torchrank.fit_mallows(labels).lam,
        "fit_plackett_luce": lambda: torchrank.fit_plackett_luce(labels).logits,
        "kernel k-means": clusters,
        "mixture": mixture,
        "MM-PL": label_ranker,
        "Kronecker": lambda: KroneckerEigh(graph, loss="ranking").loo(graph, np.array([1.0, 10.0]), exclude="query"),
    }


def one(todo: Calls, expected: dict[str, Tensor], rng: random.Random) -> str:
    """Make one call of them; the name if its result is another than the first, else nothing."""
    name = rng.choice(sorted(todo))
    result = torch.as_tensor(todo[name]())
    same = torch.equal(result, expected[name]) or (name in SUMS and torch.allclose(result, expected[name], 0, 1e-9))
    return "" if same else name


def child(todo: Calls, expected: dict[str, Tensor], seed: int) -> None:
    faulthandler.dump_traceback_later(0.8 * CHILD_SECONDS)  # where it hangs
    rng = random.Random(seed)
    wrong = [name for name in (one(todo, expected, rng) for _ in range(10)) if name]
    sys.exit(bool(wrong))


class Soak:
    """What goes on at the same time, and what came of it."""

    def __init__(self, folder: Path) -> None:
        self.todo = calls(folder)
        self.expected = {name: torch.as_tensor(call()).clone() for name, call in self.todo.items()}
        self.wrong: list[str] = []
        self.made, self.interrupted, self.forked, self.hung = 0, 0, 0, 0
        self.stop = threading.Event()
        self.lock = threading.Lock()

    def thread(self, seed: int) -> None:
        rng = random.Random(seed)
        while not self.stop.is_set():
            self.count(one(self.todo, self.expected, rng))

    def count(self, wrong: str) -> None:
        with self.lock:
            self.made += 1
            self.wrong += [wrong] if wrong else []

    def interrupts(self) -> None:
        rng = random.Random(1)
        while not self.stop.wait(rng.uniform(0.5, 1.5) * BETWEEN_INTERRUPTS):
            os.kill(os.getpid(), signal.SIGINT)

    def forks(self) -> None:
        context, seed = multiprocessing.get_context("fork"), 0
        while not self.stop.wait(BETWEEN_FORKS):
            seed += 1
            process = context.Process(target=child, args=(self.todo, self.expected, seed))
            process.start()
            process.join(CHILD_SECONDS)
            self.forked += 1
            if process.exitcode is None:
                self.hung += 1
                process.kill()
            elif process.exitcode:
                self.wrong.append(f"child {seed}: exit {process.exitcode}")

    def main(self, seconds: float) -> list[float]:
        """Call until the time is over, interrupted now and then; resident memory over time, in MiB."""
        rng, start, memory = random.Random(0), time.monotonic(), []
        while time.monotonic() - start < seconds:
            try:
                self.count(one(self.todo, self.expected, rng))
                if time.monotonic() - start > len(memory) * seconds / 100:
                    memory.append(resident())
            except KeyboardInterrupt:  # noqa: PERF203 - each call may be interrupted
                self.interrupted += 1
        return memory


def resident() -> float:
    """Memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    """Run, and append a row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=2, help="beside the main one")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts jobs behind it with Ctrl-C ignored
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder))
        beside = [threading.Thread(target=soak.thread, args=(seed,)) for seed in range(10, 10 + options.threads)]
        beside += [threading.Thread(target=soak.interrupts), threading.Thread(target=soak.forks)]
        for thread in beside:
            thread.start()
        try:
            memory = soak.main(60 * options.minutes)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            soak.stop.set()
            for thread in beside:
                thread.join()
    tenth = max(1, len(memory) // 10)
    row = {
        "minutes": options.minutes, "threads": options.threads, "calls": soak.made, "interrupted": soak.interrupted,
        "forks": soak.forked, "hung": soak.hung, "wrong": soak.wrong[:20], "n_wrong": len(soak.wrong),
        "mebibytes_early": float(np.median(memory[tenth : 2 * tenth] or memory)),
        "mebibytes_late": float(np.median(memory[-tenth:])), "mebibytes_most": max(memory),
        "open_files": len(os.listdir("/proc/self/fd")), "live_threads": threading.active_count(),
    }  # fmt: skip
    Recorder("soak", options.out).append(**row)
    print(row)
    sys.exit(bool(soak.wrong or soak.hung))


if __name__ == "__main__":
    main()
