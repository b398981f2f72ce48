"""Operations of StableHLO on numbers of 2, 4 and 8 bits, all of them, beside numpy's of wider ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tirax.driver.build import build
from tirax.frontend.stablehlo import from_stablehlo

INTEGERS = {"i2": "int2", "ui2": "uint2", "i4": "int4", "ui4": "uint4"}
FLOATS = {"f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f8E3M4": "float8_e3m4", "f4E2M1FN": "float4_e2m1fn"}
TYPES = INTEGERS | FLOATS
BITS = {"i2": 2, "ui2": 2, "i4": 4, "ui4": 4, "f4E2M1FN": 4}


def numbers(kind: str) -> np.ndarray[Any, Any]:
    """Return all numbers of a type."""
    count = 2 ** BITS.get(kind, 8)
    dtype = np.dtype(getattr(ml_dtypes, TYPES[kind]))
    if kind in INTEGERS:
        return np.arange(count, dtype="int8").astype(dtype)
    values = np.arange(count, dtype="uint8").view(dtype)
    return values[np.isfinite(values.astype("float32"))]


def run(text: str, *args: Any) -> Any:
    return np.asarray(build(from_stablehlo(f"func.func @main{text}"))["main"](*args))


def wide(x: np.ndarray[Any, Any], kind: str) -> np.ndarray[Any, Any]:
    return x.astype("float32" if kind in FLOATS else "int16")


def narrow(x: Any, kind: str) -> np.ndarray[Any, Any]:
    """Return numbers rounded, or wrapped, to a type."""
    if kind in FLOATS:
        return x.astype(getattr(ml_dtypes, TYPES[kind]))
    bits = BITS[kind]
    low = x.astype("int64") & (2**bits - 1)
    signed = np.where(low >= 2 ** (bits - 1), low - 2**bits, low)
    return (low if kind.startswith("ui") else signed).astype(getattr(ml_dtypes, TYPES[kind]))


def same(actual: Any, expected: Any) -> None:
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual.astype("float32"), expected.astype("float32"))


BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, kind: str) -> None:
    x = numbers(kind)
    a, b = np.repeat(x, len(x)), np.tile(x, len(x))
    t = f"tensor<{len(a)}x{kind}>"
    actual = run(f"(%a: {t}, %b: {t}) -> {t} {{ %r = stablehlo.{name} %a, %b : {t}  return %r : {t} }}", a, b)
    with np.errstate(over="ignore"):
        same(actual, narrow(BINARY[name](wide(a, kind), wide(b, kind)), kind))


def shifted(name: str, a: Any, b: Any, kind: str) -> Any:
    """Return shifts, of the bits as unsigned or signed numbers; by more bits than there are leaves 0, or the sign."""
    bits = BITS[kind]
    low, signed = (narrow(a, k).astype("int64") for k in (f"ui{bits}", f"i{bits}"))
    inside = (b >= 0) & (b < bits)
    by = np.where(inside, b, 0)
    if name == "shift_left":
        return np.where(inside, a.astype("int64") << by, 0)
    if name == "shift_right_logical":
        return np.where(inside, low >> by, 0)
    return np.where(inside, signed >> by, np.where(signed < 0, -1, 0))


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", ["shift_left", "shift_right_logical", "shift_right_arithmetic"])
def test_shifts(name: str, kind: str) -> None:
    x = numbers(kind)
    a, b = np.repeat(x, len(x)), np.tile(x, len(x))
    t = f"tensor<{len(a)}x{kind}>"
    actual = run(f"(%a: {t}, %b: {t}) -> {t} {{ %r = stablehlo.{name} %a, %b : {t}  return %r : {t} }}", a, b)
    same(actual, narrow(shifted(name, wide(a, kind), wide(b, kind), kind), kind))


@pytest.mark.parametrize("kind", INTEGERS)
def test_bits_of_integers(kind: str) -> None:
    x = numbers(kind)
    t = f"tensor<{len(x)}x{kind}>"
    body = "%n = stablehlo.not %a : T  %c = stablehlo.popcnt %a : T  %r = stablehlo.xor %n, %c : T"
    actual = run(f"(%a: T) -> T {{ {body}  return %r : T }}".replace("T", t), x)
    low = narrow(wide(x, kind), f"ui{BITS[kind]}").astype("uint8")
    same(actual, narrow(~low.astype("int64") ^ np.bitwise_count(low), kind))


REGION = """
  ^bb0(%x: tensor<K>, %y: tensor<K>):
    %s = stablehlo.subtract %x, %y : tensor<K>
    %m = stablehlo.maximum %s, %y : tensor<K>
    stablehlo.return %m : tensor<K>
