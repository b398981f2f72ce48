"""RenormalizeSplitPattern: quotients before remainders; each form against all small numbers, and in a program."""

import pytest

import tirax.tvm_api as tvm
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api import tir
from tirax.tvm_api.script import from_source
from tirax.tvm_api.script import tir as T

FORMS = {
    "x % 12 // 4": "x // 4 % 3",
    "(x * 6 + y) // 4": "(x * 3 + y // 2) // 2",
    "(x * 4 + y) // 8": "(x + y // 4) // 2",
    "(x * 4 + y + z) // 6": "(x * 2 + (y + z) // 2) // 3",
    "(x * 16 + y) % 32 // 8": "(x * 2 + y // 8) % 4",
    "x < 4": "x // 4 < 1",
    "4 <= x": "1 <= x // 4",
    "x < 1": "x < 1",
    "x * 4 + y < 8 or x < z": "(x + y // 4) // 2 < 1 or x < z",
    "x % 6 // 4": "x % 6 // 4",
    "(x * 3 + y) // 4": "(x * 3 + y) // 4",
    "x // -3 % 2": "x // -3 % 2",
}
PROGRAM = """
@T.prim_func
def main(A: T.Buffer((19, 5, 5), "int32")):
    for i, j, k in T.grid(19, 5, 5):
        x: T.int32 = i - 9
        y: T.int32 = j * 3 - 6
        z: T.int32 = k * 3 - 5
        A[i, j, k] = T.Cast("int32", {})
"""


@pytest.mark.parametrize(("before", "after"), FORMS.items())
def test_forms(before, after):
    mod = tvm.IRModule({"main": from_source(PROGRAM.format(before))})
    renormalized = tir.transform.RenormalizeSplitPattern()(mod)
    text = f'T.Cast("int32", {after})' if "<" in after else after
    assert f"A[i, j, k] = {text}" in renormalized["main"].script()
    assert_same_meaning(mod, renormalized)


@T.prim_func
def split(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i, t in T.grid(4, 16):
        B[(i * 16 + t) // 8 * 8 + (i * 16 + t) % 8] = T.if_then_else(
            i * 16 + t >= 16 and i * 16 + t < 48, A[(i * 16 + t) % 32 // 4 * 4 + t % 4], T.float32(0)
        )


def test_program_means_the_same():
    before = tvm.IRModule({"main": split})
    after = tir.transform.RenormalizeSplitPattern()(before)
    assert_same_meaning(before, after)
    assert "1 <= i + t // 16" in after["main"].script()
    simplified = tir.transform.Simplify()(after)
    assert_same_meaning(before, simplified)
    assert "T.if_then_else(1 <= i and i < 3," in simplified["main"].script()
