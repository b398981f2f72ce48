"""Operators whose result is as large as its values say: `unique`, `nonzero`, `dynamic_strided_slice`; and views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from strength import crossed

from tirax.dev.fuzz import checks
from tirax.diagnostics import TiraxError
from tirax.dialects.relax.operator import Operator
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning, interpret
from tirax.script import parse_source, print_script
from tirax.transforms.legalize import LegalizeOps
from tirax.tvm_api import relax as rx

NAN = float("nan")


def function(params: str, *body: str) -> Any:
    lines = "".join(f"    {line}\n" for line in body)
    return parse_source(f"@R.function\ndef main({params}):\n{lines}    return y\n")


def both(module: Any, *args: Any) -> list[Any]:
    return [interpret(module, "main", list(args)), build(module)["main"](*args)]


def legal(module: Any) -> str:
    """The text of the legalized module, which has the meaning of the module and no operator any more."""
    out = LegalizeOps()(module)
    assert not any(isinstance(op, Operator) for op in out.walk())
    checks.texts(module)
    checks.texts(out)
    return print_script(out)


X = np.array([[2, 1, 0, 1], [3, 0, 0, 1], [2, 1, 0, 1]])


def distinct(x: np.ndarray, axis: int | None, keep_order: bool) -> tuple[np.ndarray, ...]:
    """The distinct slices, found one after the other."""
    slices = list(x.reshape(-1)) if axis is None else list(np.moveaxis(x, axis, 0))
    results: list[Any] = []
    first, inverse = [], []
    for i, s in enumerate(slices):
        at = next((k for k, f in enumerate(results) if np.array_equal(f, s)), None)
        if at is None:
            at = len(results)
            results.append(s)
            first.append(i)
        inverse.append(at)
    order = list(range(len(results)))
    if not keep_order:
        order.sort(key=lambda k: np.asarray(results[k]).reshape(-1).tolist())
    rank = {k: i for i, k in enumerate(order)}
    counts = [inverse.count(k) for k in order]
    values = np.array([results[k] for k in order], x.dtype).reshape(
        len(results), *np.shape(slices[0]) if slices else ()
    )
    values = values if axis is None else np.moveaxis(values, 0, axis)
    return values, np.array([first[k] for k in order]), np.array([rank[k] for k in inverse]), np.array(counts)


@crossed("dtype, ordered, axis", ["float32", "int8", "bool", "float64"], [True, False], [None, 0, 1, -1])
def test_unique(dtype: str, ordered: bool, axis: int | None):
    module = function(f'x: R.Tensor(("n", 4), "{dtype}")', f"y = R.unique(x, {ordered}, True, True, True, axis={axis})")
    x = X.astype(dtype)
    expected = distinct(x, axis, not ordered)
    for actual in both(module, x):
        for a, b in zip(expected, actual, strict=True):
            np.testing.assert_array_equal(a, b)
        assert actual[0].dtype == x.dtype
        assert [f.dtype for f in actual[1:]] == [np.int64] * 3


@pytest.mark.parametrize("n", [0, 1])
def test_unique_of_few(n: int):
    module = function('x: R.Tensor(("n",), "float32")', "y = R.unique(x, return_counts=True)")
    for values, counts in both(module, np.full(n, 5, np.float32)):
        assert values.tolist() == [5.0] * n
        assert counts.tolist() == [1] * n


@pytest.mark.parametrize(
    ("requests", "fields"), [("", 1), ("return_index=True", 2), ("return_inverse=True, return_counts=True", 3)]
)
def test_what_unique_gives(requests: str, fields: int):
    module = function('x: R.Tensor((3, 4), "float32")', f"y = R.unique(x, {requests})")
    text = legal(module)
    assert text.count('R.call_pure_packed("relax.run.unique", x, R.prim_value(1), ') == 1
    for actual in both(module, X.astype(np.float32)):
        assert (len(actual) if isinstance(actual, tuple) else 1) == fields


ARRAYS = [X, np.zeros((3, 4)), np.array([0.0, NAN, 2]), np.array(3), np.array(0), np.zeros((2, 0))]


@pytest.mark.parametrize("x", ARRAYS)
def test_nonzero(x: np.ndarray):
    x = x.astype(np.float32)
    module = function(f'x: R.Tensor(ndim={x.ndim}, dtype="float32")', "y = R.nonzero(x)")
    assert 'R.call_pure_packed("relax.run.nonzero", x, sinfo_args=(R.Tensor(dtype="int64", ndim=2),))' in legal(module)
    expected = np.array([i for i in np.ndindex(np.atleast_1d(x).shape) if np.atleast_1d(x)[i] != 0], np.int64)
    for actual in both(module, x):
        np.testing.assert_array_equal(actual.T, expected.reshape(-1, max(x.ndim, 1)))


def test_what_follows():
    """What comes of them is computed with once its extents have names."""
    module = function(
        'x: R.Tensor(("n", 4), "float32")',
        "m = T.int64()",
        "k = T.int64()",
        "a = R.match_cast(R.unique(x), R.Tensor((m,), 'float32'))",
        "b = R.match_cast(R.nonzero(x), R.Tensor((2, k), 'int64'))",
        "y = (R.add(a, a), R.sum(b, axis=[1]), R.take(a, R.const([0]), axis=0))",
    )
    legal(module)
    x = X.astype(np.float32)
    for doubled, sums, first in both(module, x):
        np.testing.assert_array_equal(doubled, 2 * np.unique(x))
        np.testing.assert_array_equal(sums, np.stack(x.nonzero()).sum(axis=1))
        assert first.tolist() == [0.0]


SLICE = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), b: R.Tensor((2,), "int64"), e: R.Tensor((2,), "int64"),
         s: R.Tensor((2,), "int64")):
    with R.dataflow():
        z = R.dynamic_strided_slice(x, b, e, s)
        y = R.add(z, z)
        R.output(y)
    return y
"""
SLICES = [
    ([0, 1], [3, 3], [1, 1]),
    ([-1, -1], [-9, 0], [-1, -2]),
    ([2, 9], [0, 0], [1, -3]),
    ([1, 1], [1, 3], [2, 5]),
    ([-100, 3], [100, -100], [1, -1]),
]


