"""`tvm.tir`: loops over buffers."""

from __future__ import annotations

from typing import Any

from ... import te as _te
from ...ir.data_layout import BijectiveLayout, Layout, bijective_layout, layout
from ...ir.index_map import IndexMap
from ...ir.prim_expr import PrimExpr, Select, SizeVar, Var, const
from ...ir.tir_expr import Buffer, PrimFunc, Stmt, decl_buffer


def IntImm(dtype: str, value: int) -> PrimExpr:  # noqa: N802 (TVM's name)
    """An integer constant."""
    return const(int(value), dtype)


def FloatImm(dtype: str, value: float) -> PrimExpr:  # noqa: N802 (TVM's name)
    """A floating point constant."""
    return const(float(value), dtype)


def __getattr__(name: str) -> Any:
    """Intrinsics, `tir.exp`, are those of tensor expressions."""
    if name.startswith("_") or name not in _te.__all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(_te, name)


__all__ = [
    "BijectiveLayout",
    "Buffer",
    "FloatImm",
    "IndexMap",
    "IntImm",
    "Layout",
    "PrimExpr",
    "PrimFunc",
    "Select",
    "SizeVar",
    "Stmt",
    "Var",
    "bijective_layout",
    "const",
    "decl_buffer",
    "layout",
]
