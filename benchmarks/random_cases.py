"""A million random cases for every engine on the CPU: ``python -m benchmarks.random_cases [--method M] [--cases N]``.

A case is a pair of rankings. Its five counts, as the public function returns them, have to equal those of an oracle
that looks at every pair of items; one call in three also compares kernels and distances. Calls differ in sizes, dtypes,
ties, unranked items, memory layouts, workspace and threads. The first call that is wrong is printed and ends the run.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.registry import RESULTS, Recorder
from torchrank import PairCounts, kendall_distance, kendall_gram, pair_counts
from torchrank.typing import Variant

METHODS = ("signs", "inversions", "reference")
FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), *FLOATS)
PENALTIES = (0.0, 0.125, 0.25, 0.5, 1.0, 3.0)  # multiples of 1/8, so that distances are exact in float64
SHORT = [*range(2, 41)]
WORDS = [41, 50, 63, 64, 65, 66, 100, 127, 128, 129, 200]  # items about the borders of 64-bit words
# (share of calls, numbers of items, most rankings a side, most batches, powers of 2 between which workspace is)
SIZES = (
    (0.3, SHORT, 5, 5, (10, 15)),
    (0.68, [*SHORT * 4, *WORDS], 23, 5, (15, 20)),
    (0.02, range(201, 3000), 2, 1, (17, 20)),
)
# The reference makes the signs of all pairs in as many steps as the workspace asks for, each in threads of torch, which
# spin while they wait for each other: it would take hours with sizes and threads as above.
REFERENCE_SIZES = (
    (0.3, SHORT[:9], 4, 3, (10, 15)),
    (0.695, [*SHORT * 4, *WORDS], 23, 5, (18, 20)),
    (0.005, range(201, 800), 2, 1, (19, 20)),
)
_BLOCK = 2**18  # pairs of items that the oracle looks at together


class Batch(NamedTuple):
    """One call: what is passed, and the same numbers as the oracle reads them."""

    X: Any  # (b, m, n) array or tensor
    Y: Any  # (b or 1, m2, n), or None
    x: np.ndarray
    y: np.ndarray  # x where Y is None
    settings: dict[str, Any]  # method, missing and workspace
    threads: int
    penalty: float | None  # of ties in the distance; None: counts alone


def oracle(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pairs concordant, discordant, tied in x only, in y only and in both: ``(5, b, m, m2)`` int64, from scores."""
    i, j = np.triu_indices(x.shape[-1], 1)
    total: Any = 0
    for start in range(0, len(i), _BLOCK):
        k = slice(start, start + _BLOCK)
        above, below, equal = _orders(x, i[k], j[k])
        above_y, below_y, equal_y = (order.swapaxes(-1, -2) for order in _orders(y, i[k], j[k]))
        concordant, discordant = above @ above_y + below @ below_y, above @ below_y + below @ above_y
        tied = equal @ (above_y + below_y), (above + below) @ equal_y, equal @ equal_y
        total = total + np.stack([concordant, discordant, *tied])
    return total


def _orders(x: np.ndarray, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, ...]:
    """Whether each row has item i above, below and equal to item j, in int64; with NaN it is none of these."""
    first, second = x[..., i], x[..., j]
    return tuple(order.astype(np.int64) for order in (first > second, first < second, first == second))


def draw(seed: list[int]) -> Batch:
    """The batch of a seed: that of the run, the engine's number, and the call's."""
    rng = np.random.default_rng(seed)
    method = METHODS[seed[1]]
    sizes, two_threads = (SIZES, 0.5) if method != "reference" else (REFERENCE_SIZES, 0.03)
    _, items, rows, batches, room = sizes[rng.choice(3, p=[size[0] for size in sizes])]
    n, b, missing = int(rng.choice(items)), int(rng.integers(1, batches + 1)), str(rng.choice(["raise", "pairwise"]))
    X, x = _side(rng, (b, int(rng.integers(1, rows + 1)), n), missing)
    Y, y = None, x
    if rng.random() < 0.6:
        Y, y = _side(rng, (int(rng.choice([1, b, b, b])), int(rng.integers(1, rows + 1)), n), missing)
    settings = {"method": method, "missing": missing, "workspace": int(2 ** rng.uniform(*room))}
    penalty = float(rng.choice(PENALTIES)) if rng.random() < 1 / 3 else None
    return Batch(X, Y, x, y, settings, 1 + int(rng.random() < two_threads), penalty)


