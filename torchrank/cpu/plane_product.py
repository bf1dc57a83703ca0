"""Counts of bits that differ between rows of two plane arrays: the inner loop of the engine "signs", in LLVM's code.

Processors that count the bits of a vector in one instruction (AVX-512 VPOPCNTDQ) count every word, with a counter in a
register for each pair of rows. All others add bits first: eight vectors go through seven full adders, each of five
logical instructions, into one vector of eights, and only that one is counted (W. Mula, N. Kurz and D. Lemire, "Faster
population counts using AVX2 instructions", The Computer Journal 61(1), 2018, doi:10.1093/comjnl/bxx046). They take one
pair of rows after the other, since the registers do not hold the adders of several.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8  # 64-bit words in a group; planes are padded to whole groups
_WORD = ir.IntType(64)
_COUNTED_AT_ONCE = 8  # vectors behind which the eights are counted
Sides = tuple[list[Any], list[Any]]  # addresses of the first words of the rows of both arrays
Way = Callable[[Any, Sides, Sides | None, Any, int], list[Any]]


def plane_product(rows: int, columns: int, *, masked: bool, way: Way | None = None) -> Any:
    """Make the inner kernel: bit counts between ``rows`` rows of one plane array and ``columns`` of another.

    Unmasked, ``out[r * columns + c]`` is the number of words' bits that differ, popcount(a ^ b). Masked, it is
    popcount(ma & mb & (a ^ b)), and popcount(ma & mb) follows in the second half of ``out``. None as ``way`` is the one
    that is faster on the processor for which the kernel is compiled.
    """

    @intrinsic
    def product(typingctx, a, b, mask_a, mask_b, start_a, start_b, stride, groups, out):
        def codegen(context, builder, signature, args):
            start_a, start_b, stride, groups = args[4:8]

            def data(argument):
                return context.make_array(signature.args[argument])(context, builder, args[argument]).data

            def row_addresses(argument, start, count):
                first = builder.gep(data(argument), [start])
                return [builder.gep(first, [builder.mul(stride, _constant(k))]) for k in range(count)]

            sides = row_addresses(0, start_a, rows), row_addresses(1, start_b, columns)
            masks = (row_addresses(2, start_a, rows), row_addresses(3, start_b, columns)) if masked else None
            features = context.codegen().magic_tuple()[2]
            count = way or (in_registers if "+avx512vpopcntdq" in features else by_adders)
            width = LANES if "+avx512f" in features else LANES // 2
            for k, total in enumerate(count(builder, sides, masks, groups, width)):
                builder.store(total, builder.gep(data(8), [_constant(k)]))
            return context.get_dummy_value()

        return types.void(a, b, mask_a, mask_b, *[types.intp] * 4, out), codegen

    return product


def in_registers(builder: Any, sides: Sides, masks: Sides | None, groups: Any, width: int) -> list[Any]:
    """Totals, each word counted by the processor's own instruction, a counter in a register for each pair of rows."""
    pairs = len(sides[0]) * len(sides[1])
    vector = ir.VectorType(_WORD, width)
    counters = [_zeros(builder, vector) for _ in range(pairs * (2 if masks else 1))]
    with cgutils.for_range(builder, builder.mul(groups, _constant(LANES // width))) as loop:
        offset = builder.mul(loop.index, _constant(width))
        left, right = ([_load(builder, row, offset, vector) for row in side] for side in sides)
        strict = [[_load(builder, row, offset, vector) for row in side] for side in masks] if masks else []
        for k in range(pairs):
            r, c = divmod(k, len(right))
            bits = [builder.xor(left[r], right[c])]
            if masks:
                both = builder.and_(strict[0][r], strict[1][c])
                bits = [builder.and_(bits[0], both), both]
            for counter, word in zip(counters[k::pairs], bits, strict=True):
                builder.store(builder.add(builder.load(counter), _popcount(builder, word)), counter)
    return [_sum(builder, builder.load(counter)) for counter in counters]


def by_adders(builder: Any, sides: Sides, masks: Sides | None, groups: Any, width: int) -> list[Any]:
    """Totals, bits added up before they are counted, one pair of rows after the other."""
    totals: list[list[Any]] = [[] for _ in range(2 if masks else 1)]
    vector = ir.VectorType(_WORD, width)
    per_group = LANES // width
    whole = builder.udiv(groups, _constant(_COUNTED_AT_ONCE // per_group))
    done = builder.mul(whole, _constant(_COUNTED_AT_ONCE // per_group))
    for r, left in enumerate(sides[0]):
        for c, right in enumerate(sides[1]):
            adders = [_Adder(builder, vector) for _ in totals]

            def add(first: Any, vectors: int, r=r, c=c, left=left, right=right, adders=adders) -> None:
                read = lambda row, k: _load(builder, row, builder.add(first, _constant(k * width)), vector)  # noqa: E731
                bits: list[list[Any]] = [[] for _ in totals]
                for k in range(vectors):
                    differ = builder.xor(read(left, k), read(right, k))
                    if masks:
                        both = builder.and_(read(masks[0][r], k), read(masks[1][c], k))
                        differ = builder.and_(differ, both)
                        bits[1].append(both)
                    bits[0].append(differ)
                for adder, words in zip(adders, bits, strict=True):
                    adder.add(words)

            with cgutils.for_range(builder, whole) as loop:
                add(builder.mul(loop.index, _constant(_COUNTED_AT_ONCE * width)), _COUNTED_AT_ONCE)
            with cgutils.for_range(builder, builder.sub(groups, done)) as loop:
                add(builder.mul(builder.add(done, loop.index), _constant(LANES)), per_group)
            for found, adder in zip(totals, adders, strict=True):
                found.append(adder.total())
    return [total for found in totals for total in found]


class _Adder:
    """How many bits are set in the vectors that it was given: bits of ones, twos and fours, and a count of the rest."""

    def __init__(self, builder: Any, vector: ir.VectorType) -> None:
        self.builder = builder
        self.digits = [_zeros(builder, vector) for _ in range(3)]
        self.counted = _zeros(builder, vector)  # of bits that were carried on, times their weight

    def add(self, vectors: list[Any]) -> None:
        """Take 8 vectors, or 2, or 1."""
        digit = 0
        while len(vectors) > 1:
            vectors = [self._carry(digit, *vectors[k : k + 2]) for k in range(0, len(vectors), 2)]
            digit += 1
        (carried,) = vectors
        counted = self.builder.add(self.builder.load(self.counted), _weighted(self.builder, carried, digit))
        self.builder.store(counted, self.counted)

    def _carry(self, digit: int, a: Any, b: Any) -> Any:
        """Add two vectors to a digit, place by place, and return what is carried."""
        builder = self.builder
        old = builder.load(self.digits[digit])
        differ = builder.xor(a, b)
        builder.store(builder.xor(differ, old), self.digits[digit])
        return builder.or_(builder.and_(a, b), builder.and_(differ, old))

    def total(self) -> Any:
        """Of all vectors."""
        builder, found = self.builder, self.builder.load(self.counted)
        for digit, place in enumerate(self.digits):
            found = builder.add(found, _weighted(builder, builder.load(place), digit))
        return _sum(builder, found)


def _constant(value: int) -> ir.Constant:
    return ir.Constant(_WORD, value)


def _zeros(builder: Any, vector: ir.VectorType) -> Any:
    place = cgutils.alloca_once_value(builder, ir.Constant(vector, None))
    builder.store(ir.Constant(vector, None), place)
    return place


def _load(builder: Any, row: Any, offset: Any, vector: ir.VectorType) -> Any:
    return builder.load(builder.bitcast(builder.gep(row, [offset]), vector.as_pointer()), align=8)


def _popcount(builder: Any, bits: Any) -> Any:
    function = ir.FunctionType(bits.type, [bits.type])
    return builder.call(
        cgutils.get_or_insert_function(builder.module, function, f"llvm.ctpop.v{bits.type.count}i64"), [bits]
    )


def _weighted(builder: Any, bits: Any, digit: int) -> Any:
    """How many bits are set, each of which counts 2^digit."""
    return builder.shl(_popcount(builder, bits), ir.Constant(bits.type, [digit] * bits.type.count))


def _sum(builder: Any, vector: Any) -> Any:
    function = ir.FunctionType(_WORD, [vector.type])
    name = f"llvm.vector.reduce.add.v{vector.type.count}i64"
    return builder.call(cgutils.get_or_insert_function(builder.module, function, name), [vector])
