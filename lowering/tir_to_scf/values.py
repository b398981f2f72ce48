"""The lowered values of tir values, and the lowering of expressions at their uses.

`Values.value` returns a scalar or a vector; `Values.index` returns an integer as an `index` for addresses and bounds,
computed as if nothing overflowed. Its constant part is added last, so that neighboring accesses share the rest:

    (x + 2) * 4 + y  ->  (x * 4 + y) + 8
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from xdsl.dialects import arith, llvm, vector
from xdsl.dialects.builtin import IntegerAttr, IntegerType, VectorType, f64, i1, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import bit_width, byte_size, dtype_name, is_float, is_scalable, is_unsigned, lanes_of, scalar_of
from ...dialects.sym import ValueOp
from ...dialects.sym.analyzer import is_nonnegative
from ...dialects.sym.expr import Product, Sum, SymExpr, Var
from ...ir.affine.values import operands_first, sym_expr_of
from ...ir.locations import location_of
from ...transforms.tir.asserts import RAISED
from .casts import moved, pointer_to
from .emitter import Emitter, is_vector, lane_count, pick_lanes, vector_type
from .expressions import BUILDERS, DIVISIONS, divide
from .intrinsics import build_intrinsic, reinterpret
from .signature import scalar_type
from .symbolic import Reals, Symbolic, divided, floor_mod

_MOST_ELEMENTS = 1 << 47
"""More elements than any memory holds; this many of the widest vectors still fit 64 bits in bytes."""
LoweredT = TypeVar("LoweredT")
Shifted = tuple[SSAValue | None, int]
"""An index as a variable part, None if there is none, and a constant part."""


class _Scoped(dict[SSAValue, LoweredT]):
    """A scoped table of values: what is `set` in a scope holds until its end."""

    def __init__(self) -> None:
        super().__init__()
        self._before: list[list[tuple[SSAValue, LoweredT | None]]] = [[]]

    def set(self, value: SSAValue, lowered: LoweredT) -> None:
        self._before[-1].append((value, self.get(value)))
        self[value] = lowered

    def begin(self) -> None:
        self._before.append([])

    def end(self) -> None:
        for value, before in reversed(self._before.pop()):
            if before is None:
                del self[value]
            else:
                self[value] = before


class Values:
    """The table of lowered values; see the module."""

    def __init__(self, emit: Emitter, symbols: dict[str, SSAValue]):
        self.emit = emit
        self.symbols = symbols
        self._env = _Scoped[SSAValue]()
        self._indices = _Scoped[Shifted]()
        self._nonnegative: set[SSAValue] = set()
        self.packed_results: dict[SSAValue, SSAValue] = {}
        """What calls of packed functions gave as pointers, null where they raised."""
        self._symbolic = Symbolic(emit, self._symbol)
        self.symbolic = self._symbolic.of

    def count(self, extent: SymExpr) -> SSAValue:
        """Return a number of elements to allocate as an index; on overflow it is larger than any memory.

        A negative difference is the extent of a buffer that is never accessed, such as the tail of a tile that is not
        reached.
        """
        emit, value = self.emit, self.symbolic(extent)
        if extent.constant is not None:
            return value
        fits = emit.compare("ult", value, emit.index(_MOST_ELEMENTS))
        if isinstance(extent, Sum | Product):
            real = extent.fold(Reals(emit, self._symbolic))
            fits = emit.binary(arith.AndIOp, fits, emit.compare("olt", real, emit.constant(_MOST_ELEMENTS, f64)))
            number = emit.select(fits, value, emit.index(-_MOST_ELEMENTS))
            return emit.select(emit.compare("olt", real, emit.constant(0.0, f64)), emit.index(0), number)
        return emit.select(fits, value, emit.index(-_MOST_ELEMENTS))

    @contextmanager
    def scope(self) -> Generator[None]:
        """Forget everything lowered inside at the end of the scope."""
        self._env.begin()
        self._indices.begin()
        try:
            yield
        finally:
            self._env.end()
            self._indices.end()

    def bind(self, value: SSAValue, lowered: SSAValue) -> None:
        self._env.set(value, lowered)

    def bind_index(self, value: SSAValue, lowered: SSAValue, nonnegative: bool = False) -> None:
        """Bind the integer `value` to the index `lowered`."""
        self._indices.set(value, self._shifted(lowered))
        if nonnegative:
            self._nonnegative.add(value)

    def value(self, v: SSAValue) -> SSAValue:
        """Return the lowered value of `v`."""
        if v in self._env:
            return self._env[v]
        for each in operands_first(v, self._needed):
            if each not in self._env:
                self._env.set(each, self._lower(each))
        return self._env[v]

    def _needed(self, v: SSAValue) -> Sequence[SSAValue]:
        """Return the values to lower before `v`: the operands of an `expression`."""
        if v in self._env or v in self._indices or not isinstance(v, OpResult) or type(v.op) in _SPECIAL:
            return ()
        reads_them_itself = isinstance(v.op, tir.CallIntrinOp) and v.op.func.data in CALLS
        return () if reads_them_itself else v.op.operands

    def _lower(self, v: SSAValue) -> SSAValue:
        if v in self._indices:
            return self.emit.from_index(self.index(v), scalar_type(v.type))
        if not isinstance(v, OpResult):
            raise UnsupportedError(f"a value of {v.type} has no meaning here", found=str(v))
        return self._lowered(v.op)

    def _lowered(self, op: Operation) -> SSAValue:
        special = _SPECIAL.get(type(op))
        if special is not None:
            return special(self, op)
        if isinstance(op, tir.CallIntrinOp) and op.func.data in CALLS:
            return CALLS[op.func.data](self, op)
        return self.expression(op)

    def expression(self, op: Operation) -> SSAValue:
        """Lower an operation on the values of its operands: all scalars, or all vectors."""
        args = [self.value(o) for o in op.operands]
        if isinstance(op.results[0].type, VectorType):
            args = self.same_shape(args)
        if isinstance(op, tir.CallIntrinOp | tir.CallLLVMIntrinOp):
            return build_intrinsic(self.emit, op, args)
        build = BUILDERS.get(type(op))
        if build is None:
            raise UnsupportedError(f"'{op.name}' cannot be lowered here", location=location_of(op))
        if isinstance(op, DIVISIONS) and not is_float(op.lhs.type):
            return divide(self.emit, op, args)
        return build(self.emit, op, args)

    def same_shape(self, args: list[SSAValue]) -> list[SSAValue]:
        """Broadcast scalars if there is a vector among the values."""
        count = next((lane_count(a.type) for a in args if is_vector(a)), None)
        if count is None:
            return args
        return [a if isinstance(a.type, VectorType) else self.emit.broadcast(a, count) for a in args]

    # as index

    def index(self, v: SSAValue) -> SSAValue:
        """Return a tir integer as an index."""
        base, offset = self.shifted(v)
        if base is None:
            return self.emit.index(offset)
        return self.emit.add(base, self.emit.index(offset)) if offset else base

    def shifted(self, v: SSAValue) -> Shifted:
        """Return a tir integer as an index, without emitting operations that only add a constant."""
        if v in self._indices:
            return self._indices[v]
        for each in operands_first(v, self._needed_as_index):
            if each not in self._indices:
                self._indices.set(each, self._lower_index(each))
        return self._indices[v]

    def _needed_as_index(self, v: SSAValue) -> Sequence[SSAValue]:
        if v in self._indices or not isinstance(v, OpResult):
            return ()
        if type(v.op) is tir.CastOp and _keeps_value(v.op):
            return (v.op.value,)
        return v.op.operands if _has_index_rule(v.op, v.type) else ()

    def _lower_index(self, v: SSAValue) -> Shifted:
        op = v.owner
        if type(op) is tir.ConstOp and isinstance(op.value, IntegerAttr):
            return None, int(op.py_value)
        if type(op) is ValueOp:
            return self._shifted(self.symbolic(op.expr.data))
        if isinstance(v, OpResult) and _has_index_rule(v.op, v.type):
            return _INDEX_RULES[type(v.op)](self, v.op)
        if type(op) is tir.CastOp and _keeps_value(op):
            return self.shifted(op.value)
        return self._shifted(self.emit.to_index(self._widened(v)))

    def _shifted(self, lowered: SSAValue) -> Shifted:
        known = self.emit.known.get(lowered)
        return (lowered, 0) if known is None else (None, known)

    def _widened(self, v: SSAValue) -> SSAValue:
        value = self.value(v)
        if is_unsigned(v.type) and cast(IntegerType, v.type).width.data < 64:
            return self.emit.pure(arith.ExtUIOp, (value,), IntegerType(64))
        return value

    def nonnegative(self, v: SSAValue) -> bool:
        """Return whether the form of an integer shows that it is not negative."""
        seen = {v}
        left = [v]
        while left:
            op = (each := left.pop()).owner
            if isinstance(op, _MONOTONE) and each not in self._nonnegative:
                left += [o for o in op.operands if o not in seen]
                seen.update(op.operands)
            elif not (each in self._nonnegative or _is_nonnegative_leaf(op)):
                return False
        self._nonnegative |= seen
        return True

    def _symbol(self, var: Var) -> SSAValue:
        """Return a variable as an index. Raises `UnsupportedError` for a variable that no buffer mentions."""
        if isinstance(var.name, SSAValue):
            return self.index(var.name)
        value = self.symbols.get(var.name)
        if value is None:
            known = ", ".join(self.symbols) or "none"
            raise UnsupportedError(f"no parameter gives the variable '{var.name}'", hint=f"known variables: {known}")
        return value


_MONOTONE = (tir.AddOp, tir.MulOp, tir.FloorDivOp, tir.FloorModOp, tir.MinOp, tir.CastOp)
"""Operations that are not negative if no operand is."""


def _is_nonnegative_leaf(op: Operation | Block) -> bool:
    if isinstance(op, ValueOp):
        return is_nonnegative(op.expr.data)
    return isinstance(op, tir.ConstOp) and op.py_value >= 0


def _keeps_value(op: tir.CastOp) -> bool:
    """Return whether a cast of an index is between signed integers and does not narrow."""
    source, target = op.value.type, op.result.type
    if not (isinstance(source, IntegerType) and isinstance(target, IntegerType)) or i1 in (source, target):
        return False
    narrow, wide = cast(IntegerType, source), cast(IntegerType, target)
    return not is_unsigned(narrow) and bit_width(wide) >= bit_width(narrow)


def _has_index_rule(op: Operation, dtype: Attribute) -> bool:
    """Return whether an integer is computed as an index: without overflow, and divided only by constants and
    extents.
    """
    if type(op) not in _INDEX_RULES or is_float(dtype) or is_unsigned(dtype):
        return False
    return not isinstance(op, tir.FloorDivOp | tir.FloorModOp) or _is_size(op.operands[1])


def _is_size(value: SSAValue) -> bool:
    """Return whether an integer is a nonzero constant or composed of extents."""
    expr = sym_expr_of(value)
    return expr.constant != 0 and all(isinstance(v.name, str) for v in expr.free_vars())


def _index_sum(values: Values, op: Operation) -> Shifted:
    (a, x), (b, y) = map(values.shifted, op.operands)
    return (a if b is None else b if a is None else values.emit.add(a, b)), x + y


def _index_difference(values: Values, op: Operation) -> Shifted:
    (a, x), (b, y) = map(values.shifted, op.operands)
    if a is None and b is not None:
        return values.emit.sub(values.emit.index(x - y), b), 0
    return (a if a is None or b is None else values.emit.sub(a, b)), x - y


def _index_product(values: Values, op: Operation) -> Shifted:
    (a, x), (b, y) = sorted(map(values.shifted, op.operands), key=lambda f: f[0] is None)
    if a is None:
        return None, x * y
    if b is None:
        return (values.emit.mul(a, values.emit.index(y)) if y else None), x * y
    first, second = map(values.index, op.operands)
    return values.emit.mul(first, second), 0


def _index_division(values: Values, op: Operation) -> Shifted:
    a, b = (values.index(o) for o in op.operands)
    nonnegative = all(values.nonnegative(o) for o in op.operands)
    if isinstance(op, tir.FloorModOp):
        return divided(values.emit, b, lambda d: floor_mod(values.emit, a, d, nonnegative), quotient=False), 0
    division = arith.DivUIOp if nonnegative else arith.FloorDivSIOp
    return divided(values.emit, b, lambda d: values.emit.binary(division, a, d), quotient=True), 0


def _index_extremum(cls: type[Operation]) -> Callable[[Values, Operation], Shifted]:
    def build(values: Values, op: Operation) -> Shifted:
        a, b = map(values.index, op.operands)
        return values.emit.binary(cls, a, b), 0

    return build


_INDEX_RULES: dict[type[Operation], Callable[[Values, Operation], Shifted]] = {
    tir.AddOp: _index_sum,
    tir.SubOp: _index_difference,
    tir.MulOp: _index_product,
    tir.FloorDivOp: _index_division,
    tir.FloorModOp: _index_division,
    tir.MinOp: _index_extremum(arith.MinSIOp),
    tir.MaxOp: _index_extremum(arith.MaxSIOp),
}


def _const(values: Values, op: tir.ConstOp) -> SSAValue:
    return values.emit.constant(op.py_value, scalar_type(op.result.type))


def _symbolic_value(values: Values, op: ValueOp) -> SSAValue:
    return values.emit.from_index(values.symbolic(op.expr.data), scalar_type(op.result.type))


def _reinterpret(values: Values, op: tir.ReinterpretOp) -> SSAValue:
    return reinterpret(values.emit, values.value(op.value), op.value.type, op.result.type)


def _broadcast(values: Values, op: tir.BroadcastOp) -> SSAValue:
    return values.emit.broadcast(values.value(op.value), _fixed_lanes(op))


def _shuffle(values: Values, op: tir.ShuffleOp) -> SSAValue:
    lanes = [i.data for i in op.lanes]
    element = scalar_type(scalar_of(op.result.type))
    vectors = [values.value(v) for v in op.vectors]
    if len(lanes) > 1 and len(vectors) <= 2 and all(map(is_vector, vectors)) and len({v.type for v in vectors}) == 1:
        return values.emit.shuffle(vectors[0], vectors[-1], lanes)
    return pick_lanes(values.emit, vectors, lanes, element)


def _fixed_lanes(op: tir.RampOp | tir.BroadcastOp) -> int:
    """Return the number of lanes. Raises `UnsupportedError` if they are scalable."""
    if is_scalable(op.result.type):
        raise UnsupportedError(
            "a vector whose length the machine sets",
            location=location_of(op),
            expected="a constant number of lanes",
            found=dtype_name(op.result.type),
        )
    return op.result.type.get_shape()[0]


def _ramp(values: Values, op: tir.RampOp) -> SSAValue:
    emit, count = values.emit, _fixed_lanes(op)
    base, stride = values.value(op.base), values.value(op.stride)
    if isinstance(op.base, OpResult) and _has_index_rule(op.base.op, op.base.type):
        # Computed without overflow, as indices are: LLVM sees that quotients and remainders of it need no signs.
        base = emit.from_index(values.index(op.base), base.type)
    steps = emit.dense(range(count), vector_type(base.type, count))
    if emit.known.get(stride) != 1:
        steps = emit.binary(arith.MuliOp, emit.broadcast(stride, count), steps)
    return steps if emit.known.get(base) == 0 else emit.binary(arith.AddiOp, emit.broadcast(base, count), steps)


def _less(values: Values, op: tir.BinaryExpr) -> SSAValue:
    """Lower `ramp(a, 1, lanes) < broadcast(b)` to a mask of the first b - a lanes."""
    ramp, bound = op.lhs.owner, op.rhs.owner
    if not isinstance(ramp, tir.RampOp) or not isinstance(bound, tir.BroadcastOp):
        return values.expression(op)
    if values.emit.known.get(values.index(ramp.stride)) != 1:
        return values.expression(op)
    room = values.emit.sub(values.index(bound.value), values.index(ramp.base))
    return lane_mask(values.emit, room, ramp.result.type.get_shape()[0])


def lane_mask(emit: Emitter, room: SSAValue, count: int) -> SSAValue:
    """Return the mask of the first `room` of `count` lanes."""
    mask, known = vector_type(i1, count), emit.known.get(room)
    if known is not None:
        return emit.dense([int(i < known) for i in range(count)], mask)
    return emit.pure(vector.CreateMaskOp, (room,), mask)


_SPECIAL: dict[type[Operation], Callable[[Values, Any], SSAValue]] = {
    tir.ConstOp: _const,
    ValueOp: _symbolic_value,
    tir.ReinterpretOp: _reinterpret,
    tir.BroadcastOp: _broadcast,
    tir.RampOp: _ramp,
    tir.ShuffleOp: _shuffle,
    tir.LtOp: _less,
}


# Intrinsics on addresses: of an element, of a part of a buffer, moved by bytes, compared with null.


def _size(dtype: Attribute) -> int:
    return byte_size(scalar_of(dtype)) * lanes_of(dtype)


def _address_of(values: Values, op: tir.CallIntrinOp) -> SSAValue:
    load = op.call_args[0].owner
    if not isinstance(load, tir.LoadOp) or len(load.indices) != 1:
        raise UnsupportedError("address_of takes an element of a flat buffer", hint="run flatten-buffer before")
    dtype = cast(tir.BufferType, load.buffer.type).dtype
    index = load.indices[0]
    at = index.owner.base if isinstance(index.owner, tir.RampOp) else index
    return moved(values.emit, values.value(load.buffer), values.index(at), _size(dtype))


def _access_pointer(values: Values, op: tir.CallIntrinOp) -> SSAValue:
    dtype, data, offset = op.call_args[:3]
    return moved(values.emit, values.value(data), values.index(offset), _size(dtype.type))


def _byte_offset(values: Values, op: tir.CallIntrinOp) -> SSAValue:
    data, offset = op.call_args
    return moved(values.emit, values.value(data), values.index(offset), 1)


def _is_null(values: Values, op: tir.CallIntrinOp) -> SSAValue:
    return _null_test(values.emit, pointer_to(values.emit, values.value(op.call_args[0])))


def _raised(values: Values, op: tir.CallIntrinOp) -> SSAValue:
    return _null_test(values.emit, values.packed_results[op.call_args[0]])


def _null_test(emit: Emitter, pointer: SSAValue) -> SSAValue:
    address = emit.append(llvm.PtrToIntOp(pointer)).results[0]
    return emit.compare("eq", address, emit.constant(0, i64))


def _active_lanes(values: Values, op: tir.CallIntrinOp) -> SSAValue:
    base, limit = (values.index(v) for v in op.call_args)
    return lane_mask(values.emit, values.emit.sub(limit, base), lanes_of(op.result.type))


ADDRESSES: dict[str, Callable[[Values, tir.CallIntrinOp], SSAValue]] = {
    "address_of": _address_of,
    "tvm_access_ptr": _access_pointer,
    "handle_add_byte_offset": _byte_offset,
    "isnullptr": _is_null,
    RAISED: _raised,
}
"""Name of an intrinsic -> the builder of a call; these inspect the producers of their arguments."""
CALLS = {**ADDRESSES, "get_active_lane_mask": _active_lanes}
"""The above, and the builders that need their arguments as indices."""
