"""Elementwise operations of StableHLO and CHLO beside numpy: a row an operation, a test a dtype."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from strength import only_full, thinned

from tirax.diagnostics import UnsupportedError
from tirax.driver.build import build
from tirax.frontend.stablehlo import from_stablehlo

DRAW = np.random.default_rng(0)
FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
INTEGERS = {
    **{f"i{n}": np.dtype(f"int{n}").type for n in (8, 16, 32, 64)},
    **{f"ui{n}": np.dtype(f"uint{n}").type for n in (8, 16, 32, 64)},
}
Table = dict[str, tuple[str, Callable[..., Any]]]


def _of(function: Callable[[float], float]) -> Callable[..., Any]:
    return np.vectorize(function)


# operation -> (operands: a, b any numbers, p positive ones, u from -1 to 1, g above 1; its value)
OF_FLOATS: Table = {
    "abs": ("a", np.abs), "add": ("ab", np.add), "atan2": ("ab", np.arctan2), "cbrt": ("a", np.cbrt),
    "ceil": ("a", np.ceil), "cosine": ("a", np.cos), "divide": ("ab", np.divide), "exponential": ("a", np.exp),
    "exponential_minus_one": ("a", np.expm1), "floor": ("a", np.floor), "log": ("p", np.log),
    "log_plus_one": ("p", np.log1p), "logistic": ("a", lambda x: 1 / (1 + np.exp(-x))), "maximum": ("ab", np.maximum),
    "minimum": ("ab", np.minimum), "multiply": ("ab", np.multiply), "negate": ("a", np.negative),
    "power": ("pa", np.power), "remainder": ("ab", np.fmod), "round_nearest_even": ("a", np.rint),
    "round_nearest_afz": ("a", lambda x: np.trunc(x + np.copysign(0.5, x))), "rsqrt": ("p", lambda x: 1 / np.sqrt(x)),
    "sign": ("a", np.sign), "sine": ("a", np.sin), "sqrt": ("p", np.sqrt), "subtract": ("ab", np.subtract),
    "tan": ("u", np.tan), "tanh": ("a", np.tanh), "clamp": ("uab", lambda lo, x, hi: np.minimum(np.maximum(x, lo), hi)),
    "chlo.acos": ("u", np.arccos), "chlo.acosh": ("g", np.arccosh), "chlo.asin": ("u", np.arcsin),
    "chlo.asinh": ("a", np.arcsinh), "chlo.atan": ("a", np.arctan), "chlo.atanh": ("u", np.arctanh),
    "chlo.cosh": ("a", np.cosh), "chlo.sinh": ("a", np.sinh), "chlo.square": ("a", np.square),
    "chlo.erf": ("a", _of(math.erf)), "chlo.erfc": ("a", _of(math.erfc)), "chlo.lgamma": ("a", _of(math.lgamma)),
}  # fmt: skip
# the same for integers: a, b any ones, n small and not negative ones, s numbers of bits
OF_INTEGERS: Table = {
    "abs": ("a", np.abs), "add": ("ab", np.add), "and": ("ab", np.bitwise_and), "divide": ("ab", None),
    "maximum": ("ab", np.maximum), "minimum": ("ab", np.minimum), "multiply": ("ab", np.multiply),
    "negate": ("a", None),
    "not": ("a", np.invert), "or": ("ab", np.bitwise_or), "popcnt": ("a", None), "count_leading_zeros": ("a", None),
    "power": ("an", np.power), "remainder": ("ab", None), "shift_left": ("as", np.left_shift), "sign": ("a", np.sign),
    "shift_right_arithmetic": ("as", None), "shift_right_logical": ("as", None), "subtract": ("ab", np.subtract),
    "xor": ("ab", np.bitwise_xor), "chlo.mulhi": ("ab", None),
}  # fmt: skip


def run(text: str, *args: Any) -> list[Any]:
    made = build(from_stablehlo(text))["main"](*args)
    return [np.asarray(v) for v in (made if isinstance(made, tuple) else (made,))]


def program(table: Table, kind: str, params: str) -> str:
    """One function of all operations."""
    tensor = f"tensor<40x{kind}>"
    lines = []
    for number, (name, (operands, _)) in enumerate(table.items()):
        op = name if "." in name else f"stablehlo.{name}"
        types = f"{tensor} -> {tensor}" if op.startswith("chlo") and len(operands) == 1 else tensor
        types = f"{tensor}, {tensor} -> {tensor}" if op == "chlo.mulhi" else types
        lines.append(f"%r{number} = {op} {', '.join(f'%{v}' for v in operands)} : {types}")
    results = ", ".join(f"%r{n}" for n in range(len(lines)))
    types = ", ".join([tensor] * len(lines))
    body = "\n".join(lines)
    head = ", ".join(f"%{v}: {tensor}" for v in params)
    return f"func.func @main({head}) -> ({types}) {{\n{body}\nreturn {results} : {types}\n}}"


@thinned("kind", FLOATS, 1)
def test_floats(kind: str) -> None:
    dtype = FLOATS[kind]
    limits = {"a": (-4, 4), "b": (-4, 4), "p": (0.1, 4), "u": (-0.9, 0.9), "g": (1.1, 4)}
    values = {name: DRAW.uniform(*limit, 40).astype(dtype) for name, limit in limits.items()}
    values["b"][np.abs(values["b"]) < 0.1] = 1
    made = run(program(OF_FLOATS, kind, "abpug"), *values.values())
    unit = float(ml_dtypes.finfo(dtype).eps)
    for (name, (operands, function)), result in zip(OF_FLOATS.items(), made, strict=True):
        expected = function(*(values[v].astype(np.float64) for v in operands))
        assert result.dtype == dtype
        np.testing.assert_allclose(result.astype("f8"), expected, rtol=8 * unit, atol=8 * unit, err_msg=name)


def _exact(name: str, kind: Any, *args: int) -> int:
    """The result in Python's integers."""
    bits = np.dtype(kind).itemsize * 8
    a, b = (*args, 0)[:2]
    plain = a % 2**bits
    quotient = 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    results: dict[str, Callable[[], int]] = {
        "divide": lambda: -1 if b == 0 else quotient,
        "remainder": lambda: a if b == 0 else a - quotient * b,
        "negate": lambda: -a,
        "popcnt": plain.bit_count,
        "count_leading_zeros": lambda: bits - plain.bit_length(),
        "shift_right_arithmetic": lambda: (plain - 2**bits if plain >> (bits - 1) else plain) >> b,
        "shift_right_logical": lambda: plain >> b,
        "chlo.mulhi": lambda: (a * b) >> bits,
    }
    return results[name]()


