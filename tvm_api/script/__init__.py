"""`tvm.script`: TVMScript in Python files and in text."""

from __future__ import annotations

from types import ModuleType

from ...handles.from_script import from_mlir, from_source
from .._names import provide
from . import ir, relax, tir
from .ir import ir_module

parser: ModuleType
provide(
    __name__,
    {
        "ir_builder": {"handles.tir.script_builder": "IRBuilder"},
        "ir_builder.tir": {
            "handles.tir.script_builder": """
                Assert Else If LetStmt=LetStmt_ Then While alloc_buffer allocate arg attr axis block block_attr
                buffer_store decl_buffer=decl_buffer_ evaluate func_attr func_name func_ret grid handle init
                match_buffer parallel prim_func reads serial thread_binding unroll vectorized where writes
            """,
            "tvm_api.tir": "*",
            "tvm_api.script.tir": "Buffer *",  # dtypes
        },
        "parser": {"tvm_api.script": "ir relax tir"},
    },
)

__all__ = ["from_mlir", "from_source", "ir", "ir_module", "parser", "relax", "tir"]
