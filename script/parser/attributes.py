"""Attributes of functions, loops and blocks: Python values as attributes."""

from __future__ import annotations

import ast
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute

from ...dialects.attributes import to_attr
from ...dialects.relax import TensorDataAttr
from ...dialects.sym.expr import SymExpr, i1
from .source import Source
from .values import Imm, describe


def plain_value(value: Any) -> Any:
    """A typed constant as a Python value."""
    if isinstance(value, Imm):
        return bool(value.value) if value.dtype == i1 else value.value
    if isinstance(value, SymExpr) and value.constant is not None:
        return value.constant
    return value


def attribute(source: Source, node: ast.AST, value: Any) -> Attribute:
    """`value` (a number, a string, contents of a tensor, a list or a dictionary of these) as an attribute."""
    value = plain_value(value)
    if isinstance(value, dict):
        return attribute_dict(source, node, cast("dict[str, Any]", value))
    if isinstance(value, tuple | list):
        return ArrayAttr([attribute(source, node, v) for v in cast("list[Any]", value)])
    if isinstance(value, TensorDataAttr):
        return value
    if isinstance(value, bool | int | float | str):
        return cast(Attribute, to_attr(value))
    raise source.error(
        node, "this cannot be an attribute", expected="numbers, strings, lists and dictionaries", found=describe(value)
    )


def attribute_dict(source: Source, node: ast.AST, values: Any) -> DictionaryAttr:
    """A dictionary of attributes; entries that are None are left out."""
    if not isinstance(values, dict):
        raise source.error(node, "a dictionary is expected", expected='{"name": value}', found=describe(values))
    entries = cast("dict[str, Any]", values)
    return DictionaryAttr({k: attribute(source, node, v) for k, v in entries.items() if v is not None})