def _wrapped(value: int, kind: Any) -> Any:
    bits = np.dtype(kind).itemsize * 8
    value %= 2**bits
    return kind(value - 2**bits if np.issubdtype(kind, np.signedinteger) and value >> (bits - 1) else value)


@thinned("kind", INTEGERS, 2)
def test_integers(kind: str) -> None:
    dtype = INTEGERS[kind]
    info = np.iinfo(dtype)
    values = {v: DRAW.integers(info.min, info.max, 40, dtype=dtype, endpoint=True) for v in "ab"}
    values["b"][:3], values["a"][:2] = [0, info.max, 1], [info.min, info.max]
    values |= {"n": DRAW.integers(0, 9, 40, dtype=dtype), "s": DRAW.integers(0, info.bits, 40, dtype=dtype)}
    made = run(program(OF_INTEGERS, kind, "abns"), *values.values())
    for (name, (operands, function)), result in zip(OF_INTEGERS.items(), made, strict=True):
        rows = list(zip(*(values[v] for v in operands), strict=True))
        if function is None:
            expected = np.array([_wrapped(_exact(name, dtype, *map(int, row)), dtype) for row in rows], dtype)
        else:
            with np.errstate(over="ignore"):
                expected = function(*(values[v] for v in operands))
        np.testing.assert_array_equal(result, expected, err_msg=name)


COMPLEX: Table = {
    "add": ("ab", np.add), "multiply": ("ab", np.multiply), "divide": ("ab", np.divide), "negate": ("a", np.negative),
    "exponential": ("a", np.exp), "log": ("a", np.log), "log_plus_one": ("a", np.log1p), "sqrt": ("a", np.sqrt),
    "exponential_minus_one": ("a", np.expm1), "rsqrt": ("a", lambda z: 1 / np.sqrt(z)), "tanh": ("a", np.tanh),
    "tan": ("a", np.tan), "sine": ("a", np.sin), "cosine": ("a", np.cos), "power": ("ab", np.power),
    "sign": ("a", lambda z: z / np.abs(z)), "chlo.acos": ("a", np.arccos), "chlo.asin": ("a", np.arcsin),
    "chlo.atan": ("a", np.arctan), "chlo.acosh": ("a", np.arccosh), "chlo.asinh": ("a", np.arcsinh),
    "chlo.atanh": ("a", np.arctanh), "chlo.sinh": ("a", np.sinh), "chlo.cosh": ("a", np.cosh),
    "chlo.conj": ("a", np.conj),
}  # fmt: skip


