"""`tvm.script.ir_builder.ir`: a module of functions that are built by calls that read like TVMScript.

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
    """The module that is built: the functions inside. Raises `TiraxError` for two of one name."""
    builder = IRBuilder.current()
    with builder.gathered() as functions:
        yield
    builder.finish(IRModule(functions))
