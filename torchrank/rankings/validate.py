"""What users pass is checked here, or refused with a message that says what to do."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from torchrank.rankings.arrays import Matrix, Origin, as_tensor, is_data_set
from torchrank.rankings.derivatives import on_values
from torchrank.rankings.names import check_same_rows
from torchrank.rankings.prepared import Prepared
from torchrank.typing import DataSetLike, Kind, SparseMatrix, Values

# Tensors, what NumPy makes an array of, data frames, Rankings and SparseRankings, data sets, sparse matrices.
Scores: TypeAlias = Values[Kind] | Prepared[Kind] | DataSetLike[Kind] | SparseMatrix


_SCORES = (
    "scores that are real numbers or bool, one for every item of a row (NaN for unranked ones); "
    "torchrank.datasets.ranking_data makes them of names, of gaps and of data frames with other columns"
)
_GRAM = "a Gram matrix of real floating-point numbers"


class ScorePair(NamedTuple):
    """Two checked score tensors and how their result has to look, where differences of scores count."""

    X: Tensor  # (..., m, n)
    Y: Tensor | None  # (..., m2, n); None means X
    dtype: torch.dtype  # of a real-valued result
    origin: Origin


def as_scores(
    X: Any, name: str = "X", *, least_dims: int = 2, least_items: int = 2, ordinal: bool = True, apart: bool = False
) -> tuple[Tensor, Origin]:
    """Turn scores into a tensor without changing their order.

    ``ordinal`` and ``apart`` say whether their order or differences count, as for :func:`.arrays.as_tensor`.

    Returns:
        The scores ``(..., n)`` with ``n >= least_items``, and where they came from.

    Raises:
        TypeError: complex, string or date values, other objects, a sparse or a masked array.
        ValueError: fewer than ``least_dims`` dimensions or ``least_items`` items.
    """
    if isinstance(X, Prepared):
        if not ordinal or apart:
            raise TypeError(f"{name} are prepared rankings, which have no differences of scores; pass the scores")
        return X.as_scores(), X.origin
    if is_data_set(X):
        words = {"least_dims": least_dims, "least_items": least_items, "ordinal": ordinal, "apart": apart}
        scores, origin = as_scores(X.scores, name, **words)
        return scores, origin.of_data_set(X)
    scores, origin = as_tensor(X, name, _SCORES, ordinal=ordinal and not apart, apart=apart)
    if scores.ndim < least_dims:
        shape = tuple(scores.shape)
        row = f"{name}.to_numpy()" if hasattr(X, "iloc") else name
        hint = f"; for one ranking pass {row}[None, :]" if scores.ndim == 1 else ""
        wanted = "(..., items)" if least_dims == 1 else f"(..., rankings, items) with at least {least_dims} dimensions"
        raise ValueError(f"{name} has shape {shape}; expected {wanted}{hint}")
    if scores.shape[-1] < least_items:
        raise ValueError(
            f"{name} has shape {tuple(scores.shape)}, {scores.shape[-1]} item(s) a row; ranking needs at least "
            f"{least_items} items"
        )
    return scores, origin


def score_pair(X: Scores, Y: Scores | None) -> ScorePair:
    """Check scores whose differences count, the two sides of a Gram matrix.

    Raises:
        TypeError: as :func:`as_scores`; prepared rankings, which have lost the differences.
        ValueError: as :func:`as_scores` and :func:`check_sides`; items of other names on both sides.
    """
    x, origin = as_scores(X, "X", apart=True)
    if Y is None:
        return ScorePair(x, None, real_dtype(x, origin), origin)
    y, y_origin = as_scores(Y, "Y", apart=True)
    check_sides((x.shape, y.shape), (x.device, y.device))
    origin = origin.joint(y_origin)
    of_x, of_y = (real_dtype(side, origin) if side.is_floating_point() else None for side in (x, y))
    return ScorePair(x, y, joint_dtype(of_x, of_y, origin), origin)


def check_sides(shapes: tuple[torch.Size, torch.Size], devices: tuple[torch.device, torch.device]) -> None:
    """Check the shapes ``(..., m, n)`` of the two sides of a Gram matrix, and where they are, against each other.

    Raises:
        ValueError: different numbers of items, different devices, batch dimensions that do not broadcast.
    """
    x, y = shapes
    if x[-1] != y[-1]:
        raise ValueError(f"X ranks {x[-1]} items and Y ranks {y[-1]}; both must rank the same items, column by column")
    if devices[0] != devices[1]:
        raise ValueError(f"X is on {devices[0]} and Y on {devices[1]}; move one of them, for example Y.to(X.device)")
    try:
        torch.broadcast_shapes(x[:-2], y[:-2])
    except RuntimeError:
        raise ValueError(
            f"batch dimensions {tuple(x[:-2])} of X and {tuple(y[:-2])} of Y do not broadcast; "
            "they follow the rules of torch.cdist"
        ) from None


def joint_dtype(x: torch.dtype | None, y: torch.dtype | None, origin: Origin) -> torch.dtype:
    """The dtype of real results of two sides of these floating dtypes; None for integers, which widen nothing."""
    if x is None or y is None:
        return x or y or origin.default_dtype
    return torch.promote_types(x, y)


def real_dtype(scores: Tensor, origin: Origin) -> torch.dtype:
    """The dtype of real results: that of floating scores, float32 for 8-bit ones, else NumPy's or torch's default."""
    if scores.is_floating_point():
        return scores.dtype if scores.element_size() > 1 else torch.float32
    return origin.default_dtype


def count_dtype(scores: Tensor, origin: Origin) -> torch.dtype:
    """The dtype of results that count: half precision has too few digits to tell thousands of items apart."""
    return torch.promote_types(real_dtype(scores, origin), torch.float32)


def as_gram(K: Matrix, name: str, *, square: bool) -> tuple[Tensor, Origin]:
    """A Gram matrix as a tensor, and where it came from.

    Raises:
        TypeError: not floating-point numbers.
        ValueError: not a matrix, or not square although it has to be.
    """
    gram, origin = as_tensor(K, name, _GRAM)
    if not gram.is_floating_point():
        raise TypeError(f"{name} has dtype {gram.dtype}; expected {_GRAM}")
    if gram.ndim < 2 or (square and gram.shape[-1] != gram.shape[-2]):
        raise ValueError(f"{name} has shape {tuple(gram.shape)}; expected a {'square ' if square else ''}matrix")
    return gram, origin


def as_weights(weights: Matrix | None, scores: Any, name: str = "weights", *, all_may_be_zero: bool = False) -> Tensor:
    """Weights of rankings ``(..., m, n)``, prepared or not, as a float64 tensor ``(..., m)``.

    None means those that prepared rankings have of their data set, or else ones.

    Batch dimensions need not be those of the scores, but have to broadcast with them.

    Raises:
        TypeError: not real numbers.
        ValueError: no rankings, another number of weights, batch dimensions that do not broadcast, another device, or
            weights that are negative, infinite or NaN, or that add up to nothing, unless ``all_may_be_zero``, as those
            of some rows of many; a series of other rankings.
    """
    m, device = scores.shape[-2], scores.device if isinstance(scores, Tensor) else scores.ranks.device
    if m == 0:
        raise ValueError(f"the rankings have shape {tuple(scores.shape)}; at least one is needed")
    if weights is None:
        own = None if isinstance(scores, Tensor) else scores.weights
        return torch.ones(m, dtype=torch.float64, device=device) if own is None else own
    if not isinstance(scores, Tensor):
        check_same_rows(scores.origin.rows, weights, name)
    table, origin = as_tensor(weights, name, "real numbers, one weight for each ranking")
    table = table.to(device) if origin.numpy else table
    if table.ndim == 0 or table.shape[-1] != m:
        raise ValueError(f"{name} has shape {tuple(table.shape)}; expected one weight for each of {m} rankings")
    if table.device != device:
        raise ValueError(f"{name} is on {table.device} and the rankings on {device}; move one of them")
    try:
        torch.broadcast_shapes(table.shape[:-1], scores.shape[:-2])
    except RuntimeError:
        raise ValueError(
            f"batch dimensions {tuple(table.shape[:-1])} of {name} do not broadcast with those of the rankings, "
            f"{tuple(scores.shape[:-2])}"
        ) from None
    table = table.to(torch.float64)
    if torch.compiler.is_compiling():  # checks are ops there, which are above this room
        return table + torch.ops.torchrank.check_weights_of_rows(table.detach(), name, all_may_be_zero)
    on_values(lambda table: check_weights(table, name, all_may_be_zero), table)
    return table


def check_weights(weights: Tensor, name: str, all_may_be_zero: bool) -> Tensor:
    """Raise unless weights ``(..., m)`` are finite, at least 0, and some above it; gives them back."""
    legal = (weights >= 0) & weights.isfinite()
    if not bool(legal.all()):
        *_, row = (int(i) for i in (~legal).nonzero()[0])
        value = weights[~legal][0].item()
        raise ValueError(f"{name} has {value:g} for row {row}; weights must be finite and at least 0")
    if not (all_may_be_zero or bool((weights.sum(dim=-1) > 0).all())):
        raise ValueError(f"{name} add up to 0; at least one ranking needs a positive weight")
    return weights


def check_choice(value: object, name: str, legal: tuple[str, ...]) -> None:
    """Raise ``ValueError`` naming the legal words unless ``value`` is one of them."""
    if value not in legal:
        raise ValueError(f"{name}={value!r} is unknown; choose one of {', '.join(map(repr, legal))}")


def check_number(value: Any, name: str) -> None:
    """Raise ``TypeError`` unless ``value`` is a real number; NaN is one."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be a number, got {type(value).__name__} {value!r}")