@only_full
@pytest.mark.parametrize("width", (32, 64))
def test_complex_numbers(width: int) -> None:
    """They are pairs in a last dimension."""
    a, b = DRAW.normal(size=(2, 40)) + 1j * DRAW.normal(size=(2, 40))
    a, b = a.astype(f"c{width // 4}"), b.astype(f"c{width // 4}")
    pairs = [v.view(f"f{width // 8}").reshape(40, 2) for v in (a, b)]
    made = run(program(COMPLEX, f"complex<f{width}>", "ab"), *pairs)
    for (name, (operands, function)), result in zip(COMPLEX.items(), made, strict=True):
        expected = function(*({"a": a, "b": b}[v].astype("c16") for v in operands))
        tolerance = 8 * float(np.finfo(f"f{width // 8}").eps)
        np.testing.assert_allclose(result[:, 0] + 1j * result[:, 1], expected, tolerance, tolerance, err_msg=name)


def test_comparisons_and_choices() -> None:
    """By value, where NaN is unequal to everything, and in the total order, where it is the greatest."""
    x = np.array([1, -1, 0, -0.0, np.nan, np.inf, -np.inf, 2], np.float32)
    y = np.array([1, 1, -0.0, 0, np.nan, np.nan, np.nan, -2], np.float32)
    rows = [(way, "FLOAT") for way in ("EQ", "NE", "LT", "LE", "GT", "GE")] + [("LT", "TOTALORDER")]
    lines = "\n".join(
        f"%r{n} = stablehlo.compare {way}, %x, %y, {kind} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>"
        for n, (way, kind) in enumerate(rows)
    )
    results, types = ", ".join(f"%r{n}" for n in range(len(rows))), ", ".join(["tensor<8xi1>"] * len(rows))
    made = run(
        f"""func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> ({types}, tensor<8xf32>) {{
{lines}
%s = stablehlo.select %r0, %x, %y : tensor<8xi1>, tensor<8xf32>
return {results}, %s : {types}, tensor<8xf32>
}}""",
        x,
        y,
    )
    plain = [x == y, x != y, x < y, x <= y, x > y, x >= y]
    for result, expected in zip(made, [*plain, [0, 1, 0, 1, 0, 1, 1, 0]], strict=False):
        np.testing.assert_array_equal(result, np.array(expected, bool))
    np.testing.assert_array_equal(made[-1], np.where(x == y, x, y))


def test_conversions_keep_within_the_range_of_integers() -> None:
    x = np.array([1.9, -1.9, 300, -300, np.nan, np.inf, -np.inf, 0.5], np.float32)
    kinds = {"i8": np.int8, "ui8": np.uint8, "i32": np.int32, "ui32": np.uint32, "i1": np.bool_, "f16": np.float16}
    lines = "\n".join(f"%{k} = stablehlo.convert %x : (tensor<8xf32>) -> tensor<8x{k}>" for k in kinds)
    types = ", ".join(f"tensor<8x{k}>" for k in kinds)
    text = f"func.func @main(%x: tensor<8xf32>) -> ({types}) {{\n{lines}\n"
    made = run(text + f"return {', '.join(f'%{k}' for k in kinds)} : {types}\n}}", x)
    for (kind, dtype), result in zip(kinds.items(), made, strict=True):
        if kind[0] in "iu" and kind != "i1":
            info = np.iinfo(dtype)
            expected = np.clip(np.trunc(np.nan_to_num(x.astype("f8"), nan=0)), info.min, info.max).astype(dtype)
        else:
            expected = x.astype(dtype)
        np.testing.assert_array_equal(result, expected, err_msg=kind)


def test_precision_is_reduced() -> None:
    x = DRAW.normal(size=64).astype(np.float32) * np.ldexp(np.float32(1), DRAW.integers(-20, 20, 64))
    made = run(
        """func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
%a = stablehlo.reduce_precision %x, format = e8m7 : tensor<64xf32>
%b = stablehlo.reduce_precision %x, format = e5m10 : tensor<64xf32>
return %a, %b : tensor<64xf32>, tensor<64xf32>
}""",
        x,
    )
    np.testing.assert_array_equal(made[0], x.astype(ml_dtypes.bfloat16).astype("f4"))
    with np.errstate(over="ignore"):
        half = x.astype(np.float16).astype("f4")
    half[np.abs(half) < 2.0**-14] = 0  # denormals of the smaller format
    np.testing.assert_array_equal(made[1], half)


def test_an_operation_without_a_meaning_is_named() -> None:
    with pytest.raises(UnsupportedError, match="stablehlo.collective_permute") as raised:
        from_stablehlo(
            """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
%r = "stablehlo.collective_permute"(%x) : (tensor<4xf32>) -> tensor<4xf32>
return %r : tensor<4xf32>
}"""
        )
    assert raised.value.location is not None and raised.value.location.line == 2
