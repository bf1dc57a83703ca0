"""What a part of the GPU check is: a function with a name and a time budget that records rows and returns a verdict."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Verdict(NamedTuple):
    """Whether everything that must hold did (a missed speed target is no failure), and one line that says so."""

    passed: bool
    line: str


@dataclass
class Context:
    """What a part is given: the device, whether this is a rehearsal at tiny size, its end, and its rows."""

    device: str
    dry: bool
    end: float
    shared: dict[str, Any]  # what earlier parts found out and later ones use
    rows: list[dict[str, Any]] = field(default_factory=list)

    def time_left(self) -> float:
        """Seconds until the part must stop."""
        return self.end - time.monotonic()

    def record(self, **row: Any) -> None:
        """Keep one measurement."""
        self.rows.append(row)


class Part(NamedTuple):
    """A registered part."""

    name: str
    seconds: float
    run: Callable[[Context], Verdict]


PARTS: list[Part] = []


def part(name: str, seconds: float) -> Callable[[Callable[[Context], Verdict]], Callable[[Context], Verdict]]:
    """Register a function as a part that stops by itself after so many seconds; parts run in order of registration."""

    def register(run: Callable[[Context], Verdict]) -> Callable[[Context], Verdict]:
        PARTS.append(Part(name, seconds, run))
        return run

    return register


def median_seconds(
    run: Callable[[Tensor], Any], inputs: Sequence[Tensor], *, repeats: int = 7, at_most: float = 1.0
) -> float:
    """Median time of ``run`` over the inputs in turn, after one call that compiles; device time on CUDA.

    Stops repeating after ``at_most`` seconds.
    """
    run(inputs[0])
    on_cuda = inputs[0].is_cuda
    if on_cuda:
        torch.cuda.synchronize()
    taken: list[float] = []
    begin = time.monotonic()
    while len(taken) < repeats and (not taken or time.monotonic() - begin < at_most):
        argument = inputs[len(taken) % len(inputs)]
        if on_cuda:
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            run(argument)
            stop.record()
            stop.synchronize()
            taken.append(start.elapsed_time(stop) / 1000)
        else:
            start_time = time.perf_counter()
            run(argument)
            taken.append(time.perf_counter() - start_time)
    return statistics.median(taken)


def random_ranks(m: int, n: int, device: str, *, seed: int, group: int = 1) -> Tensor:
    """``(1, m, n)`` dense ranks of random rankings whose items are tied in groups of so many."""
    generator = torch.Generator(device).manual_seed(seed)
    order = torch.rand((1, m, n), generator=generator, device=device).argsort(dim=-1)
    return order.div_(group, rounding_mode="floor").int()