@pytest.fixture(scope="module")
def sliced() -> list[Callable[..., Any]]:
    """SLICE on the interpreter and in machine code, which all rows share."""
    module = parse_source(SLICE)
    return [lambda *args: interpret(module, "main", list(args)), build(module)["main"]]


@pytest.mark.parametrize(("begin", "end", "strides"), SLICES)
@pytest.mark.parametrize("n", [0, 1, 3])
def test_dynamic_strided_slice(sliced: Any, begin: list[int], end: list[int], strides: list[int], n: int):
    x = np.arange(n * 4, dtype=np.float32).reshape(n, 4)
    where = tuple(slice(*row) for row in zip(begin, end, strides, strict=True))
    for run in sliced:
        np.testing.assert_array_equal(run(x, *map(np.array, (begin, end, strides))), 2 * x[where])


def test_its_extents_are_variables():
    text = legal(parse_source(SLICE))
    for line in (
        'lv = R.call_tir(cls.shape_func, (x, b, e, s), out_sinfo=R.Tensor((2,), dtype="int64"))',
        'lv1: R.Shape(ndim=2) = R.call_pure_packed("vm.builtin.tensor_to_shape", lv, sinfo_args=(R.Shape(ndim=2),))',
        "R.match_cast(lv1, R.Shape([",
        "z = R.call_tir(cls.dynamic_strided_slice, (x, b, e, s), out_sinfo=R.Tensor((",
        "y = R.call_tir(cls.add, (z, z), out_sinfo=R.Tensor((",
    ):
        assert line in text


def test_variables_that_are_there_already():
    text = SLICE.replace('"n"', '"s_1"').replace("    with R.dataflow", "    s_1 = T.int64()\n    with R.dataflow")
    module = parse_source(text.replace("R.add(z, z)", "R.dynamic_strided_slice(R.add(z, z), b, e, s)"))
    legal(module)
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    args = [np.array(v) for v in ([1, 0], [5, 3], [1, 1])]
    for actual in both(module, x, *args):
        np.testing.assert_array_equal(actual, 2 * x[1:5, 0:3][1:5, 0:3])


def test_a_stride_of_zero():
    run = build(parse_source(SLICE))["main"]
    with pytest.raises(TiraxError, match="no negative extents"):
        run(np.zeros((3, 4), np.float32), np.zeros(2, int), np.ones(2, int), np.zeros(2, int))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ('R.memory.view(x, dtype="int32")', lambda x: x.view(np.int32)),
        ('R.memory.view(x, R.shape([8]), R.dtype("int16"), R.prim_value(4))', lambda x: x.reshape(-1).view("i2")[2:10]),
        ("R.memory.view(x, shape=(n * 4,))", lambda x: x.reshape(-1)),
        ("R.memory.view(x, (2, 2), relative_byte_offset=8)", lambda x: x.reshape(-1)[2:6].reshape(2, 2)),
        ("R.memory.view(x)", lambda x: x),
        ('R.memory.view(x, dtype="int16")', lambda x: x.reshape(-1).view("i2")[: x.size].reshape(x.shape)),
    ],
)
def test_views(call: str, expected: Any):
    module = function('x: R.Tensor(("n", 4), "float32")', "n = T.int64()", f"y = {call}")
    legal(module)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for actual in both(module, x):
        np.testing.assert_array_equal(actual, expected(x))


