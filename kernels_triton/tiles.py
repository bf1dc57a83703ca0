"""Tile sizes of every kernel and the choice between the engines: the one table for launcher, tests and benchmarks.

The tiles come from compiled code (registers, instructions, occupancy). Those for sm_90 were the fastest that were tried
on an H100, as far as they were tried (``benchmarks/results``); those for sm_80 have not been measured. The crossover is
where inversions became faster on the H100. ``python -m benchmarks.gpu_check`` measures both again, but for the smoothed
kernel's tiles, and prints a new table. Those for sm_86, 89, 100 and 120, and for cards that are not known, are the ones
of sm_80, smaller where they would not fit: compiled for each, measured on none.
"""

from typing import NamedTuple


class SignTile(NamedTuple):
    """One program of the sign product: ``rows_x`` by ``rows_y`` rankings, ``items`` second items at a time."""

    rows_x: int
    rows_y: int
    items: int
    chunk: int  # first items that one program sweeps; chunk * items pairs stay far below 2**24, exact in float32
    warps: int
    registers: int  # cap for each thread, so that several programs fit on a multiprocessor
    stages: int = 3  # first items whose loads are under way at once


class InversionTile(NamedTuple):
    """One program of the inversion count: blocks of ``block`` items, and ``bins`` intervals of positions."""

    block: int
    bins: int
    warps: int


class SmoothedTile(NamedTuple):
    """One program of the smoothed Gram matrix or of its gradient; the fields of :class:`SignTile`."""

    rows_x: int
    rows_y: int
    items: int
    chunk: int
    warps: int
    registers: int
    stages: int = 3


class AgreementTile(NamedTuple):
    """One program of the agreement of a row: ``items`` with all others, ``others`` at a time."""

    items: int
    others: int
    chunk: int  # others that are added up in single precision
    warps: int


# (architecture, are there few rows, are ranks in half precision)
SIGNS = {
    (90, False, True): SignTile(128, 128, 32, chunk=1024, warps=8, registers=128),
    (90, True, True): SignTile(64, 64, 64, chunk=512, warps=4, registers=128),
    (90, False, False): SignTile(128, 64, 32, chunk=2048, warps=8, registers=128),
    (90, True, False): SignTile(64, 64, 32, chunk=2048, warps=4, registers=168),
    (80, False, True): SignTile(128, 64, 64, chunk=1024, warps=8, registers=128),
    (80, True, True): SignTile(64, 64, 64, chunk=512, warps=4, registers=128),
    (80, False, False): SignTile(128, 64, 32, chunk=2048, warps=8, registers=128),
    (80, True, False): SignTile(64, 64, 32, chunk=2048, warps=4, registers=168),
}
SIGNS |= {(card, few, half): tile for (of, few, half), tile in SIGNS.items() if of == 80 for card in (100, 120)}
FEW_ROWS = 64

# For sm_80 the tiles of sm_90 where they fit its registers.
SMOOTHED = {
    (90, False): SmoothedTile(128, 128, 32, chunk=256, warps=8, registers=255),
    (90, True): SmoothedTile(64, 64, 32, chunk=256, warps=4, registers=128),
    (80, False): SmoothedTile(128, 64, 32, chunk=256, warps=8, registers=128),
    (80, True): SmoothedTile(64, 64, 32, chunk=256, warps=4, registers=128),
    (100, False): SmoothedTile(128, 64, 32, chunk=256, warps=8, registers=168),
    (100, True): SmoothedTile(64, 64, 32, chunk=256, warps=4, registers=168),
    (120, False): SmoothedTile(128, 64, 32, chunk=256, warps=8, registers=128),
    (120, True): SmoothedTile(64, 64, 32, chunk=256, warps=4, registers=128),
}
SMOOTHED_GRADIENT = {
    90: SmoothedTile(64, 64, 64, chunk=256, warps=4, registers=255, stages=2),
    80: SmoothedTile(64, 64, 64, chunk=256, warps=4, registers=255, stages=2),
    100: SmoothedTile(64, 64, 64, chunk=256, warps=4, registers=255, stages=2),
    120: SmoothedTile(64, 64, 32, chunk=256, warps=4, registers=255, stages=2),
}

AGREEMENT = AgreementTile(32, 32, chunk=512, warps=4)  # of every card; measured on none

# Up to how many items each tile serves, by architecture; the last one serves all beyond.
_INVERSIONS = (
    (16_000, InversionTile(128, 128, 4)),
    (32_000, InversionTile(128, 256, 4)),
    (65_000, InversionTile(128, 512, 4)),
    (None, InversionTile(128, 1024, 4)),
)
INVERSIONS: dict[int, tuple[tuple[int | None, InversionTile], ...]] = dict.fromkeys((80, 90, 100, 120), _INVERSIONS)
# With 4 warps some releases of Triton keep registers of this one in memory.
INVERSIONS[100] = tuple((limit, InversionTile(128, 512, 8) if t.bins == 512 else t) for limit, t in _INVERSIONS)

# "auto": (rows up to, items from which inversions win when rankings are complete and untied, and otherwise). 61,441
# stands for not reached up to 60,000: from there on signs need single precision.
CROSSOVER = ((16, 8_000, 16_000), (64, 8_000, 61_441), (None, 16_000, 61_441))


_NAMED: dict[int, int] = {9: 90, 10: 100, 12: 120}  # by major capability


def architecture(capability: tuple[int, int]) -> int:
    """The table's architecture for a compute capability: 90, 100 or 120, and 80 for everything else."""
    return _NAMED.get(capability[0], 80)


def sign_tile(arch: int, rows: int, half: bool) -> SignTile:
    """Tile of the sign product for the longer side's number of rankings and the precision of the ranks."""
    return SIGNS[arch, rows <= FEW_ROWS, half]


def smoothed_tile(arch: int, rows: int) -> SmoothedTile:
    """Tile of the smoothed Gram matrix for the longer side's number of rankings."""
    return SMOOTHED[arch, rows <= FEW_ROWS]


def smoothed_gradient_tile(arch: int) -> SmoothedTile:
    """Tile of its gradient."""
    return SMOOTHED_GRADIENT[arch]


def inversion_tile(arch: int, n: int) -> InversionTile:
    """Tile of the inversion count for ``n`` items."""
    return next(tile for limit, tile in INVERSIONS[arch] if limit is None or n <= limit)


def inversions_from(rows: int, untied: bool) -> int:
    """Number of items from which "auto" counts inversions, for the shorter side's number of rankings."""
    row = next(row for row in CROSSOVER if row[0] is None or rows <= row[0])
    return row[1] if untied else row[2]
