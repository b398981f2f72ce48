"""`LowerDeviceKernelLaunch`: launches of kernels, calls of functions for another target."""

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
    def main(A: T.Buffer((64,), "float32")):
        T.func_attr({{"target": T.target("llvm")}})
        Module.kernel(A.data, 16)

    @T.prim_func(private=True)
    def kernel(A_data: T.handle("float32"), n: T.int32){result}:
        T.func_attr({{"target": T.target({target})}})
        A = T.decl_buffer((64,), "float32", data=A_data)
        {body}
"""


def lowered(body: str = "A[0] = 0.0", target: str = '"cuda"', result: str = "") -> str:
    source = MODULE.format(body=body.replace("\n", "\n        "), target=target, result=result)
    text = tvm.tir.transform.LowerDeviceKernelLaunch()(from_source(source)).script()
    assert from_source(text).script() == text
    return text


def test_extents_of_threads_are_passed() -> None:
    text = lowered("""\
b = T.launch_thread("blockIdx.x", n + 1)
t = T.launch_thread("threadIdx.x", 32)
with T.launch_thread("threadIdx.y", n) as s:
    A[s] = 0.0
with T.launch_thread("threadIdx.y", n) as s:
    A[t] = 0.0""")
    assert 'T.call_packed("kernel", A.data, 16, T.Add(16, 1), 32, 16)' in text
    assert '"tir.kernel_launch_params": ["blockIdx.x", "threadIdx.x", "threadIdx.y"]' in text
    assert '"calling_conv": 2' in text
    assert '"tir.is_global_func": T.bool(True)' in text
    assert "private" not in text


def test_dynamic_shared_memory_is_the_last_argument() -> None:
    text = lowered("""\
D = T.allocate((8, n), "float16", "shared.dyn")
S = T.decl_buffer((8,), "float16", data=D, scope="shared.dyn")
S[0] = T.float16(0)
t = T.launch_thread("threadIdx.x", 32)
A[t] = 0.0""")
    assert '["threadIdx.x", "tir.use_dyn_shared_memory"]' in text
    assert "16, 32, T.Mul(8, 16) * 2)" in text


def test_a_kernel_returns_nothing() -> None:
    text = lowered("A[0] = 0.0\nT.ret(0)", result=" -> T.int32")
    assert "return" not in text
    with pytest.raises(TiraxError, match="successful return"):
        lowered("A[0] = 0.0\nT.ret(1)", result=" -> T.int32")


def test_the_same_device_is_not_launched() -> None:
    assert "Module.kernel(A.data, 16)" in lowered(target='"llvm"')
    text = lowered(target='{"kind": "llvm", "mcpu": "skylake"}')
    assert 'T.call_extern("void", "kernel", A.data, 16)' in text
    assert '"tir.is_global_func": T.bool(True)' in text


def test_one_way_of_calling() -> None:
    source = MODULE.format(body="A[0] = 0.0", target='{"kind": "llvm", "mcpu": "skylake"}', result="")
    source += """
    @T.prim_func
    def device(A_data: T.handle("float32")):
        T.func_attr({"target": T.target("cuda")})
        Module.kernel(A_data, 16)
"""
    with pytest.raises(TiraxError, match="multiple callees"):
        tvm.tir.transform.LowerDeviceKernelLaunch()(from_source(source))


def test_one_allocation_of_dynamic_shared_memory() -> None:
    body = """\
D = T.allocate((8,), "float16", "shared.dyn")
S = T.decl_buffer((8,), "float16", data=D, scope="shared.dyn")
S[0] = T.float16(0)
"""
    with pytest.raises(TiraxError, match="Only one dynamic"):
        lowered(body + body.replace("D ", "E ").replace("S ", "R ").replace("S[", "R[").replace("=D", "=E"))