def _side(rng: np.random.Generator, shape: tuple[int, int, int], missing: str) -> tuple[Any, np.ndarray]:
    """Scores as they are passed, and as the oracle reads them."""
    dtype, n = str(rng.choice(DTYPES)), shape[-1]
    levels = rng.choice([1, 2, min(3, n), max(2, n // 3), n], (*shape[:2], 1))
    tied = rng.random(levels.shape) < rng.choice([0.0, 0.5, 1.0], p=[0.5, 0.3, 0.2])
    untied = rng.permuted(np.broadcast_to(np.arange(n), shape), axis=-1)
    scores = _palette(rng, dtype, n)[np.where(tied, (rng.random(shape) * levels).astype(np.int64), untied)]
    if dtype in FLOATS and missing == "raise":
        scores[np.isnan(scores)] = 0
    elif dtype in FLOATS:
        scores[rng.random(shape) < rng.choice([0.0, 0.1, 0.5, 1.0], levels.shape, p=[0.4, 0.3, 0.2, 0.1])] = np.nan
    as_array = dtype != "bfloat16" and rng.random() < 0.5
    laid = _lay_out(scores, int(rng.integers(4 if as_array else 3)))  # tensors have no negative strides
    return laid if as_array else torch.from_numpy(laid).to(getattr(torch, dtype)), scores


def _palette(rng: np.random.Generator, dtype: str, n: int) -> np.ndarray:
    """``n`` scores by their bits, which are any or count up, infinities and other edges among them or not."""
    if dtype == "bool":
        return rng.random(n) < 0.5
    size, held = (2, "float32") if dtype == "bfloat16" else (np.dtype(dtype).itemsize, dtype)
    bits = rng.integers(0, 256, n * size, np.uint8).view(f"uint{8 * size}")
    if rng.random() < 0.5:
        bits = np.arange(n).astype(bits.dtype) + (bits[0] if rng.random() < 0.5 else bits.dtype.type(0))
    bits = bits.astype(np.uint32) << 16 if dtype == "bfloat16" else bits  # the upper half of float32
    palette = bits.view(held)
    edges = [np.inf, -np.inf, 0.0, -0.0] if dtype in FLOATS else [np.iinfo(dtype).max, np.iinfo(dtype).min, 0, 1]
    if rng.random() < 0.5:
        palette[rng.permutation(n)[:4]] = rng.permutation(np.array(edges, held))[: min(n, 4)]
    return palette


def _lay_out(scores: np.ndarray, layout: int) -> np.ndarray:
    """An equal array that lies in memory in another way: as it is, in steps, transposed, or backwards."""
    if layout == 1:
        wide = np.zeros((scores.shape[0], 2 * scores.shape[1], 3 * scores.shape[2]), scores.dtype)
        wide[:, ::2, ::3] = scores
        return wide[:, ::2, ::3]
    if layout == 2:
        return scores.swapaxes(1, 2).copy().swapaxes(1, 2)
    return scores[:, ::-1, ::-1].copy()[:, ::-1, ::-1] if layout == 3 else scores


def comparisons(batch: Batch, expected: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Names of a batch's results, and which of their entries are not those that the ``expected`` counts make."""
    X, Y, settings = batch.X, batch.Y, batch.settings
    torch.set_num_threads(batch.threads)
    for name, got, count in zip(PairCounts._fields, pair_counts(X, Y, **settings), expected, strict=True):
        yield name, _differing(got, count)
    if batch.penalty is None:
        return
    concordant, discordant, tied_x, tied_y, _ = expected.astype(np.float64)
    strict, pairs = concordant + discordant, expected.sum(0).astype(np.float64)
    scales: dict[Variant, np.ndarray] = {"a": pairs, "b": np.sqrt((strict + tied_y) * (strict + tied_x))}
    for variant, scale in scales.items():
        kernel = np.divide(concordant - discordant, scale, out=np.zeros_like(scale), where=scale > 0)
        yield f"kernel {variant}", _differing(kendall_gram(X, Y, variant=variant, **settings), kernel, 1e-15)
    distance = discordant + batch.penalty * (tied_x + tied_y)
    for name, normalize, value in (("distance", False, distance), ("share", True, distance / np.maximum(pairs, 1))):
        got = kendall_distance(X, Y, tie_penalty=batch.penalty, normalize=normalize, **settings)
        yield f"{name}, tie_penalty={batch.penalty}", _differing(got, value)


def _differing(got: Any, expected: np.ndarray, tolerance: float = 0.0) -> np.ndarray:
    """Where a result differs from what is expected, rounded to the result's dtype; everywhere if the shape does."""
    result = torch.as_tensor(got)
    if result.shape != expected.shape:
        return np.ones(expected.shape, bool)
    rounded = torch.from_numpy(expected).to(result.dtype)
    if not tolerance:
        return (result != rounded).numpy()
    most = max(tolerance, torch.finfo(result.dtype).eps if result.dtype != torch.float64 else 0)
    return ~((result.double() - rounded.double()).abs() <= most).numpy()


def check(method: str, cases: int, seed: int) -> tuple[dict[str, Any], bool]:
    """Compare at least so many cases, or up to the first wrong call; returns a row of results and whether all agree."""
    seen: Counter[str] = Counter()
    start, wrong = time.perf_counter(), 0
    while seen["cases"] < cases and not wrong:
        key = [seed, METHODS.index(method), seen["calls"]]
        batch = draw(key)
        expected = oracle(batch.x, batch.y)
        try:
            found = dict(comparisons(batch, expected))
        except Exception:
            print(f"{method}: seed {key} raises; {batch.settings}, {batch.threads} threads")
            raise
        wrong = int(np.any([*found.values()], axis=0).sum())
        if wrong:
            _report(key, batch, found)
        _tally(seen, batch, expected)
    seconds = round(time.perf_counter() - start, 1)
    return {"method": method, "seed": seed, "mismatches": wrong, "seconds": seconds, **seen}, not wrong


def _tally(seen: Counter[str], batch: Batch, expected: np.ndarray) -> None:
    """Count a call's pairs of rankings, once each where Y is None, and what was special about them."""
    once = np.ones(expected.shape[2:], bool) if batch.Y is not None else np.tri(expected.shape[2], dtype=bool)
    each, n = expected[:, :, once], batch.x.shape[-1]
    cases, tied = each[0].size, each[2:].any(0)
    seen.update({"calls": 1, "cases": cases, "with kernels and distances": cases * (batch.penalty is not None)})
    seen.update({"over 40 items": cases * (n > 40), "over 200 items": cases * (n > 200)})
    seen.update({"with ties": int(tied.sum()), "with unranked items": int((each.sum(0) < n * (n - 1) // 2).sum())})


def _report(key: list[int], batch: Batch, found: dict[str, np.ndarray]) -> None:
    """Print the first wrong entry with its two rows."""
    name = next(name for name, wrong in found.items() if wrong.any())
    b, r, c = np.argwhere(found[name])[0]
    print(f"WRONG {name} at {(int(b), int(r), int(c))}, {int(found[name].sum())} entries; seed {key}")
    print(f"{batch.settings}, {batch.threads} threads")
    for side, passed, scores, row in (("x", batch.X, batch.x, r), ("y", batch.Y, batch.y, c)):
        dtype = batch.X.dtype if passed is None else passed.dtype
        print(f"{side} ({dtype}): {scores[b if len(scores) > 1 else 0, row].tolist()}")


def main(arguments: list[str] | None = None) -> int:
    """Check the engines, record a row for each, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.random_cases", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000_000, help="pairs of rankings for each engine")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--method", choices=METHODS, help="one engine; otherwise all")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the rows")
    options = parser.parse_args(arguments)
    recorder, threads = Recorder("random_cases", options.out), torch.get_num_threads()
    try:
        for method in [options.method] if options.method else METHODS:
            row, agrees = check(method, options.cases, options.seed)
            recorder.append(**row)
            print(f"{method}: {row['cases']:,} cases, {row['mismatches']} mismatches, {row['seconds']} s", flush=True)
            if not agrees:
                return 1
    finally:
        torch.set_num_threads(threads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
