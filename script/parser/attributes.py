"""Attributes of functions, loops and blocks: the conversion of Python values to attributes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute, SSAValue

from ...dialects import tir
from ...dialects.attributes import require_names, to_attr
from ...dialects.relax import TensorDataAttr
from ...dialects.relax.devices import vdevice_text
from ...dialects.sym.expr import SymExpr, i1
from ...dialects.tir import BufferType, ReadBufferAttr, TargetAttr
from .source import Source
from .values import CallSite, Imm, describe


def plain_value(value: Any) -> Any:
    """Return a typed constant as a Python value."""
    if isinstance(value, Imm):
        return bool(value.value) if value.dtype == i1 else value.value
    if isinstance(value, SymExpr) and value.constant is not None:
        return value.constant
    return value


def attribute(source: Source, node: ast.AST, value: Any, noted: list[SSAValue] | None = None) -> Attribute:
    """Convert `value` (a number, a string, tensor data, or a list or dictionary of these) to an attribute.

    Buffers, where allowed, are appended to `noted`; their attribute holds their index in it.
    """
    value = plain_value(value)
    if isinstance(value, dict):
        return attribute_dict(source, node, cast("dict[str, Any]", value), noted)
    if isinstance(value, tuple | list):
        return ArrayAttr([attribute(source, node, v, noted) for v in cast("list[Any]", value)])
    if noted is not None and isinstance(value, SSAValue) and isinstance(value.type, BufferType):
        noted.append(value)
        return ReadBufferAttr(len(noted) - 1)
    if isinstance(value, TensorDataAttr | TargetAttr | StringAttr):
        return value
    if isinstance(value, bool | int | float | str):
        return cast(Attribute, to_attr(value))
    raise source.error(
        node, "this cannot be an attribute", expected="numbers, strings, lists and dictionaries", found=describe(value)
    )


def attribute_dict(source: Source, node: ast.AST, values: Any, noted: list[SSAValue] | None = None) -> DictionaryAttr:
    """Return a dictionary attribute without the entries that are None. For `noted` see `attribute`."""
    if not isinstance(values, dict):
        raise source.error(node, "a dictionary is expected", expected='{"name": value}', found=describe(values))
    entries = cast("dict[str, Any]", values)
    require_names(map(str, entries))
    return DictionaryAttr({k: attribute(source, node, v, noted) for k, v in entries.items() if v is not None})


def renumbered(attr: Attribute, places: Sequence[int]) -> Attribute:
    """Return an attribute in which buffer number k is replaced by number `places[k]`."""
    if isinstance(attr, DictionaryAttr):
        return DictionaryAttr({k: renumbered(v, places) for k, v in attr.data.items()})
    if isinstance(attr, ArrayAttr):
        return ArrayAttr([renumbered(v, places) for v in cast("ArrayAttr[Attribute]", attr)])
    return ReadBufferAttr(places[attr.index.data]) if isinstance(attr, ReadBufferAttr) else attr


def without_symbol(attrs: DictionaryAttr | None, name: str) -> DictionaryAttr | None:
    """Return the attributes without the global symbol if it equals the function's name."""
    if attrs is None or attrs.data.get("global_symbol") != StringAttr(name):
        return attrs
    kept = {k: v for k, v in attrs.data.items() if k != "global_symbol"}
    return DictionaryAttr(kept) if kept else None


def read_vdevice(site: CallSite) -> StringAttr:
    """Parse `I.vdevice("llvm", 0, "global")`: a target by name, text or configuration, a device number and a memory
    scope.

    Struct info stores it as text.
    """
    target, number, scope = site.bind("target= vdevice_id= memory_scope=")
    config = target.config if isinstance(target, tir.TargetAttr) else target
    index = 0 if number is None else plain_value(number)
    if not isinstance(config, str | dict | None) or type(index) is not int or not isinstance(scope, str | None):
        raise site.error("a virtual device is a target, a number and a kind of memory", found=describe(target))
    text = vdevice_text(config, index, scope or "global")
    tir.TargetAttr.of(text.partition(":")[0])  # validates the kind
    return StringAttr(text)
