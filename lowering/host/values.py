"""What a Relax value is in native code, and how it becomes a Python object.

Objects are borrowed here: something else (an argument, a variable of the frame, a slot) holds them until the function
ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.dtypes import byte_size, dtype_name
from ...dialects.relax.memory import tensor_bytes
from ...dialects.sym.expr import SymExpr, Var, product
from ...runtime import abi, result_pool
from ...runtime.abi import ArrayLayout, Slot, dtype_slot
from .arena import check_extents
from .builder import I32, I64, PTR, f64
from .function import HostFunction


@dataclass(frozen=True)
class Tensor:
    """A dense tensor: its data, extents (over the function's variables or SSA values) and dtype (None: unknown).

    `obj` is its array, None where it has none (in the arena) or none yet (`constant`, the index of a constant).
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
    """A tuple made of values."""

    fields: tuple[Value, ...]


@dataclass(frozen=True)
class Object:
    """A Python object of which nothing more is known than its struct info."""

    obj: SSAValue


Value = Tensor | Shape | Prim | Fields | Object


def flat_fields(value: Value) -> list[Value]:
    """The fields of a tuple, those of tuples in it included; the value itself where it is none."""
    return [v for each in value.fields for v in flat_fields(each)] if isinstance(value, Fields) else [value]


def ssa(value: SSAValue) -> Var:
    """An i64 as a symbolic expression."""
    return Var(value, I64)


def as_object(f: HostFunction, value: Value) -> SSAValue:
    """The value as a Python object, borrowed."""
    if isinstance(value, Tensor):
        return _array_object(f, value)
    if isinstance(value, Object):
        return value.obj
    if isinstance(value, Fields):
        return _tuple_object(f, [as_object(f, each) for each in value.fields])
    if value.obj is not None:
        return value.obj
    if isinstance(value, Shape):
        numbers = [f.own(f.code.call("PyLong_FromLongLong", [f.scope.emit(e)])) for e in value.values]
        return _tuple_object(f, numbers)
    return _number_object(f, value)


def _array_object(f: HostFunction, value: Tensor) -> SSAValue:
    if value.obj is not None:
        return value.obj
    if value.constant is None:
        raise TiraxError("internal error: a tensor of the arena is used as an object", hint="run plan-memory again")
    return f.code.slot(f.module.slot("constant_object", value.constant))


def _number_object(f: HostFunction, value: Prim) -> SSAValue:
    code = f.code
    if not isinstance(value.value, SymExpr):
        return f.own(code.call("PyFloat_FromDouble", [value.value]))
    number = f.scope.emit(value.value)
    if dtype_name(value.dtype) == "bool":
        wide = code.cast(llvm.ZExtOp, number, I64) if number.type != I64 else number
        return f.own(code.call("PyBool_FromLong", [wide]))
    convert = "PyLong_FromUnsignedLongLong" if dtype_name(value.dtype) == "uint64" else "PyLong_FromLongLong"
    return f.own(code.call(convert, [number]))


def _tuple_object(f: HostFunction, items: Sequence[SSAValue]) -> SSAValue:
    code = f.code
    made = f.own(code.call("PyTuple_New", [code.integer(len(items))]))
    for i, item in enumerate(items):
        code.call("Py_IncRef", [item], None)
        code.call("PyTuple_SetItem", [made, code.integer(i), item], I32)
    return made


def as_result(f: HostFunction, value: Value) -> SSAValue:
    """The value as an object that the caller may keep and write to: constants are copied."""
    if isinstance(value, Tensor) and value.constant is not None:
        assert value.element is not None
        copy = new_array(f, value.dims, value.element)
        size = f.code.integer((product(value.dims) * byte_size(value.element)).constant or 0)
        f.code.call("memcpy", [copy.data, value.data, size])
        return as_object(f, copy)
    if isinstance(value, Fields):
        return _tuple_object(f, [as_result(f, each) for each in value.fields])
    return as_object(f, value)


def new_array(f: HostFunction, dims: tuple[SymExpr, ...], element: Attribute) -> Tensor:
    """A new NDArray, owned by the function; over memory of the pool where it is large (`result_pool`)."""
    code = f.code
    check_extents(f, [(dims, element)])
    descr = code.slot(dtype_slot(dtype_name(element)))
    extents = f.array([f.scope.emit(d) for d in dims])
    code.call("Py_IncRef", [descr], None)
    rank, bytes_ = code.integer(len(dims), I32), tensor_bytes(relax.TensorType.of(dims, element))
    size = f.scope.emit_wrapping(bytes_)

    def small() -> SSAValue:
        null, zero = code.null, code.integer(0, I32)
        args = [code.slot(Slot.TIRAX_NDARRAY_TYPE), descr, rank, extents, null, null, zero, null]
        return code.call_pointer(code.slot(Slot.NEW_FROM_DESCR), args)

    def large() -> SSAValue:
        return code.call(result_pool.NEW_RESULT, [descr, rank, extents, size])

    if bytes_.constant is not None:
        array = small() if bytes_.constant < result_pool.LARGE else large()
    else:
        array = code.either(code.compare("slt", size, code.integer(result_pool.LARGE)), small, large)
    return Tensor(code.field(f.own(array), ArrayLayout.DATA), dims, element, array)


def constant(f: HostFunction, op: relax.ConstantOp) -> Tensor:
    """A constant of the executable."""
    index = f.module.constant(op.value)
    t = op.result.type
    assert t.dims is not None
    return Tensor(f.code.slot(f.module.slot("constant", index)), t.dims, t.element, None, index)


def load_items(f: HostFunction, tuple_: SSAValue, count: int) -> list[SSAValue]:
    """The items of an exact tuple of that length, borrowed."""
    return [f.code.field(tuple_, abi.TUPLE_ITEMS + 8 * i) for i in range(count)]


def load_tensor(f: HostFunction, obj: SSAValue, t: relax.TensorType) -> Tensor:
    """An array that is known to be of struct info `t`; extents that `t` does not know are read."""
    data = f.code.field(obj, ArrayLayout.DATA)
    if t.dims is not None and all(map(f.scope.knows, t.dims)):
        return Tensor(data, t.dims, t.element, obj)
    extents = f.code.field(obj, ArrayLayout.DIMS, PTR)
    dims = [ssa(f.code.field(extents, 8 * i, I64)) for i in range(t.rank or 0)]
    return Tensor(data, tuple(dims), t.element, obj)


def load_trusted(f: HostFunction, obj: SSAValue, t: Attribute) -> Value:
    """An object that is known to be of struct info `t`."""
    if isinstance(t, relax.TensorType) and t.rank is not None:
        return load_tensor(f, obj, t)
    if isinstance(t, TupleType):
        items = load_items(f, obj, len(t.types))
        return Fields(tuple(load_trusted(f, item, each) for item, each in zip(items, t.types, strict=True)))
    if isinstance(t, relax.ShapeType) and t.rank is not None:
        return Shape(tuple(_loaded_long(f, item) for item in load_items(f, obj, t.rank)), obj)
    if isinstance(t, relax.PrimType):
        return load_number(f, obj, t.dtype)
    return Object(obj)


def _loaded_long(f: HostFunction, obj: SSAValue) -> SymExpr:
    return ssa(f.code.call("PyLong_AsLongLong", [obj], I64))


def load_number(f: HostFunction, obj: SSAValue, dtype: Attribute) -> Prim:
    """A Python number that is known to be of the class that goes with `dtype`."""
    name = dtype_name(dtype)
    if name == "bool":
        is_true = f.code.compare("eq", obj, f.code.slot(Slot.TRUE))
        return Prim(dtype, ssa(f.code.cast(llvm.ZExtOp, is_true, I64)), obj)
    if "float" in name:
        return Prim(dtype, f.code.call("PyFloat_AsDouble", [obj], f64), obj)
    convert = "PyLong_AsUnsignedLongLong" if name == "uint64" else "PyLong_AsLongLong"
    return Prim(dtype, ssa(f.code.call(convert, [obj], I64)), obj)
