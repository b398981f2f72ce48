"""What passes that make indices int32 share: the integers that are index arithmetic, and their change of type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import tir
from ...dialects.dtypes import lanes_of, scalar_of
from ...dialects.sym import SymAttr, ValueOp
from ...dialects.sym.expr import SymExpr, Var, i32, i64, retyped
from ...ir.rewriting.edit import set_type
from .walk import values_of


def is_wide(t: Attribute) -> bool:
    """Whether a type is int64, or a vector of it."""
    return scalar_of(t) == i64


def wide(values: Iterable[SSAValue]) -> list[SSAValue]:
    """Those of type int64."""
    return [v for v in values if is_wide(v.type)]


def narrow_expr(e: SymExpr) -> SymExpr:
    """An expression in int32."""
    return retyped(e, i32, {v: Var(v.name, i32) for v in e.free_vars() if v.dtype == i64})


def narrow_attribute(attr: Attribute) -> Attribute:
    """Expressions in properties and in the types of buffers, in int32."""
    if isinstance(attr, SymAttr):
        return SymAttr(narrow_expr(attr.data))
    if isinstance(attr, ArrayAttr):
        return ArrayAttr([narrow_attribute(a) for a in cast("ArrayAttr[Attribute]", attr)])
    if isinstance(attr, tir.BufferType):
        parts = [narrow_attribute(a) for a in (attr.shape, attr.strides, attr.offset)]
        rest = (attr.scope, attr.align, attr.offset_factor, attr.separators)
        return tir.BufferType.new([parts[0], attr.dtype, parts[1], parts[2], *rest])
    if not is_wide(attr):
        return attr
    return i32 if attr == i64 else VectorType(i32, [lanes_of(attr)])


def narrow_operation(op: Operation, *, buffers: bool) -> None:
    """Make int64 int32 in what an operation defines and in its properties; in buffers' types where `buffers`."""
    for value in values_of(op):
        if buffers or not isinstance(value.type, tir.BufferType):
            set_type(value, narrow_attribute(value.type))
    if isinstance(op, tir.ConstOp):
        if isinstance(op.value, IntegerAttr) and op.value.type == i64:
            op.properties["value"] = IntegerAttr(op.value.value.data, i32)
        return
    for name in ("min_attr", "extent_attr", "dom_mins", "dom_extents", "extents_attr"):
        if name in op.properties:
            op.properties[name] = narrow_attribute(op.properties[name])
    if isinstance(op, ValueOp):
        op.properties["expr"] = narrow_attribute(op.properties["expr"])
