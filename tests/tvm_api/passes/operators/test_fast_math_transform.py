"""Exponentials and the like by polynomials."""

import numpy as np

import tirax.tvm_api as tvm
from tirax.interpreter import assert_same_meaning, interpret, random_inputs
from tirax.ir.functions.lookup import functions
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import FastMathTransform
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 5), "float32"), y: R.Tensor((4,), "float64")):
        n = T.int64()
        with R.dataflow():
            p = R.exp(x)
            q = R.erf(p)
            r = R.tanh(q)
            e = R.exp(r)
            s = R.sigmoid(e)
            z = R.exp(y)
            R.output(s, z)
        return (s, z)

    @R.function
    def unknown(x: R.Tensor(ndim=2, dtype="float32")):
        y = R.exp(x)
        return y
"""


def test_calls():
    before = from_source(PROGRAM)
    after = FastMathTransform()(before)
    assert set(functions(after.op)) == {"main", "unknown", "fast_exp", "fast_erf", "fast_tanh"}
    text = after["main"].script()
    assert [line.split("(")[1].split(",")[0] for line in text.splitlines() if "call_tir" in line] == [
        "fast_exp", "fast_erf", "fast_tanh", "fast_exp",
    ]  # fmt: skip
    assert 'z: R.Tensor((4,), dtype="float64") = R.exp(y)' in text
    assert after["unknown"].script() == before["unknown"].script()
    assert_same_meaning(before.op, after.op)
    assert FastMathTransform()(after).script() == after.script()


def test_native():
    before = from_source(PROGRAM.split("    @R.function\n    def unknown")[0])
    vm = relax.VirtualMachine(relax.build(FastMathTransform()(before), target="llvm"), tvm.cpu())
    for n in (3, 1, 0):
        inputs = random_inputs(functions(before.op)["main"], {"n": n})
        for actual, expected in zip(
            vm["main"](*map(tvm.nd.array, inputs)), interpret(before.op, "main", inputs), strict=True
        ):
            np.testing.assert_allclose(actual.numpy(), expected, rtol=2e-6)
