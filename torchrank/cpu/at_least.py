"""Which of 64 numbers reach a bound: one vector comparison, in LLVM's code, where a loop would compare one by one."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_WORD = ir.IntType(64)


@intrinsic
def at_least64(typingctx, values, start, order, bound):
    """Bit k tells whether the key of ``values[start + k]`` is at least ``bound``, for k = 0..63; never for NaN.

    Keys of order 0 are the numbers, of order 1 the negated ones, of order 2 the absolute ones. ``values`` is a
    contiguous vector of floats, ``bound`` one of its dtype.
    """

    def codegen(context, builder, signature, args):
        keys = _keys(builder, _load(context, builder, signature.args[0], args[0], args[1]), args[2])
        bounds = _all(builder, args[3], keys.type)
        return builder.bitcast(builder.fcmp_ordered(">=", keys, bounds), _WORD)

    return types.uint64(values, types.intp, types.intp, values.dtype), codegen


@intrinsic
def at_least64_each(typingctx, values, start, order, bounds, first):
    """The same where ``bounds[first + k]``, of a vector of their dtype, is the bound of ``values[start + k]``."""

    def codegen(context, builder, signature, args):
        keys = _keys(builder, _load(context, builder, signature.args[0], args[0], args[1]), args[2])
        reached = _load(context, builder, signature.args[3], args[3], args[4])
        return builder.bitcast(builder.fcmp_ordered(">=", keys, reached), _WORD)

    return types.uint64(values, types.intp, types.intp, bounds, types.intp), codegen


@intrinsic
def first_bit(typingctx, bits):
    """The place of the lowest bit that is set, of at least one."""

    def codegen(context, builder, signature, args):
        flag = ir.IntType(1)
        function = ir.FunctionType(_WORD, [_WORD, flag])
        count = cgutils.get_or_insert_function(builder.module, function, "llvm.cttz.i64")
        return builder.call(count, [args[0], ir.Constant(flag, 1)])

    return types.intp(types.uint64), codegen


def _load(context: Any, builder: Any, kind: Any, array: Any, start: Any) -> Any:
    """64 numbers of an array from ``start`` on."""
    number = context.get_value_type(kind.dtype)
    address = builder.gep(context.make_array(kind)(context, builder, array).data, [start])
    return builder.load(
        builder.bitcast(address, ir.VectorType(number, 64).as_pointer()), align=kind.dtype.bitwidth // 8
    )


def _keys(builder: Any, values: Any, order: Any) -> Any:
    """Larger = better: the sign bit is turned for order 1, cleared for order 2."""
    bits = ir.IntType(32 if isinstance(values.type.element, ir.FloatType) else 64)
    none, sign = ir.Constant(bits, 0), ir.Constant(bits, 1 << (bits.width - 1))
    is_order = lambda wanted: builder.icmp_signed("==", order, ir.Constant(order.type, wanted))  # noqa: E731
    cleared = _all(builder, builder.select(is_order(2), sign, none), ir.VectorType(bits, 64))
    turned = _all(builder, builder.select(is_order(1), sign, none), ir.VectorType(bits, 64))
    found = builder.and_(builder.bitcast(values, cleared.type), builder.not_(cleared))
    return builder.bitcast(builder.xor(found, turned), values.type)


def _all(builder: Any, value: Any, vector: ir.VectorType) -> Any:
    """A vector whose entries are all ``value``."""
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), places)
