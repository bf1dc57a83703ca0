"""Counts of every CUDA path against the CPU engine, by equality."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from benchmarks.gpu.parts import Context, Verdict, part
from torchrank.ops.pair_counts import WORKSPACE, pair_counts
from torchrank.rankings.ties import dense_ranks


class Case(NamedTuple):
    """A problem: kind of rankings, sizes, and workspace; ``m2`` None is the symmetric problem."""

    kind: str
    b: int
    m: int
    m2: int | None
    n: int
    workspace: int = WORKSPACE


CASES = (
    Case("total", 1, 1, None, 2),
    Case("total", 1, 130, None, 65),
    Case("tied", 1, 130, None, 65),
    Case("partial", 1, 130, None, 65),
    Case("constant", 1, 3, 5, 7),
    Case("total", 1, 300, None, 1000),
    Case("partial", 1, 200, 90, 1000),
    Case("total", 5, 17, 9, 200),
    Case("partial", 3, 70, None, 129),
    Case("tied", 1, 500, 1, 64),
    Case("total", 1, 1, 500, 63),
    Case("mixed", 1, 40, None, 500),
    Case("mixed", 1, 20, 30, 3000),
    Case("total", 1, 600, None, 128, 2**18),
    Case("partial", 2, 100, 300, 300, 2**20),
    Case("total", 1, 20, None, 20_000),
    Case("partial", 1, 6, None, 17_000),
    Case("tied", 1, 5, 3, 33_000),
    Case("total", 1, 3, None, 61_439),
    Case("total", 1, 3, None, 61_440),
    Case("total", 1, 3, None, 65_537),
    Case("tied", 1, 3, 2, 70_000),
    Case("partial", 1, 2, None, 70_000),
    Case("total", 1, 2, None, 1_000_000),
)
_SIGNS_UP_TO = 200_000  # items: above, one tile of the sign engine alone takes seconds


def make_ranks(kind: str, shape: tuple[int, int, int], seed: int) -> Tensor:
    """Dense ranks ``(b, m, n)``; "mixed" has every other ranking partial."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.rand(shape, generator=generator, dtype=torch.float64)
    if kind == "constant":
        scores.zero_()
    elif kind != "total":
        coarse = (scores * max(2, shape[-1] // 3)).floor()
        if kind != "tied":
            coarse[torch.rand(shape, generator=generator) < 0.2] = torch.nan
        if kind == "mixed":
            coarse[:, ::2] = scores[:, ::2]
        scores = coarse
    return dense_ranks(scores)[0]


@part("equality", seconds=85)
def equality(context: Context) -> Verdict:
    """Both engines and "auto" on every case, strided and batched too, and outputs and inputs beyond 2**31 words."""
    checks = 0
    wrong: list[str] = []
    left = 0
    for case in _rehearsal() if context.dry else CASES:
        if context.time_left() < 10 and not context.dry:
            left += 1
            continue
        for name, equal in _check(case, context.device):
            checks += 1
            wrong += [] if equal else [f"{name} {case}"]
            context.record(case=case._asdict(), method=name, equal=equal)
    for check in (_strided_on_a_stream, _words_beyond_31_bits):
        if context.time_left() < 5:
            left += 1
            continue
        for name, equal in check(context):
            checks += 1
            wrong += [] if equal else [name]
            context.record(case=name, equal=equal)
    line = f"{checks - len(wrong)} of {checks} comparisons equal to the CPU engine"
    line += f"; {left} cases left out for lack of time" if left else ""
    line += f"; WRONG: {'; '.join(wrong)}" if wrong else ""
    return Verdict(not wrong, line)


def _rehearsal() -> Iterator[Case]:
    for case in CASES[:15]:
        yield case._replace(m=min(case.m, 5), m2=case.m2 and min(case.m2, 4), n=min(case.n, 90))


def _check(case: Case, device: str) -> Iterator[tuple[str, bool]]:
    x = make_ranks(case.kind, (case.b, case.m, case.n), seed=1)
    y = None if case.m2 is None else make_ranks(case.kind, (case.b, case.m2, case.n), seed=2)
    expected = pair_counts(x, y, True, "auto", WORKSPACE, False)
    on_device = x.to(device), None if y is None else y.to(device)
    for method in ("signs", "inversions", "auto"):
        if method == "signs" and case.n > _SIGNS_UP_TO:
            continue
        got = pair_counts(*on_device, True, method, case.workspace, False)
        same = all(torch.equal(g.cpu(), e) and g.dtype == e.dtype for g, e in zip(got, expected, strict=True))
        yield method, same


def _strided_on_a_stream(context: Context) -> Iterator[tuple[str, bool]]:
    x = make_ranks("partial", (2, 90, 120), seed=3)
    view = x[:, ::3]
    expected = pair_counts(view.contiguous(), None, False, "auto", WORKSPACE, False)[0]
    for method in ("signs", "inversions"):
        if context.device == "cuda":
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                got = pair_counts(x.cuda()[:, ::3], None, False, method, WORKSPACE, False)[0]
            stream.synchronize()
        else:
            got = pair_counts(view, None, False, method, WORKSPACE, False)[0]
        yield f"strided on a stream, {method}", torch.equal(got.cpu(), expected)


def _words_beyond_31_bits(context: Context) -> Iterator[tuple[str, bool]]:
    """A Gram matrix and an input of more than 2**31 words, compared in a few rows, the last ones included."""
    if not context.dry and torch.cuda.mem_get_info()[0] < 24 * 2**30:
        return
    m, n = (70, 6) if context.dry else (46_400, 6)
    x = make_ranks("tied", (1, m, n), seed=4)
    gram = pair_counts(x.to(context.device), None, False, "signs", WORKSPACE, False)[0]
    for rows in (slice(0, 3), slice(m // 2, m // 2 + 3), slice(m - 3, m)):
        expected = pair_counts(x[:, rows], x, False, "auto", WORKSPACE, False)[0]
        yield f"output beyond 2**31 words, rows {rows.start}", torch.equal(gram[:, rows].cpu(), expected)
    del gram
    m, n = (70, 6) if context.dry else (2**31 // 512 + 5, 512)
    item = torch.arange(n, dtype=torch.int32, device=context.device)
    row = torch.arange(m, dtype=torch.int32, device=context.device)
    wide = (item + row[:, None]).remainder_(n)[None]  # every row is a rotation of 0, ..., n - 1
    other = make_ranks("total", (1, 2, n), seed=5)
    got = pair_counts(wide, other.to(context.device), False, "signs", WORKSPACE, False)[0]
    for rows in (slice(0, 3), slice(m - 3, m)):
        expected = pair_counts(wide[:, rows].cpu(), other, False, "auto", WORKSPACE, False)[0]
        yield f"input beyond 2**31 words, rows {rows.start}", torch.equal(got[:, rows].cpu(), expected)
