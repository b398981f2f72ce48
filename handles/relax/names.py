"""All handles on Relax: expressions (`expr`), functions and bindings (`function`) and `struct_info`."""

from __future__ import annotations

from ..base_func import BaseFunc, DictAttrs, StaleHandleError
from ..struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from .expr import *  # noqa: F403
from .expr import Expr, Var
from .function import Binding, BindingBlock, DataflowBlock, Function, If, MatchCast, SeqExpr, VarBinding

RelaxExpr = Expr

__all__ = [
    "BaseFunc",
    "Binding",
    "BindingBlock",
    "DataflowBlock",
    "DictAttrs",
    "Expr",
    "FuncStructInfo",
    "Function",
    "If",
    "MatchCast",
    "ObjectStructInfo",
    "PrimStructInfo",
    "RelaxExpr",
    "SeqExpr",
    "ShapeStructInfo",
    "StaleHandleError",
    "StructInfo",
    "TensorStructInfo",
    "TupleStructInfo",
    "Var",
    "VarBinding",
]
