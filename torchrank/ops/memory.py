"""Say how large a matrix over all pairs of rows is, and what to do, where memory for it cannot be had."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")


def explaining_memory(body: Callable[..., Result]) -> Callable[..., Result]:
    """``body(x, ..., y, ...)`` of rows ``(b, m, n)``; ``torch.OutOfMemoryError`` names their numbers and a remedy."""

    @wraps(body)
    def explained(*args: Any) -> Result:
        try:
            return body(*args)
        except (RuntimeError, MemoryError) as error:
            known = isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "allocate" in str(error)
            if not known or "f(X, Y[start:stop])" in str(error):
                raise
            sides = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.ndim == 3]
            if not sides:
                raise torch.OutOfMemoryError(f"no memory for a matrix over all pairs of rankings: {_REMEDY}") from error
            b, m, m2 = sides[0].shape[0], sides[0].shape[1], sides[-1].shape[1]
            size = f"{8 * b * m * m2 / 2**30:.1f} GiB in float64" + (f", {b} batches" if b > 1 else "")
            raise torch.OutOfMemoryError(
                f"no memory on {sides[0].device} for a matrix of {m} x {m2} rankings ({size}): {_REMEDY}"
            ) from error

    return explained


_REMEDY = (
    "pass out=, a file or an array on disk, where the function has it, or compute blocks, f(X, Y[start:stop]); "
    "kendall_neighbors and kendall_graph keep the nearest pairs alone"
)
