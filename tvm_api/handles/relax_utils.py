"""Small helpers with TVM's names: shapes, conversions of values to expressions, serialization."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError

from ...diagnostics import DTypeError, TiraxError
from ...dialects import relax
from ...handles.base_func import BaseFunc
from ...handles.module import IRModule
from ...handles.relax.calls import call_operator, to_expr
from ...handles.relax.expr import Expr, ExternFunc, GlobalVar, PrimValue, ShapeExpr
from ...handles.relax.function import Function
from ...handles.struct_info import StructInfo, type_of
from ...handles.target import Target
from ...ir.functions.lookup import callee_names, functions
from ...ir.rewriting.edit import set_type
from ...untrusted import brief, read_json
from . import json_nodes

_FORMAT = "tirax-ir"
_VERSION = 1


def get_shape_of(expr: Expr) -> Expr:
    """Return the shape of a tensor: a `ShapeExpr` if it is known, else a call of `relax.shape_of`.

    Raises `DTypeError` for other values.
    """
    t = expr.struct_info.type
    if not isinstance(t, relax.TensorType):
        raise DTypeError("only a tensor has a shape", expected="a tensor", found=t)
    return call_operator("relax.shape_of", expr) if t.dims is None else ShapeExpr(t.dims)


def extern(name: str, struct_info: Any = None, span: object = None) -> ExternFunc:
    """Return the packed function called `name`."""
    return ExternFunc(name, struct_info)


def prim_value(value: Any) -> PrimValue:
    """Return a compile-time scalar."""
    return PrimValue(value)


def convert_to_expr(value: Any) -> Expr:
    """Convert a value to an expression: numbers to prim values, arrays to constants, sequences to tuples.

    Raises `TiraxError` for other values.
    """
    return to_expr(value)


def copy_with_new_vars(func: Function) -> Function:
    """Return a copy of a function with new variables."""
    return func.copy()


def collect_call_map(module: IRModule) -> dict[GlobalVar, list[GlobalVar]]:
    """Return the functions that each function of a module mentions, in order."""
    found = {}
    for name, func in functions(module.op).items():
        callees = dict.fromkeys(n for op in func.walk() for n in callee_names(op))
        found[GlobalVar(name)] = [GlobalVar(callee) for callee in callees]
    return found


def update_struct_info(expr: Expr, struct_info: Any) -> None:
    """Replace the struct info of an expression."""
    set_type(expr.ssa, type_of(struct_info))


def save_json(node: Any) -> str:
    """Serialize a module, function, struct info, target, string, an expression or statement, a container or an array of
    them to JSON text for `load_json`.

    Raises `TiraxError` for other nodes.
    """
    found = _leaf(node)
    if found is None:
        writer = json_nodes.Writer(_leaf)
        writer.value([node])
        found = {"kind": "nodes", "mlir": writer.nodes}
    return json.dumps({"format": _FORMAT, "version": _VERSION, **found})


def _leaf(node: Any) -> dict[str, Any] | None:
    node = IRModule(node) if isinstance(node, ModuleOp) else node
    for kind, (cls, write, _) in _STORED.items():
        if isinstance(node, cls):
            return {"kind": kind, "mlir": write(node)}
    return None


def load_json(json_str: str) -> Any:
    """Read the result of `save_json`. Raises `TiraxError` for other text."""
    stored = _read_stored(json_str)
    if stored["kind"] == "nodes":
        return json_nodes.read(stored["mlir"], lambda leaf: _read_leaf(_checked(leaf)))[0]
    return _read_leaf(stored)


def _read_leaf(stored: dict[str, Any]) -> Any:
    return _STORED[stored["kind"]][2](stored["mlir"])


def _struct_info(text: str) -> StructInfo:
    return StructInfo.of(_parsed(text, "parse_type"))


def _module(text: str) -> IRModule:
    return IRModule(_parsed(text, "parse_module"))


def _function(text: str) -> BaseFunc:
    module = _module(text)
    if len(module) != 1:
        raise TiraxError("the stored text is no function", expected="one function", found=len(module))
    return module[module.names[0]].copy()


def _parsed(text: str, method: str) -> Any:
    from ...ir.passes.transform import new_context
    from ...ir.text import TextParser, read_text

    try:
        return read_text(new_context(), text, getattr(TextParser, method))
    except (ParseError, RecursionError) as error:
        raise TiraxError("the stored text is no module", notes=[str(error)]) from error


def _describe(target: Target) -> dict[str, Any]:
    return {"target": str(target), "host": None if target.host is None else str(target.host)}


_STORED: dict[str, tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "struct info": (StructInfo, lambda node: str(node.type), _struct_info),
    "module": (IRModule, lambda node: str(node.op), _module),
    "function": (BaseFunc, lambda node: str(node.op), _function),
    "target": (Target, _describe, lambda parts: Target(parts["target"], parts["host"])),
    "text": (str, str, str),
}
"""The serializable kinds: class, writer and reader."""


def _read_stored(text: str) -> dict[str, Any]:
    stored = read_json(text, "the text", TiraxError)
    if not isinstance(stored, dict) or stored.get("format") != _FORMAT or "mlir" not in stored:
        raise TiraxError("not what save_json gives", expected=f'{{"format": "{_FORMAT}", …}}')
    if stored.get("version") != _VERSION:
        raise TiraxError("stored by another version", expected=_VERSION, found=brief(stored.get("version")))
    return stored if stored.get("kind") == "nodes" else _checked(stored)


def _checked(stored: Any) -> dict[str, Any]:
    """Check the kind and the form of a value that is no node."""
    kind = stored.get("kind") if isinstance(stored, dict) else None
    if not isinstance(kind, str) or kind not in _STORED:
        raise TiraxError("stored is what is not known here", expected=", ".join(_STORED), found=brief(kind))
    if not isinstance(stored.get("mlir"), dict if kind == "target" else str):
        raise TiraxError(f"what is stored of a {kind} has another form", found=brief(stored["mlir"]))
    return stored
