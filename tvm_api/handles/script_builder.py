"""`tvm.script.ir_builder.ir`: build a module of functions by calls that resemble TVMScript.

with IRBuilder() as ib, I.ir_module():
    with T.prim_func():
        T.func_name("foo")
mod = ib.get()
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...handles.module import IRModule
from .tir_script_builder import IRBuilder


@contextmanager
def ir_module() -> Generator[None]:
    """Build a module of the functions in the body. Raises `TiraxError` for duplicate names."""
    builder = IRBuilder.current()
    with builder.gathered() as functions:
        yield
    builder.finish(IRModule(functions))
