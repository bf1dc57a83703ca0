"""The smoothed kernel on the GPU: errors against double precision, and times beside plain torch and matrix products."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from benchmarks.gpu.parts import Context, Verdict, median_seconds, part
from torchrank.ops.pair_counts import WORKSPACE
from torchrank.ops.smoothed import smoothed_gram

WINDOW = 0.5
GRAM_CLOSE = 1e-6  # largest error of the Gram matrix, whose entries are at most 1
GRADIENT_CLOSE = 2e-6  # largest error of a gradient, of its largest entry; the window's, of norm of weights / window
# rankings of x and of y (None: symmetric) and items
CASES = ((1, None, 2), (60, None, 1000), (130, 70, 333), (300, None, 500), (3, 2, 7129))
# rankings and items
SIZES = ((60, 7_129), (1_000, 1_000), (2_000, 2_000))


def random_scores(m: int, n: int, device: str, seed: int) -> Tensor:
    return torch.randn((1, m, n), generator=torch.Generator().manual_seed(seed)).to(device)


def evaluate(x: Tensor, y: Tensor | None, weights: Tensor, noise: str, method: str) -> list[Tensor]:
    """The Gram matrix, and the gradients of its weighted sum for scores and window."""
    x = x.detach().requires_grad_()
    y = None if y is None else y.detach().requires_grad_()
    window = torch.tensor(WINDOW, dtype=torch.float64, requires_grad=True)
    gram = smoothed_gram(x, y, window, noise, method, WORKSPACE, False)
    (gram * weights.to(gram.dtype)).sum().backward()
    leaves = [x, window] if y is None else [x, y, window]
    return [gram.detach(), *(leaf.grad for leaf in leaves if leaf.grad is not None)]


@part("smoothed errors", seconds=30)
def errors(context: Context) -> Verdict:
    """Value and gradient in single precision against double precision; and the same bits from a second run."""
    worst = {"gram": 0.0, "gradient": 0.0, "plain torch's gradient": 0.0}
    unequal = 0
    for noise in ("uniform", "gaussian"):
        for case in CASES:
            m, m2, n = case
            if context.dry:
                m, m2, n = min(m, 30), m2 and min(m2, 20), min(n, 30)
            x = random_scores(m, n, context.device, 0)
            x[0, 0, 0] = torch.inf
            y = None if m2 is None else random_scores(m2, n, context.device, 1)
            weights = random_scores(m, m2 or m, context.device, 2)
            wanted = evaluate(x.double(), None if y is None else y.double(), weights, noise, "reference")
            got, again, untied = (evaluate(x, y, weights, noise, method) for method in ("exact", "exact", "reference"))
            unequal += sum(not torch.equal(one, other) for one, other in zip(got, again, strict=True))
            row = {
                "gram": float((got[0] - wanted[0]).abs().max()),
                "gradient": _gradient_error(got[1:], wanted[1:], weights),
                "plain torch's gradient": _gradient_error(untied[1:], wanted[1:], weights),
            }
            context.record(noise=noise, m=m, m2=m2, n=n, **row)
            worst = {name: max(worst[name], value) for name, value in row.items()}
    passed = worst["gram"] < GRAM_CLOSE and worst["gradient"] < GRADIENT_CLOSE and not unequal
    line = ", ".join(f"{name} {value:.2g}" for name, value in worst.items())
    return Verdict(passed, f"worst errors: {line}; " + (f"{unequal} UNEQUAL repetitions" if unequal else "same bits"))


@part("smoothed times", seconds=25)
def times(context: Context) -> Verdict:
    """Kernels and plain torch, forward and backward, with multiply-adds a second beside the card's matrix rates."""
    lines = []
    size = 256 if context.dry else 4096
    factors = torch.randn((2, size, size), device=context.device)
    single = size**3 / median_seconds(lambda a: a @ a, list(factors), repeats=3)
    half = context.shared["rates"]["fp16"] if "rates" in context.shared else float("nan")
    for m, n in SIZES:
        if context.time_left() < 5:
            lines.append(f"{m} x {n} left out")
            continue
        m, n = (m // 100 + 2, n // 100 + 2) if context.dry else (m, n)
        inputs = [random_scores(m, n, context.device, seed) for seed in range(2)]
        weights = random_scores(m, m, context.device, 2)
        work = n * (n - 1) // 2 * (m * (m + 1) // 2)
        row: dict[str, Any] = {}
        for method in ("exact", "reference"):
            row[f"{method} forward"] = median_seconds(_forward(method), inputs, repeats=5, at_most=0.5)
            row[f"{method} backward"] = median_seconds(_backward(method, weights), inputs, repeats=5, at_most=0.5)
        rate = work / row["exact forward"]
        context.record(m=m, n=n, multiply_adds=work, fp32=single, fp16=half, **row)
        lines.append(
            f"{m} x {n}: forward {row['exact forward']:.4g} s, backward {row['exact backward']:.4g} s "
            f"(plain torch {row['reference forward']:.4g} and {row['reference backward']:.4g}), "
            f"{rate / single:.2f} of the fp32 and {rate / half:.2f} of the fp16 matrix rate"
        )
    return Verdict(True, "; ".join(lines))


def _forward(method: str) -> Callable[[Tensor], Tensor]:
    window = torch.tensor(WINDOW, dtype=torch.float64)
    return lambda x: smoothed_gram(x, None, window, "uniform", method, WORKSPACE, False)


def _backward(method: str, weights: Tensor) -> Callable[[Tensor], Any]:
    window = torch.tensor(WINDOW, dtype=torch.float64)
    backward = torch.ops.torchrank.smoothed_gram_backward
    return lambda x: backward(weights, x, None, window, "uniform", method, WORKSPACE)


def _gradient_error(got: list[Tensor], wanted: list[Tensor], weights: Tensor) -> float:
    """The largest error for scores, relative to the largest entry, and for the window, a sum which may cancel."""
    errors = [float((one.double() - other).abs().max()) for one, other in zip(got, wanted, strict=True)]
    sizes = [float(other.abs().max()) for other in wanted[:-1]] + [float(weights.norm()) / WINDOW]
    return max(error / size if size else error for error, size in zip(errors, sizes, strict=True))
