"""Native checks of objects against struct info: of arguments, and of what Python gives back.

The check is made in stages, so that there are few branches: first the classes of all objects, then the fields of those
that are arrays, then what is inside of tuples, in the end all extents. Extents that are plain variables bind them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Block, SSAValue

from ...dialects import relax
from ...dialects.dtypes import byte_size, dtype_name, is_float
from ...dialects.sym.expr import SymExpr, Var
from ...runtime import abi
from ...runtime.abi import INPUT_FLAGS, OUTPUT_FLAGS, ArrayLayout, Slot, dtype_slot
from .builder import I32, I64
from .function import HostFunction
from .values import Fields, Object, Prim, Shape, Tensor, Value, load_items, load_number, ssa

_RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
}


def is_native(t: Attribute) -> bool:
    """Whether the native check decides by itself that an object is of struct info `t`."""
    if isinstance(t, relax.TensorType):
        return t.rank is not None and t.element is not None
    if isinstance(t, TupleType):
        return all(map(is_native, t.types))
    return not isinstance(t, relax.ShapeType) or t.rank is not None


class Check:
    """One check of some objects; where it fails, control goes to `failed`, which takes no arguments."""

    def __init__(self, f: HostFunction, failed: Block):
        self.f = f
        self.code = f.code
        self.failed = failed
        self._pending: list[tuple[SymExpr, SSAValue]] = []

    def objects(self, objects: Sequence[SSAValue], types: Sequence[Attribute], written: Sequence[bool]) -> list[Value]:
        """Check objects and bind what they bind; then `finish` has to be called."""
        pairs = list(zip(objects, types, strict=True))
        self._all([ok for o, t in pairs if (ok := self._class(o, t)) is not None])
        fields = [self._fields(o, t, w) for (o, t), w in zip(pairs, written, strict=True)]
        self._all([ok for each in fields for ok in each])
        return [_LOADERS[type(t)](self, o, t) for o, t in pairs]

    def finish(self) -> None:
        """Compare all extents that did not bind a variable, as far as their variables are known."""
        scope, code = self.f.scope, self.code
        before = scope.zero_division, scope.overflow
        scope.zero_division = scope.overflow = lambda: self.failed
        known = [(scope.emit(e), value) for e, value in self._pending if scope.knows(e)]
        scope.zero_division, scope.overflow = before
        self._all([code.compare("eq", expected, value) for expected, value in known])

    def disjoint(self, tensors: Sequence[tuple[Tensor, bool]]) -> None:
        """Check that no tensor that is written shares memory with another one."""
        conditions: list[SSAValue] = []
        ends = [self._end(t) for t, _ in tensors] if any(w for _, w in tensors) else []
        for i, (a, written) in enumerate(tensors):
            for j, (b, also) in enumerate(tensors):
                if written and i != j and not (also and j < i):
                    conditions.append(self._apart(a.data, ends[i], b.data, ends[j]))
        self._all(conditions)

    def _end(self, tensor: Tensor) -> SSAValue:
        assert tensor.element is not None
        size = self.code.integer(byte_size(tensor.element))
        for d in tensor.dims:
            size = self.code.binary(llvm.MulOp, size, self.f.scope.emit(d))
        return self.code.address(tensor.data, size)

    def _apart(self, a: SSAValue, a_end: SSAValue, b: SSAValue, b_end: SSAValue) -> SSAValue:
        """One ends before the other begins, or one is empty."""
        code = self.code
        numbers = [code.cast(llvm.PtrToIntOp, p, I64) for p in (a, a_end, b, b_end)]
        pairs = [(numbers[1], numbers[2]), (numbers[3], numbers[0]), (numbers[1], numbers[0]), (numbers[3], numbers[2])]
        result = code.compare("sle", *pairs[0])
        for pair in pairs[1:]:
            result = code.binary(llvm.OrOp, result, code.compare("sle", *pair))
        return result

    def _all(self, conditions: Sequence[SSAValue]) -> None:
        together: SSAValue | None = None
        for condition in conditions:
            together = self.code.both(together, condition)
        if together is not None:
            self.code.unless(together, self.failed)

    # -- stages -------------------------------------------------------------------------------------------------------

    def _class(self, o: SSAValue, t: Attribute) -> SSAValue | None:
        code = self.code
        if isinstance(t, relax.CallableType):
            return code.compare("ne", code.call("PyCallable_Check", [o], I32), code.integer(0, I32))
        if isinstance(t, relax.ObjectType):
            return None
        if isinstance(t, relax.PrimType) and dtype_name(t.dtype) == "bool":
            return self._either(o, Slot.TRUE, Slot.FALSE)
        kind = code.field(o, ArrayLayout.OB_TYPE)
        if isinstance(t, relax.TensorType):
            return self._either(kind, Slot.NDARRAY_TYPE, Slot.TIRAX_NDARRAY_TYPE)
        if isinstance(t, relax.PrimType):
            return code.compare("eq", kind, code.slot(Slot.FLOAT_TYPE if is_float(t.dtype) else Slot.LONG_TYPE))
        return code.compare("eq", kind, code.slot(Slot.TUPLE_TYPE))

    def _either(self, value: SSAValue, *slots: Slot) -> SSAValue:
        first, second = (self.code.compare("eq", value, self.code.slot(s)) for s in slots)
        return self.code.binary(llvm.OrOp, first, second)

    def _fields(self, o: SSAValue, t: Attribute, written: bool) -> list[SSAValue]:
        code = self.code
        if isinstance(t, relax.TensorType):
            wanted = code.integer(OUTPUT_FLAGS if written else INPUT_FLAGS, I32)
            flags = code.binary(llvm.AndOp, code.field(o, ArrayLayout.FLAGS, I32), wanted)
            found = [code.compare("eq", flags, wanted)]
            if t.rank is not None:
                found.append(code.compare("eq", code.field(o, ArrayLayout.ND, I32), code.integer(t.rank, I32)))
            if t.element is not None:
                descr = code.slot(dtype_slot(dtype_name(t.element)))
                found.append(code.compare("eq", code.field(o, ArrayLayout.DESCR), descr))
            return found
        count = len(t.types) if isinstance(t, TupleType) else t.rank if isinstance(t, relax.ShapeType) else None
        if count is None:
            return []
        return [code.compare("eq", code.field(o, abi.TUPLE_SIZE, I64), code.integer(count))]

    def _extents(
        self, exprs: Sequence[SymExpr], values: Sequence[SSAValue], signed: bool = False
    ) -> tuple[SymExpr, ...]:
        """Bind or note the extents; what is known of them from here on."""
        scope = self.f.scope
        for expr, value in zip(exprs, values, strict=True):
            if isinstance(expr, Var) and not scope.knows(expr):
                scope.bind(expr, value, signed)
            else:
                self._pending.append((expr, value))
        return tuple(e if scope.knows(e) else ssa(v) for e, v in zip(exprs, values, strict=True))

    def _tensor(self, o: SSAValue, t: relax.TensorType) -> Value:
        code = self.code
        if t.rank is None:
            return Object(o)
        pointer = code.field(o, ArrayLayout.DIMS) if t.rank else code.null
        extents = [code.field(pointer, 8 * i, I64) for i in range(t.rank)]
        dims = self._extents(t.dims, extents) if t.dims is not None else tuple(map(ssa, extents))
        return Tensor(code.field(o, ArrayLayout.DATA), dims, t.element, o)

    def _tuple(self, o: SSAValue, t: TupleType) -> Value:
        types = list(t.types)
        return Fields(tuple(self.objects(load_items(self.f, o, len(types)), types, [False] * len(types))))

    def _shape(self, o: SSAValue, t: relax.ShapeType) -> Value:
        if t.rank is None:
            return Object(o)
        code = self.code
        items = load_items(self.f, o, t.rank)
        long = code.slot(Slot.LONG_TYPE)
        self._all([code.compare("eq", code.field(i, ArrayLayout.OB_TYPE), long) for i in items])
        values = [
            code.call("PyLong_AsLongLong", [i], I64) for i in items
        ]  # -1, which is refused, where it is too large
        self._all([code.compare("sle", code.integer(0), v) for v in values])
        exprs = self._extents(t.dims, values) if t.dims is not None else tuple(map(ssa, values))
        return Shape(exprs, o)

    def _prim(self, o: SSAValue, t: relax.PrimType) -> Value:
        code = self.code
        prim = load_number(self.f, o, t.dtype)
        name = dtype_name(t.dtype)
        if not isinstance(prim.value, SymExpr) or name == "bool":
            return prim
        value = self.f.scope.emit(prim.value)
        conditions = [code.compare("eq", code.call("PyErr_Occurred", []), code.null)]
        if name in _RANGES:
            low, high = (code.integer(n) for n in _RANGES[name])
            conditions += [code.compare("sle", low, value), code.compare("sle", value, high)]
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
