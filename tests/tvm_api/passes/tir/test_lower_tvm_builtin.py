"""`LowerTVMBuiltin`: frames of packed calls, tensors on the stack, allocations."""

from __future__ import annotations

import pytest

from tirax import tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.tvm_api.script import from_source

DEVICE = 'T.attr("default", "device_id", 0)\nT.attr("default", "device_type", 2)\n'


def lowered(body: str, device: str = DEVICE, attrs: str = '"target": T.target("llvm")') -> str:
    lines = (device + body).replace("\n", "\n    ")
    source = f"""
from tvm.script import tir as T
@T.prim_func
def f(A: T.Buffer((4, 8), "float32"), n: T.int8, x: T.float16, b: T.bool, p: T.handle):
    T.func_attr({{{attrs}}})
    {lines}
"""
    module = tvm.tir.transform.LowerTVMBuiltin()(tvm.IRModule({"f": from_source(source)}))
    text = module.script()
    assert from_source(text).script() == text
    return text


def test_codes_of_arguments() -> None:
    text = lowered('T.call_packed("g", n, x, b, "text", p)')
    assert 'T.tvm_stack_alloca("arg_value", 6)' in text
    assert "T.decl_buffer((T.uint64(6),)" in text
    codes = [line.split(" = ")[-1] for line in text.splitlines() if "stack_tcode_1[" in line]
    assert codes == ["0", "2", "15", "11", "4", "3"]
    assert 'T.tvm_struct_set(stack_value, 0, 12, T.Cast("int64", n))' in text
    assert 'T.call_packed_lowered("g", stack_value, stack_tcode, 0, 5)' in text
    assert "device_id" not in text


def test_a_buffer_is_a_tensor_on_the_stack() -> None:
    text = lowered('T.call_packed("g", A)\nT.call_packed("h", A, A)')
    assert 'T.tvm_stack_alloca("array", 2)' in text
    assert 'T.tvm_stack_alloca("shape", 4)' in text
    assert "T.tvm_struct_set(stack_array, 0, 4, 2)" in text
    assert "T.tvm_struct_set(stack_array, 1, 2, T.address_of(" in text
    assert "stack_shape_1[3] = T.int64(8)" in text
    assert "T.tvm_struct_set(stack_array, 0, 10, 2)" in text


def test_an_array_by_hand() -> None:
    array = "T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(32), T.tvm_stack_make_shape(1), 1, T.float32(0), 2)"
    text = lowered(f'T.call_cpacked("g", {array}, p)')
    assert "T.tvm_struct_set(stack_array, 0, 8, T.uint64(8))" in text
    assert 'T.tvm_stack_alloca("shape", 2)' in text
    assert 'T.call_cpacked_lowered("g", stack_value, stack_tcode, 0, 1, p)' in text


def test_a_call_in_a_call() -> None:
    text = lowered('T.call_packed("g", T.call_packed("h", n))')
    assert 'T.tvm_stack_alloca("arg_value", 4)' in text
    assert 'T.call_packed_lowered("h", stack_value, stack_tcode, 2, 3)' in text


def test_iterations_in_parallel_have_frames() -> None:
    text = lowered('for i in T.parallel(4):\n    T.call_packed("g", i)\nT.call_packed("h", n, n)')
    assert text.count("arg_value") == 2
    assert text.index("parallel") < text.index('"arg_value", 2')


def test_allocations() -> None:
    body = 'B = T.allocate((16,), "float32", "global")\nC = T.decl_buffer((16,), data=B)\nC[0] = T.float32(0)'
    text = lowered(body)
    assert "T.TVMBackendAllocWorkspace(2, 0, T.uint64(64), 2, 32)" in text
    assert 'T.attr(B, "storage_alignment", 64)' in text
    assert (
        text.index("T.isnullptr(B)") < text.index("decl_buffer") < text.index("T.TVMBackendFreeWorkspace(2, 0, B) != 0")
    )
    on_cpu = DEVICE.replace("2)", "1)")
    assert "T.allocate(" in lowered(body, on_cpu)
    assert "T.TVMBackendAllocWorkspace(1, 0, T.uint64(1024), 2, 32)" in lowered(body.replace("16", "256"), on_cpu)
    kept = body.replace('"global")', '"global", annotations={"disable_lower_builtin": T.bool(True)})', 1)
    assert "T.allocate(" in lowered(kept)


def test_functions_of_devices_stay() -> None:
    body = 'T.call_packed("g", n)'
    assert 'T.call_packed("g", n)' in lowered(body, attrs='"target": T.target("cuda")')
    assert "call_packed_lowered" in lowered(body, attrs='"tir.is_host_func": 1')


def test_a_device_is_required() -> None:
    with pytest.raises(TiraxError, match="Unknown device id"):
        lowered('T.call_packed("g", A)', "")
    with pytest.raises(TiraxError, match="Unknown device type"):
        lowered('T.call_packed("g", A)', "", '"tir.is_host_func": 1')
