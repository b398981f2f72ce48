"""`tvm.relax`: graphs of tensors with symbolic shapes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...frontend.block_builder import BlockBuilder
from ...handles.relax.binding_rewrite import DataflowBlockRewrite
from ...handles.relax.calls import (
    call_dps_packed,
    call_inplace_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
    call_tir_with_grad,
)
from ...handles.relax.functor import ExprFunctor, PyExprMutator, PyExprVisitor
from ...handles.relax.names import (
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
    Id,
    If,
    MatchCast,
    NullValue,
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
from ...handles.relax.struct_info import VDevice
from ...handles.relax.utils import convert_to_expr, extern, get_shape_of, prim_value
from ...runtime import Executable, VirtualMachine

if TYPE_CHECKING:
    from ..compilation import build_relax as build
    from . import (
        analysis,
        backend,
        binding_rewrite,
        block_builder,
        dpl,
        expr,
        expr_functor,
        frontend,
        op,
        pipeline,
        struct_info,
        testing,
        training,
        transform,
        utils,
    )

_MODULES = frozenset(
    ("analysis", "backend", "binding_rewrite", "block_builder", "dpl", "expr", "expr_functor", "frontend", "op")
    + ("pipeline", "struct_info", "testing", "training", "transform", "utils")
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name == "build":
        build = globals()["build"] = import_module("..compilation", __name__).build_relax
        return build
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def get_pipeline(name: str = "zero", **options: Any) -> Any:
    """A named pipeline of passes; one that `register_pipeline` added may take options."""
    from .pipeline import get_pipeline as found

    return found(name, **options)


def get_default_pipeline(target: Any = None) -> Any:
    """The pipeline that `build` runs."""
    from .pipeline import get_default_pipeline as found

    return found(target)


def register_pipeline(name: str) -> Any:
    """The decorator of a function that makes a pass: `get_pipeline(name)` calls it."""
    from .pipeline import register_pipeline as register

    return register(name)


VMExecutable = Executable


__all__ = [
    "Binding",
    "BindingBlock",
    "BlockBuilder",
    "Call",
    "Constant",
    "DataTypeImm",
    "DataflowBlock",
    "DataflowBlockRewrite",
    "DataflowVar",
    "Executable",
    "Expr",
    "ExprFunctor",
    "ExternFunc",
    "FuncStructInfo",
    "Function",
    "GlobalVar",
    "Id",
    "If",
    "MatchCast",
    "NullValue",
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
    "VDevice",
    "VMExecutable",
    "Var",
    "VarBinding",
    "VirtualMachine",
    "analysis",
    "backend",
    "binding_rewrite",
    "block_builder",
    "build",
    "call_dps_packed",
    "call_inplace_packed",
    "call_packed",
    "call_pure_packed",
    "call_tir",
    "call_tir_inplace",
    "call_tir_with_grad",
    "const",
    "convert_to_expr",
    "dpl",
    "expr",
    "expr_functor",
    "extern",
    "frontend",
    "get_default_pipeline",
    "get_pipeline",
    "get_shape_of",
    "op",
    "pipeline",
    "prim_value",
    "register_pipeline",
    "struct_info",
    "testing",
    "training",
    "transform",
    "utils",
]
