"""Each line of docs/semantics.md holds, in native code and in the interpreter: its cases are those of its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from strength import some

from tirax.diagnostics import TiraxError
from tirax.dialects.block_formats import block_format
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.script import parse_source

PAGE = Path(__file__).parents[2] / "docs" / "semantics.md"
NAN, INF = np.nan, np.inf
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


class Case(NamedTuple):
    """What `expr` of x, y, z gives, of these shapes and dtypes; `expected` is a message where it is refused.

    `native` is what native code gives where only the interpreter refuses.
    """

    types: str
    expr: str
    args: tuple[Any, ...]
    expected: Any
    native: Any = None


def f32(*values: Any) -> Any:
    return np.array(values, "float32")


def i32(*values: Any) -> Any:
    return np.array(values, "int32")


def i64(*values: Any) -> Any:
    return np.array(values, "int64")


IMAGE = np.arange(30, dtype="float32").reshape(1, 1, 6, 5)
EIGHTHS = np.stack([np.arange(-15, 17) * 8 - 1, np.arange(32) % 5 * 64 - 127]).astype("float32") / 8
Q8_0 = block_format("q8_0").quantize(EIGHTHS)
NUMBERS = block_format("q8_0").dequantize(Q8_0)
HALVES = np.array([[127, 0.5, -0.5, 2.25, *[-1] * 28], [0] * 32], "float32")
ROUNDED = np.array([[127, 1, -1, 2, *[-1] * 28], [0] * 32], "float32")
X, XY = "n float32", "n float32; n float32"
ROWS = "n,m float32"
CASES: dict[str, list[Case]] = {
    "`maximum`, `minimum`": [
        Case(XY, "R.maximum(x, y)", (f32(NAN, 1, NAN, 1), f32(1, NAN, NAN, 2)), f32(NAN, NAN, NAN, 2)),
        Case(XY, "R.minimum(x, y)", (f32(NAN, 1, NAN, 1), f32(1, NAN, NAN, 2)), f32(NAN, NAN, NAN, 1)),
        Case(X, "R.maximum(R.const(2.0, 'float32'), x)", (f32(NAN, 1, 3),), f32(NAN, 2, 3)),
        Case(X, "R.minimum(x, R.const(float('nan'), 'float32'))", (f32(1, -INF),), f32(NAN, NAN)),
    ],
    "`clip`, `relu`": [
        Case(X, "R.clip(x, -1, 1)", (f32(NAN, -2, 2, -INF, INF),), f32(NAN, -1, 1, -1, 1)),
        Case(X, "R.nn.relu(x)", (f32(NAN, -2, 2, -INF, INF),), f32(NAN, 0, 2, 0, INF)),
        Case(X, "R.clip(x, 2, 1)", (f32(NAN, -2, 1.5, 3, INF),), f32(NAN, 1, 1, 1, 1)),
        Case(X, "R.clip(x, float('nan'), 1)", (f32(0, 2),), f32(NAN, NAN)),
        Case(X, "R.clip(x, 0, float('nan'))", (f32(-1, 2),), f32(NAN, NAN)),
        Case("n int32", "R.clip(x, 2, 1)", (i32(0, 5),), i32(1, 1)),
    ],
    "`max`, `min`": [
        Case(ROWS, "R.max(x, axis=[1])", (np.array([[1, NAN] + [3] * 30, [2] * 32], "f4"),), f32(NAN, 2)),
        Case(ROWS, "R.min(x, axis=[0])", (np.array([[1, 5], [NAN, 3], [2, 4]], "f4"),), f32(NAN, 3)),
        Case(ROWS, "R.max(x, axis=[1])", (np.full((2, 9), -INF, "f4"),), f32(-INF, -INF)),
        Case(ROWS, "R.min(x, axis=[1])", (np.full((2, 9), INF, "f4"),), f32(INF, INF)),
    ],
    "`argmax`, `argmin`": [
        Case(ROWS, "R.argmax(x, axis=1)", (np.array([[1, NAN, 2, NAN], [1, 2, 2, 1]], "f4"),), i64(1, 1)),
        Case(ROWS, "R.argmin(x, axis=0)", (np.array([[1, 5], [NAN, 3], [NAN, 3]], "f4"),), i64(1, 1)),
        Case(ROWS, "R.argmax(x, axis=1)", (np.full((2, 37), -INF, "f4"),), i64(0, 0)),
        Case(ROWS, "R.argmin(x, axis=1)", (np.full((2, 37), INF, "f4"),), i64(0, 0)),
        Case("n,m int8", "R.argmax(x, axis=1)", (np.full((2, 37), -128, "i1"),), i64(0, 0)),
    ],
    "`softmax`": [
        Case(ROWS, "R.nn.softmax(x)", (np.array([[0, NAN, 0], [-INF] * 3, [0, 0, -INF]], "f4"),),
             np.array([[NAN] * 3, [NAN] * 3, [0.5, 0.5, 0]], "f4")),
    ],
    "sums of 16 bits": [
        Case("n,m float16", "R.sum(x, axis=[0])", (np.ones((4099, 2), "float16"),), np.full(2, 4100, "float16")),
        Case("n,m float16", "R.mean(x, axis=[0])", (np.full((70000, 1), 2, "float16"),), np.array([2], "float16")),
        Case(
            "n,m float16; m,k float16",
            "R.matmul(x, y)",
            (np.ones((2, 4099), "float16"), np.ones((4099, 3), "float16")),
            np.full((2, 3), 4100, "float16"),
        ),
    ],
    "activations of 16 bits": [
        Case("n float16", "R.nn.gelu(x)", (np.float16([-3, -2.5]),), np.float16([-0.0040497, -0.0155242])),
        Case("n float16", "R.nn.silu(x)", (np.float16([-16, NAN]),), np.float16([-1.8005624e-6, NAN])),
    ],
    "comparisons": [
        Case(XY, "R.less(x, y)", (f32(NAN, 1, -0.0), f32(1, NAN, 0)), np.array([False] * 3)),
        Case(XY, "R.equal(x, y)", (f32(NAN, INF, -0.0), f32(NAN, INF, 0)), np.array([False, True, True])),
        Case(XY, "R.not_equal(x, y)", (f32(NAN, 1), f32(NAN, 1)), np.array([True, False])),
    ],
    "division by zero": [
        Case(XY, "R.divide(x, y)", (f32(1, -1, 0, 1), f32(0, 0, 0, -0.0)), f32(INF, -INF, NAN, -INF)),
    ],
    "`mod` of floats": [
        Case(XY, "R.mod(x, y)", (f32(1, 1e8, -1e8, 5, -5, 1e38), f32(0.1, 3, 3, INF, INF, 1e-38)),
             np.fmod(f32(1, 1e8, -1e8, 5, -5, 1e38), f32(0.1, 3, 3, INF, INF, 1e-38))),
        Case(XY, "R.mod(x, y)", (f32(INF, 1, NAN, -0.0), f32(2, 0, 1, 1)), f32(NAN, NAN, NAN, -0.0)),
    ],
    "`floor_mod` of floats": [
        Case(XY, "R.floor_mod(x, y)", (f32(1, -1, 5, -5, -1e-20), f32(0.1, 0.1, INF, INF, 1)),
             np.mod(f32(1, -1, 5, -5, -1e-20), f32(0.1, 0.1, INF, INF, 1))),
        Case(XY, "R.floor_mod(x, y)", (f32(-4, 4, INF, 1), f32(2, -2, 2, 0)), f32(-0.0, 0.0, NAN, NAN)),
    ],
    "`floor_divide` of floats": [
        Case(XY, "R.floor_divide(x, y)", (f32(1, -1, 5, -5, 1e8), f32(0.1, 0.1, INF, INF, 3)),
             f32(9, -10, 0, -1, 33333334)),
        Case(XY, "R.floor_divide(x, y)", (f32(1, -1, 0, INF), f32(0, 0, 0, 2)), f32(INF, -INF, NAN, NAN)),
    ],
    "denormals": [
        Case(XY, "R.multiply(x, y)", (f32(1e-30, 1e-40), f32(1e-10, 1)), f32(1e-40, 1e-40)),
    ],
    "denormal weights": [
        Case("1,2 float32", "R.matmul(x, R.const([[1.0], [1e-40]], 'float32'))", (f32(2, 3).reshape(1, 2),),
             f32(2).reshape(1, 1)),
    ],
    "max pools": [
        Case("1,1,6,5 float32", "R.nn.max_pool2d(x, [1, 1], [2, 1], ceil_mode=True)", (IMAGE,), IMAGE[:, :, ::2]),
        Case("1,1,6,5 float32", "R.nn.max_pool2d(x, [3, 3], [2, 2], padding=[1, 1, 1, 1], ceil_mode=True)",
             (np.where(IMAGE == 7, NAN, IMAGE).astype("f4"),),
             f32(6, NAN, 9, 16, NAN, 19, 26, 28, 29, 26, 28, 29).reshape(1, 1, 4, 3)),
        Case("1,1,n float32", "R.nn.max_pool1d(x, [2], [2], padding=[1, 1], ceil_mode=True)",
             (f32(-INF, 1, 2, 3).reshape(1, 1, 4),), f32(-INF, 2, 3).reshape(1, 1, 3)),
    ],
    "mean pools": [
        Case("1,1,n float32", "R.nn.avg_pool1d(x, [3], [2], padding=[1, 1], ceil_mode=True, count_include_pad=True)",
             (f32(1, 2, 3, 4).reshape(1, 1, 4),), f32(1, 3, 2).reshape(1, 1, 3)),
        Case("1,1,n float32", "R.nn.avg_pool1d(x, [3], [2], padding=[1, 1], ceil_mode=True, count_include_pad=False)",
             (f32(1, 2, 3, 4).reshape(1, 1, 4),), f32(1.5, 3, 4).reshape(1, 1, 3)),
        Case("1,1,1,1,n float32", "R.nn.avg_pool3d(x, [1, 1, 1], [1, 1, 3], ceil_mode=True)",
             (f32(1, 2, 3, 4, 5).reshape(1, 1, 1, 1, 5),), f32(1, 4).reshape(1, 1, 1, 1, 2)),
    ],
    "overflow": [
        Case("n int8; n int8", "R.add(x, y)", (np.array([127, -128], "i1"), np.array([1, -1], "i1")),
             np.array([-128, 127], "i1")),
        Case("n uint8; n uint8", "R.subtract(x, y)", (np.array([0], "u1"), np.array([1], "u1")), np.array([255], "u1")),
        Case("n int32; n int32", "R.multiply(x, y)", (i32(2**31 - 1), i32(2)), i32(-2)),
        Case("n int32", "R.negative(x)", (i32(-(2**31)),), i32(-(2**31))),
        Case("n int32", "R.abs(x)", (i32(-(2**31)),), i32(-(2**31))),
    ],
    "`divide`, `mod`": [
        Case("n int32; n int32", "R.divide(x, y)", (i32(-7, 7, -7), i32(2, -2, -2)), i32(-3, -3, 3)),
        Case("n int32; n int32", "R.mod(x, y)", (i32(-7, 7, -7), i32(2, -2, -2)), i32(-1, 1, -1)),
        Case("n int32; n int32", "R.divide(x, y)", (i32(-(2**31)), i32(-1)), i32(-(2**31))),
        Case("n int8; n int8", "R.mod(x, y)", (np.array([-128], "i1"), np.array([-1], "i1")), np.array([0], "i1")),
    ],
    "`floor_divide`, `floor_mod`": [
        Case("n int32; n int32", "R.floor_divide(x, y)", (i32(-7, 7, -7), i32(2, -2, -2)), i32(-4, -4, 3)),
        Case("n int32; n int32", "R.floor_mod(x, y)", (i32(-7, 7, -7), i32(2, -2, -2)), i32(1, -1, -1)),
        Case("n int64; n int64", "R.floor_divide(x, y)", (i64(-(2**63)), i64(-1)), i64(-(2**63))),
    ],
    "an integer divided by zero": [
        Case("n int32; n int32", f"R.{name}(x, y)", (i32(5, -5, 0), i32(0, 0, 0)), "by zero", i32(0, 0, 0))
        for name in ("divide", "mod", "floor_divide", "floor_mod")
    ],
    "shifts": [
        Case("n int8; n int8", "R.left_shift(x, y)", (np.array([1, 1, 1, -1], "i1"), np.array([7, 8, 100, -1], "i1")),
             np.array([-128, 0, 0, 0], "i1")),
        Case("n int32; n int32", "R.right_shift(x, y)", (i32(-8, -8, 8, 8), i32(1, 32, 32, -1)), i32(-4, -1, 0, 0)),
        Case("n uint8; n uint8", "R.right_shift(x, y)", (np.array([255, 255], "u1"), np.array([7, 8], "u1")),
             np.array([1, 0], "u1")),
        Case("n int64; n int64", "R.right_shift(x, y)", (i64(-8, 8), i64(64, 2**40)), i64(-1, 0)),
    ],
    "`sum`, `prod`, `mean`": [
        Case("2,n float32", "R.sum(x, axis=[1])", (np.zeros((2, 0), "f4"),), f32(0, 0)),
        Case("2,n float32", "R.prod(x, axis=[1])", (np.zeros((2, 0), "f4"),), f32(1, 1)),
        Case("2,n float32", "R.mean(x, axis=[1])", (np.zeros((2, 0), "f4"),), f32(NAN, NAN)),
    ],
    "`max`, `min` of nothing": [
        Case("2,n float32", "R.max(x, axis=[1])", (np.zeros((2, 0), "f4"),), f32(-INF, -INF)),
        Case("2,n float32", "R.min(x, axis=[1])", (np.zeros((2, 0), "f4"),), f32(INF, INF)),
        Case("2,n int32", "R.max(x, axis=[1])", (np.zeros((2, 0), "i4"),), i32(-(2**31), -(2**31))),
    ],
    "`argmax`, `argmin` of nothing": [
        Case("2,n float32", "R.argmax(x, axis=1)", (np.zeros((2, 0), "f4"),), "argmax"),
        Case("n float32", "R.argmin(x)", (f32(),), "argmin"),
    ],
    "other operators": [
        Case("n,m float32; m,3 float32", "R.matmul(x, y)", (np.zeros((2, 0), "f4"), np.zeros((0, 3), "f4")),
             np.zeros((2, 3), "f4")),
        Case("2,n float32", "R.nn.softmax(x)", (np.zeros((2, 0), "f4"),), np.zeros((2, 0), "f4")),
        Case("n float32; m float32", "R.concat((x, y))", (f32(), f32(1)), f32(1)),
        Case(X, "R.nn.pad(x, [1, 1])", (f32(),), f32(0, 0)),
        Case("1,s,1,d float32; 1,t,1,d float32; 1,t,1,2 float32", "R.nn.attention(x, y, z)",
             (np.zeros((1, 1, 1, 2), "f4"), np.zeros((1, 0, 1, 2), "f4"), np.zeros((1, 0, 1, 2), "f4")),
             np.zeros((1, 1, 1, 2), "f4")),
        Case("1,s,1,d float32; 1,t,1,d float32; 1,t,1,2 float32", "R.nn.attention(x, y, z)",
             (np.zeros((1, 1, 1, 0), "f4"), np.zeros((1, 3, 1, 0), "f4"), np.zeros((1, 3, 1, 2), "f4")),
             np.full((1, 1, 1, 2), NAN, "f4")),
        Case("1,2,h,w float32; 2 float32; 2 float32",
             "R.nn.group_norm(x, y, z, num_groups=1, channel_axis=1, axes=[2, 3])",
             (np.array([[[[1, NAN]], [[1, 2]]]], "f4"), f32(1, 1), f32(0, 0)), np.full((1, 2, 1, 2), NAN, "f4")),
    ],
    "an index outside": [
        Case("n,m float32; k int64", "R.take(x, y, axis=0)", (IMAGE[0, 0], i64(0, 6)), "take"),
        Case("n,m float32; k int64", "R.take(x, y, axis=1)", (IMAGE[0, 0], i64(0, -1)), "take"),
        Case("n,m float32; k,m int64", "R.gather_elements(x, y, axis=0)", (IMAGE[0, 0], np.full((1, 5), 6)), "gather"),
        Case("n,m float32; k,2 int64", "R.gather_nd(x, y)", (IMAGE[0, 0], np.array([[0, 4], [5, 5]])), "gather_nd"),
        Case("n float32; k int64; k float32", "R.scatter_elements(x, y, z)", (f32(1, 2), i64(2), f32(3)), "scatter"),
        Case("n float32; k int64; k float32", "R.scatter_elements(x, y, z)", (f32(1, 2), i64(-1), f32(3)), f32(1, 3)),
        Case("n float32; k int64; k float32", "R.index_put(x, (y,), z)", (f32(1, 2), i64(-3), f32(3)), "index"),
        Case("n float32; k int64; k float32", "R.index_put(x, (y,), z)", (f32(1, 2), i64(-1), f32(3)), f32(1, 3)),
        Case("n,c float32; n int64", "R.nn.nll_loss(x, y)", (np.ones((2, 3), "f4"), i64(3, 0)), "nll_loss"),
    ],
    "the dtype of an index": [
        Case("n float32; k bool", "R.take(x, y, axis=0)", (f32(1, 2), np.array([True, False])), f32(2, 1)),
        Case("n float32; k uint8", "R.take(x, y, axis=0)", (f32(*range(300)), np.array([200], "u1")), f32(200)),
        Case("n float32; k int8", "R.take(x, y, axis=0)", (f32(*range(300)), np.array([-56], "i1")), "outside"),
    ],
    "`mode` of `take`": [
        Case("n float32; k int64", "R.take(x, y, mode='clip')", (f32(1, 2, 3), i64(-1, 3)), f32(1, 3)),
        Case("n float32; k int64", "R.take(x, y, mode='wrap')", (f32(1, 2, 3), i64(-1, 3)), f32(3, 1)),
        Case("n float32; k int64", "R.take(x, y, mode='nan')", (f32(1, 2, 3), i64(-1, 2)), f32(NAN, 3)),
        Case("n float32; k int64", "R.take(x, y, mode='clip')", (f32(), i64(0)), "take"),
    ],
    "`ignore_index`": [
        Case("n,c float32; n int64", "R.nn.nll_loss(x, y, ignore_index=-100)", (np.ones((2, 3), "f4"), i64(1, -100)),
             np.float32(-1)),
    ],
    "`pad`": [
        *(Case(X, f"R.nn.pad(x, [2, 2], pad_mode='{mode}')", (f32(*range(n)),), "pad")
          for mode, n in (("reflect", 2), ("replicate", 0), ("circular", 1), ("circular", 0))),
        Case(X, "R.nn.pad(x, [2, 2], pad_mode='reflect')", (f32(0, 1, 2),), f32(2, 1, 0, 1, 2, 1, 0)),
        Case(X, "R.nn.pad(x, [2, 2], pad_mode='replicate')", (f32(7),), f32(7, 7, 7, 7, 7)),
        Case(X, "R.nn.pad(x, [2, 2], pad_mode='circular')", (f32(0, 1),), f32(0, 1, 0, 1, 0, 1)),
    ],
    "`topk`": [Case(X, "R.topk(x, 2, ret_type='values')", (f32(1),), "topk")],
    "`bucketize`": [
        Case(XY.replace("; n", "; m"), "R.bucketize(x, y)", (f32(0, 2, 3, NAN), f32(3, 1, 2)), i64(0, 2, 3, 3)),
        Case(XY.replace("; n", "; m"), "R.bucketize(x, y)", (f32(0, NAN), f32()), i64(0, 0)),
    ],
    "`dequantize_blocks`, `take_blocks`": [
        Case("n,l uint8", "R.dequantize_blocks(x, 'q8_0', out_dtype='float16')", (Q8_0,), NUMBERS.astype("f2")),
        Case("n,l uint8; k int64", "R.take_blocks(x, y, 'q8_0')", (Q8_0, i64(1, 0)), NUMBERS[::-1]),
        Case("n,l uint8; k int64", "R.take_blocks(x, y, 'q8_0')", (Q8_0, i64(2)), "take_blocks"),
    ],
    "`matmul_blocks`": [
        Case("n,k float32; m,l uint8", "R.matmul_blocks(x, y, 'q8_0')", (HALVES, Q8_0), HALVES @ NUMBERS.T),
    ],
    "`activation` of `matmul_blocks`": [
        Case("n,k float32; m,l uint8", "R.matmul_blocks(x, y, 'q8_0', activation='int8')", (HALVES, Q8_0),
             ROUNDED @ NUMBERS.T),
        Case("n,k float32; m,l uint8", "R.matmul_blocks(x, y, 'q8_0', activation='int8')", (HALVES + f32(INF), Q8_0),
             np.full((2, 2), NAN, "f4")),
    ],
}  # fmt: skip


def _function(name: str, case: Case) -> str:
    params: list[str] = []
    for param, text in zip("xyz", case.types.split("; "), strict=False):
        dims, dtype = text.rsplit(" ", 1)
        shape = ", ".join(d if d.isdigit() else f'"{d}"' for d in dims.split(",") if d)
        params.append(f'{param}: R.Tensor(({shape}{"," if shape else ""}), "{dtype}")')
    return (
        f"    @R.function\n    def {name}({', '.join(params)}):\n"
        f"        with R.dataflow():\n            r = {case.expr}\n            R.output(r)\n        return r\n"
    )


LINES = some(list(CASES), 4)
"""Those that run; all of them at full strength."""


def name_of(line: str, number: int) -> str:
    return f"f{list(CASES).index(line)}_{number}"


@cache
def programs() -> tuple[Any, Any]:
    """The module of the cases of these lines, and its executable."""
    head = "from tvm.script import ir as I, relax as R, tir as T\n@I.ir_module\nclass Module:\n"
    rows = [(name_of(line, k), case) for line in LINES for k, case in enumerate(CASES[line])]
    module = parse_source(head + "".join(_function(*row) for row in rows))
    return module, build(module, opt_level=1)


def test_that_each_line_has_its_cases_and_each_case_its_line() -> None:
    named = re.findall(r"^\| ([^|]+?) \|", PAGE.read_text().partition("## Deviations")[0], re.MULTILINE)
    assert [n for n in named if n != "what" and set(n) != {"-"}] == list(CASES)


def check(case: Case, run: Callable[[], Any], expected: Any) -> None:
    if isinstance(expected, str):
        with pytest.raises(TiraxError, match=expected):
            run()
        return
    result = run()
    assert result.dtype == expected.dtype, case.expr
    np.testing.assert_array_equal(result, expected, err_msg=case.expr)


@pytest.mark.thinned
@pytest.mark.parametrize("line", LINES)
def test_line(line: str) -> None:
    module, executable = programs()
    for k, case in enumerate(CASES[line]):
        name = name_of(line, k)
        check(case, partial(interpret, module, name, list(case.args)), case.expected)
        native = case.expected if case.native is None else case.native
        check(case, partial(executable[name], *case.args), native)
