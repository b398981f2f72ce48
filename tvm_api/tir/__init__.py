"""`tvm.tir`: loops over buffers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ... import te as _te
from ...ir.data_layout import BijectiveLayout, Layout, bijective_layout, layout
from ...ir.index_map import IndexMap
from ...ir.prim_expr import PrimExpr, Select, SizeVar, Var, const
from ...ir.tir_expr import Buffer, PrimFunc, Stmt, decl_buffer

if TYPE_CHECKING:
    from . import analysis, schedule, transform
    from .schedule import BlockRV, ExprRV, LoopRV, Schedule, ScheduleError, TensorIntrin


def IntImm(dtype: str, value: int) -> PrimExpr:  # noqa: N802 (TVM's name)
    """An integer constant."""
    return const(int(value), dtype)


def FloatImm(dtype: str, value: float) -> PrimExpr:  # noqa: N802 (TVM's name)
    """A floating point constant."""
    return const(float(value), dtype)


_SCHEDULES = ("BlockRV", "ExprRV", "LoopRV", "Schedule", "ScheduleError", "TensorIntrin")
_MODULES = ("analysis", "schedule", "transform")


def __getattr__(name: str) -> Any:
    """Schedules, loaded when first used; intrinsics, `tir.exp`, are those of tensor expressions."""
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in _SCHEDULES:
        return getattr(import_module(".schedule", __name__), name)
    if name.startswith("_") or name not in _te.__all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(_te, name)


__all__ = [
    "BijectiveLayout",
    "BlockRV",
    "Buffer",
    "ExprRV",
    "FloatImm",
    "IndexMap",
    "IntImm",
    "Layout",
    "LoopRV",
    "PrimExpr",
    "PrimFunc",
    "Schedule",
    "ScheduleError",
    "Select",
    "SizeVar",
    "Stmt",
    "TensorIntrin",
    "Var",
    "analysis",
    "bijective_layout",
    "const",
    "decl_buffer",
    "layout",
    "schedule",
    "transform",
]
