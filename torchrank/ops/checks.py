"""Checks of values. They are ops, so that graphs that torch.compile makes keep them.

Each gives 0, which is added to what was checked: a graph that needs the values can't drop their check, and derivatives
pass it by.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from torchrank.ops.registration import implement
from torchrank.rankings import validate
from torchrank.rankings.arrays import TOO_FAR_APART
from torchrank.rankings.derivatives import in_transform

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
            if is_plain(values):  # an op takes as long as ten operations of torch
                check(values.detach(), *rest)
                return values
            return values + call(values.detach(), *rest)

        checked.__doc__ = check.__doc__
        return checked

    return define


def is_plain(values: Tensor) -> bool:
    """Whether these are numbers at hand, and neither a graph nor a transform is made of them."""
    plain = type(values) in (Tensor, Parameter) and not values.is_meta
    return plain and not torch.compiler.is_compiling() and not in_transform()


def _refuse_nan(scores: Tensor, name: str) -> None:
    """Floating-point ``scores`` ``(..., m, n)``; ``ValueError`` where one is NaN."""
    unranked = scores.isnan()
    if bool(unranked.any()):
        validate.refuse_unranked(-unranked.int(), name, "smoothing compares all pairs: complete or drop these rows")


complete_scores = _check("check_complete", ", str name")(_refuse_nan)


@_check("check_concentration")
def checked_concentration(lam: Tensor) -> None:
    """Concentrations; ``ValueError`` where one is negative, infinite or NaN."""
    legal = (lam >= 0) & lam.isfinite()
    if not bool(legal.all()):
        wrong = lam[~legal].flatten()[0].item()
        raise ValueError(f"lam={wrong!r} is out of range; a Mallows kernel needs a finite lam >= 0")


def _is_window(window: Tensor) -> Tensor:
    return (window > 0) & (window < math.inf)


def _refuse_window(window: Tensor, name: str = "window") -> None:
    """Windows; ``ValueError`` unless they are positive and finite."""
    legal = _is_window(window)
    if not bool(legal.all()):
        wrong = window[~legal].flatten()[0].item()
        raise ValueError(f"{name}={wrong!r} is out of range; it must be positive and finite")


positive_window = _check("check_window", ", str name='window'")(_refuse_window)


@_check("check_weights_of_rows", ", str name, bool all_may_be_zero")
def weights_of_rows(weights: Tensor, name: str, all_may_be_zero: bool) -> None:
    """What :func:`torchrank.rankings.validate.as_weights` checks, for graphs."""
    validate.check_weights(weights, name, all_may_be_zero)


@_check("check_item_weights")
def item_weights(weights: Tensor) -> None:
    """Weights ``(..., n)``; ``ValueError`` unless they are finite and at least 0."""
    wrong = ~((weights >= 0) & (weights < torch.inf))
    if bool(wrong.any()):
        *row, item = (int(k) for k in wrong.nonzero()[0])
        raise ValueError(
            f"weights has {weights[(*row, item)].item()!r} for item {item} of row {validate.place_of(row)}; weights "
            "must be finite and at least 0"
        )


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


def _refuse_rounded(rounded: Tensor, name: str) -> None:
    """Flags of rows ``(...)``; ``ValueError`` for a row whose integers float64 would round."""
    if bool(rounded.any()):
        row = [int(i) for i in rounded.nonzero()[0]]
        raise ValueError(f"{name} {TOO_FAR_APART.format(row=validate.place_of(row) if row else 0)}")


_check_rounded = _check("check_rounded", ", str name")(_refuse_rounded)


def exact_differences(scores: Tensor, name: str, counted: Tensor | None = None) -> Tensor:
    """Scores ``(..., n)`` whose differences in rows count, in float64 if they are integers of 64 bits.

    Where float64 would round such integers, a row loses its least number, which changes no difference.

    Args:
        scores: of any real dtype.
        name: what to call them in messages.
        counted: bool of the same shape, which of them count; None for all.

    Raises:
        ValueError: a row whose integers float64 does not hold even so.
    """
    if scores.is_floating_point() or scores.element_size() < 8 or scores.shape[-1] == 0:
        return scores
    lowest = torch.iinfo(torch.int64).min
    unsigned = scores.dtype == torch.uint64
    bits = scores.view(torch.int64) if unsigned else scores
    bits = bits if counted is None else torch.where(counted, bits, 0)
    held = _is_exact(bits if unsigned else bits.abs()).all(-1)
    in_order = bits ^ lowest if unsigned else bits  # as signed numbers
    known = in_order if counted is None else torch.where(counted, in_order, torch.iinfo(torch.int64).max)
    over_least = in_order - known.amin(-1, keepdim=True)  # from 2^63 on a negative number, whose bits are right
    over_least = over_least if counted is None else torch.where(counted, over_least, 0)
    plain = _float_of_unsigned(bits) if unsigned else bits.to(torch.float64)
    exact = torch.where(held[..., None], plain, _float_of_unsigned(over_least))
    rounded = _check_rounded(~(held | _is_exact(over_least).all(-1)), name)
    return torch.where(rounded[..., None], torch.nan, exact)


def _is_exact(bits: Tensor) -> Tensor:
    """Whether float64 holds integers, which are given as the bits of unsigned ones of 64: 53 of them may be in use."""
    unit = (bits & -bits).clamp(min=1)
    return torch.where(bits < 0, bits & (2**11 - 1) == 0, bits // unit < 2**53)


def _float_of_unsigned(bits: Tensor) -> Tensor:
    return bits.to(torch.float64) + torch.where(bits < 0, 2.0**64, 0.0)


torch.library.define("torchrank::check_smoothing", "(Tensor x, Tensor? y, Tensor window) -> Tensor")


def checked_smoothing(x: Tensor, y: Tensor | None, window: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
    """Scores and the window ``()`` that smooths them, checked at the cost of one wait for a CUDA device.

    Raises:
        ValueError: a window that is not positive and finite; a NaN, by row and item.
    """
    call = torch.ops.torchrank.check_smoothing
    zero = call(x.detach(), None if y is None else y.detach(), window.detach())
    of_scores = zero if zero.device.type == "cpu" else zero.to(x.device)  # a number of the CPU is added without a wait
    return x + of_scores, None if y is None else y + of_scores, window + zero


def _smoothing(x: Tensor, y: Tensor | None, window: Tensor) -> Tensor:
    sides = [(side, name) for side, name in ((x, "X"), (y, "Y")) if side is not None]
    apart = window.device != x.device
    if x.device.type != "cpu":  # one question for all, which is all that is asked where nothing is wrong
        wrong = [side.isnan().any() for side, _ in sides]
        wrong += [] if apart else [~_is_window(window).all()]
        sides = sides if bool(torch.stack(wrong).any()) else []
    for side, name in sides:
        _refuse_nan(side, name)
    if sides or apart:
        _refuse_window(window)
    return window.new_zeros(())


implement("check_smoothing", "default", _smoothing)
torch.library.register_fake("torchrank::check_smoothing", lambda x, y, window: window.new_empty(()))


def _smoothing_of_all(info: Any, dims: tuple[int | None, ...], *sides: Tensor) -> tuple[Tensor, None]:
    moved = (side if dim is None else side.movedim(dim, 0) for side, dim in zip(sides, dims, strict=True))
    return torch.ops.torchrank.check_smoothing(*moved), None


torch.library.register_vmap("torchrank::check_smoothing", _smoothing_of_all)
