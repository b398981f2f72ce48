"""`MakePackedAPI`: which functions change, their checks, attributes and results."""

from __future__ import annotations

import pytest

from tirax import tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.tvm_api.script import from_source

HOST = 'T.target("llvm", host="llvm")'


def packed(head: str, body: str = "T.evaluate(0)", target: str = HOST, private: str = "") -> str:
    source = f"""
from tvm.script import tir as T
@T.prim_func{private}
def f({head}):
    T.func_attr({{"target": {target}}})
    {body}
"""
    module = tvm.IRModule({"f": from_source(source)})
    text = tvm.tir.transform.MakePackedAPI()(module).script()
    assert from_source(text).script() == text
    return text


def test_the_arguments_of_a_packed_function() -> None:
    text = packed('A: T.Buffer((4, 1), "float32"), n: T.int8, x: T.float16, b: T.bool')
    for line in (
        "args: T.handle, arg_type_ids: T.handle",
        "resource_handle: T.handle) -> T.int32",
        '"calling_conv": 1',
        'assert num_args == 4, "f: num_args should be 4"',
        'A_handle: T.handle = T.tvm_struct_get(args, 0, 12, "handle")',
        'n: T.int8 = T.Cast("int8", T.tvm_struct_get(args, 1, 12, "int64"))',
        'x: T.float16 = T.Cast("float16", T.tvm_struct_get(args, 2, 12, "float64"))',
        'b: T.bool = T.Cast("bool", T.tvm_struct_get(args, 3, 12, "int64"))',
        'assert b_code == 15 or b_code == 0, "f: Expect arg[3] to be boolean"',
        'assert 2 == T.tvm_struct_get(A_handle, 0, 4, "int32"), "f.A_handle.ndim is expected to equal 2"',
        'assert T.Cast("int32", f_A_handle_shape_1[0]) == 4',
        'assert 1 == T.Cast("int32", f_A_handle_strides_1[0]), "f.A_handle.strides: expected to be compact array"',
        'T.attr("default", "device_type", 1)',
        'with T.attr(0, "compute_scope", "f_compute_"):',
        "return 0",
    ):
        assert line in text


def test_dtypes_are_checked() -> None:
    codes = {"int32": (0, 32), "uint8": (1, 8), "float16": (2, 16), "bfloat16": (4, 16)}
    for dtype, (code, bits) in codes.items():
        text = packed(f'A: T.Buffer((4,), "{dtype}")')
        assert f'5, "uint8") == T.uint8({code}) and' in text
        assert f'6, "uint8") == T.uint8({bits}) and' in text


def test_a_second_tensor_is_on_the_same_device() -> None:
    text = packed('A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")')
    assert text.count("dev_id: T.int32 = ") == 1
    assert 'assert dev_id == T.tvm_struct_get(B_handle, 0, 9, "int32")' in text


def test_strides_and_an_offset() -> None:
    text = packed("a: T.handle", 'A = T.match_buffer(a, (4, 4), "float32", strides=[8, 1], elem_offset=2)')
    assert 'T.uint64(8) == T.tvm_struct_get(a, 0, 8, "uint64")' in text
    assert "if_then_else(T.isnullptr(f_a_strides), 1," in text


def test_other_devices_are_set() -> None:
    text = packed('A: T.Buffer((4,), "float32")', target='T.target("cuda", host="llvm")')
    assert 'T.call_packed("__tvm_set_device", 2, dev_id)' in text
    assert "cuda" not in text


def test_results_go_to_the_caller() -> None:
    text = packed("n: T.int32, x: T.float32", "if n > 0:\n        T.ret(x)\n    T.ret(n)")
    assert '[0] = T.Cast("float64", x)' in text
    assert '[0] = T.Cast("int64", n)' in text
    assert "out_ret_tcode_1[0] = 2" in text


def test_a_device_context_is_passed_as_it_is() -> None:
    text = packed("n: T.int32, device_api_context: T.handle", "T.evaluate(device_api_context)")
    assert "num_args == 1" in text
    assert "device_api_context: T.handle) -> T.int32" in text


@pytest.mark.parametrize("options", [{"target": 'T.target("llvm")'}, {"private": "(private=True)"}])
def test_functions_that_stay(options: dict[str, str]) -> None:
    assert "calling_conv" not in packed("n: T.int32", **options)


def test_calls_of_public_functions() -> None:
    module = from_source(f"""
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        T.func_attr({{"target": {HOST}}})
        Module.sub(A.data)

    @T.prim_func
    def sub(a: T.handle("float32")):
        T.func_attr({{"target": {HOST}}})
        T.evaluate(a)
""")
    text = tvm.tir.transform.MakePackedAPI()(module).script()
    assert 'T.call_cpacked("sub", A, T.reinterpret("handle", T.uint64(0)))' in text
    again = tvm.tir.transform.MakePackedAPI()(from_source(text)).script()
    assert again.count("num_args should be") == 2


def test_what_is_refused() -> None:
    with pytest.raises(TiraxError, match="target"):
        tvm.tir.transform.MakePackedAPI()(
            tvm.IRModule(
                {
                    "f": from_source("""
from tvm.script import tir as T
@T.prim_func
def f(n: T.int32):
    T.evaluate(n)
""")
                }
            )
        )
    with pytest.raises(TiraxError, match="symbolic extents"):
        packed("a: T.handle, n: T.int32", 'A = T.match_buffer(a, (n,), "float32")\n    T.evaluate(A[0])')
