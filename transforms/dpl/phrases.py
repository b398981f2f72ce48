"""Descriptions of patterns, expressions and failed conditions in words, for explanations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dialects.dtypes import dtype_name
from ...handles.relax.call import Call
from ...handles.relax.expr import Constant, ExternFunc, GlobalVar, ShapeExpr, Tuple, TupleGetItem, Var
from ...handles.relax.function import Function
from ...handles.relax.op import Op
from ...handles.struct_info import StructInfo
from . import patterns as p
from .matcher import Subject, plain, tensor_type

Condition = tuple[str, str]
"""(expected, found) as texts."""


def condition(pattern: p.DFPattern, expr: Subject) -> Condition:
    """Return the condition of `pattern` on `expr` itself, not on its parts, that does not hold."""
    special = _CONDITIONS.get(type(pattern))
    return (phrase(pattern), named(expr)) if special is None else special(pattern, expr)


# Expressions.


def named(expr: Subject) -> str:
    """Return a short description of an expression."""
    words = _NAMED.get(type(expr))
    if words is not None:
        return words(expr)
    return f"the variable {expr.name_hint}" if isinstance(expr, Var) else f"a {type(expr).__name__}"


def other(expected: Subject, actual: Subject) -> str:
    """Return a short description of `actual` that distinguishes it from `expected`."""
    text = named(actual)
    return f"another, {text}" if text == named(expected) else text


def callee(call: Call) -> str:
    """Return the name of a call's callee."""
    op = call.op
    return op.name if isinstance(op, Op) else named(op)


def _constant(expr: Constant) -> str:
    array = expr.data.numpy()
    return f"the constant {array.item()} of {array.dtype}" if array.ndim == 0 else f"a constant {expr.struct_info}"


_NAMED: dict[type, Callable[[Any], str]] = {
    Op: lambda expr: f"the operator {expr.name}",
    Call: lambda expr: f"a call of {callee(expr)}",
    Constant: _constant,
    GlobalVar: lambda expr: f"the function @{expr.name_hint}",
    ExternFunc: lambda expr: f'the packed function "{expr.global_symbol}"',
    ShapeExpr: lambda expr: f"the shape {_extents(expr)}",
    Tuple: lambda expr: f"a tuple of {_count(len(expr.fields), 'field')}",
    TupleGetItem: lambda expr: f"field {expr.index} of a tuple",
    Function: lambda expr: f"a function of {_count(len(expr.params), 'parameter')}",
}


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _extents(dims: Any) -> str:
    return f"({', '.join(map(str, dims))})"


# Patterns.


def phrase(pattern: p.DFPattern) -> str:
    """Return a short description of what a pattern matches, with arguments and fields by number."""
    return _PHRASES[type(pattern)](pattern)


def _called(what: str, name: str) -> str:
    return f'{what} "{name}"' if name else what


def _call(pattern: p.CallPattern) -> str:
    op = pattern.op
    of = op.expr.name if isinstance(op, p.ExprPattern) and isinstance(op.expr, Op) else phrase(op)
    of = f"({of})" if isinstance(op, p.OrPattern | p.AndPattern) else of
    more = " or more" if pattern.varg_default_wildcard else ""
    return f"a call of {of} with {len(pattern.args)}{more} argument{'' if len(pattern.args) == 1 else 's'}"


def _global_var(pattern: p.GlobalVarPattern) -> str:
    return f'a function of the module whose name contains "{pattern.name}"' if pattern.name else "a function"


_PHRASES: dict[type[p.DFPattern], Callable[[Any], str]] = {
    p.WildcardPattern: lambda _: "anything",
    p.VarPattern: lambda q: _called("a variable", q.name),
    p.DataflowVarPattern: lambda q: _called("a variable of a dataflow block", q.name),
    p.GlobalVarPattern: _global_var,
    p.ExternFuncPattern: lambda q: _called("a packed function", q.name),
    p.ConstantPattern: lambda _: "a constant",
    p.ExprPattern: lambda q: named(q.expr) if isinstance(q.expr, Op) else f"what is equal to {named(q.expr)}",
    p.CallPattern: _call,
    p.FunctionPattern: lambda q: f"a function of {_count(len(q.params), 'parameter')}",
    p.TuplePattern: lambda q: f"a tuple of {_count(len(q.fields), 'field')}",
    p.UnorderedTuplePattern: lambda q: f"a tuple of {_count(len(q.fields), 'field')}",
    p.TupleGetItemPattern: lambda q: "a field of a tuple" if q.index is None else f"field {q.index} of a tuple",
    p.OrPattern: lambda q: f"{phrase(q.left)}, or {phrase(q.right)}",
    p.AndPattern: lambda q: f"{phrase(q.left)}, and {phrase(q.right)}",
    p.NotPattern: lambda q: f"anything but {phrase(q.to_reject)}",
    p.AttrPattern: lambda q: f"{phrase(q.pattern)} with {', '.join(f'{k} = {v}' for k, v in q.attrs.items())}",
    p.StructInfoPattern: lambda q: f"{phrase(q.pattern)} of struct info {StructInfo.of(q.type)}",
    p.DataTypePattern: lambda q: f"{phrase(q.pattern)} of data type {q.dtype}",
    p.ShapePattern: lambda q: f"{phrase(q.pattern)} of shape {_extents(q.dims)}",
    p.PrimArrPattern: lambda q: f"the shape {_extents(q.dims)}",
}


# Conditions of patterns on an expression itself, other than its kind.


def _number_of_arguments(pattern: p.CallPattern, expr: Subject) -> Condition:
    text = named(expr)
    return phrase(pattern), f"{text} with {_count(len(expr.args), 'argument')}" if type(expr) is Call else text


def _expression(pattern: p.ExprPattern, expr: Subject) -> Condition:
    return phrase(pattern), other(pattern.expr, expr)


def _attributes(pattern: p.AttrPattern, expr: Subject) -> Condition:
    attrs: Any = getattr(expr, "attrs", None)
    if attrs is None:
        return f"attributes {', '.join(pattern.attrs)}", f"{named(expr)}, which has none"
    name = next(k for k, v in pattern.attrs.items() if k not in attrs or plain(attrs[k]) != plain(v))
    expected = f"{name} = {plain(pattern.attrs[name])!r}"
    return (
        expected,
        f"{name} = {plain(attrs[name])!r}" if name in attrs else f"{named(expr)}, which has no such attribute",
    )


def _struct_info(pattern: p.StructInfoPattern, expr: Subject) -> Condition:
    actual = named(expr) if isinstance(expr, Op | GlobalVar) else str(expr.struct_info)
    return f"struct info {StructInfo.of(pattern.type)}", actual


def _dtype(pattern: p.DataTypePattern, expr: Subject) -> Condition:
    t = tensor_type(expr)
    element = None if t is None else t.element
    actual = f"{named(expr)}, which is no tensor" if t is None else "any" if element is None else dtype_name(element)
    return f"a tensor of data type {pattern.dtype}", actual


def _shape(pattern: p.ShapePattern, expr: Subject) -> Condition:
    t = tensor_type(expr)
    actual = f"{named(expr)}, which is no tensor" if t is None else "any" if t.dims is None else _extents(t.dims)
    return f"a tensor of shape {_extents(pattern.dims)}", actual


_CONDITIONS: dict[type[p.DFPattern], Callable[[Any, Subject], Condition]] = {
    p.CallPattern: _number_of_arguments,
    p.ExprPattern: _expression,
    p.AttrPattern: _attributes,
    p.StructInfoPattern: _struct_info,
    p.DataTypePattern: _dtype,
    p.ShapePattern: _shape,
}
