"""Checks of values. They are ops, so that graphs that torch.compile makes keep them.

Each gives 0, which is added to what was checked: a graph that needs the values can't drop their check, and derivatives
of every mode and order pass it by.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torchrank.ops.registration import implement
from torchrank.rankings import validate

_SUM_TOLERANCE = 1e-6  # of weights that may come from float32


def _check(name: str, arguments: str = "") -> Callable[[Callable[..., None]], Callable[..., Tensor]]:
    """Make a check of ``(Tensor values, ...)`` an op; the result gives the values back, checked."""

    def define(check: Callable[..., None]) -> Callable[..., Tensor]:
        op = f"torchrank::{name}"
        torch.library.define(op, f"(Tensor values{arguments}) -> Tensor")
        call = getattr(torch.ops.torchrank, name)

        def body(values: Tensor, *rest: Any) -> Tensor:
            check(values, *rest)
            return values.new_zeros(())

        implement(name, "default", body)
        torch.library.register_fake(op, lambda values, *rest: values.new_empty(()))
        torch.library.register_vmap(
            op, lambda info, dims, values, *rest: (call(values.movedim(dims[0], 0), *rest), None)
        )

        def checked(values: Tensor, *rest: Any) -> Tensor:
            return values + call(values.detach(), *rest)

        checked.__doc__ = check.__doc__
        return checked

    return define


@_check("check_complete", ", str name")
def complete_scores(scores: Tensor, name: str) -> None:
    """Floating-point ``scores`` ``(..., m, n)``; ``ValueError`` where one is NaN."""
    unranked = scores.isnan()
    if bool(unranked.any()):
        validate.refuse_unranked(-unranked.int(), name, "smoothing compares all pairs: complete or drop these rows")


@_check("check_concentration")
def checked_concentration(lam: Tensor) -> None:
    """Concentrations; ``ValueError`` where one is negative, infinite or NaN."""
    legal = (lam >= 0) & lam.isfinite()
    if not bool(legal.all()):
        wrong = lam[~legal].flatten()[0].item()
        raise ValueError(f"lam={wrong!r} is out of range; a Mallows kernel needs a finite lam >= 0")


@_check("check_window")
def positive_window(window: Tensor) -> None:
    """Windows; ``ValueError`` unless they are positive and finite."""
    legal = (window > 0) & (window < math.inf)
    if not bool(legal.all()):
        wrong = window[~legal].flatten()[0].item()
        raise ValueError(f"window={wrong!r} is out of range; it must be positive and finite")


@_check("check_pair_weights")
def pair_weights(pairs: Tensor) -> None:
    """Weights ``(..., n, n)``; ``ValueError`` unless they weight pairs of different items."""
    for wrong, problem in (
        (~((pairs >= 0) & (pairs < torch.inf)), "weights must be finite and at least 0"),
        (
            torch.diag_embed(pairs.diagonal(dim1=-2, dim2=-1)) != 0,
            "an item is not compared with itself, so the diagonal must be 0",
        ),
        (pairs != pairs.mT, "pairs must be symmetric"),
    ):
        if bool(wrong.any()):
            *batch, i, j = (int(k) for k in wrong.nonzero()[0])
            raise ValueError(f"pairs has {pairs[(*batch, i, j)].item()!r} at ({i}, {j}); {problem}")


@_check("check_simplex")
def simplex_weights(weights: Tensor) -> None:
    """Weights ``(..., p)``; ``ValueError`` unless they are at least 0 and add up to 1."""
    negative = ~(weights >= 0)
    if bool(negative.any()):
        *batch, part = (int(k) for k in negative.nonzero()[0])
        raise ValueError(
            f"weights[{part}]={weights[(*batch, part)].item()!r} is out of range; weights must be at least 0"
        )
    total = weights.sum(dim=-1, dtype=torch.float64)
    wrong = (total - 1).abs() > _SUM_TOLERANCE
    if bool(wrong.any()):
        raise ValueError(
            f"weights add up to {float(total[wrong][0])!r}; they must add up to 1: pass weights / weights.sum()"
        )


@_check("check_symmetric", ", str name")
def symmetric_gram(K: Tensor, name: str) -> None:
    """A Gram matrix ``(..., m, m)``; ``ValueError`` unless it is symmetric up to rounding in float32."""
    if not torch.allclose(K, K.mT, rtol=1e-4, atol=1e-6, equal_nan=True):
        raise ValueError(f"{name} is not symmetric; for new against training rows pass K_train, that of the latter")
