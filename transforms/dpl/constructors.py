"""Functions that create patterns, under TVM's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...handles.relax.calls import to_expr
from ...handles.relax.op import Op
from .patterns import (
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataflowVarPattern,
    DataTypePattern,
    DFPattern,
    ExprPattern,
    ExternFuncPattern,
    GlobalVarPattern,
    NotPattern,
    PrimArrPattern,
    ShapePattern,
    StructInfoPattern,
    TupleGetItemPattern,
    TuplePattern,
    UnorderedTuplePattern,
    VarPattern,
    WildcardPattern,
    as_pattern,
)


def wildcard() -> WildcardPattern:
    """Return a pattern that matches anything."""
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """Match a variable that is not looked through, such as a parameter."""
    return VarPattern(name)


def is_dfv(name: str = "") -> DataflowVarPattern:
    """Match a variable that is local to a dataflow block and not looked through."""
    return DataflowVarPattern(name)


def is_gv(name: str = "") -> GlobalVarPattern:
    """Match a function of the module whose name contains `name`."""
    return GlobalVarPattern(name)


def is_const() -> ConstantPattern:
    """Match a constant tensor."""
    return ConstantPattern()


def is_expr(expr: Any) -> ExprPattern:
    """Match an expression that is structurally equal to `expr`."""
    return ExprPattern(expr if isinstance(expr, Op) else to_expr(expr))


def is_op(op_name: str) -> ExprPattern:
    """Match an operator. Raises `NameLookupError` with a suggestion for an unknown one."""
    return ExprPattern(Op.get(op_name))


def is_tuple(fields: Sequence[Any], unordered: bool = False) -> TuplePattern | UnorderedTuplePattern:
    """Match a tuple with these fields."""
    return UnorderedTuplePattern(fields) if unordered else TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """Match a field of a tuple."""
    return TupleGetItemPattern(tuple_value, index)


def is_shape(shape: Sequence[Any]) -> PrimArrPattern:
    """Match a shape value with these extents."""
    return PrimArrPattern(shape)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """Match a value with these attributes."""
    return AttrPattern(pattern or wildcard(), attrs)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """Match a tensor of this data type."""
    return DataTypePattern(pattern or wildcard(), dtype)


def has_shape(shape: Sequence[Any], pattern: DFPattern | None = None) -> ShapePattern:
    """Match a tensor of this shape."""
    return ShapePattern(pattern or wildcard(), shape)


def has_struct_info(struct_info: Any, pattern: DFPattern | None = None) -> StructInfoPattern:
    """Match a value with this struct info."""
    return StructInfoPattern(pattern or wildcard(), struct_info)


def reject(pattern: DFPattern) -> NotPattern:
    """Match anything that `pattern` does not."""
    return NotPattern(pattern)


def _destination_passing(op: str, func: DFPattern, args: Any, tir_vars: Any) -> CallPattern:
    arguments = wildcard() if args is None else as_pattern(args)
    return CallPattern(is_op(op), [func, arguments, *tir_vars], varg_default_wildcard=True, add_constraint=False)


def is_call_tir(func_name: str, args: Any = None, tir_vars: DFPattern | None = None) -> CallPattern:
    """Match a `call_tir` of a function; `args` are patterns of its inputs (or one of their tuple)."""
    more = () if tir_vars is None else (tir_vars,)
    return _destination_passing("relax.call_tir", GlobalVarPattern(func_name), args, more)


def is_call_dps_packed(func_name: str, args: Any = None) -> CallPattern:
    """Match a `call_dps_packed` of a packed function."""
    return _destination_passing("relax.call_dps_packed", ExternFuncPattern(func_name), args, ())


def is_call_packed(func_name: str, args: Sequence[Any] | None = None) -> CallPattern:
    """Match a call of a packed function; any arguments if `args` is None."""
    any_args = args is None
    return CallPattern(ExternFuncPattern(func_name), args or (), varg_default_wildcard=any_args, add_constraint=False)


def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None, allow_reshape: bool = False
) -> DFPattern:
    """Match an operator of two arguments, optionally with a bias added and an activation.

    `allow_reshape`: the result may be reshaped before the bias is added.
    """
    out = is_op(op_name)(wildcard(), wildcard())
    return with_bias_and_activation(out, wildcard() if with_bias else None, activation, allow_reshape)


def with_bias_and_activation(
    out: DFPattern, bias: DFPattern | None, activation: str | None, allow_reshape: bool
) -> DFPattern:
    """Extend `out` by an optional bias, before which it may be reshaped, and an optional activation."""
    if bias is not None:
        if allow_reshape:
            out = out.optional(lambda result: is_op("relax.reshape")(result, wildcard()))
        out = is_op("relax.add")(out, bias)
    return out if activation is None else is_op(activation)(out)


__all__ = [
    "has_attr",
    "has_dtype",
    "has_shape",
    "has_struct_info",
    "is_call_dps_packed",
    "is_call_packed",
    "is_call_tir",
    "is_const",
    "is_dfv",
    "is_expr",
    "is_gv",
    "is_op",
    "is_shape",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "make_fused_bias_activation_pattern",
    "reject",
    "wildcard",
]
