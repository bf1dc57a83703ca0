"""Tile sizes beside those in ``kernels_triton/tiles.py``, timed so that the tables can be written from measurements."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from benchmarks.gpu.parts import Context, Verdict, median_seconds, part, random_ranks
from torchrank.ops.pair_counts import WORKSPACE, pair_counts

# rows_x, rows_y, items, warps, registers, stages
SIGN_TILES = (
    (128, 128, 32, 8, 128, 3),
    (128, 128, 32, 8, 128, 2),
    (128, 128, 64, 8, 255, 3),
    (128, 128, 64, 8, 255, 1),
    (128, 64, 64, 8, 128, 3),
    (128, 64, 64, 8, 128, 1),
    (64, 64, 64, 4, 128, 3),
    (64, 64, 64, 4, 168, 1),
)
# block, warps; there are as many intervals as one block an interval needs
INVERSION_BLOCKS = ((128, 4), (64, 2), (128, 2))
ROWS, ITEMS = (2_048, 64), 1_500
INVERSION_ITEMS, INVERSION_ROWS = 12_000, 64


@part("tiles", seconds=30)
def tiling(context: Context) -> Verdict:
    """Time every candidate and compare its counts with the op's; the fastest come first in the verdict."""
    if context.dry:
        return Verdict(True, "rehearsed without kernels: tiles mean nothing on a CPU")
    from kernels_triton import inversions, tiles
    from kernels_triton.signs import signs

    best, wrong = [], []
    for m in ROWS:
        inputs = [random_ranks(m, ITEMS, context.device, seed=seed) for seed in range(2)]
        out = torch.empty((1, m, m), dtype=torch.int32, device=context.device)
        runs = {}
        for rows_x, rows_y, items, warps, registers, stages in SIGN_TILES:
            tile = tiles.SignTile(rows_x, rows_y, items, 1024, warps, registers, stages)
            runs[str(tile)] = lambda ranks, tile=tile, out=out: signs(
                ranks, None, out, strict=False, workspace=WORKSPACE, arch=90, tile=tile
            )
        best.append(_fastest(context, f"signs, {m} rankings", runs, inputs, out, wrong))
    inputs = [random_ranks(INVERSION_ROWS, INVERSION_ITEMS, context.device, seed=seed) for seed in range(2)]
    out = torch.empty((1, INVERSION_ROWS, INVERSION_ROWS), dtype=torch.int32, device=context.device)
    runs = {}
    for block, warps in INVERSION_BLOCKS:
        tile = tiles.InversionTile(block, 2 ** (INVERSION_ITEMS // block).bit_length(), warps)
        runs[str(tile)] = lambda ranks, tile=tile: inversions.score(
            ranks, None, out, untied=(True, True), workspace=WORKSPACE, tile=tile
        )
    best.append(_fastest(context, "inversions", runs, inputs, out, wrong))
    return Verdict(not wrong, "; ".join(best) + (f"; WRONG: {', '.join(wrong)}" if wrong else ""))


def _fastest(
    context: Context,
    what: str,
    runs: dict[str, Callable[[Tensor], Any]],
    inputs: Sequence[Tensor],
    out: Tensor,
    wrong: list[str],
) -> str:
    """Record a time for each run, note those whose counts differ from the op's, and name the fastest."""
    expected = pair_counts(inputs[0], None, False, "signs", WORKSPACE, False)[0]
    seconds = {}
    for name, run in runs.items():
        if context.time_left() < 3:
            break
        seconds[name] = median_seconds(run, inputs, repeats=5, at_most=0.3)
        run(inputs[0])
        equal = torch.equal(out, expected)
        wrong += [] if equal else [name]
        context.record(what=what, tile=name, seconds=seconds[name], equal=equal)
    if not seconds:
        return f"{what}: no time"
    name = min(seconds, key=seconds.__getitem__)
    return f"{what}: {name} {seconds[name]:.4g} s"
