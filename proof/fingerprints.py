"""Fingerprints of terms: vectorized hashes and arithmetic modulo primes.

A fingerprint is two numbers, modulo two primes of 31 bits. Equal polynomials over the same atoms have equal
fingerprints; different ones share one with a probability of about their degree / 2^62 (Schwartz-Zippel). Fingerprints
of exponents are modulo the primes q = (p - 1) / 2, so that exp(a + b) = exp(a) exp(b) holds: the method of the
superoptimizer Mirage.

Arrays of fingerprints are uint64 with a last dimension of 2.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

Array = Any

P = np.array([2147483579, 2147482763], np.uint64)
"""Primes of values."""
Q = np.array([1073741789, 1073741381], np.uint64)
"""Primes of exponents: (p - 1) / 2 for the primes of values."""
_GENERATOR = np.array([4, 4], np.uint64)
"""A square, hence of order q modulo p."""

_MOST_DENOMINATOR = 4096
_EXPONENT = 1150
"""Powers of two of float64 lie between -1127 and 1024."""


def salt(text: str) -> int:
    """Return a 64-bit number for a name."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


salt = cache(salt)


def mix(x: Array) -> Array:
    """Return a bijective hash of 64-bit numbers (the finalizer of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def packed(fingerprints: Array) -> Array:
    """Return the two numbers of each fingerprint in one of 64 bits."""
    return fingerprints[..., 0] | fingerprints[..., 1] << np.uint64(32)


def hashed(name: str, *words: Array) -> Array:
    """Return 64-bit hashes of a name with words, in their order."""
    with np.errstate(over="ignore"):
        total = mix(np.uint64(salt(name)))
        for word in words:
            total = mix(total * np.uint64(0x9E3779B97F4A7C15) + mix(word))
        return total


def drawn(words: Array, primes: Array = P) -> Array:
    """Return pseudorandom fingerprints for 64-bit words."""
    with np.errstate(over="ignore"):
        lanes = [mix(words ^ np.uint64(salt(f"lane {i}"))) % prime for i, prime in enumerate(primes)]
    return np.stack(lanes, axis=-1)


def add(a: Array, b: Array, primes: Array = P) -> Array:
    return (a + b) % primes


def multiply(a: Array, b: Array, primes: Array = P) -> Array:
    return a * b % primes


def negative(a: Array, primes: Array = P) -> Array:
    return (primes - a) % primes


def total(a: Array, axis: int, primes: Array = P) -> Array:
    """Return sums along an axis of at most 2^32 numbers."""
    return a.sum(axis=axis, dtype=np.uint64) % primes


def power(base: Array, exponents: Array, primes: Array = P) -> Array:
    """Return powers by squaring; exponents are below 2^32."""
    result = np.broadcast_to(np.ones(2, np.uint64), np.broadcast_shapes(base.shape, exponents.shape))
    while exponents.any():
        result = np.where(exponents & np.uint64(1), result * base % primes, result)
        base, exponents = base * base % primes, exponents >> np.uint64(1)
    return result


def inverse(a: Array, primes: Array = P) -> Array:
    """Return multiplicative inverses; that of 0 is 0."""
    return power(a, primes - np.uint64(2), primes)


def exp(exponents: Array) -> Array:
    """Return a homomorphism from sums modulo q to products modulo p."""
    return power(_GENERATOR, exponents)


def odd(name: str, a: Array) -> Array:
    """Return pseudorandom fingerprints f(a) with f(-a) = -f(a) and f(0) = 0."""
    upper = a[..., :1] > P[0] // np.uint64(2)
    result = drawn(hashed(name, packed(np.where(upper, negative(a), a))))
    return np.where((a == 0).all(axis=-1, keepdims=True), np.uint64(0), np.where(upper, negative(result), result))


@cache
def _powers_of_two(primes: tuple[int, ...]) -> Array:
    rows = [[pow(2, e, p) for p in primes] for e in range(-_EXPONENT, _EXPONENT + 1)]
    return np.array(rows, np.uint64)


def of_integers(values: Array, primes: Array = P) -> Array:
    """Return the fingerprints of integers (int64 or uint64)."""
    parts = [np.mod(values, values.dtype.type(p)).astype(np.uint64) for p in primes]
    return np.stack(parts, axis=-1)


def of_floats(values: Array, primes: Array = P, rounded: np.dtype[Any] | None = None) -> Array:
    """Return the fingerprints of float64 numbers, which are fractions with a power of two as denominator.

    With `rounded`, numbers are rounded to that dtype first, and one that is the rounding of a fraction with a
    denominator up to 4096 is taken as the fraction: 0.333… in float32 is 1/3. Infinities and NaN are atoms.
    """
    if rounded is not None:
        values = values.astype(rounded).astype(np.float64)
    unique, place = np.unique(values, return_inverse=True)
    mantissas, exponents = np.frexp(np.where(np.isfinite(unique), unique, 0.0))
    whole = of_integers((mantissas * 2.0**53).astype(np.int64), primes)
    result = multiply(whole, _powers_of_two(tuple(map(int, primes)))[exponents - 53 + _EXPONENT], primes)
    for i in np.flatnonzero(~np.isfinite(unique)):
        result[i] = drawn(np.uint64(salt(str(unique[i]))), primes)
    if rounded is not None and len(unique) <= _MOST_DENOMINATOR:
        for i in np.flatnonzero(np.isfinite(unique) & (unique != np.rint(unique))):
            result[i] = _of_fraction(float(unique[i]), rounded, primes, result[i])
    return result[place.reshape(np.shape(values))]


def _of_fraction(value: float, dtype: np.dtype[Any], primes: Array, otherwise: Array) -> Array:
    fraction = Fraction(value).limit_denominator(_MOST_DENOMINATOR)
    if fraction == 0 or np.float64(float(fraction)).astype(dtype) != np.float64(value).astype(dtype):
        return otherwise
    rows = [fraction.numerator % int(p) * pow(fraction.denominator, -1, int(p)) % int(p) for p in primes]
    return np.array(rows, np.uint64)
