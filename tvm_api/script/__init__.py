"""`tvm.script`: TVMScript in Python files and in text."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from .. import _members
from .._attached import attach
from .._names import no_attribute, provide
from ..handles.from_script import from_mlir, from_source
from ..operators import collectives as collectives
from ..operators import lifting as lifting
from . import ir, relax, tir
from .ir import ir_module
from .printer import marks

_FILES = frozenset(("parser", "printer"))

attach()
_members.attach()
marks.attach()
provide(
    __name__,
    {
        "ir_builder": {"tvm_api.handles.tir_script_builder": "IRBuilder"},
        "ir_builder.base": {"tvm_api.handles.tir_script_builder": "IRBuilder"},
        "ir_builder.ir": {
            "tvm_api.handles.script_builder": """
                current_ir_module decl_function def_function ir_module lookup_vdevice module_attrs module_get_attr
                module_get_attrs module_global_infos module_set_attr
            """,
            "tvm_api.script.ir": "dummy_global_info vdevice",
        },
        "ir_builder.ir.ir": {"tvm_api.script.ir_builder.ir": "*"},
        "ir_builder.relax": {
            "tvm_api.handles.relax_script_builder": "*",
            "tvm_api.nd": "cpu cuda gpu metal opencl rocm vulkan webgpu",
            "handles.relax.expr": "TupleGetItem",
            "tvm_api.script.relax": "*",
        },
        "ir_builder.relax.ir": {"builtins": "py_print=print", "tvm_api.script.ir_builder.relax": "*"},
        "ir_builder.tir": {
            "tvm_api.handles.tir_script_builder": """
                Assert Else If LetStmt=LetStmt_ Then While alloc_buffer allocate arg attr axis block block_attr
                buffer_store buffer_var comm_reducer decl_buffer=decl_buffer_ evaluate func_attr func_name func_ret
                grid handle init match_buffer max=greater min=lesser parallel prim_func reads serial thread_binding
                unroll var vectorized void where writes
            """,
            "tvm_api.tir": "*",
            "tvm_api.script.tir": "Buffer *",  # dtypes
        },
    },
)


tirx = tir
"""TVM's name of `tir` since 0.22."""
sys.modules[f"{__name__}.tirx"] = tir


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return import_module(f".{name}", __name__)
    raise no_attribute(__name__, name)


parser: ModuleType
printer: ModuleType

__all__ = ["from_mlir", "from_source", "ir", "ir_module", "parser", "printer", "relax", "tir", "tirx"]
