"""Hypothesis strategies that speak of rankings: every dtype, extreme scores, every memory layout."""

import sys
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64", "longdouble")
DTYPES = ("bool", *INTEGERS, *FLOATS)
TORCH_DTYPES = [getattr(torch, name) for name in ("bool", *INTEGERS, "float16", "bfloat16", "float32", "float64")]
LAYOUTS = ("contiguous", "strided", "reversed", "transposed", "read-only", "big-endian", "unaligned")
KINDS = ("total", "tied", "constant")


def extreme_scores(dtype: str) -> list[Any]:
    """Scores at the edges of a NumPy dtype, least first: neighbors there differ, and only exact software can tell."""
    if dtype == "bool":
        return [False, True]
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        edges = {info.min, info.min + 1, -1, 0, 1, 2**53 - 1, 2**53, 2**53 + 1, 2**63, info.max - 1, info.max}
        return sorted(edge for edge in edges if info.min <= edge <= info.max)
    info = np.finfo(dtype)
    one, zero, tiny = info.dtype.type(1), info.dtype.type(0), info.smallest_subnormal
    next_one = one + info.eps
    return [-np.inf, info.min, -next_one, -one, -tiny, -zero, zero, tiny, one, next_one, info.max, np.inf]


@st.composite
def score_arrays(
    draw: st.DrawFn,
    *,
    rows: int | tuple[int, int] = (0, 5),
    items: int | tuple[int, int] = (2, 12),
    dtypes: tuple[str, ...] = DTYPES,
    layouts: tuple[str, ...] = LAYOUTS,
    missing: bool = False,
) -> np.ndarray:
    """``(m, n)`` scores, m and n given or within bounds.

    With ``missing`` some of those with a floating dtype are NaN, up to whole rows.
    """
    m, n = (size if isinstance(size, int) else draw(st.integers(*size)) for size in (rows, items))
    dtype = draw(st.sampled_from(dtypes))
    scores = np.array([draw(_row(dtype, n)) for _ in range(m)], dtype=dtype).reshape(m, n)
    if missing and dtype in FLOATS:
        scores[draw(_masks(m, n))] = np.nan
    return with_layout(scores, draw(st.sampled_from(layouts)))


def score_array_pairs(**settings: Any) -> st.SearchStrategy[tuple[np.ndarray, np.ndarray]]:
    """Two arrays ``(m, n)`` and ``(m2, n)`` of :func:`score_arrays`, their dtypes and layouts drawn apart."""
    return st.integers(2, 10).flatmap(lambda n: st.tuples(*[score_arrays(items=n, **settings)] * 2))


def _row(dtype: str, n: int) -> st.SearchStrategy[list[Any]]:
    edges = extreme_scores(dtype)
    few = [
        st.lists(st.sampled_from(edges), min_size=n, max_size=n),
        st.sampled_from(edges).map(lambda edge: [edge] * n),
    ]
    return st.one_of(*few) if dtype == "bool" else st.one_of(st.permutations(range(n)), *few)


def _masks(m: int, n: int) -> st.SearchStrategy[np.ndarray]:
    flags = st.lists(st.sampled_from([False, False, True]), min_size=m * n, max_size=m * n)
    return flags.map(lambda values: np.array(values, dtype=bool).reshape(m, n))


@st.composite
def score_tensors(draw: st.DrawFn, *, missing: bool = False) -> torch.Tensor:
    """``(m, n)`` scores of any torch dtype; strided and transposed ones among them."""
    dtype = draw(st.sampled_from(TORCH_DTYPES))
    name = "float32" if dtype == torch.bfloat16 else str(dtype).removeprefix("torch.")
    array = draw(score_arrays(dtypes=(name,), layouts=("contiguous",), missing=missing))
    scores = torch.from_numpy(array).to(dtype)
    layout = draw(st.sampled_from(("contiguous", "strided", "transposed")))
    if layout == "strided":
        between = torch.from_numpy(array[:, ::-1].copy()).to(dtype)  # torch 2.6 does not flip unsigned integers
        return torch.stack([scores, between], dim=-1)[..., 0]
    return scores.mT.contiguous().mT if layout == "transposed" else scores


def with_layout(array: np.ndarray, layout: str) -> np.ndarray:
    """An equal array that lies in memory in another way."""
    if layout == "strided":
        wide = np.zeros((2 * array.shape[0], 3 * array.shape[1]), array.dtype)
        wide[::2, ::3] = array
        return wide[::2, ::3]
    if layout == "reversed":
        return array[::-1, ::-1].copy()[::-1, ::-1]
    if layout == "transposed":
        return np.asfortranarray(array)
    if layout == "read-only":
        array = array.copy()
        array.flags.writeable = False
    elif layout == "big-endian":
        return array.astype(array.dtype.newbyteorder("<" if sys.byteorder == "big" else ">"))
    elif layout == "unaligned":  # a field of packed records
        records = np.zeros(array.shape, np.dtype([("flag", np.int8), ("score", array.dtype)]))
        records["score"] = array
        return records["score"]
    return array


def random_scores(rng: np.random.Generator, kind: str, *shape: int, missing: float = 0.0) -> np.ndarray:
    """``(..., n)`` float64 scores of one kind: "total", "tied" or "constant"; a share ``missing`` of them NaN."""
    n = shape[-1]
    if kind == "total":
        scores = rng.permuted(np.broadcast_to(np.arange(n, dtype=np.float64), shape), axis=-1)
    else:
        levels = max(2, n // 3) if kind == "tied" else 1
        scores = rng.integers(0, levels, shape).astype(np.float64)
    scores[rng.random(shape) < missing] = np.nan
    return scores


def dense_ranks(scores: np.ndarray) -> torch.Tensor:
    """Ranks as the op takes them: 0, 1, ... in each row from the least score on, equal for ties, -1 for NaN; int32."""
    ranks = np.full(scores.shape, -1, np.int32)
    for row, out in zip(scores.reshape(-1, scores.shape[-1]), ranks.reshape(-1, scores.shape[-1]), strict=True):
        ranked = ~np.isnan(row)
        out[ranked] = np.unique(row[ranked], return_inverse=True)[1]
    return torch.from_numpy(ranks)
