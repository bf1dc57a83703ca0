"""A public name, how to call it on small inputs, and what of its results has which axes."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch


@dataclasses.dataclass(frozen=True)
class Call:
    """How to call one public name.

    ``inputs`` are float64 arrays by the names that ``function`` takes, and their kinds by the first letter of a name:
    X, Y scores of which order counts; w weights of rows; K, F, V numbers whose values count; z integers.
    ``axes`` has a word for each result: m rows, n items, other letters what no permutation touches; "" for a number,
    None for what is not compared where rows or items are permuted.
    """

    function: Callable[..., Any]
    inputs: Mapping[str, np.ndarray]
    axes: tuple[str | None, ...] = ()
    tensors: bool = False  # takes tensors only
    arrays: bool = False  # takes arrays and data frames only, as estimators do
    pointwise: bool = False  # each row's results depend on that row alone (or each pair's on that pair)
    batches: bool = False  # takes leading batch dimensions
    vmap: bool = False  # torch.func.vmap goes through; else it is refused
    batched: tuple[str, ...] = ()  # inputs with batch dimensions; none named: those with a row for each ranking
    compiles: bool = False
    derivative: str = ""  # in X: "refused" or "smooth"
    reordered: bool = True  # rows may come in another order
    items: bool = True  # items may come in another order
    scales: bool = False  # results grow with the weights
    slack: float = 0.0  # how far results from numbers of lower precision may be, where rounding is amplified
    columns: bool = False  # takes columns of the inputs, which the recipe cuts out
    half: bool = True  # scores may be integers: there are no gaps among them


def rows_of(name: str) -> bool:
    """Whether an input has a row for each of the m rankings."""
    return name[0] in "XwzV" and not name.endswith("_")


def batched(call: Call) -> tuple[str, ...]:
    """The inputs that have batch dimensions where a call takes them."""
    return call.batched or tuple(name for name in call.inputs if rows_of(name))


def turned(name: str, array: np.ndarray) -> np.ndarray:
    """An input with its rows in reverse; kernel matrices, which are symmetric, with their columns too."""
    return array[::-1, ::-1].copy() if name[0] == "K" else array[::-1].copy()


def flat(result: Any) -> list[Any]:
    """The tensors, arrays and numbers of a result, one after another."""
    if result is None or isinstance(result, (str, torch.dtype)):
        return []
    if isinstance(result, (torch.Tensor, np.ndarray, np.generic, int, float)):
        return [result]
    if isinstance(result, (pd.DataFrame, pd.Series)):
        return [result.to_numpy()]
    if dataclasses.is_dataclass(result):
        return flat([getattr(result, field.name) for field in dataclasses.fields(result)])
    if isinstance(result, Mapping):
        return flat(list(result.values()))
    return [part for one in result for part in flat(one)]


def doubles(part: Any) -> np.ndarray:
    """A part of a result in float64, whatever its dtype."""
    if isinstance(part, torch.Tensor):
        part = part.detach().cpu()
        return part.double().numpy() if part.dtype != torch.bool else part.numpy().astype(np.float64)
    return np.asarray(part, dtype=np.float64)


def tolerance(part: Any) -> float:
    """How far results of its dtype may be from those of float64."""
    dtype = str(getattr(part, "dtype", "float64")).removeprefix("torch.")
    return {"bfloat16": 2e-2, "float16": 2e-3, "float32": 2e-5}.get(dtype, 1e-9)


def assert_same(got: Any, expected: Any, slack: float = 0.0) -> None:
    """Every part within the tolerance of its dtype, or ``slack``, of what was expected; NaN equals NaN."""
    parts, others = flat(got), flat(expected)
    assert len(parts) == len(others)
    for part, other in zip(parts, others, strict=True):
        near = max(slack, tolerance(part), tolerance(other))
        np.testing.assert_allclose(doubles(part), doubles(other), rtol=near, atol=near)