"""


@pytest.mark.parametrize("kind", TYPES)
def test_region(kind: str) -> None:
    """Each step of a reduction wraps or rounds."""
    x = np.random.default_rng(0).choice(numbers(kind), (5, 7))
    text = f"""(%a: tensor<5x7xK>, %z: tensor<K>) -> tensor<5xK> {{
      %r = "stablehlo.reduce"(%a, %z) <{{dimensions = array<i64: 1>}}> ({{ {REGION} }})
        : (tensor<5x7xK>, tensor<K>) -> tensor<5xK>
      return %r : tensor<5xK>
    }}"""
    expected = np.zeros(5, x.dtype)
    with np.errstate(over="ignore"):
        for column in x.T:
            expected = narrow(wide(expected, kind) - wide(column, kind), kind)
            expected = narrow(np.maximum(wide(expected, kind), wide(column, kind)), kind)
    same(run(text.replace("K", kind), x, np.zeros((), x.dtype)), expected)


@pytest.mark.parametrize("kind", TYPES)
def test_product(kind: str) -> None:
    x = np.random.default_rng(1).choice(numbers(kind), (4, 3))
    text = """(%a: tensor<4x3xK>) -> tensor<4x4xK> {
      %r = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<4x3xK>, tensor<4x3xK>) -> tensor<4x4xK>
      return %r : tensor<4x4xK>
    }"""
    with np.errstate(over="ignore"):
        same(run(text.replace("K", kind), x), narrow(wide(x, kind) @ wide(x, kind).T, kind))


def test_bits_side_by_side() -> None:
    """The bits of bytes are those of two nibbles, of four crumbs, and back."""
    x = np.arange(256, dtype="uint8")
    text = """(%a: tensor<256xui8>) -> tensor<256xui8> {
      %b = stablehlo.bitcast_convert %a : (tensor<256xui8>) -> tensor<256x2xi4>
      %c = stablehlo.bitcast_convert %b : (tensor<256x2xi4>) -> tensor<256x2x2xui2>
      %d = stablehlo.reverse %c, dims = [2] : tensor<256x2x2xui2>
      %e = stablehlo.bitcast_convert %d : (tensor<256x2x2xui2>) -> tensor<256x2xui4>
      %r = stablehlo.bitcast_convert %e : (tensor<256x2xui4>) -> tensor<256xui8>
      return %r : tensor<256xui8>
    }"""
    np.testing.assert_array_equal(run(text, x), (x & 0x33) << 2 | (x & 0xCC) >> 2)


def test_bits_of_complex_numbers() -> None:
    z = np.array([1.5 - 2j, 3e300 + 0.25j])
    text = """(%a: tensor<2xcomplex<f64>>) -> tensor<2x2xcomplex<f32>> {
      %r = stablehlo.bitcast_convert %a : (tensor<2xcomplex<f64>>) -> tensor<2x2xcomplex<f32>>
      return %r : tensor<2x2xcomplex<f32>>
    }"""
    actual = run(text, z.view("float64").reshape(2, 2))
    np.testing.assert_array_equal(actual, z.view("float32").reshape(2, 2, 2))


def test_bits_of_quantized_numbers() -> None:
    text = """(%a: tensor<3xf32>) -> tensor<3xi8> {
      %q = stablehlo.uniform_quantize %a : (tensor<3xf32>) -> tensor<3x!quant.uniform<i8:f32, 0.5:-3>>
      %r = stablehlo.bitcast_convert %q : (tensor<3x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<3xi8>
      return %r : tensor<3xi8>
    }"""
    np.testing.assert_array_equal(run(text, np.array([0.0, 1.0, -8.5], "float32")), np.array([-3, -1, -20], "int8"))
