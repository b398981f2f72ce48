"""Floats of 8 and 4 bits, integers of 4 and 2: stored, moved and converted, and nothing else."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from strength import thinned

from tirax.dev.fuzz import checks
from tirax.diagnostics import TiraxError, UnsupportedError
from tirax.dialects.dtypes import NARROW, bit_width, dtype_name, dtype_of
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.verification.verify import verify_module
from tirax.script import parse_source, print_script
from tirax.transforms.legalize import LegalizeOps
from tirax.transforms.tir.storage_legalize import LowerNarrowTypes
from tirax.tvm_api import relax as rx

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
FLOATS = [dtype_name(t) for t, form in NARROW.items() if form is not None]
INTEGERS = ["int4", "uint4", "int2", "uint2"]
WIDE = ["float32", "float64", "float16", "bfloat16", "int64", "int8", "bool"]


def dtype(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def every(name: str) -> np.ndarray:
    """All values of a narrow type."""
    return np.arange(1 << bit_width(dtype_of(name)), dtype=np.uint8).view(dtype(name))


def least(name: str) -> int:
    return int(every(name).astype(np.int64).min())


def greatest(name: str) -> int:
    return int(every(name).astype(np.int64).max())


def conversion(source: str, target: str) -> Any:
    return parse_source(f"""
@R.function
def main(x: R.Tensor(("n",), "{source}")):
    y = R.astype(x, "{target}")
    return y
""")


def assert_same(expected: np.ndarray, actual: np.ndarray) -> None:
    """The same bits, but that NaN is NaN."""
    assert expected.dtype == actual.dtype
    wide = [np.asarray(v).astype(np.float64) for v in (expected, actual)]
    np.testing.assert_array_equal(*wide)
    numbers = ~np.isnan(wide[0])
    np.testing.assert_array_equal(*(np.signbit(w[numbers]) for w in wide))


def assert_converts(source: str, target: str, x: np.ndarray) -> None:
    module = conversion(source, target)
    with np.errstate(all="ignore"):
        through = x.astype(np.float32) if x.dtype == np.float64 else x
    expected = through.astype(dtype(target))
    assert_same(expected, np.asarray(interpret(module, "main", [x])))
    assert_same(expected, build(module, opt_level=1)["main"](x))


MAIN = ["float8_e4m3fn", "float8_e5m2", *INTEGERS]
PAIRS = [(n, w) for n in FLOATS + INTEGERS for w in WIDE if n in MAIN or w == "float32"]


@thinned(("narrow", "wide"), PAIRS, 10)
def test_to_wide(narrow: str, wide: str):
    x = every(narrow)
    if wide in WIDE[4:]:  # what an integer cannot hold has no meaning
        with np.errstate(all="ignore"):
            x = x[np.isfinite(x.astype(np.float32)) & (np.abs(x.astype(np.float32)) < 100)]
    assert_converts(narrow, wide, x)


def hard_cases(narrow: str) -> np.ndarray:
    """All values, what lies between them and beside the middle, small and great ones."""
    rng = np.random.default_rng(0)
    values = every(narrow).astype(np.float64)
    values = np.sort(values[np.isfinite(values)])
    middle = (values[:-1] + values[1:]) / 2
    random = rng.normal(size=2000) * 2.0 ** rng.integers(-20, 20, 2000)
    beside = [middle * (1 + s * 2.0**-k) for k in (12, 30) for s in (1, -1)]
    rest = [0.0, -0.0, 1e30, -1e30, 1e-30, 2.0**-140, np.nan, np.inf, -np.inf]
    return np.concatenate([values, middle, *beside, random, rest])


@thinned(("narrow", "wide"), [p for p in PAIRS if p[1] in WIDE[:4]], 6)
def test_from_floats(narrow: str, wide: str):
    x = hard_cases(narrow)
    with np.errstate(all="ignore"):
        x = x.astype(dtype(wide))
    if narrow in INTEGERS:  # what an integer cannot hold has no meaning
        x = x[(x.astype(np.float64) > least(narrow) - 1) & (x.astype(np.float64) < greatest(narrow) + 1)]
    assert_converts(wide, narrow, x)


@thinned(("narrow", "wide"), [p for p in PAIRS if p[1] in WIDE[4:]], 6)
def test_from_integers(narrow: str, wide: str):
    x = np.random.default_rng(0).integers(-100, 100, 300)
    assert_converts(wide, narrow, x.astype(wide))


@pytest.mark.parametrize(
    ("a", "b"), [("float8_e4m3fn", "float8_e5m2"), ("float8_e5m2", "float8_e4m3fnuz"), ("uint4", "float8_e3m4")]
)
def test_from_one_to_another(a: str, b: str):
    assert_converts(a, b, every(a))


MOVES = """
@R.function
def main(x: R.Tensor(("n", 4), "TYPE"), i: R.Tensor((3,), "int64"), c: R.Tensor(("n", 4), "bool")):
    with R.dataflow():
        a = R.permute_dims(x)
        b = R.concat([a, a], axis=0)
        d = R.take(x, i, axis=1)
        e = R.where(c, x, R.const(2, "TYPE"))
        f = R.zeros((2,), "TYPE")
        g = R.full((2,), R.const(3, "TYPE"), "TYPE")
        h = R.astype(R.const([1, 2, 3], "TYPE"), "float32")
        k = R.strided_slice(x, [1], [0], [4], [2])
        l = R.add(R.astype(x, "float32"), R.const(1.0, "float32"))
        o = R.astype(l, "TYPE")
        out = (b, d, e, f, g, h, k, o)
        R.output(out)
    return out
