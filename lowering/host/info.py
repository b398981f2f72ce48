"""Convert struct info and signatures to the metadata of an executable (`runtime/metadata.py`)."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, TupleType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import relax, tir
from ...dialects.dtypes import dtype_name
from ...dialects.names import name_of
from ...dialects.sym.expr import Algebra, Const, Op, SymExpr, Var
from ...dialects.sym.operations import OPERATIONS
from ...ir.functions.bounds import variable_bounds
from ...ir.locations import location_of
from ...runtime.metadata import (
    Bound,
    Dim,
    FunctionInfo,
    Info,
    ObjectInfo,
    Parameter,
    PrimInfo,
    ShapeInfo,
    TensorInfo,
    TupleInfo,
)
from ...transforms.functions.global_symbols import symbol_of


class _DimInfo(Algebra[Dim]):
    """Converts extents to the form of signatures: `(operation, operands…)`."""

    def const(self, e: Const) -> Dim:
        return e.value

    def var(self, e: Var) -> Dim:
        return ("var", cast(str, e.name))

    def add(self, a: Dim, b: Dim) -> Dim:
        return ("+", a, b)

    def mul(self, a: Dim, b: Dim) -> Dim:
        return ("*", a, b)

    def op(self, e: Op) -> Dim:
        args = tuple(map(self.of, e.args))
        operation = OPERATIONS[e.kind]
        if e.kind == "not":
            return ("==", *args, 0)
        if e.kind in ("gt", "ge"):
            return (OPERATIONS[operation.mirrored].symbol, *args[::-1])
        if e.kind == "truncmod":
            raise UnsupportedError(f"'{e}' in the signature of a function", expected="arithmetic and conditions")
        return (_LOGIC.get(e.kind) or operation.symbol or e.kind, *args)


_LOGIC = {"and": "min", "or": "max"}


def dim_info(expr: SymExpr) -> Dim:
    """Convert an extent. Raises `UnsupportedError` for operations that signatures cannot express."""
    return expr.fold(_DimInfo())


def _dims(dims: tuple[SymExpr, ...] | None) -> tuple[Dim, ...] | None:
    return None if dims is None else tuple(map(dim_info, dims))


def _rank(t: relax.TensorType | relax.ShapeType) -> int:
    return -1 if t.rank is None else t.rank


def _tensor(t: relax.TensorType) -> Info:
    return TensorInfo(_dims(t.dims), None if t.element is None else dtype_name(t.element), _rank(t))


def _prim(t: relax.PrimType) -> Info:
    return PrimInfo(dtype_name(t.dtype), None if t.expr is None else dim_info(t.expr))


_INFOS: dict[type[Attribute], Callable[[Any], Info]] = {
    relax.TensorType: _tensor,
    relax.ShapeType: lambda t: ShapeInfo(_dims(t.dims), _rank(t)),
    relax.PrimType: _prim,
    TupleType: lambda t: TupleInfo(tuple(info_of(f) for f in t.types)),
    relax.CallableType: lambda t: ObjectInfo("callable"),
    relax.ObjectType: lambda t: ObjectInfo(),
}


def info_of(t: Attribute) -> Info:
    """Convert struct info to metadata. Raises `UnsupportedError` for types that signatures cannot express."""
    info = _INFOS.get(type(t))
    if info is None:
        raise UnsupportedError(f"'{t}' in the signature of a function", expected="struct info")
    return info(t)


def function_info(
    op: Operation, name: str, params: list[tuple[SSAValue, Attribute, str]], ret: Attribute | None
) -> Any:
    """Return the metadata of a function with these parameters (value, struct info, access)."""
    try:
        parameters = tuple(
            Parameter(name_of(v) or f"arg{i}", info_of(t), access) for i, (v, t, access) in enumerate(params)
        )
        result = ObjectInfo() if ret is None else info_of(ret)
        return FunctionInfo(name, parameters, result, bounds=_bounds(op), alias=_alias(name, op))
    except UnsupportedError as error:
        error.location = error.location or location_of(op)
        error.notes = (*error.notes, f"function @{name}")
        raise


def _alias(name: str, op: Operation) -> str:
    """Return the function's global symbol, or "" if it has none or it equals the name."""
    symbol = symbol_of(op) if isinstance(op, relax.FuncOp | tir.FuncOp) else None
    return "" if symbol in (None, name) else symbol


def _bounds(op: Operation) -> tuple[Bound, ...]:
    known = variable_bounds(op) if isinstance(op, relax.FuncOp | tir.FuncOp) else {}
    return tuple((n, int(b.low) or None, None if b.high == inf else int(b.high)) for n, b in known.items())


def param_struct_info(param: SSAValue) -> Attribute:
    """Return the struct info of a parameter of a tir function. Raises `UnsupportedError` for a handle."""
    t: Attribute = param.type
    if isinstance(t, tir.BufferType):
        return relax.TensorType.of(t.dims, t.dtype)
    if isinstance(t, tir.HandleType):
        raise UnsupportedError(
            f"parameter '{name_of(param)}' is a handle of unknown contents", hint="give it a buffer: T.match_buffer"
        )
    name = name_of(param)
    is_integer = isinstance(t, IntegerType) and t != i1
    return relax.PrimType.of(param.type, Var(name) if is_integer and name is not None else None)


def buffer_accesses(func: tir.FuncOp) -> list[str]:
    """Return the access mode of each parameter: read, write or readwrite."""
    return [_access(p) for p in func.params]


def _access(param: SSAValue) -> str:
    if not isinstance(param.type, tir.BufferType):
        return "read"
    accesses: set[str] = set()
    for use in param.uses:
        accesses.add(_USES.get(type(use.operation), "readwrite"))
    accesses.discard("")
    if len(accesses) == 1:
        return accesses.pop()
    return "readwrite" if accesses else "read"


_USES: dict[type[Operation], str] = {
    tir.LoadOp: "read",
    tir.StoreOp: "write",
    tir.ReadsOp: "",
    tir.WritesOp: "",
}
"""The access mode of each kind of use of a buffer; uses of other kinds may read and write."""
