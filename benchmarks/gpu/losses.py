"""The Kendall loss on the GPU: errors of its kernel against double precision, and times beside plain torch."""

import torch
from torch import Tensor

import torchrank
from benchmarks.gpu.parts import Context, Verdict, median_seconds, part
from torchrank.ops.agreement import agreement
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.reference.agreement import Terms, sums_and_slopes

CLOSE = 2e-6  # largest error, of the sum of weights, or of the largest slope of a row
CASES = ((1, 2), (7, 33), (512, 100), (3, 2000))  # rows and items
TIMED = ((512, 100), (64, 1000))


def random_rows(rows: int, n: int, device: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Scores, hard ranks of which some do not count and some are tied, weights of items, and windows."""
    generator = torch.Generator().manual_seed(rows + n)
    x = torch.randn(rows, n, generator=generator)
    x[0, 0] = torch.inf
    ranks = torch.randint(-1, n, (rows, n), generator=generator, dtype=torch.int32)
    weights = torch.rand(rows, n, generator=generator, dtype=torch.float64)
    windows = torch.rand(rows, generator=generator, dtype=torch.float64) + 0.1
    return x.to(device), ranks.to(device), weights.to(device), windows.to(device)


@part("losses", seconds=15)
def losses(context: Context) -> Verdict:
    """Sums and slopes in single precision against double, the same bits twice; and a step's time."""
    worst, unequal, lines = 0.0, 0, []
    for rows, n in CASES:
        rows, n = (min(rows, 4), min(n, 40)) if context.dry else (rows, n)
        x, ranks, weights, windows = random_rows(rows, n, context.device)
        for noise in ("uniform", "gaussian"):
            for scheme, given in (("product", None), ("product", weights), ("sum", weights)):
                call = torch.ops.torchrank.agreement
                got, again = (call(x, ranks, given, windows, noise, scheme, WORKSPACE, True, True) for _ in range(2))
                unequal += sum(not torch.equal(one, other) for one, other in zip(got, again, strict=True))
                wanted = sums_and_slopes(x.double(), given, windows, Terms(ranks, noise, scheme), WORKSPACE, True, True)
                worst = max(worst, *_errors(got, wanted))
        context.record(rows=rows, n=n, error=worst)
    for rows, n in TIMED:
        rows, n = (4, 20) if context.dry else (rows, n)
        x, ranks, _, windows = random_rows(rows, n, context.device)
        target = ranks.double()

        def step(scores: Tensor, target: Tensor = target) -> None:
            torchrank.kendall_loss(scores.detach().requires_grad_(), target, window=0.5).backward()

        def op(scores: Tensor, ranks: Tensor = ranks, windows: Tensor = windows) -> Tensor:
            return agreement(scores.detach().requires_grad_(), ranks, None, windows, "uniform", "product", WORKSPACE)

        def plain(scores: Tensor, ranks: Tensor = ranks, windows: Tensor = windows) -> None:
            sums_and_slopes(scores, None, windows, Terms(ranks, "uniform", "product"), WORKSPACE, True, True)

        seconds = {name: median_seconds(run, [x]) for name, run in (("step", step), ("op", op), ("plain", plain))}
        context.record(timed=[rows, n], **seconds)
        lines.append(
            f"{rows} x {n}: step {seconds['step']:.3g} s, op {seconds['op']:.3g}, plain {seconds['plain']:.3g}"
        )
    passed = worst < CLOSE and not unequal
    said = f"worst error {worst:.2g}, " + (f"{unequal} UNEQUAL repetitions" if unequal else "same bits")
    return Verdict(passed, "; ".join([said, *lines]))


def _errors(got: tuple[Tensor, ...], wanted: tuple[Tensor, ...]) -> list[float]:
    scale = wanted[0][:, 3].clamp(min=1e-300)
    found = [float(((got[0] - wanted[0]).abs() / scale[:, None]).max())]
    for one, other in zip(got[1:], wanted[1:], strict=True):
        size = other.abs().flatten(1).amax(1).clamp(min=1e-300) if one.ndim == 3 else scale
        difference = (one.double() - other.double()).abs().flatten(1).amax(1)
        found.append(float((difference / size).max()))
    return found
