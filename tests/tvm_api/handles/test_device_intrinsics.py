"""Intrinsics of other devices as functions: what they give and how they print, and that no code is made of them."""

import pytest

import tirax.tvm_api as tvm
from tirax.dialects.tir import DEVICE_INTRINSICS, FIRST
from tirax.tvm_api import tir
from tirax.tvm_api.handles.device_intrinsics import FUNCTIONS
from tirax.tvm_api.script import tir as T

X = tir.Var("x", "handle")
F = tir.Var("f", "float32")
CASES = {
    'T.tvm_struct_get(x, 0, 4, "int32")': (lambda: tir.tvm_struct_get(X, 0, 4, "int32"), "int32"),
    'T.tvm_struct_get(x, 1, 12, "handle")': (lambda: tir.tvm_struct_get(X, 1, 12, dtype="handle"), "handle"),
    "T.tvm_struct_set(x, 0, 4, f)": (lambda: tir.tvm_struct_set(X, 0, 4, F), "int32"),
    'T.tvm_stack_alloca("shape", 2)': (lambda: tir.tvm_stack_alloca("shape", 2), "handle"),
    'T.call_cpacked("f", 1)': (lambda: tir.call_cpacked("f", 1), "int32"),
    "T.tvm_throw_last_error()": (lambda: tir.tvm_throw_last_error(), "handle"),
    "T.ptx_wait_group(1)": (lambda: tir.ptx_wait_group(num=1), ""),
    'T.mma_fill("float32", 8, x, 0)': (lambda: tir.mma_fill("float32", 8, X, 0), "float32"),
    "T.tvm_warp_shuffle(1, f, 1, 2, 3)": (lambda: tir.tvm_warp_shuffle(1, F, 1, 2, 3), "float32"),
    "T.dp4a(1, 2, 0)": (lambda: tir.op.dp4a(1, 2, 0), "int32"),
}


@pytest.mark.parametrize("text", CASES)
def test_what_they_give_and_print(text):
    build, dtype = CASES[text]
    assert str(build()) == text
    assert str(build().dtype) in ((dtype,) if dtype else ("", "void"))


def test_there_is_one_for_each():
    assert set(DEVICE_INTRINSICS) <= set(FUNCTIONS)
    for name, function in FUNCTIONS.items():
        assert function.__name__ == name
        assert "no code is made" in (function.__doc__ or "")
    assert [n for n in FUNCTIONS if DEVICE_INTRINSICS.get(n) and DEVICE_INTRINSICS[n].result == FIRST]


def test_no_code_is_generated_for_them():
    @T.prim_func
    def main(a: T.Buffer((4,), "int32")):
        a[0] = T.dp4a(1, 2, 0)

    with pytest.raises(tvm.TVMError, match="dp4a"):
        tvm.build(main, target="llvm")


def test_unknown_ones_have_no_function():
    with pytest.raises(AttributeError, match="no_such"):
        _ = tir.no_such
