"""Every specialization that the launchers can ask for, read from the tile tables."""

from collections.abc import Iterator
from dataclasses import replace

from kernels_triton import (
    agreement_kernels,
    inversion_kernels,
    pairwise,
    permutations,
    prepare,
    signs,
    smoothed_kernels,
    tiles,
)
from tests.triton.aot.compiled import RELEASE, Variant

ARCHITECTURES = (80, 90)
OTHER_CARDS = {86: 80, 89: 80}  # and whose tiles they take; unknown ones take those of sm_80
if RELEASE >= (3, 3):  # the compilers before it end the process, or say that they do not know the cards
    OTHER_CARDS |= {100: 100, 120: 120}


def all_variants() -> Iterator[Variant]:
    for arch in ARCHITECTURES:
        yield from _helpers(arch)
        yield from _signs(arch)
        yield from _inversions(arch)
        yield from _smoothed(arch)
        yield from _smoothed_helpers(arch)
        yield from _agreement(arch)
    for card, arch in OTHER_CARDS.items():  # the kernels whose tiles were chosen; one variant of each
        tiled = [*_signs(arch), *_inversions(arch), *_smoothed(arch), *_agreement(arch)]
        firsts = {variant.name.split("-gaussian")[0]: variant for variant in reversed(tiled)}
        for variant in firsts.values():
            if "cross" not in variant.name and "strict" not in variant.name:
                yield replace(variant, target=card)


def _signs(arch: int) -> Iterator[Variant]:
    rows = {(half, tile) for (of, _, half), tile in tiles.SIGNS.items() if of == arch}
    for half, tile in sorted(rows):
        number = "fp16" if half else "fp32"
        out = "i32" if half else "i64"  # more items than half precision can number may need 64 bits
        for strict, symmetric, odd in (
            (False, True, ()),
            (True, True, ()),
            (False, False, ()),
            (False, True, ("OUT",)),
        ):
            yield Variant(
                name=f"product-{number}-{tile.rows_x}x{tile.rows_y}x{tile.items}"
                + "-strict" * strict
                + "-cross" * (not symmetric),
                kernel=signs.product_kernel,
                arch=arch,
                types={"X": f"*{number}", "Y": f"*{number}", "OUT": f"*{out}", "m": "i32", "m2": "i32"}
                | {"rows_x": "i32", "rows_y": "i32", "items": "i32", "batch_stride": "i64", "row_stride": "i32"},
                constants={"SYMMETRIC": symmetric, "STRICT": strict, "PACKED": half}
                | {"BX": tile.rows_x, "BY": tile.rows_y, "BK": tile.items, "CHUNK": tile.chunk},
                warps=tile.warps,
                registers=tile.registers,
                stages=tile.stages,
                even=("rows_x", "rows_y", "items"),
                odd=odd,
                packed=half,
                tensor_cores=True,
            )


def _inversions(arch: int) -> Iterator[Variant]:
    sizes = dict.fromkeys(("weight", "m", "m2", "n", "stride", "width"), "i32") | {"OUT": "*i64"}
    table = tiles.INVERSIONS[arch]
    for symmetric in (True, False):
        cross = "-cross" * (not symmetric)
        for half, tile in ([(True, tile) for _, tile in table] if symmetric else []) + [(False, table[-1][1])]:
            yield Variant(
                name=f"blocks-{tile.block}-{tile.bins}-{'half' if half else 'split'}{cross}",
                kernel=inversion_kernels.blocks_kernel,
                arch=arch,
                types=sizes | {"ORDER_X": "*i32", "POSITION_Y": "*i32"},
                constants={"SYMMETRIC": symmetric, "HALF": half, "PACKED": True, "B": tile.block, "C": tile.bins},
                warps=tile.warps,
                packed=True,
            )
        for block, warps in sorted({(tile.block, tile.warps) for _, tile in table}):
            for narrow in (True, False) if symmetric else (True,):
                yield Variant(
                    name=f"intervals-{block}-{'narrow' if narrow else 'wide'}{cross}",
                    kernel=inversion_kernels.intervals_kernel,
                    arch=arch,
                    types=sizes | {"POSITION_X": "*i32", "ORDER_Y": "*i32"},
                    constants={"SYMMETRIC": symmetric, "NARROW": narrow, "PACKED": True, "B": block},
                    warps=warps,
                    packed=True,
                )