def as_marks(unranked: Any) -> tuple[Any, ...]:
    """What means not ranked: nothing, a number or a text, or several of them; ``TypeError`` for other marks."""
    if unranked is None:
        return ()
    marks = tuple(unranked) if isinstance(unranked, (list, tuple, set, frozenset, np.ndarray)) else (unranked,)
    for mark in marks:
        if not isinstance(mark, str):
            check_number(mark, "unranked")
    return marks


def check_at_least(value: Any, name: str, least: float, why: str = "") -> None:
    """Raise unless ``value`` is a real number, not NaN, and at least ``least``."""
    check_number(value, name)
    if not value >= least:
        raise ValueError(f"{name}={value!r} is out of range; it must be at least {least:g}{why}")


def check_finite(value: Any, name: str, least: float) -> None:
    """Raise unless ``value`` is a finite real number and at least ``least``."""
    check_at_least(value, name, least)
    if as_float(value) == math.inf:
        raise ValueError(f"{name}={value!r} is out of range; it must be finite")


def check_positive(value: Any, name: str) -> None:
    """Raise unless ``value`` is a finite real number above 0."""
    check_number(value, name)
    if not 0 < as_float(value) < math.inf:
        raise ValueError(f"{name}={value!r} is out of range; it must be positive and finite")


