"""The functions that users call, on CUDA tensors beside CPU tensors: the same numbers, and the time each takes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

import torchrank
from benchmarks.gpu.parts import Context, Verdict, median_seconds, part

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "kendall_gram": torchrank.kendall_gram,
    "kendall_distance": torchrank.kendall_distance,
    "mallows_gram": lambda X: torchrank.mallows_gram(X, lam=0.01),
}
DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8)
CLOSE = 1e-12  # exact counts on both sides, so only the last steps in double precision may differ
CLOSE_EXP = 1e-9  # and the exponential of counts up to millions


@part("public", seconds=25)
def public(context: Context) -> Verdict:
    """Gram matrices of every kind of scores on both devices, and the two devices mixed."""
    wrong: list[str] = []
    for dtype in DTYPES:
        scores = torch.randint(0, 200, (33, 150), generator=torch.Generator().manual_seed(0)).to(dtype)
        for name, function in FUNCTIONS.items():
            expected = function(scores)
            tolerance = CLOSE_EXP if name == "mallows_gram" else CLOSE
            same = _same(function(scores.to(context.device)), expected, tolerance)
            context.record(function=name, dtype=str(dtype), same=same)
            wrong += [] if same else [f"{name} of {dtype}"]
    scores = torch.rand((33, 150), generator=torch.Generator().manual_seed(2))
    for method in ("signs", "inversions", "reference"):
        untied = torchrank.kendall_gram(scores.to(context.device), method=method)
        with torch.autocast(context.device, torch.bfloat16):
            same = torch.equal(torchrank.kendall_gram(scores.to(context.device), method=method), untied)
        context.record(function="kendall_gram under autocast", method=method, same=same)
        wrong += [] if same else [f"{method} under autocast"]
    scores = torch.rand((21, 80), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    scores[scores < 0.2] = torch.nan
    expected = torchrank.kendall_gram(scores, missing="pairwise")
    if not _same(torchrank.kendall_gram(scores.to(context.device), missing="pairwise"), expected, CLOSE):
        wrong.append("kendall_gram of partial rankings")
    if not context.dry and not _refused(scores):
        wrong.append("tensors on two devices were not refused with a ValueError")
    times = _times(context)
    line = f"WRONG: {', '.join(wrong)}" if wrong else "the same numbers on both devices"
    return Verdict(not wrong, f"{line}; {times}")


def _same(got: Tensor, expected: Tensor, tolerance: float) -> bool:
    return got.dtype == expected.dtype and torch.allclose(got.cpu(), expected, rtol=tolerance, atol=tolerance)


def _refused(scores: Tensor) -> bool:
    try:
        torchrank.kendall_gram(scores.cuda(), scores, missing="pairwise")
    except ValueError:
        return True
    return False


def _times(context: Context) -> str:
    """Whole calls from scores to matrix."""
    m, n = (20, 30) if context.dry else (1_000, 1_000)
    scores = [torch.rand((m, n), generator=torch.Generator().manual_seed(seed)) for seed in range(2)]
    lines: list[str] = []
    for name in ("kendall_gram", "mallows_gram"):
        row: dict[str, Any] = {
            "cpu": median_seconds(FUNCTIONS[name], scores, repeats=3, at_most=1.0),
            context.device: median_seconds(FUNCTIONS[name], [some.to(context.device) for some in scores], at_most=1.0),
        }
        context.record(function=name, m=m, n=n, seconds=row)
        lines.append(f"{name} {m} x {n}: " + ", ".join(f"{device} {value:.4g} s" for device, value in row.items()))
    return "; ".join(lines)
