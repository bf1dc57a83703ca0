"""Weights of items and of pairs of items in a loss."""

from __future__ import annotations

import math
from typing import Any, get_args

import torch
from torch import Tensor

from torchrank.losses.rows import LEAST, Rows, fitted
from torchrank.ops.checks import item_weights
from torchrank.ops.checks import pair_weights as checked_pair_weights
from torchrank.rankings.arrays import as_tensor
from torchrank.rankings.orders import best_first
from torchrank.rankings.powers import exponent_of, power_of_two
from torchrank.rankings.validate import check_choice
from torchrank.typing import LossScheme

SCHEMES = get_args(LossScheme)

ARGUMENTS = {
    "weights": """\
of items, finite and at least 0: ``(n,)``, or broadcast to the shape of the prediction; or "hyperbolic" for 1 / (1 + r)
with r = 0 for the item that the target prefers, 1 for the next, and so on, tied ones by index, so that the top counts
most (Vigna, A weighted correlation index for rankings with ties, WWW 2015). None for equal weights. Ratios alone
count.""",
    "scheme": """\
"sum" if a pair weighs :math:`w_i + w_j`, "product" for :math:`w_i w_j`.""",
    "pairs": """\
weights of pairs of items in their place, such as :func:`torchrank.pair_weights` makes: ``(n, n)``, or ``(..., n, n)``
for each row; symmetric, 0 on the diagonal. They take memory of their own size, and time O(n^2).""",
}


def row_weights(weights: Any, pairs: Any, scheme: str, rows: Rows) -> tuple[Tensor | None, str]:
    """Weights as the op takes them, ``(r, n)`` or ``(r, n, n)`` float64, and what they are.

    Values are looked at on the CPU only, where nothing waits for them.

    Raises:
        TypeError: not real numbers.
        ValueError: both kinds at once; negative or infinite weights; shapes or devices that do not fit.
    """
    check_choice(scheme, "scheme", SCHEMES)
    if pairs is not None:
        if weights is not None:
            raise ValueError("weights and pairs are both given; pass weights of items, or of pairs")
        return _of_pairs(pairs, rows), "pairs"
    if weights is None:
        return None, "product"
    if isinstance(weights, str):
        check_choice(weights, "weights", ("hyperbolic",))
        return _hyperbolic(rows.ranks), scheme
    given, origin = as_tensor(weights, "weights", "real numbers, one for each item")
    given = given.to(rows.x.device) if origin.numpy else given
    table = fitted(given, "weights", rows.x.new_empty(rows.shape), rows.shape)
    table = _rows_of(table, rows, 1)
    table = torch.where(rows.ranks >= 0, table, 0)
    return _scaled(item_weights(table) if table.device.type == "cpu" else table, (-1,)), scheme


def _of_pairs(pairs: Any, rows: Rows) -> Tensor:
    given, origin = as_tensor(pairs, "pairs", "real numbers, one for each pair of items")
    given = given.to(device=rows.x.device) if origin.numpy else given
    given = given.to(torch.float64)
    n = rows.shape[-1]
    if given.ndim < 2 or given.shape[-2:] != (n, n):
        raise ValueError(
            f"pairs has shape {tuple(given.shape)}; expected (..., {n}, {n}), a weight for each pair of items"
        )
    given = checked_pair_weights(given) if given.device.type == "cpu" else given
    if n > 0:
        given = _scaled(given, (-2, -1))  # before it is broadcast, which takes no memory
    return _rows_of(fitted(given, "pairs", rows.x.new_empty(rows.shape), (*rows.shape[:-1], n, n)), rows, 2)


def _rows_of(table: Tensor, rows: Rows, dims: int) -> Tensor:
    """Weights of rows one after another, with as many items as the op's scores have."""
    table = table.to(torch.float64).reshape(math.prod(rows.shape[:-1]), *table.shape[-dims:])
    short = LEAST - rows.shape[-1]
    return torch.nn.functional.pad(table, (0, short) * dims) if short > 0 else table


def _scaled(weights: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Weights of each row times a power of two, so that no sum of large or small ones leaves the range of float64."""
    exponent = exponent_of(weights.detach().amax(dims, keepdim=True))
    return weights * power_of_two(-exponent.clamp(-1022, 1022))


def _hyperbolic(ranks: Tensor) -> Tensor:
    """1 / (1 + place) by the order of ranks ``(r, n)``, what does not count last."""
    return 1 / (1 + best_first(ranks).argsort(-1).to(torch.float64))
