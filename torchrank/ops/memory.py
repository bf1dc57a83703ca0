"""Say how large a result is, and what to do, where memory for it cannot be had."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")

PARTS = (
    "pass out=, a file or an array on disk, where the function has it, or compute blocks, f(X, Y[start:stop]); "
    "kendall_neighbors and kendall_graph keep the nearest pairs alone"
)
TESTS = "kendall_graph with alpha= keeps the significant pairs alone; or test parts, f(X, Y[start:stop])"
FEATURES = (
    "take rows in parts, X[start:stop], or the kernel of the same values, kendall_gram or smoothed_kendall_gram, which "
    "needs no features; LandmarkFeatures are few"
)


def explaining(size: Callable[..., str], remedy: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Make ``torch.OutOfMemoryError`` of a function name what ``size`` says of its arguments, and a remedy."""

    def explain(body: Callable[..., Result]) -> Callable[..., Result]:
        @wraps(body)
        def explained(*args: Any) -> Result:
            if torch.compiler.is_compiling():
                return body(*args)
            try:
                return body(*args)
            except (RuntimeError, MemoryError) as error:
                known = isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "allocate" in str(error)
                if not known or str(error).startswith(_START):
                    raise
                raise torch.OutOfMemoryError(f"{_START}{size(*args)}: {remedy}") from error

        return explained

    return explain


_START = "no memory "


def matrix_size(*args: Any) -> str:
    """Of a matrix over all pairs of rows ``(b, m, n)``, the first and the last of such tensors."""
    sides = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.ndim == 3]
    if not sides:
        return "for a matrix over all pairs of rankings"
    b, m, m2 = sides[0].shape[0], sides[0].shape[1], sides[-1].shape[1]
    size = gibibytes(b * m * m2) + (f", {b} batches" if b > 1 else "")
    return f"on {sides[0].device} for a matrix of {m} x {m2} rankings ({size})"


def feature_size(x: torch.Tensor, *args: Any) -> str:
    """Of features of all pairs of items of rows ``(..., n)``."""
    n = x.shape[-1]
    rows, pairs = x.numel() // max(1, n), n * (n - 1) // 2
    return f"on {x.device} for {rows} x {pairs} features ({gibibytes(rows * pairs)})"


def gibibytes(numbers: int) -> str:
    """How much so many numbers take."""
    return f"{8 * numbers / 2**30:.1f} GiB in float64, half of it in float32"


explaining_memory = explaining(matrix_size, PARTS)
