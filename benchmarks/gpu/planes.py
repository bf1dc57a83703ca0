"""A lead: signs of pairs written once as planes of int8, and one integer product of torch, beside the op.

Pair p of n items is (i, i + d) modulo n with i = p mod n and d = 1 + p // n: all pairs once for p below n (n - 1) / 2,
in one orientation for all rankings. Sums are exact in int32 for any number of items up to 65,536.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn.functional import pad

from benchmarks.gpu.parts import Context, Verdict, median_seconds, part, random_ranks
from benchmarks.gpu.timings import count

SIZES = ((2_000, 2_000), (10_000, 1_000), (64, 1_000))
SPLITS = (1, 2, 4)  # of the rows: products below the diagonal are left out
_BYTES = 2**30  # of planes at a time
_BLOCK = 1024


@part("planes", seconds=20)
def planes(context: Context) -> Verdict:
    """Time products of planes by their splits, and the planes alone; compare scores with the op's."""
    write: Write = write_in_torch
    if not context.dry:
        from benchmarks.gpu.plane_kernel import write
    lines, wrong = [], []
    for m, n in SIZES:
        if context.time_left() < 4:
            lines.append(f"{m} x {n} left out")
            continue
        m, n = (m // 400 + 17, n // 100 + 2) if context.dry else (m, n)
        inputs = [random_ranks(m, n, context.device, seed=seed) for seed in range(2)]
        op = count("signs")
        seconds = {"op": median_seconds(op, inputs, repeats=5)}
        seconds["planes alone"] = median_seconds(lambda ranks: each_plane(ranks[0], write), inputs, repeats=3)
        for splits in SPLITS:

            def run(ranks: Tensor, splits: int = splits) -> Tensor:
                return scores(ranks[0], splits, write)

            seconds[f"{splits} splits"] = median_seconds(run, inputs, repeats=3)
            if not torch.equal(run(inputs[0]).long(), op(inputs[0])[0].long()):
                wrong.append(f"{m} x {n}, {splits} splits")
        context.record(m=m, n=n, seconds=seconds)
        lines.append(f"{m} x {n}: " + ", ".join(f"{name} {value:.4g} s" for name, value in seconds.items()))
    return Verdict(not wrong, "; ".join(lines) + (f"; WRONG: {', '.join(wrong)}" if wrong else ""))


Write = Callable[[Tensor, Tensor, int, int], None]  # planes (m, width) of pairs from ``first`` on, of n ranks


def scores(ranks: Tensor, splits: int, write: Write) -> Tensor:
    """Concordance scores ``(m, m)`` int32 of ranks ``(m, n)``."""
    m = len(ranks)
    step = -(-m // (32 * splits)) * 32  # the product takes multiples of 8, above 16
    ranks = pad(ranks, (0, 0, 0, step * splits - m))
    total = torch.zeros((len(ranks), len(ranks)), dtype=torch.int32, device=ranks.device)
    for plane in chunks(ranks, write):
        for start in range(0, len(ranks), step):
            rows = plane[start : start + step]
            total[start : start + step, start:] += torch._int_mm(rows, plane[start:].mT)
    total = total[:m, :m]
    return torch.triu(total) + torch.triu(total, 1).mT


def each_plane(ranks: Tensor, write: Write) -> None:
    """Write all planes and multiply none."""
    for _ in chunks(ranks, write):
        pass


def chunks(ranks: Tensor, write: Write) -> Iterator[Tensor]:
    """Planes of all pairs, in one buffer, a chunk at a time."""
    m, n = ranks.shape
    n_pairs = n * (n - 1) // 2
    width = min(-(-n_pairs // 64) * 64, max(64, _BYTES // m // 64 * 64))  # what the product wants is 8
    buffer = torch.empty((m, width), dtype=torch.int8, device=ranks.device)
    for first in range(0, n_pairs, width):
        write(ranks, buffer, first, n_pairs)
        yield buffer


def write_in_torch(ranks: Tensor, out: Tensor, first: int, n_pairs: int) -> None:
    """The same as the kernel, to rehearse."""
    n = ranks.shape[1]
    p = torch.arange(first, first + out.shape[1])
    i = p % n
    j = (i + 1 + p // n) % n
    out.copy_(torch.where(p < n_pairs, (ranks[:, i] - ranks[:, j]).sign(), 0))
