"""`tvm.relax`: graphs of tensors with symbolic shapes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...frontend.block_builder import BlockBuilder
from ...ir.functor import PyExprMutator, PyExprVisitor
from ...ir.relax_expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    Expr,
    ExternFunc,
    FuncStructInfo,
    Function,
    GlobalVar,
    If,
    MatchCast,
    ObjectStructInfo,
    PrimStructInfo,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    ShapeStructInfo,
    StringImm,
    StructInfo,
    TensorStructInfo,
    Tuple,
    TupleGetItem,
    TupleStructInfo,
    Var,
    VarBinding,
    const,
)
from ...ir.relax_ops import (
    call_dps_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
)
from ...runtime import Executable, VirtualMachine

if TYPE_CHECKING:
    from ..compilation import build_relax as build
    from . import analysis, dpl, expr, expr_functor, frontend, op, struct_info, transform

_MODULES = frozenset(("analysis", "dpl", "expr", "expr_functor", "frontend", "op", "struct_info", "transform"))


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name == "build":
        build = globals()["build"] = import_module("..compilation", __name__).build_relax
        return build
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def get_pipeline(name: str = "zero") -> Any:
    """A named pipeline of passes."""
    from ..compilation import get_pipeline as found

    return found(name)


__all__ = [
    "Binding",
    "BindingBlock",
    "BlockBuilder",
    "Call",
    "Constant",
    "DataTypeImm",
    "DataflowBlock",
    "DataflowVar",
    "Executable",
    "Expr",
    "ExternFunc",
    "FuncStructInfo",
    "Function",
    "GlobalVar",
    "If",
    "MatchCast",
    "ObjectStructInfo",
    "PrimStructInfo",
    "PrimValue",
    "PyExprMutator",
    "PyExprVisitor",
    "SeqExpr",
    "ShapeExpr",
    "ShapeStructInfo",
    "StringImm",
    "StructInfo",
    "TensorStructInfo",
    "Tuple",
    "TupleGetItem",
    "TupleStructInfo",
    "Var",
    "VarBinding",
    "VirtualMachine",
    "analysis",
    "build",
    "call_dps_packed",
    "call_packed",
    "call_pure_packed",
    "call_tir",
    "call_tir_inplace",
    "const",
    "dpl",
    "expr",
    "expr_functor",
    "frontend",
    "op",
    "struct_info",
    "transform",
]
