"""`Analyzer.canonical_simplify`: combine sums of digits.

An integer is read as a sum of digits and a constant, `((x % upper) // lower) * scale + … + base`, with
either rounding. Quotients and remainders of such sums by constants are computed digit by digit. The rules
hold for all integers that do not overflow; a sum whose constants exceed its type is unchanged.

Source: the digits are those of Chen et al., TVM, OSDI 2018, section 4.1, as in TVM's canonical simplifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import gcd, inf

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute

from ....dialects.dtypes import bit_width
from .rewrite import RewriteSimplifier
from .terms import Term, build, const, raw

_INDEX = (i32, i64)
FLOOR, TRUNC = "floor", "trunc"
_DIVIDE = {FLOOR: "floordiv", TRUNC: "div"}
_REST = {FLOOR: "floormod", TRUNC: "truncmod"}
_MODES = {"floordiv": FLOOR, "floormod": FLOOR, "div": TRUNC, "truncmod": TRUNC}


class _OutOfRangeError(Exception):
    """A constant of a sum is out of range of the integer type."""


@dataclass(frozen=True)
class Digit:
    """`((index % upper) // lower) * scale`; `upper` None means no remainder."""

    index: Term
    lower: int = 1
    upper: int | None = None
    scale: int = 1
    mode: str = FLOOR

    @property
    def is_plain(self) -> bool:
        """True if the digit is the index itself, without division or remainder."""
        return self.lower == 1 and self.upper is None

    def agrees(self, other: Digit) -> bool:
        """Return whether both use the same rounding."""
        return self.mode == other.mode or self.is_plain or other.is_plain

    def is_like(self, other: Digit) -> bool:
        """Return whether both are the same digit except for the scale."""
        same = (self.index, self.lower, self.upper) == (other.index, other.lower, other.upper)
        return same and (self.agrees(other) if self.is_plain else self.mode == other.mode)

    def term(self, scale: int) -> Term:
        """Return the term of the digit with another scale."""
        result, dtype = self.index, self.index.dtype
        if self.upper is not None:
            result = build(_REST[self.mode], result, const(self.upper, dtype))
        if self.lower != 1:
            result = build(_DIVIDE[self.mode], result, const(self.lower, dtype))
        return result if scale == 1 else build("mul", result, const(scale, dtype))


@dataclass(frozen=True)
class Sum:
    """A sum of digits and a constant."""

    dtype: Attribute
    digits: tuple[Digit, ...] = ()
    base: int = 0

    @property
    def is_zero(self) -> bool:
        return not self.digits and self.base == 0

    def plus(self, other: Sum, times: int = 1) -> Sum:
        """Add another sum, multiplied by `times`."""
        digits = list(self.digits)
        for digit in other.digits:
            _insert(digits, replace(digit, scale=digit.scale * times))
        return self.checked(digits, self.base + other.base * times)

    def times(self, factor: int) -> Sum:
        """Multiply by a constant."""
        digits = [replace(d, scale=d.scale * factor) for d in self.digits]
        return self.checked(digits if factor else [], self.base * factor)

    def over(self, divisor: int) -> Sum:
        """Divide by a constant that divides all scales and the base."""
        return Sum(self.dtype, tuple(replace(d, scale=d.scale // divisor) for d in self.digits), self.base // divisor)

    def checked(self, digits: Iterable[Digit], base: int) -> Sum:
        """Return a sum of the same type. Raises `_OutOfRangeError` if a constant is out of range."""
        kept = tuple(d for d in digits if d.scale != 0)
        limit = 1 << (bit_width(self.dtype) - 1)
        if not all(-limit <= n < limit for n in (base, *(d.scale for d in kept))):
            raise _OutOfRangeError
        return Sum(self.dtype, kept, base)

    def parts(self, divisor: int) -> tuple[Sum, Sum]:
        """Split the sum into the part divisible by a constant and the remaining part."""
        divided = [d for d in self.digits if d.scale % divisor == 0]
        rest = [d for d in self.digits if d.scale % divisor != 0]
        bases = (self.base, 0) if self.base % divisor == 0 else (0, self.base)
        return Sum(self.dtype, tuple(divided), bases[0]), Sum(self.dtype, tuple(rest), bases[1])

    def term(self, is_digit: bool = False) -> Term:
        """Return the term of the sum, with positive summands before negative ones: `0 - x`, or `x * -1` if it is the
        digit of a product or a quotient.
        """
        digits = sorted(_joined(self.digits), key=_rank)
        if is_digit and len(digits) == 1 and self.base == 0:
            return digits[0].term(digits[0].scale)
        result = const(0, self.dtype)
        for digit in (d for d in digits if d.scale > 0):
            result = build("add", result, digit.term(digit.scale))
        least = self.base == -1 << (bit_width(self.dtype) - 1)  # has no positive counterpart
        if self.base > 0 or least:
            result = build("add", result, const(self.base, self.dtype))
        for digit in (d for d in digits if d.scale < 0):
            result = build("sub", result, digit.term(-digit.scale))
        return build("sub", result, const(-self.base, self.dtype)) if self.base < 0 and not least else result


def _rank(digit: Digit) -> tuple[float, ...]:
    """Return TVM's sort key of a digit: by scale, then coarser ones first."""
    upper = inf if digit.upper is None else digit.upper
    return (-digit.scale, -digit.lower, -upper, digit.mode == TRUNC)


