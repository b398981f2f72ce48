"""`tvm.script.ir_builder.tir`, usually imported as `T`: builds a tensor function while an `IRBuilder` is entered."""

from __future__ import annotations

from typing import Any

from ...handles.tir.script_builder import (
    Assert,
    Else,
    If,
    Then,
    While,
    alloc_buffer,
    allocate,
    arg,
    attr,
    axis,
    block,
    block_attr,
    buffer_store,
    evaluate,
    func_attr,
    func_name,
    func_ret,
    grid,
    init,
    match_buffer,
    parallel,
    prim_func,
    reads,
    serial,
    thread_binding,
    unroll,
    vectorized,
    where,
    writes,
)
from ...handles.tir.script_builder import LetStmt_ as LetStmt
from ...handles.tir.script_builder import decl_buffer_ as decl_buffer
from .. import tir as _tir
from . import tir as _script


def handle(dtype: str = "void", storage_scope: str = "global", **kwargs: Any) -> Any:
    """A pointer, as a parameter."""
    return _tir.Var("handle", "handle")


def __getattr__(name: str) -> Any:
    """Scalars and `Buffer` are those of scripts, other names those of `tvm.tir`."""
    if name == "Buffer" or name in _script.DTYPES:
        return getattr(_script, name)
    if name.startswith("_"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(_tir, name)


__all__ = [
    "Assert",
    "Else",
    "If",
    "LetStmt",
    "Then",
    "While",
    "alloc_buffer",
    "allocate",
    "arg",
    "attr",
    "axis",
    "block",
    "block_attr",
    "buffer_store",
    "decl_buffer",
    "evaluate",
    "func_attr",
    "func_name",
    "func_ret",
    "grid",
    "handle",
    "init",
    "match_buffer",
    "parallel",
    "prim_func",
    "reads",
    "serial",
    "thread_binding",
    "unroll",
    "vectorized",
    "where",
    "writes",
]
