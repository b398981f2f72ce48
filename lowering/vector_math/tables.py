"""log2 and pow of f32 by tables in registers: for AVX-512, which looks up a number for each lane in one instruction.

x = 2^e m with 1 <= m < 2. The upper bits of m select a number i near 1 / m, with so few bits that r = i m - 1 is exact
and at most 1/32, and log2(x) = e - log2(i) + log2(1 + r), where the table has the second term as a sum of two floats.
Near 1 and near 2, i is 1 and 1/2, so that nothing is lost near x = 1. 2^t is 2^n 2^(j / 16) 2^f with |f| at most 1/32.
(P. Tang, Table-driven implementation of the logarithm function in IEEE floating-point arithmetic, 1990.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import Float32Type, f32

from ...dialects.dtypes import lanes_of
from ...dialects.xdsl_extras.arith_extras import element_type
from ..tir_to_scf.emitter import pick_lanes, vector_type
from .lanes import LOG2_E, Float, Int, Lanes, parts

WIDTH = 16
"""Lanes of a register, and table entries per register."""
_BITS = 5
"""Bits of m that select an entry: a table has two registers."""
_FEW = 64.0
"""i is a multiple of the inverse of this."""
_HEAD = 2.0**16
"""The first part of log2(i) is a multiple of the inverse of this, so that its sum with e is exact."""
_SHIFTER = 1.5 * 2.0**19
"""A number that, added to a float, leaves the nearest multiple of 1/16 in the lowest bits."""
_USUAL = 126.0
"""Below this bound, 2^t is a normal number."""


def _inverse(place: int) -> float:
    """Return a number near 1 / m for the numbers m of a table entry."""
    if place == 0:
        return 1.0
    middle = 1.0 + (place + 0.5) / 2**_BITS
    return max(0.5, round(_FEW / middle) / _FEW) if place < 2**_BITS - 1 else 0.5


INVERSES = tuple(map(_inverse, range(2**_BITS)))
HEADS = tuple(round(-math.log2(i) * _HEAD) / _HEAD for i in INVERSES)
RESTS = tuple(-math.log2(i) - head for i, head in zip(INVERSES, HEADS, strict=True))
"""The second parts of -log2(i) = head + rest."""
ROOTS = tuple(2.0 ** (j / WIDTH) for j in range(WIDTH))


def fits(at: Lanes) -> bool:
    """Return whether the target can look up numbers in registers and the floats are f32."""
    return "avx512f" in at.target.features and isinstance(element_type(at.type), Float32Type)


def in_registers(at: Lanes, formula: Callable[..., Float], *args: Float) -> Float:
    """Return `formula` computed in vectors of 16 lanes, whatever `at` has, so that a value is the same in each."""
    lanes = lanes_of(at.type)
    if lanes == WIDTH:
        return formula(at, *args)
    full = Lanes(at.emit, vector_type(f32, WIDTH), at.target)
    results = [
        formula(full, *(full.wrap(pick_lanes(at.emit, [x.value], places, f32)) for x in args)).value
        for places in ([min(first + i, lanes - 1) for i in range(WIDTH)] for first in range(0, lanes, WIDTH))
    ]
    return at.wrap(pick_lanes(at.emit, results, range(lanes), f32))


@dataclass(frozen=True)
class _Reduced:
    """log2(x) = exponent + log2(1 + r) + rest, `exponent` exact; x > 0"""

    exponent: Float
    rest: Float
    r: Float


def _reduce(at: Lanes, x: Float) -> _Reduced:
    e, m = at.parts(x)
    place = m.bits() >> (at.format.mantissa - _BITS)
    r = at.fma(m, at.lookup(place, INVERSES), -1.0)
    return _Reduced(e + at.lookup(place, HEADS), at.lookup(place, RESTS), r)


def log2(at: Lanes, x: Float) -> Float:
    """Return log2(x) by the table; the product of r and log2(e) is rounded together with the rest."""
    near = _reduce(at, x)
    head, rest = parts(LOG2_E, at.format.precision, 2)
    low = at.fma(near.r, at.fma(near.r, at.polynomial(near.r, "LOG2_NEAR"), rest), near.rest)
    return at.where_positive(near.exponent + at.fma(near.r, head, low), x)


def _log2_in_two(at: Lanes, x: Float) -> tuple[Float, Float]:
    """Return log2(x) as a sum of two floats: r - r² / 2 exactly, the rest by the polynomial LOG_NEAR, times log2(e)."""
    near = _reduce(at, x)
    r, (head, rest) = near.r, parts(LOG2_E, at.format.precision, 2)
    square, square_rest = at.product(r, r)
    u = at.fma(square, -0.5, r)
    low = at.fma(square_rest, -0.5, at.fma(square, -0.5, r - u))
    low = at.fma(r * square, at.polynomial(r, "LOG_NEAR"), low)
    product, product_rest = at.product(u, head)
    product_rest = at.fma(low, head, at.fma(u, rest, product_rest))
    total = near.exponent + product
    return total, (product - (total - near.exponent)) + (product_rest + near.rest)


def pow(at: Lanes, x: Float, y: Float, other: Callable[[], Float]) -> Float:
    """Return x^y; `other()` if x is not finite and positive, y not finite, or the result not a normal number."""
    high, low = _log2_in_two(at, x)
    t, rest = at.product(y, high)
    rest = at.fma(y, low, rest)
    shifted = t + _SHIFTER
    n = shifted - _SHIFTER
    power = _root_of_two(at, shifted.bits(), (t - n) + rest)
    return at.unless(abs(t).compare("uge", _USUAL), at.scale(power, n), other)


def _root_of_two(at: Lanes, place: Int, f: Float) -> Float:
    """Return 2^(j / 16 + f), for j in the lowest bits of `place`."""
    heads = tuple(at.format.nearest(root) for root in ROOTS)
    head = at.lookup(place, heads)
    rest = at.lookup(place, tuple(root - h for root, h in zip(ROOTS, heads, strict=True)))
    return head + at.fma(head, f * at.polynomial(f, "EXP2_NEAR"), rest)
