"""Floats of 16 bits: integers are rounded to them once, and signs are bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tirax.driver.build import build
from tirax.tvm_api import script

DIGITS = {"float16": 11, "bfloat16": 8}
RNG = np.random.default_rng(5)


def compiled(expression: str, dtype: str):
    return build(
        script.from_source(f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "{dtype}")):
        gv = {expression}
        return gv
""")
    )["main"]


def rounded(value: int, digits: int) -> int:
    """An integer with so many digits, to nearest, ties to even, in exact arithmetic."""
    size = abs(value)
    lost = max(0, size.bit_length() - digits)
    kept, rest = divmod(size, 1 << lost)
    half = (1 << lost) // 2
    kept += lost > 0 and (rest > half or (rest == half and kept % 2 == 1))
    return (kept << lost) * (-1 if value < 0 else 1)


def near_ties(dtype: str) -> list[int]:
    """Integers of each length: halfway between floats, one off, and drawn ones."""
    limits = np.iinfo(dtype)
    numbers = [int(limits.min), int(limits.max), 0, 1, 2**24, 2**24 + 1]
    for length in range(9, limits.bits):
        for digits in DIGITS.values():
            half = 1 << max(0, length - digits - 1)
            for kept in RNG.integers(1 << (digits - 1), 1 << digits, 6):
                tie = (int(kept) << max(0, length - digits)) + half
                numbers += [tie, tie - 1, tie + 1, tie + int(RNG.integers(0, half + 1)), -tie, 1 - tie, -1 - tie]
    return [n for n in numbers if limits.min <= n <= limits.max]


@pytest.mark.parametrize("half", DIGITS)
@pytest.mark.parametrize("source", ["int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_are_rounded_once(source, half):
    x = np.array(near_ties(source), source)
    result = np.asarray(compiled(f'R.astype(x, "{half}")', source)(x)).astype(np.float64)
    exact = [float(rounded(int(v), DIGITS[half])) for v in x]
    greatest = float(ml_dtypes.finfo(half).max)
    expected = np.where(np.abs(exact) > greatest, np.copysign(np.inf, exact), exact)
    np.testing.assert_array_equal(result, expected)
    assert len(x) > 300


@pytest.mark.parametrize("half", DIGITS)
def test_the_sign_is_a_bit(half):
    x = np.arange(1 << 16).astype(np.uint16).view(half)
    result = np.asarray(compiled("R.abs(x)", half)(x))
    assert not np.any(result.view(np.uint16) >> 15)
    np.testing.assert_array_equal(result.astype(np.float32), np.abs(x.astype(np.float32)))
