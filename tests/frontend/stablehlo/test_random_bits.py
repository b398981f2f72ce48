"""Bits of `rng_bit_generator`: known answers of the algorithms, and the states after them."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.driver.build import build
from tirax.frontend.stablehlo import from_stablehlo

STATE = np.array([0x200000001, 0xFFFFFFF000000003], np.uint64)


def generated(algorithm: str, dtype: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    types = f"tensor<2xui64>, tensor<{count}x{dtype}>"
    text = f"""func.func @main(%s: tensor<2xui64>) -> ({types}) {{
%q, %r = stablehlo.rng_bit_generator %s, algorithm = {algorithm} : (tensor<2xui64>) -> ({types})
return %q, %r : {types}
}}"""
    state, bits = build(from_stablehlo(text))["main"](STATE)
    return np.asarray(state), np.asarray(bits)


def test_philox() -> None:
    """The first block is Philox-4x32 of 10 rounds of the counter (3, 0xfffffff0, 1, 2) and the key (1, 2)."""
    state, bits = generated("PHILOX", "ui32", 5)
    np.testing.assert_array_equal(bits[:4], np.array([1702265310, 1963141130, 2951599915, 1083032377], np.uint32))
    np.testing.assert_array_equal(state - STATE, [0, 2])


@pytest.mark.parametrize("algorithm", ["THREE_FRY", "PHILOX"])
def test_words_of_64_bits_are_pairs(algorithm: str) -> None:
    """Threefry makes a block of two words for each number of 64 bits, Philox one of four for two of them."""
    _, halves = generated(algorithm, "ui32", 8)
    state, wholes = generated(algorithm, "ui64", 4)
    np.testing.assert_array_equal(wholes, halves[::2].astype("u8") | (halves[1::2].astype("u8") << np.uint64(32)))
    np.testing.assert_array_equal(state - STATE, [0, 4 if algorithm == "THREE_FRY" else 2])


def test_threefry_is_what_its_authors_give() -> None:
    """The known answer of Threefry-2x32 of 20 rounds for the counter (0, 0) and the key (0, 0)."""
    text = """func.func @main(%s: tensor<2xui64>) -> tensor<2xui32> {
%q, %r = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>)
return %r : tensor<2xui32>
}"""
    made = build(from_stablehlo(text))["main"](np.zeros(2, np.uint64))
    np.testing.assert_array_equal(np.asarray(made), np.array([0x6B200159, 0x99BA4EFE], np.uint32))
