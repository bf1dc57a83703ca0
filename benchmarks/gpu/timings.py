"""Times of the engines: the targets, a grid of sizes, and from where on inversions are faster than signs."""

import time
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.gpu.parts import Context, Verdict, median_seconds, part, random_ranks
from torchrank.ops.pair_counts import WORKSPACE, pair_counts

# rankings, items, seconds that the engine should stay under
TARGETS = ((10_000, 1_000, 1.5), (200, 20_000, 0.1), (100, 100_000, 0.5))
SHARE = 0.4  # of the fp16 matrix rate, for 2,000 rankings of 2,000 items
TIMES_CPU = 100  # times the CPU engine on two cores, for the same
ITEMS = (10, 100, 1_000, 5_000, 20_000, 100_000)
ROWS = (64, 512, 2_048, 8_192)
CROSSOVER_ROWS = (16, 64, 256)
CROSSOVER_ITEMS = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000)


def count(method: str) -> Callable[[Tensor], Tensor]:
    """The op with one engine, as a function of ranks."""
    return lambda ranks: pair_counts(ranks, None, False, method, WORKSPACE, False)[0]


def product_of_signs(ranks: Tensor) -> Tensor:
    """What one would write in torch: explicit signs of blocks of pairs times their transpose, exact in TF32 too."""
    x = ranks[0].float()
    m, n = x.shape
    total = torch.zeros((m, m), device=x.device)
    step = max(1, 2**28 // (4 * m * n))
    for i in range(0, n, step):
        signs = (x[:, i : i + step, None] - x[:, None, i:]).sign_().flatten(1)
        total += signs @ signs.mT
    return total


@part("targets", seconds=35)
def targets(context: Context) -> Verdict:
    """The sizes with a wanted time, and the share of the matrix rate that the sign engine reaches."""
    lines = []
    m, n = (40, 40) if context.dry else (2_000, 2_000)
    inputs = [random_ranks(m, n, context.device, seed=seed) for seed in range(3)]
    seconds = median_seconds(count("signs"), inputs)
    work = n * (n - 1) // 2 * (m * (m + 1) // 2)
    share = work / seconds / context.shared["rates"]["fp16"] if "rates" in context.shared else float("nan")
    cpu = _cpu_seconds(m, n)
    context.record(m=m, n=n, seconds=seconds, share=share, cpu_seconds=cpu, multiply_adds=work)
    lines.append(f"{m} x {n}: {seconds:.4g} s, {share:.0%} of fp16 ({_met(context, share >= SHARE)}), ")
    lines[-1] += f"{cpu / seconds:.0f} times two CPU cores ({_met(context, cpu / seconds >= TIMES_CPU)})"
    for m, n, wanted in TARGETS:
        if context.time_left() < 5:
            lines.append(f"{m} x {n} left out")
            continue
        m, n = (m // 1000 + 2, n // 1000 + 2) if context.dry else (m, n)
        inputs = [random_ranks(m, n, context.device, seed=seed) for seed in range(2)]
        seconds = median_seconds(count("auto"), inputs)
        context.record(m=m, n=n, seconds=seconds, wanted=wanted)
        lines.append(f"{m} x {n}: {seconds:.4g} s ({_met(context, seconds <= wanted)})")
    return Verdict(True, "; ".join(lines))


@part("crossover", seconds=30)
def crossover(context: Context) -> Verdict:
    """From how many items inversions win, by rankings and ties: a proposal for ``CROSSOVER`` in tiles.py."""
    table = []
    for m in CROSSOVER_ROWS:
        row = [m if m < CROSSOVER_ROWS[-1] else None]
        for group in (1, 3):
            found = None
            for n in (20, 40) if context.dry else CROSSOVER_ITEMS:
                if context.time_left() < 3:
                    break
                inputs = [random_ranks(m, n, context.device, seed=seed, group=group) for seed in range(2)]
                signs = median_seconds(count("signs"), inputs, repeats=3, at_most=0.3)
                inversions = median_seconds(count("inversions"), inputs, repeats=3, at_most=0.3)
                context.record(m=m, n=n, group=group, signs=signs, inversions=inversions)
                if inversions < signs:
                    found = n
                    break
            row.append(found)
        table.append(tuple(row))
    return Verdict(
        True, f"CROSSOVER = {tuple(table)}  # None as a number of items: not reached, or not measured in time"
    )


@part("grid", seconds=25)
def grid(context: Context) -> Verdict:
    """Both engines, the product in torch and the CPU engine over items and rankings, cheapest first."""
    sizes = sorted((m * m * n * n, m, n) for m in ROWS for n in ITEMS)
    done = left = 0
    for work, m, n in sizes:
        predicted = 3 * (work / 8e14 + m * m * n * 5e-11)  # seconds: compile or warm up, and two calls of each engine
        if context.time_left() < 3 + predicted or (context.dry and work > 1e7):
            left += 1
            continue
        inputs = [random_ranks(m, n, context.device, seed=seed) for seed in range(2)]
        row = {
            method: median_seconds(count(method), inputs, repeats=5, at_most=0.2) for method in ("signs", "inversions")
        }
        if work < 2e13:
            row["torch"] = _with_tf32(inputs)
        if work < 1e11:
            row["cpu"] = median_seconds(count("auto"), [ranks.cpu() for ranks in inputs], repeats=3, at_most=0.3)
        context.record(m=m, n=n, **row)
        done += 1
    return Verdict(True, f"{done} sizes timed, {left} left out")


def _met(context: Context, reached: bool) -> str:
    return "rehearsed" if context.dry else "reached" if reached else "MISSED"


def _with_tf32(inputs: list[Tensor]) -> float:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return median_seconds(product_of_signs, inputs, repeats=3, at_most=0.3)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _cpu_seconds(m: int, n: int) -> float:
    """The CPU engine on two threads, from fewer rankings in proportion to the pairs."""
    fewer = min(m, 400)
    ranks = random_ranks(fewer, n, "cpu", seed=0)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        count("auto")(ranks[:, :4])  # compiles
        start = time.perf_counter()
        count("auto")(ranks)
        return (time.perf_counter() - start) * m * m / fewer**2
    finally:
        torch.set_num_threads(threads)