def _insert(digits: list[Digit], new: Digit) -> None:
    """Add a digit to an equal one, or insert it among those of its index, coarser ones first."""
    at = next((k for k, d in enumerate(digits) if d.index is new.index and d.agrees(new)), None)
    if at is None:
        digits.append(new)
        return
    for k in range(at, len(digits)):
        if digits[k].index is not new.index or digits[k].lower < new.lower:
            digits.insert(k, new)
            return
        if digits[k].is_like(new):
            mode = new.mode if digits[k].is_plain else digits[k].mode
            digits[k] = replace(digits[k], scale=digits[k].scale + new.scale, mode=mode)
            return
    digits.append(new)


def _joined(digits: Sequence[Digit]) -> list[Digit]:
    """Merge adjacent digits: `(x // 6) * 6 + ((x % 6) // 2) * 2` -> `(x // 2) * 2`."""
    out: list[Digit] = []
    for digit in digits:
        current = digit
        while (k := next((k for k, d in enumerate(out) if _follow(d, current)), None)) is not None:
            before = out.pop(k)
            current = replace(current, upper=before.upper, mode=_mode(before, current))
        out.append(current)
    return out


def _mode(a: Digit, b: Digit) -> str:
    return b.mode if a.is_plain else a.mode


def _follow(coarse: Digit, fine: Digit) -> bool:
    """Return whether two digits can be merged: the coarse one begins where the fine one ends."""
    if coarse.index is not fine.index or not coarse.agrees(fine) or fine.upper != coarse.lower or fine.lower < 1:
        return False
    if coarse.upper is not None and coarse.upper % coarse.lower != 0:
        return False  # the remainder cuts a coarse digit short
    return coarse.lower % fine.lower == 0 and coarse.scale == fine.scale * (coarse.lower // fine.lower)


class CanonicalSimplifier(RewriteSimplifier):
    """Simplifies one expression by sums of digits, and other expressions by the rewrite rules."""

    def _visit(self, term: Term) -> Term:
        if term.dtype in _INDEX and term.op in _SUMS:
            try:
                return _SUMS[term.op](self, term).term(term.op not in ("add", "sub"))
            except _OutOfRangeError:
                return super()._visit(term)
        if term.op in _ORDERS and term.args[0].dtype in _INDEX:
            return self._order(term)
        return super()._visit(term)

    def sum_of(self, term: Term) -> Sum:
        """Return a term in normal form as a sum."""
        zero = Sum(term.dtype)
        if term.op == "const":
            return zero.checked((), int(term.value))
        if term.op in ("add", "sub"):
            a, b = term.args
            return self.sum_of(a).plus(self.sum_of(b), 1 if term.op == "add" else -1)
        if term.op == "mul" and term.args[1].op == "const":
            return self.sum_of(term.args[0]).times(int(term.args[1].value))
        return Sum(term.dtype, (self._digit(term),))

    def _digit(self, term: Term) -> Digit:
        """Return a quotient or remainder by constants as a digit of its operand."""
        mode, index, lower, upper = None, term, 1, None
        if index.op in ("floordiv", "div") and _is_positive(index.args[1]):
            mode, lower, index = _MODES[index.op], int(index.args[1].value), index.args[0]
        if index.op in ("floormod", "truncmod") and index.args[1].op == "const" and mode in (None, _MODES[index.op]):
            mode, upper, index = _MODES[index.op], int(index.args[1].value), index.args[0]
        if mode is None:
            return Digit(term)
        return Digit(index, lower, upper, 1, mode)

    # Operations on sums

    def visit_sum(self, term: Term) -> Sum:
        a, b = (self.sum_of(self.simplified(x)) for x in term.args)
        return a.plus(b, 1 if term.op == "add" else -1)

    def visit_product(self, term: Term) -> Sum:
        a, b = (self.simplified(x) for x in term.args)
        if a.op == "const":
            a, b = b, a
        if b.op == "const":
            return self.sum_of(a).times(int(b.value))
        factors, scale = _factors(a, b)
        return Sum(term.dtype, (Digit(_product(factors, term.dtype)),)).times(scale)

    def visit_quotient(self, term: Term) -> Sum:
        a, b = (self.simplified(x) for x in term.args)
        if not _is_positive(b):
            return self._of_products(term.op, a, b)
        total, divisor = self.sum_of(a), int(b.value)
        if self._lies_below(a, divisor):
            return Sum(term.dtype)
        divided, rest = total.parts(divisor)
        if term.op == "div" and not rest.is_zero and not self._are_natural(divided, rest):
            return self._one_quotient(total, divisor, TRUNC)
        if rest.is_zero:
            return divided.over(divisor)
        extra = rest.term()
        if extra.op == "const":
            return replace(divided.over(divisor), base=divided.over(divisor).base + int(extra.value) // divisor)
        if self._lies_below(extra, divisor):
            return divided.over(divisor)
        return divided.over(divisor).plus(self._one_quotient(rest, divisor, _MODES[term.op]))

    def visit_rest(self, term: Term) -> Sum:
        a, b = (self.simplified(x) for x in term.args)
        if not _is_positive(b):
            return self._of_products(term.op, a, b)
        total, divisor = self.sum_of(a), int(b.value)
        if self._lies_below(a, divisor):
            return self._shorter(total, divisor) if term.op == "truncmod" else total
        divided, rest = total.parts(divisor)
        if rest.is_zero:
            return Sum(term.dtype)
        if term.op == "floormod":
            return self._floor_rest(replace(rest, base=rest.base % divisor), divisor)
        if self._are_natural(divided, rest):
            if self._lies_below(rest.term(), divisor):
                return rest
            total = rest
        return self._one_rest(self._with_less_base(total, divisor), divisor, TRUNC)

    def _floor_rest(self, rest: Sum, divisor: int) -> Sum:
        if not rest.digits:
            return rest
        return rest if self._lies_below(rest.term(), divisor) else self._one_rest(rest, divisor, FLOOR)

    def _shorter(self, total: Sum, divisor: int) -> Sum:
        """Return a sum equal to its remainder, or the remainder by digits: x % 32 - 16 -> x % 16 if it is
        non-negative.
        """
        less = self._with_less_base(total, divisor)
        remainder = total if less is total else self._one_rest(less, divisor, TRUNC)
        return remainder if remainder.base == 0 and _size(remainder.term()) < _size(total.term()) else total

    def _with_less_base(self, total: Sum, divisor: int) -> Sum:
        """Reduce the base: `x - 5` to `x - 2` has the same truncated remainder by 3, if neither is negative."""
        base = total.base - divisor * (total.base // divisor) if total.base >= 0 else -(-total.base % divisor)
        low = self.low(total.term())
        return replace(total, base=base) if low >= 0 and low - total.base + base >= 0 else total

    def _lies_below(self, term: Term, bound: int) -> bool:
        low, high = self.bounds(term)
        return low >= 0 and high < bound

    def _are_natural(self, *sums: Sum) -> bool:
        return all(self.low(s.term()) >= 0 for s in sums)

    # Quotients and remainders of one digit

    def _single(self, total: Sum, mode: str) -> Digit:
        """Return a sum as one digit with the given rounding: the digit itself, or one with the sum as index."""
        if len(total.digits) == 1 and total.base == 0:
            digit = total.digits[0]
            if digit.mode == mode or digit.is_plain:
                return replace(digit, mode=mode)
        return Digit(total.term(), mode=mode)

    def _one_quotient(self, total: Sum, divisor: int, mode: str) -> Sum:
        digit = self._single(total, mode)
        if digit.scale % divisor == 0:
            return Sum(total.dtype, (replace(digit, scale=digit.scale // divisor),))
        if digit.scale > 0 and divisor % digit.scale == 0:
            step = digit.lower * (divisor // digit.scale)
            if digit.upper is None or digit.upper % step == 0:
                return Sum(total.dtype, (replace(digit, lower=step, scale=1),))
            if 0 < digit.upper <= step:
                return Sum(total.dtype)
            inner = build(_REST[mode], digit.index, const(digit.upper, total.dtype))
            return Sum(total.dtype, (Digit(inner, step, None, 1, mode),))
        return Sum(total.dtype, (Digit(Sum(total.dtype, (digit,)).term(), divisor, None, 1, mode),))

    def _one_rest(self, total: Sum, divisor: int, mode: str) -> Sum:
        digit = self._single(total, mode)
        if digit.scale % divisor == 0:
            return Sum(total.dtype)
        upper = digit.lower * (divisor // digit.scale)
        if divisor % digit.scale == 0 and digit.upper is None and (digit.scale > 0 or digit.lower == 1):
            return Sum(total.dtype, (replace(digit, upper=upper),))
        if divisor % digit.scale == 0 and digit.scale > 0 and digit.upper is not None and digit.upper > 0:
            if digit.upper % upper == 0:
                return self._smaller_rest(digit, upper, total.dtype)
            if upper % digit.upper == 0:
                return Sum(total.dtype, (digit,))
        return Sum(total.dtype, (Digit(Sum(total.dtype, (digit,)).term(), 1, divisor, 1, mode),))

    def _smaller_rest(self, digit: Digit, upper: int, dtype: Attribute) -> Sum:
        """Reduce the remainder of a digit, which may simplify the index."""
        index = self.sum_of(self.simplified(build(_REST[digit.mode], digit.index, const(upper, dtype))))
        if digit.lower != 1:
            index = self._one_quotient(index, digit.lower, digit.mode)
        return index.times(digit.scale)

    # Products

    def _of_products(self, op: str, a: Term, b: Term) -> Sum:
        """Simplify a quotient or remainder by a non-constant divisor by cancelling common factors."""
        dtype, rest = a.dtype, op in ("floormod", "truncmod")
        if b.number == 0:
            return Sum(dtype, (Digit(self.operation(op, a, b)),))
        above, times = _factors(a)
        below, by = _factors(b)
        common: list[Term] = []
        for factor in list(below):
            if factor in above:
                above.remove(factor)
                below.remove(factor)
                common.append(factor)
        shared = gcd(times, by)
        if not common and shared == 1:
            return Sum(dtype, (Digit(self.operation(op, a, b)),))
        top = build("mul", _product(above, dtype), const(times // shared, dtype))
        bottom = build("mul", _product(below, dtype), const(by // shared, dtype))
        reduced = self.simplified(build(op, top, bottom))
        if not rest or reduced.number == 0:
            return self.sum_of(reduced)
        common_factor = build("mul", _product(common, dtype), const(shared, dtype))
        return Sum(dtype, (Digit(build("mul", reduced, common_factor)),))

    # Casts and comparisons

    def visit_conversion(self, term: Term) -> Sum:
        """Convert each part of a sum, if no partial sum exceeds the narrower type."""
        (operand,) = term.args
        inner = self.simplified(operand)
        if inner.dtype not in _INDEX:
            return self.sum_of(super()._visit(raw("cast", inner, dtype=term.dtype)))
        total = self.sum_of(inner)
        if bit_width(term.dtype) < bit_width(inner.dtype) and not self._fits(total, term.dtype):
            return Sum(term.dtype, (Digit(raw("cast", inner, dtype=term.dtype)),))
        result = Sum(term.dtype).checked((), total.base)
        for digit in total.digits:
            value = replace(digit, index=self._converted(digit, term.dtype))
            result = result.plus(Sum(term.dtype, (value,)))
        return result

    def _converted(self, digit: Digit, dtype: Attribute) -> Term:
        index = digit.index
        return index if index.dtype == dtype else raw("cast", index, dtype=dtype)

    def _fits(self, total: Sum, dtype: Attribute) -> bool:
        limit = 1 << (bit_width(dtype) - 1)
        low = high = 0.0
        for value in (const(total.base, total.dtype), *(d.index for d in total.digits), *map(_scaled, total.digits)):
            least, most = self.bounds(value)
            if least < -limit or most >= limit:
                return False
        for digit in total.digits:
            least, most = self.bounds(_scaled(digit))
            low, high = low + least, high + most
            if min(low, low + total.base) < -limit or max(high, high + total.base) >= limit:
                return False
        return True

    def _order(self, term: Term) -> Term:
        """Return a comparison of sums with the constant on one side, without irrelevant parts."""
        a, b = (self.simplified(x) for x in term.args)
        with suppress(_OutOfRangeError):
            a, b = self._sides(term.op, self.sum_of(a), self.sum_of(b))
        result = RewriteSimplifier(self.analyzer).simplified(raw(term.op, a, b, dtype=i1))
        return raw(result.op, *map(self.simplified, result.args), dtype=i1) if result.op in _ORDERS else result

    def _sides(self, op: str, a: Sum, b: Sum) -> tuple[Term, Term]:
        while op == "lt" and (smaller := self._without_rest(a.plus(b, -1))) is not None:
            a, b = smaller, Sum(a.dtype)
        if b.digits:
            return a.term(), b.term()
        sign = -1 if op in ("eq", "ne") and a.digits and a.digits[0].scale < 0 else 1
        total = Sum(a.dtype).plus(a, sign)
        return replace(total, base=0).term(), Sum(a.dtype).checked((), b.base * sign - total.base).term()

    def _without_rest(self, difference: Sum) -> Sum | None:
        """Simplify `x * 8 + y - 16 < 0` to `x - 2 < 0` if 0 <= y < 8, or return None if nothing can be dropped."""
        if not difference.digits:
            return None
        quotient = difference.over(gcd(difference.base, *(d.scale for d in difference.digits)))
        step = gcd(quotient.base, *(d.scale for d in quotient.digits if abs(d.scale) > 1))
        divided, rest = quotient.parts(max(step, 1))
        if rest.digits and self._lies_below(rest.term(), step):
            return divided.over(step)
        return None if quotient == difference else quotient


def _size(term: Term) -> int:
    """Return the number of operations, constants and variables in a term."""
    return 1 + sum(map(_size, term.args))


def _scaled(digit: Digit) -> Term:
    return digit.term(digit.scale)


def _is_positive(term: Term) -> bool:
    return term.op == "const" and term.value > 0


def _factors(*terms: Term) -> tuple[list[Term], int]:
    """Return the factors of products in order, and the product of the constants."""
    factors: list[Term] = []
    scale, pending = 1, list(reversed(terms))
    while pending:
        term = pending.pop()
        if term.op == "mul":
            pending += reversed(term.args)
        elif term.op == "const":
            scale *= int(term.value)
        else:
            factors.append(term)
    return factors, scale


def _product(factors: Sequence[Term], dtype: Attribute) -> Term:
    result = const(1, dtype)
    for factor in factors:
        result = build("mul", result, factor)
    return result


_SUMS = {
    "add": CanonicalSimplifier.visit_sum,
    "sub": CanonicalSimplifier.visit_sum,
    "mul": CanonicalSimplifier.visit_product,
    "div": CanonicalSimplifier.visit_quotient,
    "floordiv": CanonicalSimplifier.visit_quotient,
    "truncmod": CanonicalSimplifier.visit_rest,
    "floormod": CanonicalSimplifier.visit_rest,
    "cast": CanonicalSimplifier.visit_conversion,
}
_ORDERS = frozenset({"lt", "le", "eq", "ne", "gt", "ge"})
