"""What runs on a device is marked, and becomes a function that is called."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import UnsupportedError
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    T.func_attr({"target": T.target("cuda", host="llvm")})
    B[0] = T.float32(1)
    b = T.launch_thread("blockIdx.x", 16)
    A[b] = B[b] + T.float32(n)
"""
KERNEL = """
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((16,), "float32"), n: T.int32):
    with T.attr(T.target("llvm"), "target", 0):
        for i in range(n):
            A[i] = A[i] + T.float32(1)
"""


def module(text):
    return tvm.IRModule({"main": from_source(text)})


def test_threads_are_of_the_device():
    text = tvm.tir.transform.AnnotateDeviceRegions()(module(PROGRAM)).script()
    assert (
        text.index("B[0] = ") < text.index('"kind": "cuda", "max', text.index("B[0] = ")) < text.index("launch_thread")
    )


def test_functions_without_a_target_are_refused():
    with pytest.raises(UnsupportedError, match="Require the target attribute"):
        tvm.tir.transform.AnnotateDeviceRegions()(module(KERNEL))


def test_kernels_are_functions():
    after = tvm.tir.transform.SplitHostDevice()(tvm.tir.transform.AnnotateDeviceRegions()(module(PROGRAM)))
    kernel = after["main_kernel"]
    assert [p.name for p in kernel.params] == ["A", "B", "n"] and kernel.attrs["tir.is_global_func"]
    assert "Module.main_kernel(A.data, B.data, n)" in after.script()
    assert "launch_thread" in kernel.script() and "launch_thread" not in after["main"].script()


def test_kernels_of_cpus_return_a_status():
    after = tvm.tir.transform.SplitHostDevice()(module(KERNEL))
    assert "kernel_error_code: T.int32 = Module.main_kernel(A.data, n)" in after.script()
    assert 'assert kernel_error_code == 0, "Error executing compute kernel"' in after.script()
    assert "return 0" in after["main_kernel"].script()
