"""Fused functions keep the axis separators of the buffers that their parts take, which must agree."""

import re

import numpy as np
import pytest

from tirax.diagnostics import ShapeError
from tirax.handles.module import IRModule
from tirax.interpreter import interpret
from tirax.script import parse_source
from tirax.transforms.fusion.fuse_tir import FuseTIR


def program(first, second, args):
    return parse_source(f"""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 4), axis_separators=[{first}])
        B = T.match_buffer(b, (n, 4), axis_separators=[{second}])
        C = T.match_buffer(c, (n, 4), axis_separators=[1])
        for i, j in T.grid(n, 4):
            with T.block("f"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * B[vi, vj]

    @R.function(private=True)
    def fused(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        R.func_attr({{"Primitive": 1}})
        cls = M
        with R.dataflow():
            z = R.call_tir(cls.f, ({args}), R.Tensor((n, 4), "float32"))
            out = R.call_tir(cls.f, (z, z), R.Tensor((n, 4), "float32"))
            R.output(out)
        return out

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32")):
        cls = M
        return cls.fused(x, y)
""")


def test_separators_are_kept():
    module = program("1", "1", "x, y")
    fused = FuseTIR()(module)
    text = IRModule(fused)["fused"].script()
    assert len(re.findall(r"axis_separators=\[1\]", text)) == 4  # two parameters, what is between, the result
    for n in (0, 1, 3):
        x, y = np.random.default_rng(n).normal(size=(2, n, 4)).astype("float32")
        np.testing.assert_array_equal(interpret(fused, "main", [x, y]), interpret(module, "main", [x, y]))


def test_inputs_need_not_agree_with_one_another():
    module = program("1", "1", "x, x")
    assert "axis_separators=[1]" in IRModule(FuseTIR()(module))["fused"].script()


@pytest.mark.parametrize(("first", "second", "args"), [("1", "", "x, x"), ("", "", "x, y")])
def test_one_buffer_has_one_kind_of_separators(first, second, args):
    with pytest.raises(ShapeError, match="Inconsistent buffers . and . mapped to the same relax var"):
        FuseTIR()(program(first, second, args))
