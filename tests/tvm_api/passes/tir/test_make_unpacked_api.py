"""`MakeUnpackedAPI`: buffers become addresses, functions return a status."""

from __future__ import annotations

import pytest

from tirax import tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.tvm_api.script import from_source

MODULE = """
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), n: T.int32):
        T.func_attr({"target": T.target("llvm", host="llvm")})
        A[n] = T.float32(1)
        Module.sub(T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(1), 0, 1, T.float32(0), 0))

    @T.prim_func__PRIVATE__
    def sub(a: T.handle("float32")):
        T.func_attr({"target": T.target(__TARGET__)})
        T.evaluate(a)
"""


def unpacked(private: str = "", target: str = '"llvm", host="llvm"') -> str:
    module = from_source(MODULE.replace("__PRIVATE__", private).replace("__TARGET__", target))
    text = tvm.tir.transform.MakeUnpackedAPI()(module).script()
    assert from_source(text).script() == text
    return text


def test_addresses_and_a_status() -> None:
    text = unpacked()
    assert "A: T.handle" in text
    assert "n: T.int32) -> T.int32" in text
    assert 'T.attr("default", "device_id", 0)' in text
    assert 'T.attr("default", "device_type", 1)' in text
    assert "Module.sub(A)\n" in text
    assert text.count("return 0") == 2


def test_functions_that_stay() -> None:
    assert unpacked("(private=True)").count("return 0") == 1
    assert unpacked(target='"llvm"').count("return 0") == 1


def test_a_target_is_required() -> None:
    func = from_source("from tvm.script import tir as T\n@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(n)\n")
    with pytest.raises(TiraxError, match="target"):
        tvm.tir.transform.MakeUnpackedAPI()(tvm.IRModule({"f": func}))
