"""The nodes of Relax, and types, by their fields: rows of a table that JSON is written from and read with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from ...handles import types
from ...handles.relax import names as rx
from ...handles.struct_info import VDevice

_EXPRESSIONS = {
    rx.Constant: "data",
    rx.ShapeExpr: "values",
    rx.PrimValue: "value",
    rx.StringImm: "value",
    rx.DataTypeImm: "value",
    rx.ExternFunc: "global_symbol struct_info",
    rx.Tuple: "fields",
    rx.TupleGetItem: "tuple_value index",
    rx.VarBinding: "var value",
    rx.MatchCast: "var value struct_info",
    rx.DataflowBlock: "bindings",
    rx.BindingBlock: "bindings",
    rx.SeqExpr: "blocks body",
    rx.If: "cond true_branch false_branch",
    VDevice: "target vdevice_id memory_scope",
}
"""The constructors' parameters, which are the fields. A class stands before its bases."""


def _variable(var: Any) -> dict[str, Any]:
    return {"name_hint": var.name_hint, "struct_info": var.struct_info_}


def _call(call: Any) -> dict[str, Any]:
    attrs = None if call.attrs is None else {key: call.attrs[key] for key in call.attrs}
    return {"op": call.op, "args": call.args, "attrs": attrs, "sinfo_args": call.sinfo_args}


def _reader(names: tuple[str, ...]) -> Callable[[Any], dict[str, Any]]:
    return lambda node: {name: getattr(node, name) for name in names}


def _rows() -> Iterator[tuple[type, str, Callable[[Any], dict[str, Any]]]]:
    yield rx.DataflowVar, "relax.DataflowVar", _variable
    yield rx.Var, "relax.Var", _variable
    yield rx.Call, "relax.Call", _call
    for kind, names in _EXPRESSIONS.items():
        yield kind, f"relax.{kind.__name__}", _reader(tuple(names.split()))
    for kind in vars(types).values():
        if isinstance(kind, type) and issubclass(kind, types.Type) and is_dataclass(kind):
            names = tuple(field.name for field in fields(kind) if field.name != "span")
            yield kind, f"types.{kind.__name__}", _reader(names)


KINDS = {kind: (name, get, kind) for kind, name, get in _rows()}
"""The name of a type, what gives its fields, and what makes a node of them."""

__all__ = ["KINDS"]
