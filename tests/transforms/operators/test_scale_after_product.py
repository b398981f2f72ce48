"""Products with bytes that are scaled: which are scaled afterwards, and that they mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.transforms.operators.scale_after_product import ScaleAfterProduct
from tirax.tvm_api.relax.transform import BindParams
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({x}, "float32"), w: R.Tensor((4, 6), "{dtype}"), s: R.Tensor({s}, "float32")):
        with R.dataflow():
            m = R.multiply(R.astype(w, "float32"), s)
            y = R.matmul(x, m)
            R.output(y)
        return y
"""
N = '("n", 4)'
CASES = {
    "a scale for each column": ({"x": N, "s": "(1, 6)"}, True),
    "a vector": ({"x": '("b", "n", 4)', "s": "(6,)"}, True),
    "one scale": ({"x": N, "s": "()"}, True),
    "unsigned": ({"x": N, "s": "(6,)", "dtype": "uint8"}, True),
    "a row times": ({"x": "(4,)", "s": "(1, 6)"}, False),
    "a scale for each row": ({"x": N, "s": "(4, 1)"}, False),
    "one for each element": ({"x": N, "s": "(4, 6)"}, False),
    "no bytes": ({"x": N, "s": "(6,)", "dtype": "int32"}, False),
    "a parameter": ({"x": N, "s": "(6,)", "bound": "w"}, False),
}


@pytest.mark.parametrize("case", CASES)
def test_cases(case: str) -> None:
    options, changes = CASES[case]
    dtype = options.get("dtype", "int8")
    before = from_source(PROGRAM.format(x=options["x"], s=options["s"], dtype=dtype))
    shape = tuple(int(n) for n in options["s"].strip("()").split(",") if n)
    rng = np.random.default_rng(0)
    values = {"w": rng.integers(0, 9, (4, 6)).astype(dtype), "s": rng.integers(1, 4, shape).astype("float32")}
    before = BindParams("main", {n: v for n, v in values.items() if n in options.get("bound", "ws")})(before)
    after = ScaleAfterProduct()(before)
    names = [op.name for op in after.op.walk() if op.name in ("relax.matmul", "relax.multiply")]
    assert names == (["relax.matmul", "relax.multiply"] if changes else ["relax.multiply", "relax.matmul"])
    assert_same_meaning(before.op, after.op)


def test_products_of_halves_would_overflow() -> None:
    program = PROGRAM.replace("float32", "float16").format(x='("n", 1024)', s="(1, 6)", dtype="int8")
    values = {"w": np.full((1024, 6), 100, np.int8), "s": np.full((1, 6), 0.01, np.float16)}
    module = BindParams("main", values)(from_source(program.replace("(4, 6)", "(1024, 6)")))
    assert ScaleAfterProduct()(module).script() == module.script()
    result = build(module)["main"](np.ones((2, 1024), np.float16))
    np.testing.assert_allclose(result.astype(np.float64), 1024, rtol=1e-2)