"""


@thinned("name", ["float8_e4m3fn", "float8_e5m2", *INTEGERS], 2)
def test_moves(name: str):
    module = parse_source(MOVES.replace("TYPE", name))
    checks.texts(module)
    assert_same_meaning(module, LegalizeOps()(module))
    run = build(module)["main"]
    for n in (0, 3):
        assert_moves(module, run, name, n)


def assert_moves(module: Any, run: Any, name: str, n: int):
    x = np.arange(4 * n).reshape(n, 4).astype(dtype(name))
    if name in INTEGERS:  # 1 is added to them
        x = np.where(x.astype(np.float32) == greatest(name), np.array(0, x.dtype), x)
    i, c = np.array([0, 3, 1]), np.arange(4 * n).reshape(n, 4) % 2 == 0
    two, three = np.array(2).astype(x.dtype), np.array(3).astype(x.dtype)
    expected = [
        np.concatenate([x.T, x.T]),
        x[:, i],
        np.where(c, x, two),
        np.zeros(2, x.dtype),
        np.array([three, three]),
        np.array([1, 2, 3]).astype(x.dtype).astype(np.float32),
        x[:, ::2],
        (x.astype(np.float32) + 1).astype(x.dtype),
    ]
    for actual in (interpret(module, "main", [x, i, c]), run(x, i, c)):
        for a, b in zip(expected, actual, strict=True):
            assert_same(a, np.asarray(b))


@pytest.mark.parametrize("name", FLOATS + INTEGERS)
def test_constants(name: str):
    constant = rx.const(np.array([1, 2], dtype(name)))
    assert constant.struct_info == rx.TensorStructInfo((2,), name)
    scalar = parse_source(
        f'@R.function\ndef main():\n    y = R.astype(R.const(-2, "{name}"), "float32")\n    return y\n'
    )
    checks.texts(scalar)
    assert build(scalar)["main"]() == np.array(-2).astype(dtype(name)).astype(np.float32)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "int4"])
@pytest.mark.parametrize(
    "call",
    ["R.add(x, x)", "R.nn.relu(x)", "R.sum(x)", "R.matmul(x, x)", "R.equal(x, x)", "R.sort(x)", "R.argmax(x, 0)"],
)
def test_computing_is_refused(name: str, call: str):
    text = f'@R.function\ndef main(x: R.Tensor((4, 4), "{name}")):\n    y = {call}\n    return y\n'
    with pytest.raises(TiraxError, match="is of a type that is only stored and converted") as info:
        parse_source(text)
    assert call in str(info.value)


TIR = """
@T.prim_func
def main(A: T.Buffer((4,), "float8_e4m3fn"), B: T.Buffer((4,), "float8_e4m3fn")):
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            B[vi] = VALUE
"""


def test_tensor_functions():
    half = 'T.Cast("float8_e4m3fn", T.Cast("float32", A[vi]) * T.float32(0.5))'
    module = parse_source(TIR.replace("VALUE", f"T.if_then_else(vi < 2, {half}, A[vi])"))
    checks.texts(module)
    lowered = LowerNarrowTypes()(module)
    verify_module(lowered)
    assert "float8" not in print_script(lowered)
    x = np.array([1, 2, 3, 4]).astype(ml_dtypes.float8_e4m3fn)
    out = np.zeros_like(x)
    build(module)["main"](x, out)
    assert out.astype(np.float32).tolist() == [0.5, 1.0, 3.0, 4.0]
    bytes_in, bytes_out = x.view(np.uint8), np.zeros(4, np.uint8)
    interpret(lowered, "main", [bytes_in, bytes_out])
    assert bytes_out.tolist() == out.view(np.uint8).tolist()


@pytest.mark.parametrize("value", ["A[vi] + A[vi]", "T.max(A[vi], A[vi])", "T.exp(A[vi])"])
def test_computing_in_a_tensor_function(value: str):
    module = parse_source(TIR.replace("VALUE", value))
    with pytest.raises(UnsupportedError, match="nothing is computed with float8_e4m3fn") as info:
        build(module)
    assert "convert it first: R.astype, T.Cast" in str(info.value)
    assert value in str(info.value)


def test_other_functions_stay():
    module = parse_source(TIR.replace("float8_e4m3fn", "float16").replace("VALUE", "A[vi] + A[vi]"))
    assert str(LowerNarrowTypes()(module)) == str(module)
