"""`tvm.ir`: modules, operators, structural equality."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ..handles.base_func import BaseFunc, DictAttrs
from ..handles.module import IRModule
from ..handles.relax.expr import Attrs, Expr, GlobalVar, Op
from ..handles.relax.utils import load_json, save_json
from ..handles.struct_info import VDevice
from ..handles.tir.domains import Range
from ..handles.tir.prim_expr import PrimExpr
from ..ir import equality as _equality
from ._names import provide

instrument: ModuleType
transform: ModuleType
provide(
    __name__,
    {
        "instrument": {
            "ir.passes.instrument": """
                DumpIR PassInstrument PassPrintingInstrument PassTimingInstrument PrintAfterAll PrintBeforeAll
                WellFormedInstrument pass_instrument
            """
        },
        "transform": {
            "handles.pass_tools": "ApplyPassToFunction PrintIR",
            "handles.passes": "module_pass",
            "ir.passes.transform": "ModulePass=Pass Pass PassContext PassInfo PassInstrument Sequential",
        },
    },
)

Array = list
Map = dict
BaseExpr = RelaxExpr = Expr


def _operation(node: Any) -> Any:
    """The xDSL op of a handle, or the op itself."""
    return getattr(node, "op", node) if isinstance(node, IRModule | BaseFunc) else node


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two modules or functions are the same up to names of variables."""
    return _equality.structural_equal(_operation(lhs), _operation(rhs))


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A number that structurally equal modules or functions share."""
    return _equality.structural_hash(_operation(node))


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise where two modules or functions differ, with the first difference and both of its sides."""
    _equality.assert_structural_equal(_operation(lhs), _operation(rhs))


__all__ = [
    "Array", "Attrs", "BaseExpr", "BaseFunc", "DictAttrs", "GlobalVar", "IRModule", "Map", "Op", "PrimExpr",
    "Range", "RelaxExpr", "VDevice", "assert_structural_equal", "instrument", "load_json", "save_json",
    "structural_equal", "structural_hash", "transform",
]  # fmt: skip
