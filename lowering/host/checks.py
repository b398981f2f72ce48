"""Native checks of objects against struct info: of arguments, and of values returned by Python.

The check has stages, to keep the number of branches low: first the classes of all objects, then the fields of those
that are arrays, then the fields of tuples, and finally all extents. Extents that are plain variables bind them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import inf
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Block, SSAValue

from ...dialects import relax
from ...dialects.dtypes import byte_size, dtype_name, is_float
from ...dialects.sym.bounds import Interval
from ...dialects.sym.expr import SymExpr, Var
from ...runtime import abi
from ...runtime.abi import INPUT_FLAGS, OUTPUT_FLAGS, ArrayLayout, Slot, dtype_slot
from ..tir_to_scf.emitter import NO_OVERFLOW
from .function import HostFunction
from .native import I32, I64
from .values import Fields, Object, Prim, Shape, Tensor, Value, as_long, load_items, load_number, ssa

_RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
}


def is_native(t: Attribute) -> bool:
    """Return whether the native check alone decides that an object matches struct info `t`."""
    if isinstance(t, relax.TensorType):
        return t.rank is not None and t.element is not None
    if isinstance(t, TupleType):
        return all(map(is_native, t.types))
    return not isinstance(t, relax.ShapeType) or t.rank is not None


class Check:
    """A check of several objects; on failure it branches to `failed`, which takes no arguments."""

    def __init__(self, f: HostFunction, failed: Block):
        self.f = f
        self.failed = failed
        self._pending: list[tuple[SymExpr, SSAValue]] = []

    def objects(self, objects: Sequence[SSAValue], types: Sequence[Attribute], written: Sequence[bool]) -> list[Value]:
        """Check objects and bind their symbolic variables; `finish` must be called afterwards."""
        pairs = list(zip(objects, types, strict=True))
        self._all([ok for o, t in pairs if (ok := self._class(o, t)) is not None])
        fields = [self._fields(o, t, w) for (o, t), w in zip(pairs, written, strict=True)]
        self._all([ok for each in fields for ok in each])
        return [_LOADERS[type(t)](self, o, t) for o, t in pairs]

    def finish(self) -> None:
        """Compare all extents that did not bind a variable, as far as their variables are known."""
        f, scope = self.f, self.f.scope
        before = scope.zero_division, scope.overflow
        scope.zero_division = scope.overflow = self._fail
        known = [(scope.of(e), value) for e, value in self._pending if scope.knows(e)]
        scope.zero_division, scope.overflow = before
        self._all([f.compare("eq", expected, value) for expected, value in known])

    def bounds(self, bounds: Mapping[str, Interval]) -> None:
        """Check that the symbolic variables bound by the objects are within their bounds."""
        f = self.f
        known = [(f.scope.of(Var(name)), b) for name, b in bounds.items() if f.scope.knows(Var(name))]
        low = [f.compare("sle", f.integer(int(b.low)), value) for value, b in known if b.low > 0]
        high = [f.compare("sle", value, f.integer(int(b.high))) for value, b in known if b.high < inf]
        self._all([*low, *high])

    def disjoint(self, tensors: Sequence[tuple[Tensor, bool]]) -> None:
        """Check that no tensor that is written shares memory with another one."""
        conditions: list[SSAValue] = []
        ranges = [self._range(t) for t, _ in tensors] if any(w for _, w in tensors) else []
        for i, (_, written) in enumerate(tensors):
            for j, (_, also) in enumerate(tensors):
                if written and i != j and not (also and j < i):
                    conditions.append(self._disjoint(*ranges[i], *ranges[j]))
        self._all(conditions)

    def _range(self, tensor: Tensor) -> tuple[SSAValue, SSAValue]:
        """Return the addresses of the begin and the end of a tensor."""
        f = self.f
        assert tensor.element is not None
        size = f.integer(byte_size(tensor.element))
        for d in tensor.dims:
            size = f.mul(size, f.scope.of(d), NO_OVERFLOW)
        begin = f.number_of(tensor.data)
        return begin, f.add(begin, size)

    def _disjoint(self, a: SSAValue, a_end: SSAValue, b: SSAValue, b_end: SSAValue) -> SSAValue:
        """Return an i1: one range ends before the other begins, or one is empty."""
        pairs = (a_end, b), (b_end, a), (a_end, a), (b_end, b)
        return self._any([self.f.compare("sle", *pair) for pair in pairs])

    def _all(self, conditions: Sequence[SSAValue]) -> None:
        if conditions:
            following = self.f.new_block()
            self.f.branch(self.f.all_of(conditions), following, self.failed)
            self.f.block = following

    def _any(self, conditions: Sequence[SSAValue]) -> SSAValue:
        return reduce(lambda a, b: self.f.binary(arith.OrIOp, a, b), conditions)

    def _fail(self) -> None:
        self.f.jump(self.failed)

    # -- stages -------------------------------------------------------------------------------------------------------

    def _class(self, o: SSAValue, t: Attribute) -> SSAValue | None:
        f = self.f
        if isinstance(t, relax.CallableType):
            return f.compare("ne", f.call("PyCallable_Check", [o], I32), f.integer(0, I32))
        if isinstance(t, relax.ObjectType):
            return None
        if isinstance(t, relax.PrimType) and dtype_name(t.dtype) == "bool":
            return self._either(o, Slot.TRUE, Slot.FALSE)
        kind = f.field(o, ArrayLayout.OB_TYPE)
        if isinstance(t, relax.TensorType):
            return self._either(kind, Slot.NDARRAY_TYPE, Slot.TIRAX_NDARRAY_TYPE)
        if isinstance(t, relax.PrimType):
            return f.compare("eq", kind, f.slot(Slot.FLOAT_TYPE if is_float(t.dtype) else Slot.LONG_TYPE))
        return f.compare("eq", kind, f.slot(Slot.TUPLE_TYPE))

    def _either(self, value: SSAValue, *slots: Slot) -> SSAValue:
        return self._any([self.f.compare("eq", value, self.f.slot(s)) for s in slots])

    def _fields(self, o: SSAValue, t: Attribute, written: bool) -> list[SSAValue]:
        f = self.f
        if isinstance(t, relax.TensorType):
            required = f.integer(OUTPUT_FLAGS if written else INPUT_FLAGS, I32)
            flags = f.binary(arith.AndIOp, f.field(o, ArrayLayout.FLAGS, I32), required)
            conditions = [f.compare("eq", flags, required)]
            if t.rank is not None:
                conditions.append(f.compare("eq", f.field(o, ArrayLayout.ND, I32), f.integer(t.rank, I32)))
            if t.element is not None:
                descr = f.slot(dtype_slot(dtype_name(t.element)))
                conditions.append(f.compare("eq", f.field(o, ArrayLayout.DESCR), descr))
            return conditions
        count = len(t.types) if isinstance(t, TupleType) else t.rank if isinstance(t, relax.ShapeType) else None
        if count is None:
            return []
        return [f.compare("eq", f.field(o, abi.TUPLE_SIZE, I64), f.integer(count))]

    def _extents(
        self, exprs: Sequence[SymExpr], values: Sequence[SSAValue], signed: bool = False
    ) -> tuple[SymExpr, ...]:
        """Bind or record the extents; return them as expressions over what is known from here on."""
        scope = self.f.scope
        for expr, value in zip(exprs, values, strict=True):
            if isinstance(expr, Var) and not scope.knows(expr):
                scope.bind(expr, value, signed)
            else:
                self._pending.append((expr, value))
        return tuple(e if scope.knows(e) else ssa(v) for e, v in zip(exprs, values, strict=True))

    def _tensor(self, o: SSAValue, t: relax.TensorType) -> Value:
        f = self.f
        if t.rank is None:
            return Object(o)
        pointer = f.field(o, ArrayLayout.DIMS) if t.rank else f.null
        extents = [f.field(pointer, 8 * i, I64) for i in range(t.rank)]
        dims = self._extents(t.dims, extents) if t.dims is not None else tuple(map(ssa, extents))
        return Tensor(f.field(o, ArrayLayout.DATA), dims, t.element, o)

    def _tuple(self, o: SSAValue, t: TupleType) -> Value:
        types = list(t.types)
        return Fields(tuple(self.objects(load_items(self.f, o, len(types)), types, [False] * len(types))))

    def _shape(self, o: SSAValue, t: relax.ShapeType) -> Value:
        f = self.f
        if t.rank is None:
            return Object(o)
        items = load_items(self.f, o, t.rank)
        long = f.slot(Slot.LONG_TYPE)
        self._all([f.compare("eq", f.field(i, ArrayLayout.OB_TYPE), long) for i in items])
        values = [as_long(f, i) for i in items]
        self._all([f.compare("sle", f.integer(0), v) for v in values])
        exprs = self._extents(t.dims, values) if t.dims is not None else tuple(map(ssa, values))
        return Shape(exprs, o)

    def _prim(self, o: SSAValue, t: relax.PrimType) -> Value:
        f = self.f
        prim = load_number(self.f, o, t.dtype)
        name = dtype_name(t.dtype)
        if not isinstance(prim.value, SymExpr) or name == "bool":
            return prim
        value = self.f.scope.of(prim.value)
        conditions = [f.is_null(f.call("PyErr_Occurred", []))]
        if name in _RANGES:
            low, high = (f.integer(n) for n in _RANGES[name])
            conditions += [f.compare("sle", low, value), f.compare("sle", value, high)]
        self._all(conditions)
        if t.expr is None:
            return prim
        return Prim(t.dtype, self._extents([t.expr], [value], signed=True)[0], o)

    def _object(self, o: SSAValue, t: Attribute) -> Value:
        return Object(o)


_LOADERS: dict[type[Attribute], Callable[[Check, SSAValue, Any], Value]] = {
    relax.TensorType: Check._tensor,  # pyright: ignore[reportPrivateUsage]
    relax.ShapeType: Check._shape,  # pyright: ignore[reportPrivateUsage]
    relax.PrimType: Check._prim,  # pyright: ignore[reportPrivateUsage]
    TupleType: Check._tuple,  # pyright: ignore[reportPrivateUsage]
    relax.ObjectType: Check._object,  # pyright: ignore[reportPrivateUsage]
    relax.CallableType: Check._object,  # pyright: ignore[reportPrivateUsage]
}
