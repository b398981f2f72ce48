"""`vector` (one-dimensional) to llvm.

Loads and stores are aligned to one element unless an attribute `alignment` (bytes) gives a larger value. Reductions
run in lane order unless their fast-math flags include `reassoc`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, VectorType, f32, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects.quick import make
from ...dialects.xdsl_extras import llvm_extras, vector_extras
from ...dialects.xdsl_extras.type_guards import element_type, is_vector, with_element
from .core import Lowerer, Rules, dense_i32, fastmath_of
from .floats import extend, from_narrow_bits, is_narrow, narrow_bits, through_f32, truncate
from .memref import address, from_storage, load, store, to_storage
from .types import byte_size, convert_type, is_float

Values = Sequence[SSAValue]


def _load(op: vector.LoadOp, at: Lowerer) -> Values:
    return (load(at, op, address(at, op.base, op.indices), convert_type(op.result.type)),)


def _store(op: vector.StoreOp, at: Lowerer) -> Values:
    store(at, op, op.vector, address(at, op.base, op.indices))
    return ()


def _element_alignment(at: Lowerer, type: Attribute) -> SSAValue:
    return at.integer(byte_size(element_type(type)), i32)


def _maskedload(op: vector.MaskedLoadOp, at: Lowerer) -> Values:
    type = convert_type(op.result.type)
    pointer = address(at, op.base, op.indices)
    other = to_storage(at, op.pass_thru)
    args = (pointer, _element_alignment(at, type), op.mask, other)
    loaded = at.intrinsic("llvm.masked.load", args, other.type)[0]
    return (from_storage(at, loaded, type),)


def _maskedstore(op: vector.MaskedStoreOp, at: Lowerer) -> Values:
    value = to_storage(at, op.value_to_store)
    pointer = address(at, op.base, op.indices)
    at.intrinsic("llvm.masked.store", (value, pointer, _element_alignment(at, value.type), op.mask), None)
    return ()


def _lanes(type: Attribute) -> int:
    return type.get_shape()[0] if is_vector(type) else 1


def splat(at: Lowerer, value: SSAValue, type: Attribute) -> SSAValue:
    """Insert a vector with `value` in each lane."""
    bits = narrow_bits(at, value)
    poison = at.value(make(llvm_extras.PoisonOp, result_types=(with_element(type, bits.type),)))
    first = insert_lane(at, bits, poison, at.integer(0))
    return from_narrow_bits(at, shuffle(at, first, poison, [0] * _lanes(type)), type)


def insert_lane(at: Lowerer, value: SSAValue, lanes: SSAValue, position: SSAValue) -> SSAValue:
    """Insert `lanes` with the lane at `position` replaced by `value`."""
    bits = narrow_bits(at, lanes)
    operands = (bits, narrow_bits(at, value), position)
    return from_narrow_bits(at, at.value(make(llvm.InsertElementOp, operands, result_types=(bits.type,))), lanes.type)


def extract_lane(at: Lowerer, lanes: SSAValue, position: SSAValue) -> SSAValue:
    """Insert the extraction of the lane at `position`."""
    bits = narrow_bits(at, lanes)
    lane = make(llvm_extras.ExtractElementOp, (bits, position), result_types=(element_type(bits.type),))
    return from_narrow_bits(at, at.value(lane), element_type(lanes.type))


def shuffle(at: Lowerer, lhs: SSAValue, rhs: SSAValue, mask: Sequence[int]) -> SSAValue:
    """Insert a shuffle that picks the lanes `mask` of `lhs` followed by `rhs`."""
    same = len(mask) == _lanes(lhs.type)
    type = lhs.type if same else VectorType(element_type(lhs.type), [len(mask)])
    bits = narrow_bits(at, lhs), narrow_bits(at, rhs)
    properties: dict[str, Attribute] = {"mask": dense_i32(tuple(mask))}
    result = with_element(type, element_type(bits[0].type))
    shuffled = make(llvm.ShuffleVectorOp, bits, result_types=(result,), properties=properties)
    return from_narrow_bits(at, at.value(shuffled), type)


def _broadcast(op: vector.BroadcastOp, at: Lowerer) -> Values:
    type, source = op.vector.type, op.source
    if source.type == type:
        return (source,)
    if is_vector(source.type):
        if _lanes(source.type) != 1:
            raise UnsupportedError(f"vector.broadcast of {source.type} to {type}")
        source = extract_lane(at, source, at.integer(0))
    return (splat(at, source, type),)


def _fma(op: vector.FMAOp, at: Lowerer) -> Values:
    return (through_f32(at, op.operands, lambda v, t: at.intrinsic("llvm.fma", v, t)[0]),)


_REDUCTIONS = {
    "add": "llvm.vector.reduce.add",
    "mul": "llvm.vector.reduce.mul",
    "minui": "llvm.vector.reduce.umin",
    "minsi": "llvm.vector.reduce.smin",
    "maxui": "llvm.vector.reduce.umax",
    "maxsi": "llvm.vector.reduce.smax",
    "minnumf": "llvm.vector.reduce.fmin",
    "maxnumf": "llvm.vector.reduce.fmax",
    "minimumf": "llvm.vector.reduce.fminimum",
    "maximumf": "llvm.vector.reduce.fmaximum",
    "and": "llvm.vector.reduce.and",
    "or": "llvm.vector.reduce.or",
    "xor": "llvm.vector.reduce.xor",
}
_INTEGER_COMBINERS = {"add": llvm.AddOp, "mul": llvm.MulOp, "and": llvm.AndOp, "or": llvm.OrOp, "xor": llvm.XOrOp}
_INTRINSIC_COMBINERS = {
    "minui": "llvm.umin", "minsi": "llvm.smin", "maxui": "llvm.umax", "maxsi": "llvm.smax",
    "minnumf": "llvm.minnum", "maxnumf": "llvm.maxnum", "minimumf": "llvm.minimum", "maximumf": "llvm.maximum",
}  # fmt: skip
_FLOAT_SUMS = {"add": ("llvm.vector.reduce.fadd", -0.0), "mul": ("llvm.vector.reduce.fmul", 1.0)}


def _reduction(op: vector.ReductionOp, at: Lowerer) -> Values:
    """Reduce bf16 in f32 and round once."""
    narrow = element_type(op.vector.type)
    operands = [op.vector] if op.acc is None else [op.vector, op.acc]
    if is_narrow(narrow):
        operands = [extend(at, v, f32) for v in operands]
    result = _reduce(at, str(op.kind.data), operands, fastmath_of(op))
    return (truncate(at, result, narrow) if is_narrow(narrow) else result,)


def _reduce(at: Lowerer, kind: str, operands: Sequence[SSAValue], fastmath: llvm.FastMathAttr) -> SSAValue:
    """Reduce operands[0], starting from the accumulator operands[1] if there is one."""
    lanes, *acc = operands
    element = element_type(lanes.type)
    if is_float(element) and kind in _FLOAT_SUMS:
        name, neutral = _FLOAT_SUMS[kind]
        return at.intrinsic(name, (acc[0] if acc else at.floating(neutral, element), lanes), element, fastmath)[0]
    reduced = at.intrinsic(_REDUCTIONS[kind], (lanes,), element, fastmath)[0]
    if not acc:
        return reduced
    if kind in _INTEGER_COMBINERS:
        return at.integer_binary(_INTEGER_COMBINERS[kind], acc[0], reduced)
    return at.intrinsic(_INTRINSIC_COMBINERS[kind], (acc[0], reduced), element)[0]


def _create_mask(op: vector.CreateMaskOp, at: Lowerer) -> Values:
    """Compare lane numbers with the size, which is clamped first so that i32 lanes suffice."""
    type = op.mask_vector.type
    lanes = _lanes(type)
    size = at.intrinsic("llvm.smin", (op.mask_dim_sizes[0], at.integer(lanes)), i64)[0]
    size = at.intrinsic("llvm.smax", (size, at.integer(0)), i64)[0]
    numbers = cast("VectorType[Any]", with_element(type, i32))
    iota = at.constant(DenseIntOrFPElementsAttr.from_list(numbers, list(range(lanes))), numbers)
    limit = splat(at, at.cast(llvm.TruncOp, size, i32), numbers)
    return (at.icmp("ult", iota, limit, with_element(type, i1)),)


def _position(op: vector.ExtractOp | vector.InsertOp, at: Lowerer) -> SSAValue:
    (static,) = op.static_position.get_values()
    return op.dynamic_position[0] if int(static) == DYNAMIC_INDEX else at.integer(int(static))


def _extract(op: vector.ExtractOp, at: Lowerer) -> Values:
    if len(op.static_position) == 0:
        return (op.vector,)
    return (extract_lane(at, op.vector, _position(op, at)),)


def _insert(op: vector.InsertOp, at: Lowerer) -> Values:
    if len(op.static_position) == 0:
        return (op.source,)
    return (insert_lane(at, op.source, op.dest, _position(op, at)),)


def _shuffle(op: vector.ShuffleOp, at: Lowerer) -> Values:
    return (shuffle(at, op.v1, op.v2, [int(i) for i in op.mask.get_values()]),)


def _bitcast(op: vector.BitcastOp, at: Lowerer) -> Values:
    return (at.cast(llvm.BitcastOp, op.source, op.result.type),)


RULES: Rules = {
    vector.LoadOp: _load,
    vector.StoreOp: _store,
    vector.MaskedLoadOp: _maskedload,
    vector.MaskedStoreOp: _maskedstore,
    vector.BroadcastOp: _broadcast,
    vector.FMAOp: _fma,
    vector.ReductionOp: _reduction,
    vector.CreateMaskOp: _create_mask,
    vector.ExtractOp: _extract,
    vector.InsertOp: _insert,
    vector.ShuffleOp: _shuffle,
    vector_extras.ShuffleOp: _shuffle,
    vector.BitcastOp: _bitcast,
}
