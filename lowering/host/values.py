"""Relax values in native code, and their conversion to Python objects.

Objects are borrowed here: something else (an argument, a variable of the frame, a slot) owns them until the function
ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.dtypes import byte_size, dtype_name
from ...dialects.relax.memory import tensor_bytes
from ...dialects.sym.expr import SymExpr, Var, product
from ...runtime import abi, result_pool
from ...runtime.abi import ArrayLayout, Slot, dtype_slot
from ..tir_to_scf.emitter import NO_FLAGS
from .function import HostFunction
from .native import I32, I64, PTR, f64

_LARGEST = 2.0**46
"""Bytes that no tensor can have."""


@dataclass(frozen=True)
class Tensor:
    """A dense tensor: its data, extents (over the function's variables or SSA values) and dtype (None if unknown).

    `obj` is its array, or None if it has none (in the arena) or none yet (`constant`, the index of a constant).
    """

    data: SSAValue
    dims: tuple[SymExpr, ...]
    element: Attribute | None
    obj: SSAValue | None = None
    constant: int | None = None


@dataclass(frozen=True)
class Shape:
    """A shape whose values are known."""

    values: tuple[SymExpr, ...]
    obj: SSAValue | None = None


@dataclass(frozen=True)
class Prim:
    """A number: an i64 as an expression, or a double."""

    dtype: Attribute
    value: SymExpr | SSAValue
    obj: SSAValue | None = None


@dataclass(frozen=True)
class Fields:
    """A tuple of values."""

    fields: tuple[Value, ...]


@dataclass(frozen=True)
class Object:
    """A Python object of which only the struct info is known."""

    obj: SSAValue


Value = Tensor | Shape | Prim | Fields | Object


def flat_fields(value: Value) -> list[Value]:
    """Return the fields of a tuple, with nested tuples flattened; a value that is no tuple is returned as it is."""
    return [v for each in value.fields for v in flat_fields(each)] if isinstance(value, Fields) else [value]


def ssa(value: SSAValue) -> Var:
    """Return an extent as a symbolic expression."""
    return Var(value, I64)


def as_object(f: HostFunction, value: Value) -> SSAValue:
    """Return the value as a Python object, borrowed."""
    if isinstance(value, Tensor):
        return _array_object(f, value)
    if isinstance(value, Object):
        return value.obj
    if isinstance(value, Fields):
        return _tuple_object(f, [as_object(f, each) for each in value.fields])
    if value.obj is not None:
        return value.obj
    if isinstance(value, Shape):
        numbers = [f.own(f.call("PyLong_FromLongLong", [f.scope.of(e)])) for e in value.values]
        return _tuple_object(f, numbers)
    number = f.scope.of(value.value) if isinstance(value.value, SymExpr) else value.value
    return number_object(f, number, value.dtype)


def _array_object(f: HostFunction, value: Tensor) -> SSAValue:
    if value.obj is not None:
        return value.obj
    if value.constant is None:
        raise TiraxError("internal error: a tensor of the arena is used as an object", hint="run plan-memory again")
    return f.slot_of("constant_object", value.constant)


_CONVERSIONS = {"bool": "PyBool_FromLong", "uint64": "PyLong_FromUnsignedLongLong"}


def number_object(f: HostFunction, number: SSAValue, dtype: Attribute) -> SSAValue:
    """Return a number, an i64 or a double, as a Python object of `dtype`."""
    if number.type == f64:
        return f.own(f.call("PyFloat_FromDouble", [number]))
    return f.own(f.call(_CONVERSIONS.get(dtype_name(dtype), "PyLong_FromLongLong"), [number]))


def _tuple_object(f: HostFunction, items: Sequence[SSAValue]) -> SSAValue:
    result = f.own(f.call("PyTuple_New", [f.integer(len(items))]))
    for i, item in enumerate(items):
        f.call("Py_IncRef", [item], None)
        f.call("PyTuple_SetItem", [result, f.integer(i), item], I32)
    return result


def as_result(f: HostFunction, value: Value) -> SSAValue:
    """Return the value as an object that the caller may keep and write to: constants are copied."""
    if isinstance(value, Tensor) and value.constant is not None:
        assert value.element is not None
        copy = new_array(f, value.dims, value.element)
        size = f.integer((product(value.dims) * byte_size(value.element)).constant or 0)
        f.call("memcpy", [copy.data, value.data, size])
        return as_object(f, copy)
    if isinstance(value, Fields):
        return _tuple_object(f, [as_result(f, each) for each in value.fields])
    return as_object(f, value)


def new_array(f: HostFunction, dims: tuple[SymExpr, ...], element: Attribute) -> Tensor:
    """Return a new NDArray, owned by the function; large ones take memory from the pool (`result_pool`)."""
    check_extents(f, [(dims, element)])
    descr = new_descr(f, element)
    extents = f.array([f.scope.of(d) for d in dims])
    bytes_ = tensor_bytes(relax.TensorType.of(dims, element))
    size = f.scope.unchecked(bytes_)

    def small() -> SSAValue:
        return array_over(f, descr, len(dims), extents, f.null, f.integer(0, I32))

    def large() -> SSAValue:
        return f.call(result_pool.NEW_RESULT, [descr, f.integer(len(dims), I32), extents, size])

    if bytes_.constant is not None:
        array = small() if bytes_.constant < result_pool.LARGE else large()
    else:
        array = f.choose(f.compare("slt", size, f.integer(result_pool.LARGE)), small, large)
    return Tensor(f.field(f.own(array), ArrayLayout.DATA), dims, element, array)


def new_descr(f: HostFunction, element: Attribute) -> SSAValue:
    """Return a new reference to the numpy dtype of `element`."""
    descr = f.slot(dtype_slot(dtype_name(element)))
    f.call("Py_IncRef", [descr], None)
    return descr


def array_over(
    f: HostFunction, descr: SSAValue, rank: int, extents: SSAValue, data: SSAValue, flags: SSAValue
) -> SSAValue:
    """Return a new NDArray over memory or, if `data` is null, with memory of its own; steals the reference to
    `descr`.
    """
    args = [f.slot(Slot.TIRAX_NDARRAY_TYPE), descr, f.integer(rank, I32), extents, f.null, data, flags, f.null]
    return f.call_pointer(f.slot(Slot.NEW_FROM_DESCR), args)


def check_extents(f: HostFunction, tensors: Iterable[tuple[Sequence[SymExpr], Attribute | None]]) -> None:
    """Exit the function if an extent of a tensor to be created is negative, or its size absurdly large.

    Sizes are computed in 64 bits, which must not overflow; they are also computed in floating point to detect that.
    """
    shapes = dict.fromkeys((tuple(dims), element) for dims, element in tensors)
    for dim in dict.fromkeys(d for dims, _ in shapes for d in dims if not f.scope.is_nonnegative(d)):
        value = f.scope.of(dim)
        holds = f.compare("sle", f.integer(0), value)
        f.require(holds, "shape", f"'{f.name}': the extent {dim} is negative", [value], expected=">= 0", found="{0}")
    for dims, element in shapes:
        if all(d.constant is not None for d in dims) or element is None:
            continue
        size = f.real(byte_size(element))
        for d in dims:
            size = f.binary(arith.MulfOp, size, f.scope.real(d), NO_FLAGS)
        holds = f.compare("olt", size, f.real(_LARGEST))
        f.require(holds, "shape", f"'{f.name}': a tensor of shape ({', '.join(map(str, dims))}) is too large")


def constant(f: HostFunction, op: relax.ConstantOp) -> Tensor:
    """Return a constant of the executable."""
    index = f.module.constant(op.value)
    t = op.result.type
    assert t.dims is not None
    return Tensor(f.slot_of("constant", index), t.dims, t.element, None, index)


def load_items(f: HostFunction, tuple_: SSAValue, count: int) -> list[SSAValue]:
    """Return the items of an exact tuple of that length, borrowed."""
    return [f.field(tuple_, abi.TUPLE_ITEMS + 8 * i) for i in range(count)]


def load_tensor(f: HostFunction, obj: SSAValue, t: relax.TensorType) -> Tensor:
    """Return an array that is known to match struct info `t`; extents that `t` does not know are read from it."""
    data = f.field(obj, ArrayLayout.DATA)
    if t.dims is not None and all(map(f.scope.knows, t.dims)):
        return Tensor(data, t.dims, t.element, obj)
    extents = f.field(obj, ArrayLayout.DIMS, PTR)
    dims = [ssa(f.field(extents, 8 * i, I64)) for i in range(t.rank or 0)]
    return Tensor(data, tuple(dims), t.element, obj)


def load_trusted(f: HostFunction, obj: SSAValue, t: Attribute) -> Value:
    """Return the value of an object that is known to match struct info `t`."""
    if isinstance(t, relax.TensorType) and t.rank is not None:
        return load_tensor(f, obj, t)
    if isinstance(t, TupleType):
        items = load_items(f, obj, len(t.types))
        return Fields(tuple(load_trusted(f, item, each) for item, each in zip(items, t.types, strict=True)))
    if isinstance(t, relax.ShapeType) and t.rank is not None:
        return Shape(tuple(ssa(as_long(f, item)) for item in load_items(f, obj, t.rank)), obj)
    if isinstance(t, relax.PrimType):
        return load_number(f, obj, t.dtype)
    return Object(obj)


def load_number(f: HostFunction, obj: SSAValue, dtype: Attribute) -> Prim:
    """Return the value of a Python number that is known to be of the class for `dtype`."""
    name = dtype_name(dtype)
    if name == "bool":
        is_true = f.compare("eq", obj, f.slot(Slot.TRUE))
        return Prim(dtype, ssa(f.pure(arith.ExtUIOp, (is_true,), I64)), obj)
    if "float" in name:
        return Prim(dtype, f.call("PyFloat_AsDouble", [obj], f64), obj)
    return Prim(dtype, f.scope.number(as_long(f, obj, signed=name != "uint64")), obj)


def as_long(f: HostFunction, obj: SSAValue, signed: bool = True) -> SSAValue:
    """Return the value of a Python int; -1 if it is too large."""
    return f.call("PyLong_AsLongLong" if signed else "PyLong_AsUnsignedLongLong", [obj], I64)
