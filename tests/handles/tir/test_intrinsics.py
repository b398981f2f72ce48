"""Intrinsics that are built from Python: their types, and their texts."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import DTypeError, NameLookupError
from tirax.tvm_api import tir

PRINTED = [("int8", "int32"), ("int32", "int32"), ("uint64", "int32"), ("int64x4", "int32x4")]


@pytest.mark.parametrize(("dtype", "gives"), PRINTED)
def test_the_number_of_leading_zeros_is_an_int32(dtype, gives):
    zeros = tir.clz(tir.Var("x", dtype))
    assert zeros.dtype == gives
    assert str(zeros) == "T.clz(x)"


def test_leading_zeros_of_another_type_say_it():
    zeros = tir.call_intrin("int64", "tir.clz", tir.Var("x", "int64"))
    assert str(zeros) == 'T.call_intrin("int64", "tir.clz", x)'


def test_leading_zeros_of_constants_depend_on_their_width():
    for dtype, zeros in (("int32", 24), ("int64", 56)):
        number = tvm.arith.Analyzer().rewrite_simplify(tir.clz(tir.const(128, dtype)))
        assert tvm.ir.structural_equal(number, tir.const(zeros, "int32"))


def test_floats_have_no_leading_zeros():
    with pytest.raises(DTypeError, match="clz is for integers"):
        tir.clz(tir.const(1.0, "float32"))


@pytest.mark.parametrize("call", [tir.call_llvm_intrin, tir.call_llvm_pure_intrin])
def test_only_intrinsics_that_llvm_has(call):
    for name in ("llvm.fma", "llvm.fma.f32", "llvm.x86.avx512.vpermi2var.d.512"):
        call("float32", name, 1.0)
    for name in ("llvm.dummy", "fma", 'llvm.fma") \n'):
        with pytest.raises(NameLookupError, match="Unknown llvm intrinsic function"):
            call("float32", name, 1.0)
