"""Powers of integers are exact modulo 2**bits, in native code and in the interpreter, beside Python's integers."""

import numpy as np
import pytest
from strength import thinned

from tirax import tvm_api as tvm
from tirax.interpreter import interpret
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "{dtype}")
        B = T.match_buffer(b, (n,), "{dtype}")
        C = T.match_buffer(c, (n,), "{dtype}")
        for i in range(n):
            with T.block("c"):
                v = T.axis.spatial(n, i)
                C[v] = T.pow(A[v], {exponent})
"""
BASES = [0, 1, 2, 3, 5, 7, 10, 11, 127, -1, -2, -3, -7, -128]
EXPONENTS = [0, 1, 2, 3, 5, 7, 8, 31, 33, 34, 39, 62, 63, 64, 100, 127, -1, -2, -3, -64, -128]


def exactly(base: int, exponent: int, dtype: str) -> int:
    if exponent < 0:
        value = {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)
    else:
        value = base**exponent
    info = np.iinfo(dtype)
    return (value - info.min) % 2**info.bits + info.min


def check(bases, exponents, dtype, exponent):
    mod = from_source(PROGRAM.format(dtype=dtype, exponent=exponent))
    x, y = (np.array(v, dtype) for v in (bases, exponents))
    expected = np.array([exactly(b, e, dtype) for b, e in zip(bases, exponents, strict=True)], dtype)
    for result in ("native", "interpreter"):
        got = np.zeros_like(x)
        if result == "native":
            tvm.build(mod, target="llvm")["main"](x, y, got)
        else:
            interpret(mod.op, "main", (x, y, got))
        np.testing.assert_array_equal(got, expected, err_msg=result)


@thinned("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64"], 2)
def test_powers(dtype):
    least = np.iinfo(dtype).min
    pairs = [(b, e) for b in BASES for e in EXPONENTS if min(b, e) >= least]
    check([b for b, _ in pairs], [e for _, e in pairs], dtype, "B[v]")


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 13, 63, -1, -2])
def test_a_constant_exponent(exponent):
    check(BASES, [exponent] * len(BASES), "int64", f"T.int64({exponent})")


def test_nothing():
    check([], [], "int64", "B[v]")
