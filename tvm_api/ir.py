"""`tvm.ir`: modules, operators, structural equality."""

from __future__ import annotations

from types import ModuleType

from ..handles.base_func import BaseFunc, DictAttrs
from ..handles.equality import assert_structural_equal, structural_equal, structural_hash
from ..handles.module import IRModule
from ..handles.relax.expr import Attrs, Expr, GlobalVar, Op
from ..handles.relax.utils import load_json, save_json
from ..handles.struct_info import VDevice
from ..handles.tir.domains import Range
from ..handles.tir.prim_expr import PrimExpr
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


__all__ = [
    "Array", "Attrs", "BaseExpr", "BaseFunc", "DictAttrs", "GlobalVar", "IRModule", "Map", "Op", "PrimExpr",
    "Range", "RelaxExpr", "VDevice", "assert_structural_equal", "instrument", "load_json", "save_json",
    "structural_equal", "structural_hash", "transform",
]  # fmt: skip
