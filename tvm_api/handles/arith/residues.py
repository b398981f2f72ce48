"""Residue classes of terms, including casts, shifts and bits: those of `sym`, except that remainders have
TVM's form.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from xdsl.dialects.builtin import IntegerType

from ....dialects.dtypes import bit_width, is_unsigned, scalar_of
from ....dialects.sym.bounds import ANY, Residue
from .terms import Term

ResidueRule = Callable[[list[Residue]], Residue]


def residue_of(term: Term, leaf: Callable[[Term], Residue], low: Callable[[Term], float]) -> Residue:
    """Return a class that contains all values.

    `leaf` returns the classes of leaves, `low` the lower bounds of terms. Signed overflow is assumed not to
    happen.
    """
    if term.op == "const":
        return Residue(0, term.value) if isinstance(term.value, int) else ANY
    if term.op == "leaf":
        return leaf(term)
    name = term.value if term.op == "call" else term.op
    if name in _EXACT:
        return _wrapped(term, _EXACT[name]([residue_of(a, leaf, low) for a in term.args[-2:]]))
    by = term.args[1].number if len(term.args) == 2 else None
    if not isinstance(by, int) or name not in _BY_CONSTANT:
        return ANY
    rule, divisor, rounds_down = _BY_CONSTANT[name]
    size = divisor(by)
    if size is None:
        return ANY
    a = residue_of(term.args[0], leaf, low)
    return rule(a, size, lambda: rounds_down or low(term.args[0]) >= 0)


def _wrapped(term: Term, residue: Residue) -> Residue:
    """Return the class after wrap-around: of unsigned values, and of casts to fewer bits or another signedness."""
    dtype = scalar_of(term.dtype)
    if not isinstance(dtype, IntegerType):
        return ANY
    source = scalar_of(term.args[-1].dtype)
    if not isinstance(source, IntegerType):
        return ANY
    widened = bit_width(dtype) > bit_width(source) and is_unsigned(source)
    same_sign = is_unsigned(dtype) == is_unsigned(source) and bit_width(dtype) >= bit_width(source)
    exact = widened or (same_sign and (term.op == "cast" or not is_unsigned(dtype)))
    return residue if exact or residue.step == 0 else Residue.of(gcd(residue.step, 1 << bit_width(dtype)), residue.base)


def _quotient(a: Residue, divisor: int, rounds_down: Callable[[], bool]) -> Residue:
    quotient = a.floordiv(divisor)
    return quotient if quotient == ANY or not a.base or rounds_down() else ANY


def _remainder(a: Residue, divisor: int, rounds_down: Callable[[], bool]) -> Residue:
    """Return the class of a remainder; unlike in `sym`, (8 * k + 3) % 4 is 3 modulo 4 and not 3, as in TVM."""
    step = gcd(a.step, divisor)
    return Residue(step, a.base % step) if a.base % step == 0 or rounds_down() else ANY


def _positive(value: int) -> int | None:
    return value if value > 0 else None


def _power(value: int) -> int | None:
    return 1 << value if 0 <= value < 64 else None


def _mask(value: int) -> int | None:
    """Return 2 ** p if the bits are those below p, or None."""
    return value + 1 if value > 0 and not value & (value + 1) else None


_EXACT: dict[str, ResidueRule] = {
    "add": lambda a: a[0] + a[1],
    "sub": lambda a: a[0] + a[1] * Residue(0, -1),
    "mul": lambda a: a[0] * a[1],
    "cast": lambda a: a[0],
    **dict.fromkeys(("min", "max", "select", "if"), lambda a: a[0].join(a[1])),
}
_BY_CONSTANT: dict[
    str, tuple[Callable[[Residue, int, Callable[[], bool]], Residue], Callable[[int], int | None], bool]
] = {
    "div": (_quotient, _positive, False),
    "floordiv": (_quotient, _positive, True),
    "shift_right": (_quotient, _power, True),
    "truncmod": (_remainder, _positive, False),
    "floormod": (_remainder, _positive, True),
    "bitwise_and": (_remainder, _mask, True),
}
