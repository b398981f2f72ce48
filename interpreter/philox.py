"""Random numbers as functions of a seed, an offset and an index: Philox 4x32-10, and what is made of its words.

Philox (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011) encrypts a counter of four
words of 32 bits with a key of two. The key is the seed; the counter is the offset (its lower word first) and then the
index of the element, as PyTorch's generator for CUDA has them: its offset counts words, this one blocks of four.

The functions are written once, for arrays of numpy and for expressions of tir, with the operators that both have and an
`Arithmetic` for the others. Each operation on floating point is rounded by itself, in float64, and none is a function
of a library, so that both give the same bits, whatever the width of vectors and the number of threads.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

Word = Any
"""uint64: numbers or arrays of numpy, or an expression of tir."""
Real = Any
"""The same of float64."""

ROUNDS = 10
_LOW = 0xFFFFFFFF
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_SQRT_HALF = 0x3FE6A09E667F3BCD
"""The bits of the square root of a half in float64."""
_LOG_TERMS = [1 / (2 * k + 1) for k in range(12)]
"""artanh(s) / s in powers of s * s, to 2**-57 for |s| < 0.172."""
_SIN_TERMS = [(-1) ** k * math.tau ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(12)]
"""sin(2 pi v) / v in powers of v * v, to 2**-58 for |v| <= 1/4."""


class Arithmetic(Protocol):
    """What numpy and tir call differently."""

    def let(self, value: Any, /) -> Any:
        """`value`, which is used more than once."""
        ...

    def product(self, a: Real, b: Real, /) -> Real:
        """a * b, rounded before anything else is done with it."""
        ...

    def where(self, condition: Any, a: Any, b: Any, /) -> Any:
        """a where the condition holds, b elsewhere."""
        ...

    def sqrt(self, x: Real, /) -> Real:
        """The square root, rounded to nearest."""
        ...

    def absolute(self, x: Real, /) -> Real:
        """The magnitude."""
        ...

    def real(self, word: Any, /) -> Real:
        """An integer below 2**63 as float64."""
        ...

    def bits(self, x: Real, /) -> Any:
        """The bits of float64 as int64."""
        ...

    def of_bits(self, bits: Any, /) -> Real:
        """The float64 of these bits."""
        ...


class NumpyArithmetic:
    """Arrays of numpy."""

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
    """The four words of 32 bits for an element."""
    c0, c1, c2, c3 = offset & _LOW, offset >> 32, index & _LOW, index >> 32
    keys = [of.let(seed & _LOW), of.let(seed >> 32)]
    for _ in range(ROUNDS):
        first, second = of.let(c0 * _MULTIPLIERS[0]), of.let(c2 * _MULTIPLIERS[1])
        c0, c2 = of.let((second >> 32) ^ c1 ^ keys[0]), of.let((first >> 32) ^ c3 ^ keys[1])
        c1, c3 = second & _LOW, first & _LOW
        keys = [of.let((key + step) & _LOW) for key, step in zip(keys, _KEY_STEPS, strict=True)]
    return c0, of.let(c1), c2, of.let(c3)


DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
"""Binary digits of a fraction of a dtype: as many as its numbers have."""


def fraction(of: Arithmetic, high: Word, low: Word, digits: int = 53) -> Real:
    """A multiple of 2**-digits from 0 on and below 1: the first digits of two words."""
    bits = (high << (digits - 32)) | (low >> (64 - digits)) if digits > 32 else high >> (32 - digits)
    return of.product(of.real(bits), 2.0**-digits)


def open_fraction(of: Arithmetic, high: Word, low: Word) -> Real:
    """An odd multiple of 2**-53, so neither 0 nor 1."""
    return of.product(of.real((high << 21) | ((low >> 12) << 1) | 1), 2.0**-53)


def integer(high: Word, low: Word) -> Word:
    """64 bits of two words."""
    return (high << 32) | low


def uniform(of: Arithmetic, u: Real, low: float, high: float) -> Real:
    """From `low` on and below `high`, of a fraction."""
    return of.product(u, high - low) + low


def exponential(of: Arithmetic, words: tuple[Word, Word, Word, Word], rate: float) -> Real:
    """Distributed exponentially, greater than 0."""
    return _minus_log(of, open_fraction(of, words[0], words[1])) / rate


def normal(of: Arithmetic, words: tuple[Word, Word, Word, Word], mean: float, std: float) -> Real:
    """Distributed normally, by Box and Muller: the radius is of the first two words, the angle of the others."""
    radius = of.sqrt(_minus_log(of, open_fraction(of, words[0], words[1])) * 2.0)
    unit = of.let(of.product(radius, _cos_2pi(of, fraction(of, words[2], words[3]))))
    return of.product(unit, std) + mean


def _minus_log(of: Arithmetic, x: Real) -> Real:
    """-log(x) of 0 < x < 1, which is 2**e * m with sqrt(1/2) <= m < sqrt(2); log(m) is 2 artanh((m-1)/(m+1))."""
    bits = of.let(of.bits(x))
    exponent = of.let((bits - _SQRT_HALF) >> 52)
    m = of.let(of.of_bits(bits - (exponent << 52)))
    s = of.let((m - 1.0) / (m + 1.0))
    log_m = of.let(of.product(s * 2.0, _polynomial(of, of.let(of.product(s, s)), _LOG_TERMS)))
    return of.let((of.product(of.real(exponent), math.log(2.0)) + log_m) * -1.0)


def _cos_2pi(of: Arithmetic, u: Real) -> Real:
    """cos(2 pi u) of 0 <= u < 1, which is sin(2 pi v) with |v| <= 1/4."""
    v = of.let(of.absolute(u - 0.5) - 0.25)
    return of.let(of.product(v, _polynomial(of, of.let(of.product(v, v)), _SIN_TERMS)))


def _polynomial(of: Arithmetic, x: Real, terms: list[float]) -> Real:
    total = of.product(x, terms[-1]) + terms[-2]
    for term in reversed(terms[:-2]):
        total = of.let(of.product(total, x) + term)
    return total