def as_float(value: Any) -> float:
    """A real number in float64; infinite where it is an integer beyond the largest."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value > 0 or -1)


def check_workspace(workspace: object) -> int:
    """Bytes of workspace as ops take them, at most 2^62; raise unless they are an integer of at least 1024."""
    check_count(workspace, "workspace", least=2**10, unit="bytes")
    return min(int(workspace), 2**62)  # type: ignore[call-overload]


def check_count(value: object, name: str, least: int, unit: str = "") -> None:
    """Raise unless ``value`` is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {type(value).__name__} {value!r}")
    if value < least:
        raise ValueError(f"{name}={value!r} is too small; it must be at least {least} {unit}".rstrip())


def refuse_unranked(ranks: Tensor, name: str, remedy: str) -> None:
    """Raise ``ValueError`` naming the first unranked item of ``ranks`` (..., n); looks at values: for use in ops."""
    if ranks.numel() == 0 or int(ranks.numpy().min() if ranks.device.type == "cpu" else ranks.min()) >= 0:
        return
    *batch, row, item = (int(i) for i in (ranks < 0).nonzero()[0])
    where = f"batch {tuple(batch)}, row {row}" if batch else f"row {row}"
    raise ValueError(f"{name} has NaN (an unranked item) at {where}, item {item}; {remedy}")


def refuse_ties(ranks: Tensor, name: str, remedy: str) -> None:
    """Raise ``ValueError`` naming the first row of ``ranks`` (..., n) with tied items, and two of them."""
    in_order, item = ranks.sort(dim=-1, stable=True)
    tied = (in_order[..., 1:] == in_order[..., :-1]) & (in_order[..., 1:] >= 0)
    if bool(tied.any()):
        *row, k = (int(i) for i in tied.nonzero()[0])
        first, second = int(item[(*row, k)]), int(item[(*row, k + 1)])
        raise ValueError(f"{name} ties items {first} and {second} in row {place_of(row)}; {remedy}")


def check_generator(generator: object) -> None:
    """Raise ``TypeError`` unless ``generator`` is one of torch's, or None."""
    if generator is not None and not isinstance(generator, torch.Generator):
        raise TypeError(
            f"generator is {type(generator).__name__}; expected torch.Generator().manual_seed(...), or None"
        )


def place_of(row: list[int]) -> str:
    """The indices of a row as messages show them."""
    return str(row[0]) if len(row) == 1 else str(tuple(row))


def check_groups(groups: Tensor) -> Tensor:
    """Group numbers ``(q,)`` as int64; ``TypeError`` unless they are integers, ``ValueError`` for a negative one."""
    if len(groups) and (groups.is_floating_point() or groups.is_complex() or groups.dtype == torch.bool):
        raise TypeError(f"groups have dtype {groups.dtype}; queries are numbered by integers")
    if len(groups) and int(groups.min()) < 0:
        raise ValueError(f"groups[{int(groups.argmin())}] is {int(groups.min())}; queries are numbered from 0")
    return groups.to(torch.int64)