def test_a_view_that_is_too_long():
    module = function('x: R.Tensor(("n",), "float32")', 'y = R.memory.view(x, (4,), "float32", 4)')
    for run in (lambda x: interpret(module, "main", [x]), build(module)["main"]):
        assert len(run(np.zeros(5, np.float32))) == 4
        with pytest.raises(TiraxError):
            run(np.zeros(4, np.float32))


VECTOR = 'b: R.Tensor((2,), "int64")'


@pytest.mark.parametrize(
    ("params", "call", "message"),
    [
        ("x: R.Shape([2])", "R.unique(x)", r"relax\.unique: argument x must be a tensor"),
        ('x: R.Tensor((2,), "float32")', "R.unique(x, axis=1)", r"relax\.unique: .*axis"),
        ('x: R.Tensor((2,), "float32"), k: R.Prim("int64")', "R.unique(x, axis=k)", "axis must be a literal"),
        ('x: R.Tensor((2,), "float32")', "R.unique(x, 1.5)", "argument sorted must be an integer"),
        ("x: R.Shape([2])", "R.nonzero(x)", r"relax\.nonzero: argument x must be a tensor"),
        (f'x: R.Tensor((3,), "float32"), {VECTOR}', "R.dynamic_strided_slice(x, b, b, b)", "begin must have an"),
        ('x: R.Tensor((2, 2), "int64")', "R.dynamic_strided_slice(x, x, x, x)", "argument begin must be a vector"),
        ('x: R.Tensor((2,), "int32")', "R.dynamic_strided_slice(x, x, x, x)", "argument begin must be of int64"),
        ('x: R.Tensor((2,), "int32")', "R.dynamic_strided_slice(x, x)", "argument end is missing"),
        ('x: R.Tensor((2,), "int32")', "R.memory.view(x, (3,))", "the view is longer than data"),
        ('x: R.Tensor((2,), "int32")', "R.memory.view(x, (1,), relative_byte_offset=-4)", "must not be negative"),
        ('x: R.Tensor((2,), "int32")', 'R.memory.view(x, dtype="int64")', "argument shape must be given"),
        ('x: R.Tensor((2,), "int32")', "R.memory.view(x, (2,), R.str('int8'))", "argument dtype must be a data type"),
    ],
)
def test_refused(params: str, call: str, message: str):
    with pytest.raises(TiraxError, match=message):
        function(params, f"y = {call}")


def test_unknown_shapes():
    x = rx.Var("x", rx.TensorStructInfo(None, "float32"))
    anything = rx.Var("x", rx.TensorStructInfo(None, ""))
    for call, rank, dtype in [
        (rx.op.unique(x), 1, "float32"),
        (rx.op.unique(x, axis=0), -1, "float32"),
        (rx.op.nonzero(anything), 2, "int64"),
        (rx.op.dynamic_strided_slice(anything, anything, anything, anything), -1, ""),
        (rx.op.memory.view(anything, (2, 3)), 2, ""),
        (rx.op.memory.view(anything, (2, 3), "int8"), 2, "int8"),
    ]:
        assert (call.struct_info.ndim, call.struct_info.dtype or "") == (rank, dtype)


@pytest.mark.parametrize(
    "call",
    ["R.unique(x, False, True)", "R.nonzero(x)", "R.memory.view(x, (2, 2), 'float32', 4)", "R.unique(x, axis=0)"],
)
def test_the_meaning_of_what_it_becomes(call: str):
    module = function('x: R.Tensor((3, 4), "float32")', f"y = {call}")
    assert_same_meaning(module, LegalizeOps()(module))


def test_the_meaning_of_a_slice():
    module = parse_source(SLICE)
    after = LegalizeOps()(module)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for begin, end, strides in SLICES:
        args = [x, *map(np.array, (begin, end, strides))]
        np.testing.assert_array_equal(interpret(module, "main", args), interpret(after, "main", args))
