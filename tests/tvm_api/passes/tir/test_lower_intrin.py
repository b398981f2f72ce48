"""LowerIntrin: intrinsics of floats by LLVM's names compute the same, to the bit."""

import numpy as np
import pytest

from tirax import tvm_api as tvm
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api import tir
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "{dtype}")
        B = T.match_buffer(b, (n,), "{dtype}")
        for i in range(n):
            with T.block("b"):
                v = T.axis.spatial(n, i)
                B[v] = {value}
"""
FUSED = "T.fma(A[v], A[v], T.log(T.fabs(A[v]) + {one}))"
ROOTS = "T.pow(T.sqrt(T.exp(A[v])), A[v])"
DTYPES = {"float32": "T.float32(1)", "float64": "T.float64(1)"}


def module(value, dtype="float32"):
    return from_source(PROGRAM.format(dtype=dtype, value=value.format(one=DTYPES.get(dtype))))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [FUSED, ROOTS])
def test_the_meaning_stays(value, dtype):
    before = module(value, dtype)
    after = tir.transform.LowerIntrin()(before)
    assert after.script().count("T.call_llvm_pure_intrin") == 3
    assert_same_meaning(before.op, after.op)
    native = [tvm.build(mod, target="llvm")["main"] for mod in (before, after)]
    for n in (0, 1, 9):
        x = np.random.default_rng(n).standard_normal(n).astype(dtype)
        first, second = (np.zeros_like(x), np.zeros_like(x))
        native[0](x, first)
        native[1](x, second)
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("value", "dtype"), [("T.sin(A[v])", "float32"), ("T.sqrt(A[v])", "float16"), ("A[v] + A[v]", "float64")]
)
def test_others_stay(value, dtype):
    before = module(value, dtype)
    assert tir.transform.LowerIntrin()(before).script() == before.script()


@pytest.mark.parametrize("value", ["A[v] * A[v] + B[v]", "B[v] + A[v] * A[v]"])
def test_a_product_that_is_added_to_is_rounded_once(value):
    before = module(value)
    after = tir.transform.LowerIntrin()(before)
    assert 'T.call_llvm_pure_intrin("float32", "llvm.fmuladd", T.uint32(3), A[v], A[v], B[v])' in after.script()
    assert_same_meaning(before.op, after.op)
    call = tvm.build(after, target="llvm")["main"]
    for n in (0, 1, 9):
        x, y = np.random.default_rng(n).standard_normal((2, n)).astype(np.float32)
        exact = (x.astype(np.float64) ** 2 + y).astype(np.float32)
        call(x, y)
        np.testing.assert_allclose(y, exact, rtol=1e-7, atol=0)


def test_text():
    text = tir.transform.LowerIntrin()(module("T.fma(A[v], A[v], A[v])")).script()
    assert 'T.call_llvm_pure_intrin("float32", "llvm.fma", T.uint32(3), A[v], A[v], A[v])' in text
