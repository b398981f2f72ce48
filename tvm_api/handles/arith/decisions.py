"""Decisions by bounds and residues alone: the operand that is a minimum, or the value of a comparison."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf
from typing import Any

from ....dialects.sym.bounds import Interval
from ....target import Target, has_scalable_vectors
from .rules import match, pattern_of
from .simplifier import Extension, Simplifier
from .terms import FALSE, TRUE, Term, build, const, expression_of, raw

_VSCALES = range(1, 17)
"""The possible values of `T.vscale()` on a processor with SVE, whose vectors have 128 to 2048 bits."""


def _with_vscale(term: Term, number: int) -> Term:
    """Replace `T.vscale()` in a term by a number."""
    if term.op == "call" and term.value == "vscale":
        return const(number, term.dtype)
    args = [_with_vscale(a, number) for a in term.args]
    return raw(term.op, *args, dtype=term.dtype, value=term.value) if args else term


def counts_lanes(term: Term) -> bool:
    """Return whether a term contains `T.vscale()`."""
    return term.op == "call" and term.value == "vscale" or any(map(counts_lanes, term.args))


_PRODUCT_BELOW_SUM: dict[bool, tuple[Any, ...]] = {
    scaled: tuple(pattern_of(text) for text in ("x * y * c1" if scaled else "x * y", "(x + y) * c2", "(y + x) * c2"))
    for scaled in (False, True)
}


def _min(s: Simplifier, a: Term, b: Term) -> Term | None:
    low, high = _difference(s, a, b)
    return a if high <= 0 else b if low >= 0 else None


def _max(s: Simplifier, a: Term, b: Term) -> Term | None:
    low, high = _difference(s, a, b)
    return a if low >= 0 else b if high <= 0 else None


def _difference(s: Simplifier, a: Term, b: Term) -> tuple[float, float]:
    """Return the bounds of a - b; for `T.vscale()`, which is unbounded, those of the simplified difference."""
    if not counts_lanes(a) and not counts_lanes(b):
        return s.low(a) - s.high(b), s.high(a) - s.low(b)
    difference = s.simplified(build("sub", a, b))
    low, high = _scaled_bounds(s, difference)
    if not (low < 0 < high and has_scalable_vectors(Target.current())):
        return low, high
    bounds = [s.bounds(s.simplified(_with_vscale(difference, k))) for k in _VSCALES]
    return min(least for least, _ in bounds), max(most for _, most in bounds)


def _scaled_bounds(s: Simplifier, term: Term) -> Interval:
    """Return the bounds of a product, which has the sign of one factor if the other one is positive."""
    low, high = s.bounds(term)
    for factor, scale in (term.args, term.args[::-1]) if term.op == "mul" else ():
        if s.low(scale) > 0:
            least, most = _scaled_bounds(s, factor)
            low, high = (max(low, 0) if least >= 0 else low), (min(high, 0) if most <= 0 else high)
    return Interval(low, high)


def _less(s: Simplifier, a: Term, b: Term) -> Term | None:
    low, high = s.bounds(s.simplified(build("sub", a, b)))
    if high < 0 or _product_is_below_sum(s, a, b):
        return TRUE
    return FALSE if low >= 0 else None


def _product_is_below_sum(s: Simplifier, a: Term, b: Term) -> bool:
    """Prove x * y * c1 < (x + y) * c2 for positive x and y: c1 < c2 / x + c2 / y, minimal at the maxima of x and y."""
    if Extension.ComparisonOfProductAndSum not in s.analyzer.enabled_extensions:
        return False
    binding: dict[str, Term] = {}
    pattern = _PRODUCT_BELOW_SUM[a.op == "mul" and a.args[1].op == "const"]
    if not match(pattern[0], a, binding) or not any(match(p, b, dict(binding)) for p in pattern[1:]):
        return False
    c2, c1 = b.args[1].value, binding["c1"].value if "c1" in binding else 1
    sides = [binding["x"], binding["y"]]
    if c1 <= 0 or c2 <= 0 or any(s.low(side) <= 0 for side in sides):
        return False
    return sum((Fraction(c2, int(high)) for high in map(s.high, sides) if high != inf), Fraction()) > c1


def _equal(s: Simplifier, a: Term, b: Term) -> Term | None:
    difference = s.simplified(build("sub", a, b))
    low, high = s.bounds(difference)
    if low == high == 0:
        return TRUE
    if low > 0 or high < 0:
        return FALSE
    residue = s.residue(difference)
    return FALSE if (residue.base % residue.step if residue.step else residue.base) else None


def _quotient_of_smaller(s: Simplifier, a: Term, b: Term) -> Term | None:
    """Return 0 // b if 0 <= a < b, or None."""
    return const(0, a.dtype) if _is_below(s, a, b) else None


def _rest(s: Simplifier, a: Term, b: Term) -> Term | None:
    if _is_below(s, a, b):
        return a
    if b.op == "const" and b.value > 0:
        residue = s.residue(a)
        if residue.step % b.value == 0:
            return const(residue.base % b.value, a.dtype)
    return None


def _truncated_rest(s: Simplifier, a: Term, b: Term) -> Term | None:
    return _rest(s, a, b) if s.low(a) >= 0 else None


def _is_below(s: Simplifier, a: Term, b: Term) -> bool:
    """Return whether 0 <= a < b; terms with `T.vscale()`, which is unbounded, are compared symbolically."""
    if s.low(a) < 0:
        return False
    if s.high(a) < s.low(b):
        return True
    return counts_lanes(b) and s.analyzer.can_prove(expression_of(raw("lt", a, b)))


BY_BOUNDS: dict[str, Callable[[Simplifier, Term, Term], Term | None]] = {
    "min": _min,
    "max": _max,
    "lt": _less,
    "eq": _equal,
    "floordiv": _quotient_of_smaller,
    "div": _quotient_of_smaller,
    "floormod": _rest,
    "truncmod": _truncated_rest,
}
"""The result of a binary operation decided by bounds, or None, by operation."""
