"""Algebras of terms: which laws of arithmetic a proof may use.

An algebra has a kind for each class of dtypes. A kind stores a term as rows of fingerprints (`width` of them) and
defines the operations on arrays of terms, `(…, width, 2)`. Row 0 identifies the term; the other rows are accumulators:
the same sum, product or maximum has the same row whatever the order of its operands.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from . import fingerprints as fp
from .history import History

Array = Any


class Level(enum.Enum):
    """The laws that a proof uses, from the strictest to the weakest."""

    BITS = "bits"
    """Floats have no laws but x - y = x + (-y) and commuting operands: results are equal bit by bit."""
    REASSOCIATED = "reassociated"
    """Sums, products, minima and maxima may be evaluated in any order; the sign of zero is ignored, 0 * x = 0."""
    REAL = "real"
    """Floats are real numbers: the laws of a field, exp(a + b) = exp(a) exp(b), casts between floats do not round."""


class Kind:
    """The operations on terms of a class of dtypes. Subclasses define what `add`, `multiply`, … do."""

    width = 1

    def of(self, identities: Array) -> Array:
        """Return terms from their first rows, as atoms: no law applies to how they were computed."""
        raise NotImplementedError

    def constants(self, values: Array, dtype: np.dtype[Any]) -> Array:
        raise NotImplementedError

    def opaque(self, name: str, *identities: Array) -> Array:
        """Return the results of a function of which nothing is known, on 64-bit words."""
        return self.of(fp.drawn(fp.hashed(name, *identities)))

    def symmetric(self, name: str, a: Array, b: Array) -> Array:
        """Return the results of a commutative function."""
        a, b = a[..., 0, :], b[..., 0, :]
        return self.opaque(name, fp.packed(fp.add(a, b)), fp.packed(fp.multiply(a, b)))

    def add(self, a: Array, b: Array) -> Array:
        raise NotImplementedError

    def multiply(self, a: Array, b: Array) -> Array:
        raise NotImplementedError

    def negative(self, a: Array) -> Array:
        raise NotImplementedError

    def divide(self, a: Array, b: Array) -> Array:
        return self.opaque("divide", fp.packed(a[..., 0, :]), fp.packed(b[..., 0, :]))

    def extremum(self, name: str, a: Array, b: Array) -> Array:
        """Return minima or maxima (`name`)."""
        return self.opaque(name, fp.packed(a[..., 0, :]), fp.packed(b[..., 0, :]))

    def exp(self, a: Array) -> Array:
        return self.opaque("exp", fp.packed(a[..., 0, :]))

    def select(self, condition: Array, a: Array, b: Array) -> Array:
        words = (fp.packed(x[..., 0, :]) for x in (condition, a, b))
        result = self.opaque("select", *words)
        return np.where((a[..., :1, :] == b[..., :1, :]).all(axis=-1, keepdims=True), a, result)


class _Sets:
    """Minima and maxima as multisets, in the rows `places`; x op x = x."""

    def accumulators(self, identities: Array) -> list[Array]:
        return [fp.drawn(fp.hashed(f"in {name}", fp.packed(identities))) for name in ("maximum", "minimum")]

    def joined(self, kind: Kind, place: int, name: str, a: Array, b: Array) -> Array:
        row = fp.add(a[..., place, :], b[..., place, :])
        result = kind.of(fp.drawn(fp.hashed(name, fp.packed(row))))
        result[..., place, :] = row
        return np.where((a[..., :1, :] == b[..., :1, :]).all(axis=-1, keepdims=True), a, result)


_SETS = _Sets()


class Ring(Kind):
    """Integers and booleans: polynomials with integer coefficients, which hold modulo any power of two."""

    width = 3

    def of(self, identities: Array) -> Array:
        return np.stack([identities, *_SETS.accumulators(identities)], axis=-2)

    def constants(self, values: Array, dtype: np.dtype[Any]) -> Array:
        return self.of(fp.of_integers(values))

    def add(self, a: Array, b: Array) -> Array:
        return self.of(fp.add(a[..., 0, :], b[..., 0, :]))

    def multiply(self, a: Array, b: Array) -> Array:
        return self.of(fp.multiply(a[..., 0, :], b[..., 0, :]))

    def negative(self, a: Array) -> Array:
        return self.of(fp.negative(a[..., 0, :]))

    def extremum(self, name: str, a: Array, b: Array) -> Array:
        return _SETS.joined(self, 1 if name == "maximum" else 2, name, a, b)

    def select(self, condition: Array, a: Array, b: Array) -> Array:
        c, x, y = condition[..., 0, :], a[..., 0, :], b[..., 0, :]
        return self.of(fp.add(y, fp.multiply(c, fp.add(x, fp.negative(y)))))


class Bits(Kind):
    """Floats as they are rounded."""

    def of(self, identities: Array) -> Array:
        return identities[..., None, :]

    def constants(self, values: Array, dtype: np.dtype[Any]) -> Array:
        words = fp.hashed("constant", np.abs(values).view(np.uint64))
        result = fp.drawn(words)
        return self.of(np.where(np.signbit(values)[..., None], fp.negative(result), result))

    def add(self, a: Array, b: Array) -> Array:
        return self.symmetric("add", a, b)

    def multiply(self, a: Array, b: Array) -> Array:
        """Return products; a sign moves out of them."""
        return self.of(_signed_product(a[..., 0, :], b[..., 0, :]))

    def negative(self, a: Array) -> Array:
        return self.of(fp.negative(a[..., 0, :]))


def _signed_product(a: Array, b: Array) -> Array:
    """Return odd, symmetric fingerprints of pairs: (-a, b) and (a, -b) have that of -(a, b)."""
    half = fp.P[0] // np.uint64(2)
    flips = [x[..., :1] > half for x in (a, b)]
    x, y = (np.where(flip, fp.negative(v), v) for flip, v in zip(flips, (a, b), strict=True))
    result = fp.drawn(fp.hashed("multiply", fp.packed(fp.add(x, y)), fp.packed(fp.multiply(x, y))))
    return np.where(flips[0] ^ flips[1], fp.negative(result), result)


class Reassociated(Kind):
    """Floats whose sums, products, minima and maxima are multisets. Rows: sum, product, maximum, minimum."""

    width = 4

    def of(self, identities: Array) -> Array:
        return np.stack([identities, fp.odd("factor", identities), *_SETS.accumulators(identities)], axis=-2)

    def constants(self, values: Array, dtype: np.dtype[Any]) -> Array:
        result = self.of(fp.of_floats(values))
        result[..., 1, :] = result[..., 0, :]
        return _without_limits(values, result, dtype)

    def add(self, a: Array, b: Array) -> Array:
        return self.of(fp.add(a[..., 0, :], b[..., 0, :]))

    def multiply(self, a: Array, b: Array) -> Array:
        row = fp.multiply(a[..., 1, :], b[..., 1, :])
        result = self.of(fp.odd("product", row))
        result[..., 1, :] = row
        return result

    def negative(self, a: Array) -> Array:
        result = self.of(fp.negative(a[..., 0, :]))
        result[..., 1, :] = fp.negative(a[..., 1, :])
        return result

    def extremum(self, name: str, a: Array, b: Array) -> Array:
        return _SETS.joined(self, 2 if name == "maximum" else 3, name, a, b)


class Real(Kind):
    """Floats as real numbers. Rows: value modulo p, value modulo q (for exponents), maximum, minimum."""

    width = 4

    def of(self, identities: Array) -> Array:
        exponent = fp.drawn(fp.hashed("exponent", fp.packed(identities)), fp.Q)
        return np.stack([identities, exponent, *_SETS.accumulators(identities)], axis=-2)

    def _of_rows(self, value: Array, exponent: Array) -> Array:
        return np.stack([value, exponent, *_SETS.accumulators(value)], axis=-2)

    def constants(self, values: Array, dtype: np.dtype[Any]) -> Array:
        rounded = min(dtype, np.dtype(np.float32), key=lambda t: t.itemsize)
        rows = (fp.of_floats(values, primes, rounded) for primes in (fp.P, fp.Q))
        return _without_limits(values, self._of_rows(*rows), dtype)

    def add(self, a: Array, b: Array) -> Array:
        return self._of_rows(fp.add(a[..., 0, :], b[..., 0, :]), fp.add(a[..., 1, :], b[..., 1, :], fp.Q))

    def multiply(self, a: Array, b: Array) -> Array:
        return self._of_rows(fp.multiply(a[..., 0, :], b[..., 0, :]), fp.multiply(a[..., 1, :], b[..., 1, :], fp.Q))

    def negative(self, a: Array) -> Array:
        return self._of_rows(fp.negative(a[..., 0, :]), fp.negative(a[..., 1, :], fp.Q))

    def divide(self, a: Array, b: Array) -> Array:
        inverse = self._of_rows(fp.inverse(b[..., 0, :]), fp.inverse(b[..., 1, :], fp.Q))
        by_zero = (b[..., :2, :] == 0).any(axis=(-2, -1))[..., None, None]
        return np.where(by_zero, super().divide(a, b), self.multiply(a, inverse))

    def extremum(self, name: str, a: Array, b: Array) -> Array:
        return _SETS.joined(self, 2 if name == "maximum" else 3, name, a, b)

    def exp(self, a: Array) -> Array:
        return self.of(fp.exp(a[..., 1, :]))


def _without_limits(values: Array, terms: Array, dtype: np.dtype[Any]) -> Array:
    """Make infinities, and the least and greatest numbers of a dtype, the neutral elements of maxima and minima."""
    most = float(ml_dtypes.finfo(dtype).max)
    for row, neutral in ((-2, values <= -most), (-1, values >= most)):
        terms[..., row, :] = np.where(neutral[..., None], np.uint64(0), terms[..., row, :])
    return terms


@dataclass(frozen=True)
class Algebra:
    """The kinds of a level, and facts on terms, as 64-bit words.

    `bounds` are the least and the greatest values of indices where they are known, `assumed` the conditions that are
    asserted, `decided` those that follow from the accesses of the first program, with their values; `history` records
    how terms come about.
    """

    level: Level
    floats: Kind
    integers: Kind = field(default_factory=Ring)
    bounds: dict[int, tuple[float, float]] = field(default_factory=dict[int, tuple[float, float]], compare=False)
    assumed: set[int] = field(default_factory=set[int], compare=False)
    decided: dict[int, bool] = field(default_factory=dict[int, bool], compare=False)
    history: History | None = field(default=None, compare=False)

    def kind(self, dtype: np.dtype[Any]) -> Kind:
        return self.integers if dtype.kind in "iub" else self.floats


_FLOATS: dict[Level, type[Kind]] = {Level.BITS: Bits, Level.REASSOCIATED: Reassociated, Level.REAL: Real}


def algebra_of(level: Level, history: History | None = None) -> Algebra:
    """Return a new algebra; programs are compared in one. A `history` records how terms come about."""
    return Algebra(level, _FLOATS[level](), history=history)
