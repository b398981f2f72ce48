"""Rows with choices: concatenation, padding and rolling beside numpy, with known and unknown sizes from 0."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tirax.dialects import tir
from tirax.driver.build import build
from tirax.driver.pipelines import OPTIMIZE, make_passes
from tirax.ir.passes.transform import new_context
from tirax.tvm_api import script

CASES = {
    "rows": ("R.concat((x, y), axis=0)", lambda x, y: np.concatenate([x, y])),
    "columns": ("R.concat((x, y), axis=1)", lambda x, y: np.concatenate([x, y], 1)),
    "three": ("R.concat((x, R.add(y, x), y), axis=1)", lambda x, y: np.concatenate([x, y + x, y], 1)),
    "both": (
        "R.concat((R.concat((x, y), axis=0), R.concat((y, x), axis=0)), axis=1)",
        lambda x, y: np.block([[x, y], [y, x]]),
    ),
    "sum of two": (
        "R.add(R.concat((x, y), axis=1), R.concat((y, x), axis=1))",
        lambda x, y: np.concatenate([x, y], 1) + np.concatenate([y, x], 1),
    ),
    "padding": ("R.nn.pad(x, [1, 2, 3, 1], pad_value=7)", lambda x, y: np.pad(x, ((1, 2), (3, 1)), constant_values=7)),
    "padded sum": (
        "R.multiply(R.nn.pad(R.add(x, y), [0, 0, 2, 2]), R.nn.pad(y, [0, 0, 4, 0]))",
        lambda x, y: np.pad(x + y, ((0, 0), (2, 2))) * np.pad(y, ((0, 0), (4, 0))),
    ),
}
SIZES = (0, 1, 2, 3, 16, 17, 70)


def source(expression: str, n: int | str, m: int | str, dtype: str) -> str:
    shape = ", ".join(f'"{d}"' if isinstance(d, str) else str(d) for d in (n, m))
    return f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(({shape}), "{dtype}"), y: R.Tensor(({shape}), "{dtype}")):
        with R.dataflow():
            out = {expression}
            R.output(out)
        return out
"""


def check(function, name: str, n: int, m: int, dtype: str) -> None:
    draw = np.random.default_rng(n * 100 + m)
    x, y = (draw.integers(0, 5, (n, m)).astype(dtype) for _ in range(2))
    expected = CASES[name][1](x, y)
    np.testing.assert_array_equal(np.asarray(function(x, y)), expected.astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64"])
@pytest.mark.parametrize("name", CASES)
def test_rows_of_unknown_sizes(name, dtype):
    function = build(script.from_source(source(CASES[name][0], "n", "m", dtype)))["main"]
    for n, m in product(SIZES, SIZES):
        check(function, name, n, m, dtype)


@pytest.mark.parametrize(("n", "m"), [(5, 3), (3, 64), (40, 33), (1, 130), (700, 2)])
@pytest.mark.parametrize("name", CASES)
def test_rows_of_known_sizes(name, n, m):
    check(build(script.from_source(source(CASES[name][0], n, m, "float32")))["main"], name, n, m, "float32")


@pytest.mark.parametrize(
    ("name", "n", "m"), [("rows", 64, 40), ("rows", 64, 3), ("columns", 8, 40), ("padding", 8, 40)]
)
def test_long_rows_have_no_choices_left(name, n, m):
    """Short rows that are put after each other become one long row."""
    module, context = script.from_source(source(CASES[name][0], n, m, "float32")).op, new_context()
    for p in make_passes([*OPTIMIZE, "default-schedule"], "llvm -num-cores=1"):
        p.apply(context, module)
    assert not any(isinstance(op, tir.IfThenElseOp) for op in module.walk())
    assert any(isinstance(op, tir.ForOp) for op in module.walk())
