"""Counter-based random numbers from a seed, an offset and an index: Philox 4x32-10, and distributions of its words.

Philox (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011) encrypts a counter of four
words of 32 bits with a key of two. The key is the seed; the counter is the offset (its lower word first) followed by
the index of the element, as in PyTorch's generator for CUDA, except that PyTorch's offset counts words, and this one
blocks of four.

The functions are written once, for numpy arrays and for tir expressions, with the operators that both have and an
`Arithmetic` for the others. Each floating-point operation is rounded separately, in float64, and none calls a math
library, so that both give the same bits for every vector width and number of threads.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

Word = Any
"""uint64: a numpy number or array, or a tir expression."""
Real = Any
"""The same as float64."""

ROUNDS = 10
_LOW = 0xFFFFFFFF
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_SQRT_HALF = 0x3FE6A09E667F3BCD
"""The bits of sqrt(1/2) in float64."""
_LOG_TERMS = [1 / (2 * k + 1) for k in range(12)]
"""artanh(s) / s in powers of s * s, to 2**-57 for |s| < 0.172."""
_SIN_TERMS = [(-1) ** k * math.tau ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(12)]
"""sin(2 pi v) / v in powers of v * v, to 2**-58 for |v| <= 1/4."""


class Arithmetic(Protocol):
    """The operations for which numpy and tir have no common notation."""

    def let(self, value: Any, /) -> Any:
        """Return `value`, bound to a name because it is used more than once."""
        ...

    def product(self, a: Real, b: Real, /) -> Real:
        """Return a * b, rounded before any further operation (no contraction to fma)."""
        ...

    def where(self, condition: Any, a: Any, b: Any, /) -> Any:
        """Return a where the condition holds, b elsewhere."""
        ...

    def sqrt(self, x: Real, /) -> Real:
        """Return the square root, rounded to nearest."""
        ...

    def absolute(self, x: Real, /) -> Real:
        """Return the absolute value."""
        ...

    def real(self, word: Any, /) -> Real:
        """Convert an integer below 2**63 to float64."""
        ...

    def bits(self, x: Real, /) -> Any:
        """Return the bits of a float64 as int64."""
        ...

    def of_bits(self, bits: Any, /) -> Real:
        """Return the float64 with these bits."""
        ...


class NumpyArithmetic:
    """Arithmetic on numpy arrays."""

    product = staticmethod(np.multiply)
    where = staticmethod(np.where)
    sqrt = staticmethod(np.sqrt)
    absolute = staticmethod(np.abs)

    def let(self, value: Any) -> Any:
        return value

    def real(self, word: Any) -> Real:
        return word.astype(np.int64).astype(np.float64)

    def bits(self, x: Real) -> Any:
        return np.asarray(x).view(np.int64)

    def of_bits(self, bits: Any) -> Real:
        return np.asarray(bits).view(np.float64)


def block(of: Arithmetic, seed: Word, offset: Word, index: Word) -> tuple[Word, Word, Word, Word]:
    """Return the four 32-bit words of an element."""
    c0, c1, c2, c3 = offset & _LOW, offset >> 32, index & _LOW, index >> 32
    keys = [of.let(seed & _LOW), of.let(seed >> 32)]
    for _ in range(ROUNDS):
        first, second = of.let(c0 * _MULTIPLIERS[0]), of.let(c2 * _MULTIPLIERS[1])
        c0, c2 = of.let((second >> 32) ^ c1 ^ keys[0]), of.let((first >> 32) ^ c3 ^ keys[1])
        c1, c3 = second & _LOW, first & _LOW
        keys = [of.let((key + step) & _LOW) for key, step in zip(keys, _KEY_STEPS, strict=True)]
    return c0, of.let(c1), c2, of.let(c3)


DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
"""Binary digits of a fraction by dtype: its precision."""


def fraction(of: Arithmetic, high: Word, low: Word, digits: int = 53) -> Real:
    """Return a multiple of 2**-digits in [0, 1), from the first digits of two words."""
    bits = (high << (digits - 32)) | (low >> (64 - digits)) if digits > 32 else high >> (32 - digits)
    return of.product(of.real(bits), 2.0**-digits)


def open_fraction(of: Arithmetic, high: Word, low: Word) -> Real:
    """Return an odd multiple of 2**-53 in (0, 1)."""
    return of.product(of.real((high << 21) | ((low >> 12) << 1) | 1), 2.0**-53)


def integer(high: Word, low: Word) -> Word:
    """Return 64 bits from two words."""
    return (high << 32) | low


def uniform(of: Arithmetic, u: Real, low: float, high: float) -> Real:
    """Map a fraction to [low, high)."""
    return of.product(u, high - low) + low


def exponential(of: Arithmetic, words: tuple[Word, Word, Word, Word], rate: float) -> Real:
    """Return exponentially distributed numbers, greater than 0."""
    return _minus_log(of, open_fraction(of, words[0], words[1])) / rate


def normal(of: Arithmetic, words: tuple[Word, Word, Word, Word], mean: float, std: float) -> Real:
    """Return normally distributed numbers (Box-Muller): radius from the first two words, angle from the others."""
    radius = of.sqrt(_minus_log(of, open_fraction(of, words[0], words[1])) * 2.0)
    unit = of.let(of.product(radius, _cos_2pi(of, fraction(of, words[2], words[3]))))
    return of.product(unit, std) + mean


def _minus_log(of: Arithmetic, x: Real) -> Real:
    """Return -log(x) for 0 < x < 1, with x = 2**e * m, sqrt(1/2) <= m < sqrt(2), and log(m) = 2 artanh((m-1)/(m+1))."""
    bits = of.let(of.bits(x))
    exponent = of.let((bits - _SQRT_HALF) >> 52)
    m = of.let(of.of_bits(bits - (exponent << 52)))
    s = of.let((m - 1.0) / (m + 1.0))
    log_m = of.let(of.product(s * 2.0, _polynomial(of, of.let(of.product(s, s)), _LOG_TERMS)))
    return of.let((of.product(of.real(exponent), math.log(2.0)) + log_m) * -1.0)


def _cos_2pi(of: Arithmetic, u: Real) -> Real:
    """Return cos(2 pi u) for 0 <= u < 1, computed as sin(2 pi v) with |v| <= 1/4."""
    v = of.let(of.absolute(u - 0.5) - 0.25)
    return of.let(of.product(v, _polynomial(of, of.let(of.product(v, v)), _SIN_TERMS)))


def _polynomial(of: Arithmetic, x: Real, terms: list[float]) -> Real:
    total = of.product(x, terms[-1]) + terms[-2]
    for term in reversed(terms[:-2]):
        total = of.let(of.product(total, x) + term)
    return total
