"""Time and memory of calls on a device: how to wait for it, and what it held at most."""

import ctypes
import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from benchmarks.registry import alternate

REPEATS = 5
AT_MOST = 1.0  # seconds of turns, after which no further turn begins


class Device(NamedTuple):
    """A column of the table: its name, and where tensors go."""

    name: str
    where: torch.device

    def wait(self) -> None:
        """Until everything that was started there is done."""
        if self.where.type == "cuda":
            torch.cuda.synchronize(self.where)

    def waited(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """The call, and the wait for its end."""

        def run() -> Any:
            result = call()
            self.wait()
            return result

        return run

    def put(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The inputs there."""
        return tuple(tensor.to(self.where) for tensor in inputs)


def seconds_of(run: Callable[[], Any]) -> tuple[float, Any]:
    """How long one call takes, and what it gives."""
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def transfer_seconds(device: Device, inputs: tuple[Tensor, ...]) -> float | None:
    """Median time in which inputs reach the device from the CPU's ordinary memory; None for the CPU itself."""
    if device.where.type == "cpu":
        return None
    move = device.waited(lambda: device.put(inputs))
    move()
    return statistics.median(seconds_of(move)[0] for _ in range(3))


def peak_bytes(device: Device, run: Callable[[], Any]) -> int | None:
    """The most memory that a call holds beyond what was held before, its result included; None where nobody counts it.

    On CUDA that is what torch's allocator hands out. On the CPU it is the resident memory of the process, which Linux
    counts from a moment that one may choose.
    """
    gc.collect()
    if device.where.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device.where)
        before = torch.cuda.memory_allocated(device.where)
        run()
        return torch.cuda.max_memory_allocated(device.where) - before
    try:
        ctypes.CDLL(None).malloc_trim(0)  # pages that were freed but kept would hide what the call takes
        Path("/proc/self/clear_refs").write_text("5")
        before = _resident("VmRSS")
        run()
        return max(0, _resident("VmHWM") - before)
    except (AttributeError, OSError, TypeError):  # not Linux, or not allowed
        run()
        return None


def _resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(field)))


def turns(runs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Seconds of calls that take turns, at least once each."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    begin = time.perf_counter()
    for _ in range(repeats):
        for name, taken in alternate(runs, 1).items():
            seconds[name] += taken
        if time.perf_counter() - begin > AT_MOST:
            break
    return seconds
