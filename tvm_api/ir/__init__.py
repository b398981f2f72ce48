"""`tvm.ir`: modules, operators, structural equality."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from ...dialects.relax.registered import GRADIENT, LEGALIZE
from ...handles.array import Array
from ...handles.base_func import BaseFunc, DictAttrs
from ...handles.equality import (
    assert_structural_equal,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from ...handles.module import IRModule
from ...handles.relax.call import Attrs
from ...handles.relax.expr import Expr, GlobalVar
from ...handles.relax.op import Op
from ...handles.relax.registered import register_op_attr
from ...handles.struct_info import VDevice
from ...handles.tir.domains import Range
from ...handles.tir.expr_kinds import CallOp
from ...handles.tir.prim_expr import PrimExpr
from ...handles.types import FuncType, PointerType, PrimType, TupleType, Type
from .. import _members
from .._attached import attach
from .._names import provide, refusing
from ..handles.containers import Map
from ..handles.env_func import EnvFunc
from ..handles.json_nodes import make_node
from ..handles.relax_utils import load_json, save_json

attrs: ModuleType
container: ModuleType
expr: ModuleType
function: ModuleType
instrument: ModuleType
module: ModuleType
op: ModuleType
transform: ModuleType
attach()
_members.attach()
provide(
    __name__,
    {
        "attrs": {
            "handles.base_func": "DictAttrs",
            "handles.relax.call": "Attrs",
            "tvm_api.handles.json_nodes": "make_node",
        },
        "base": {"tvm_api.ir": "*"},
        "container": {"tvm_api.ir": "Array Map"},
        "diagnostics": {
            "tvm_api.handles.diagnostics": """
                Diagnostic DiagnosticContext DiagnosticLevel DiagnosticRenderer get_renderer override_renderer
            """
        },
        "supply": {"tvm_api.handles.supply": "GlobalVarSupply NameSupply"},
        "analysis": {"tvm_api.handles.relax_utils": "collect_call_map"},
        "expr": {
            "tvm_api.ir": "BaseExpr GlobalVar PrimExpr Range RelaxExpr",
            "tvm_api.handles.generic": "is_relax_expr",
        },
        "function": {"handles.base_func": "BaseFunc"},
        "instrument": {
            "ir.passes.instrument": """
                DumpIR PassInstrument PassPrintingInstrument PassTimingInstrument PrintAfterAll PrintBeforeAll
                WellFormedInstrument pass_instrument
            """
        },
        "module": {"handles.module": "IRModule"},
        "op": {"handles.relax.op": "Op", "handles.relax.registered": "register_op_attr"},
        "transform": {
            "tvm_api.handles.pass_tools": "ApplyPassToFunction PrintIR",
            "handles.passes": "module_pass",
            "ir.passes.transform": "ModulePass=Pass Pass PassContext PassInfo PassInstrument Sequential",
        },
        "type": {"handles.types": "FuncType PointerType PrimType TupleType Type"},
    },
)


def _legalization(name: str) -> Any:
    import_module("...transforms.legalize.legalize_ops", __package__)  # which fills the table
    return import_module("...transforms.legalize.on_handles", __package__).own_rule(name)


def _gradient(name: str) -> Any:
    import_module("...transforms.training.gradient", __package__)  # which fills the table
    return import_module("...transforms.training.on_handles", __package__).own_gradient(name)


Op.of_tensor_functions = staticmethod(CallOp.get)
Op.provided |= {LEGALIZE: _legalization, GRADIENT: _gradient}
String = str
BaseExpr = RelaxExpr = Expr

__getattr__ = refusing(__name__)

__all__ = [
    "Array", "Attrs", "BaseExpr", "BaseFunc", "DictAttrs", "EnvFunc", "FuncType", "GlobalVar", "IRModule", "Map", "Op",
    "PointerType", "PrimExpr", "PrimType", "Range", "RelaxExpr", "String", "TupleType", "Type", "VDevice",
    "assert_structural_equal", "attrs", "container", "expr", "function", "get_first_structural_mismatch",
    "instrument", "load_json", "make_node", "module", "op", "register_op_attr", "save_json", "structural_equal",
    "structural_hash", "transform",
]  # fmt: skip
