"""The text of patterns: the calls of `patterns` that make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...handles.relax.op import Op
from ...handles.struct_info import StructInfo
from . import patterns as p


def text(pattern: p.DFPattern) -> str:
    """Return a pattern as text: `is_op('relax.add')(wildcard(), is_const())`."""
    write = _TEXTS.get(type(pattern))
    return f"{type(pattern).__name__}()" if write is None else write(pattern)


p.SEARCH.text = text


def _named(function: str) -> Callable[[Any], str]:
    return lambda pattern: f"{function}({repr(pattern.name) if pattern.name else ''})"


def _call(pattern: p.CallPattern) -> str:
    more = ["varg_default_wildcard=True"] if pattern.varg_default_wildcard else []
    return f"{_operand(pattern.op)}({', '.join([*map(text, pattern.args), *more])})"


def _operand(pattern: p.DFPattern) -> str:
    is_binary = isinstance(pattern, p.OrPattern | p.AndPattern | p.NotPattern)
    return f"({text(pattern)})" if is_binary else text(pattern)


def _tuple(items: Iterable[object]) -> str:
    texts = [str(item) for item in items]
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _fields(pattern: p.TuplePattern | p.UnorderedTuplePattern) -> str:
    return f"[{', '.join(map(text, pattern.fields))}]"


def _expr(pattern: p.ExprPattern) -> str:
    return f"is_op({pattern.expr.name!r})" if isinstance(pattern.expr, Op) else f"is_expr({pattern.expr})"


_TEXTS: dict[type[p.DFPattern], Callable[[Any], str]] = {
    p.WildcardPattern: lambda _: "wildcard()",
    p.VarPattern: _named("is_var"),
    p.DataflowVarPattern: _named("is_dfv"),
    p.GlobalVarPattern: _named("is_gv"),
    p.ExternFuncPattern: _named("ExternFuncPattern"),
    p.ConstantPattern: lambda _: "is_const()",
    p.ExprPattern: _expr,
    p.CallPattern: _call,
    p.FunctionPattern: lambda q: f"FunctionPattern([{', '.join(map(text, q.params))}], {text(q.body)})",
    p.TuplePattern: lambda q: f"is_tuple({_fields(q)})",
    p.UnorderedTuplePattern: lambda q: f"is_tuple({_fields(q)}, unordered=True)",
    p.TupleGetItemPattern: lambda q: f"is_tuple_get_item({text(q.tuple_value)}{_index(q.index)})",
    p.OrPattern: lambda q: f"{_operand(q.left)} | {_operand(q.right)}",
    p.AndPattern: lambda q: f"{_operand(q.left)} & {_operand(q.right)}",
    p.NotPattern: lambda q: f"~{_operand(q.to_reject)}",
    p.AttrPattern: lambda q: f"{_operand(q.pattern)}.has_attr({q.attrs})",
    p.StructInfoPattern: lambda q: f"{_operand(q.pattern)}.has_struct_info({StructInfo.of(q.type)})",
    p.DataTypePattern: lambda q: f"{_operand(q.pattern)}.has_dtype({q.dtype!r})",
    p.ShapePattern: lambda q: f"{_operand(q.pattern)}.has_shape({_tuple(q.dims)})",
    p.PrimArrPattern: lambda q: f"is_shape({_tuple(q.dims)})",
}


def _index(index: int | None) -> str:
    return "" if index is None else f", {index}"