def _smoothed(arch: int) -> Iterator[Variant]:
    sizes = dict.fromkeys(("m", "m2", "n", "rows_x", "rows_y", "items", "row_stride"), "i32") | {"batch_stride": "i64"}
    numbers = dict.fromkeys(("inverse", "scale", "moment_scale"), "fp32")
    grams = [(smoothed_kernels.gram_kernel, tile) for (of, _), tile in tiles.SMOOTHED.items() if of == arch]
    for kernel, tile in [*grams, (smoothed_kernels.gradient_kernel, tiles.SMOOTHED_GRADIENT[arch])]:
        types = sizes | numbers | dict.fromkeys(("X", "Y"), "*fp32")
        types |= {"SUMS": "*i64", "WEIGHTS": "*fp16", "GRADIENT": "*i64", "MOMENTS": "*i64"}
        constants = {"BX": tile.rows_x, "BY": tile.rows_y, "BK": tile.items, "CHUNK": tile.chunk}
        for gaussian, symmetric in ((False, True), (False, False), (True, True)):
            flags = {"GAUSSIAN": gaussian, "SYMMETRIC": symmetric}
            if not symmetric and "SYMMETRIC" not in kernel.arg_names:
                continue
            yield Variant(
                name=f"{kernel.__name__}-{tile.rows_x}x{tile.rows_y}x{tile.items}"
                + "-gaussian" * gaussian
                + "-cross" * (not symmetric),
                kernel=kernel,
                arch=arch,
                types={name: types[name] for name in kernel.arg_names if name in types},
                constants={name: value for name, value in (flags | constants).items() if name in kernel.arg_names},
                warps=tile.warps,
                registers=tile.registers,
                stages=tile.stages,
                even=("rows_x", "rows_y", "items"),  # scratch of whole tiles, as all of the kernels' tensors are
                tensor_cores=True,
            )


def _smoothed_helpers(arch: int) -> Iterator[Variant]:
    padded = dict.fromkeys(("padded_rows", "padded_items", "padded_columns"), "i32")
    strides = {"batch_stride": "i64", "row_stride": "i64", "column_stride": "i64", "m": "i32", "m2": "i32", "n": "i32"}
    tensors = dict.fromkeys(("VALUES", "GRADIENT", "TRANSPOSED", "SCALE"), "*fp32")
    for name, kernel, out, constants, odd in (
        ("scores", prepare.prepare_kernel, "*fp32", {"item_stride": 1, "SCORES": True}, "VALUES"),
        ("scores-transposed", prepare.prepare_kernel, "*fp32", {"SCORES": True}, "VALUES"),
        ("weights", smoothed_kernels.weights_kernel, "*fp16", {"BOTH": False}, "GRADIENT"),
        ("weights-both", smoothed_kernels.weights_kernel, "*fp16", {"BOTH": True}, "GRADIENT"),
    ):
        types = padded | strides | tensors | {"OUT": out, "item_stride": "i64"}
        for unaligned in ((), (odd,)):
            yield Variant(
                name=f"prepare-{name}",
                kernel=kernel,
                arch=arch,
                types={key: types[key] for key in kernel.arg_names if key in types and key not in constants},
                constants=constants | {"BLOCK": 32},
                even=("padded_rows", "padded_items", "padded_columns"),
                odd=unaligned,
            )


def _agreement(arch: int) -> Iterator[Variant]:
    tile = tiles.AGREEMENT
    tensors = {"X": "*fp32", "RANKS": "*i32", "WEIGHTS": "*fp64", "WINDOW": "*fp64", "SUMS": "*fp64", "SLOPES": "*fp32"}
    cases = ((0, False, True), (0, True, True), (1, False, True), (2, True, True), (0, False, False))
    for weighted, gaussian, slopes in cases:
        yield Variant(
            name=f"agreement-{weighted}{'-gaussian' * gaussian}{'-sums' * (not slopes)}",
            kernel=agreement_kernels.agreement_kernel,
            arch=arch,
            types=tensors | {"n": "i32"},
            constants={"WEIGHTED": weighted, "GAUSSIAN": gaussian, "WITH_SLOPES": slopes}
            | {"BI": tile.items, "BJ": tile.others, "CHUNK": tile.chunk},
            warps=tile.warps,
        )


def _helpers(arch: int) -> Iterator[Variant]:
    for number in ("fp16", "fp32"):
        for odd in ((), ("VALUES",)):
            yield Variant(
                name=f"prepare-{number}",
                kernel=prepare.prepare_kernel,
                arch=arch,
                types={"VALUES": "*i32", "OUT": f"*{number}", "m": "i32", "n": "i32", "batch_stride": "i64"}
                | {"row_stride": "i32", "item_stride": "i32", "padded_rows": "i32", "padded_items": "i32"},
                constants={"BLOCK": 32, "SCORES": False},
                even=("padded_rows", "padded_items"),
                odd=odd,
            )
    for number in ("i32", "i64", "fp32"):
        yield Variant(
            name=f"mirror-{number}",
            kernel=pairwise.mirror_kernel,
            arch=arch,
            types={"OUT": f"*{number}", "m": "i32", "batch_stride": "i64", "row_stride": "i32"},
            constants={"BLOCK": 64},
        )
    for integer in ("i32", "i64"):
        for odd in ((), ("P",)):
            yield Variant(
                name=f"invert-{integer}",
                kernel=permutations.invert_kernel,
                arch=arch,
                types={"P": f"*{integer}", "FORWARD": "*i32", "INVERSE": "*i32", "n": "i32"}
                | {"row_stride": "i32", "stride": "i32"},
                constants={"BLOCK": 1024},
                odd=odd,
            )
