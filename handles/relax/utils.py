"""Small helpers by TVM's names: shapes of expressions, expressions of values, text of modules for storing."""

from __future__ import annotations

import json
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError

from ...diagnostics import DTypeError, TiraxError
from ...dialects import relax
from ...ir.rewriting.edit import set_type
from ..base_func import BaseFunc
from ..module import IRModule
from ..struct_info import StructInfo, type_of
from .calls import call_operator, to_expr
from .expr import Expr, ExternFunc, PrimValue, ShapeExpr
from .function import Function

_FORMAT = "tirax-ir"
_VERSION = 1


def get_shape_of(expr: Expr) -> Expr:
    """The shape of a tensor: a `ShapeExpr` where it is known, else a call of `relax.shape_of`.

    Raises `DTypeError` for what is no tensor.
    """
    t = expr.struct_info.type
    if not isinstance(t, relax.TensorType):
        raise DTypeError("only a tensor has a shape", expected="a tensor", found=t)
    return call_operator("relax.shape_of", expr) if t.dims is None else ShapeExpr(t.dims)


def extern(name: str, struct_info: Any = None, span: object = None) -> ExternFunc:
    """The packed function called `name`."""
    return ExternFunc(name, struct_info)


def prim_value(value: Any) -> PrimValue:
    """A scalar that is known when the program is compiled."""
    return PrimValue(value)


def convert_to_expr(value: Any) -> Expr:
    """What stands for an expression as one: numbers are prim values, arrays constants, sequences tuples.

    Raises `TiraxError` for what does not.
    """
    return to_expr(value)


def copy_with_new_vars(func: Function) -> Function:
    """A copy of a function, which has variables of its own."""
    return func.copy()


def update_struct_info(expr: Expr, struct_info: Any) -> None:
    """Say what is known of an expression's value, in place of what was said."""
    set_type(expr.ssa, type_of(struct_info))


def save_json(node: IRModule | ModuleOp | BaseFunc | StructInfo) -> str:
    """A module, function or struct info as JSON text, which `load_json` reads."""
    node = IRModule(node) if isinstance(node, ModuleOp) else node
    if isinstance(node, StructInfo):
        return json.dumps({"format": _FORMAT, "version": _VERSION, "kind": "struct info", "mlir": str(node.type)})
    kind = "module" if isinstance(node, IRModule) else "function"
    if not isinstance(node, IRModule | BaseFunc):
        raise TiraxError("only modules, functions and struct info are stored", found=type(node).__name__)
    return json.dumps({"format": _FORMAT, "version": _VERSION, "kind": kind, "mlir": str(node.op)})


def load_json(text: str) -> Any:
    """The module, function or struct info that `save_json` stored. Raises `TiraxError` for another text."""
    from ...ir.passes.transform import new_context
    from ...ir.text import TextParser

    stored = _stored(text)
    parser = TextParser(new_context(), stored["mlir"])
    try:
        if stored.get("kind") == "struct info":
            return StructInfo.of(parser.parse_type())
        op = parser.parse_module()
    except ParseError as error:
        raise TiraxError("the stored text is no module", notes=[str(error)]) from error
    module = IRModule(op)
    if stored.get("kind") == "module":
        return module
    if len(module) != 1:
        raise TiraxError("the stored text is no function", expected="one function", found=len(module))
    return module[module.names[0]].copy()


def _stored(text: str) -> dict[str, Any]:
    try:
        stored = json.loads(text)
    except json.JSONDecodeError as error:
        raise TiraxError("not JSON", notes=[str(error)]) from error
    if not isinstance(stored, dict) or stored.get("format") != _FORMAT or not isinstance(stored.get("mlir"), str):
        raise TiraxError("not what save_json gives", expected=f'{{"format": "{_FORMAT}", …}}')
    if stored.get("version") != _VERSION:
        raise TiraxError("stored by another version", expected=_VERSION, found=stored.get("version"))
    return stored
