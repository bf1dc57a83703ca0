"""Benchmarks by name, timings that alternate, and results that are only ever appended."""

import json
import statistics
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.env import ROOT, environment

RESULTS = ROOT / "benchmarks" / "results"
BENCHMARKS: dict[str, Callable[["Recorder"], None]] = {}
DeviceBenchmark = Callable[["Recorder", Sequence[str], bool], None]
DEVICE_BENCHMARKS: dict[str, DeviceBenchmark] = {}


def benchmark(name: str) -> Callable[[Callable[["Recorder"], None]], Callable[["Recorder"], None]]:
    """Register a function under ``name`` for ``python -m benchmarks.run``."""

    def register(function: Callable[["Recorder"], None]) -> Callable[["Recorder"], None]:
        BENCHMARKS[name] = function
        return function

    return register


def device_benchmark(name: str) -> Callable[[DeviceBenchmark], DeviceBenchmark]:
    """Register a function that is given the names of devices, and whether sizes are to be tiny, too."""

    def register(function: DeviceBenchmark) -> DeviceBenchmark:
        DEVICE_BENCHMARKS[name] = function
        return function

    return register


class Recorder:
    """Appends the rows of one run to ``results/NAME.jsonl``: first the environment, then what was measured."""

    def __init__(self, name: str, folder: Path = RESULTS) -> None:
        self.run = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.path = folder / f"{name}.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self.append(environment=environment())

    def append(self, **row: Any) -> None:
        """Write one row at once, so that a killed run keeps what it has."""
        with self.path.open("a") as file:
            file.write(json.dumps({"run": self.run, **row}) + "\n")


def alternate(contestants: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Time every contestant ``repeats`` times, taking turns, so that a noisy moment hits all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def median(values: list[float]) -> float:
    """The middle timing."""
    return statistics.median(values)
