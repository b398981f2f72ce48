"""The simplification rules of the analyzer.

Each rule is a function of the analyzer and an expression whose parts are already simplified; it returns an equal
expression, or None if it does not apply. `RULES` has them by the kind of the operation (`+` for sums), in the order in
which they are tried. After a rule applies, all rules are tried on its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import gcd, inf

from .bounds import floor
from .expr import Const, Op, Product, Sum, SymExpr, floordiv, floormod, i1, mul, offset_of, product, sum_of, terms_of
from .facts import Knowing
from .operations import COMPARISONS, DIVISIONS, NEGATED
from .operators import OPS, logical_not

_ROUNDS = 8
"""Maximum number of rules applied to the root of one expression."""
_SIDES = 8
"""Maximum number of operands of nested minima, or maxima, that are compared with each other."""
_CONDITIONS = 2
"""Maximum nesting of conditions under which an expression is simplified."""


SimplifyRule = Callable[[Knowing, SymExpr], SymExpr | None]


def simplified(known: Knowing, e: SymExpr) -> SymExpr:
    """Return the expression with simplified parts, after applying the rules until none applies."""
    for _ in range(_ROUNDS):
        e = _with_simple_parts(known, e)
        if e.dtype == i1:
            truth = known.facts.truths.get(e)
            if truth is not None:
                return Const(int(truth), i1)
        new = _step(known, e)
        if new is None or new == e:
            return e
        e = new
    return e


def _step(known: Knowing, e: SymExpr) -> SymExpr | None:
    for rule in RULES.get("+" if isinstance(e, Sum) else e.kind if isinstance(e, Op) else "", ()):
        new = rule(known, e)
        if new is not None:
            return new
    return None


def _with_simple_parts(known: Knowing, e: SymExpr) -> SymExpr:
    if isinstance(e, Op) and e.kind in _CONTEXTUAL:
        return _CONTEXTUAL[e.kind](known, e)
    children = e.children()
    parts = [known.simplify(c) for c in children]
    if all(p is c for p, c in zip(parts, children, strict=True)):
        return e
    if isinstance(e, Sum):
        return sum_of([(p, c) for p, (_, c) in zip(parts, e.terms, strict=True)], e.offset, e.dtype)
    if isinstance(e, Product):
        return product(parts, e.dtype)
    undefined = isinstance(e, Op) and e.kind in DIVISIONS and parts[1].constant == 0
    return OPS[e.kind](*parts) if isinstance(e, Op) and not undefined else e


# Conditions: operands that are evaluated under a condition are simplified assuming it


def _simple_under(known: Knowing, condition: SymExpr, e: SymExpr) -> SymExpr:
    if condition.constant is not None or not e.children() or known.depth >= _CONDITIONS:
        return known.simplify(e)
    with known.constraint_scope(condition):
        return known.simplify(e)


def _select_parts(known: Knowing, e: Op) -> SymExpr:
    """select(i < 4, i // 4, b) -> select(i < 4, 0, b)"""
    condition = known.simplify(e.args[0])
    if condition.constant is not None:
        return known.simplify(e.args[1] if condition.constant else e.args[2])
    sides = (_simple_under(known, condition, e.args[1]), _simple_under(known, logical_not(condition), e.args[2]))
    return OPS["select"](condition, *sides)


def _connected(known: Knowing, e: Op) -> SymExpr:
    """i < 4 and i < 8 -> i < 4;  i < 4 or i >= 2 -> true"""
    first, second = (known.simplify(a) for a in e.args)
    if first.constant is None and second.constant is None:
        second = _simple_under(known, first if e.kind == "and" else logical_not(first), second)
    if first.constant is None and second.constant is None:
        first = _simple_under(known, second if e.kind == "and" else logical_not(second), first)
    return OPS[e.kind](first, second)


_CONTEXTUAL: dict[str, Callable[[Knowing, Op], SymExpr]] = {
    "select": _select_parts,
    "and": _connected,
    "or": _connected,
}


def _decided(known: Knowing, e: SymExpr) -> SymExpr | None:
    """i < 8 -> true  (i up to 7)"""
    truth = known.decide(e) if isinstance(e, Op) else None
    return None if truth is None else Const(int(truth), i1)


def _negation(_known: Knowing, e: SymExpr) -> SymExpr | None:
    """not (a < b) -> a >= b"""
    inner = e.children()[0]
    if not isinstance(inner, Op):
        return None
    if inner.kind in NEGATED:
        return OPS[NEGATED[inner.kind]](*inner.args)
    dual = {"and": "or", "or": "and"}.get(inner.kind)
    return None if dual is None else OPS[dual](*(logical_not(a) for a in inner.args))


# Sums


def _point(known: Knowing, e: SymExpr) -> SymExpr | None:
    """n - n // 8 * 8 - n % 8 -> 0, and whatever else has one value"""
    if not any(isinstance(t, Op) for t, _ in terms_of(e)):
        return None
    value = known.bounds(e).point
    return None if value is None else Const(value, e.dtype)


def _rest(e: SymExpr, *without: SymExpr) -> list[tuple[SymExpr, int]]:
    return [(t, c) for t, c in terms_of(e) if t not in without]


def _operations(e: SymExpr, *kinds: str) -> Iterator[tuple[Op, int]]:
    for t, c in terms_of(e):
        if isinstance(t, Op) and t.kind in kinds:
            yield t, c


def _without_remainder(_known: Knowing, e: SymExpr) -> SymExpr | None:
    """x - x % d -> x // d * d"""
    factors = dict(terms_of(e))
    for term, factor in _operations(e, "floormod"):
        x, by = term.args
        d = by.constant
        if d is None or any(factors.get(t) != -factor * c for t, c in terms_of(x)):
            continue
        return sum_of([*_rest(e, term), (x, factor), (floordiv(x, by), -factor * d)], offset_of(e), e.dtype)
    return None


def _joined_digits(_known: Knowing, e: SymExpr) -> SymExpr | None:
    """x // 4 % 2 * 4 + x % 4 -> x % 8;  x // 8 * 8 + x // 4 % 2 * 4 -> x // 4 * 4"""
    factors = dict(terms_of(e))
    for term, factor in _operations(e, "floormod"):
        x, by = term.args
        d = by.constant
        if d is None or d <= 0:
            continue
        above = floordiv(x, d)
        if factors.get(above) == factor * d:
            return sum_of([*_rest(e, term, above), (x, factor)], offset_of(e), e.dtype)
        for other, c in _operations(e, "floormod"):
            size = other.args[1].constant
            if size and size > 0 and c == factor * d and other.args[0] == above:
                joined = floormod(x, size * d)
                return sum_of([*_rest(e, term, other), (joined, factor)], offset_of(e), e.dtype)
    return None


def _joined_again(_known: Knowing, e: SymExpr) -> SymExpr | None:
    """(x + y * 4) // 4 * 4 + x % 4 -> x + y * 4: remainders are written without multiples of their divisor."""
    for term, factor in _operations(e, "floormod"):
        low, d = term.args[0], term.args[1].constant
        if d is None or d <= 0:
            continue
        for above, c in _operations(e, "floordiv"):
            x, by = above.args
            if by.constant == d and c == factor * d and _same_remainder(x, low, d):
                return sum_of([*_rest(e, term, above), (x, factor)], offset_of(e), e.dtype)
    return None


def _same_remainder(x: SymExpr, y: SymExpr, divisor: int) -> bool:
    difference = x - y
    return offset_of(difference) % divisor == 0 and all(c % divisor == 0 for _, c in terms_of(difference))


def _difference_of_choices(_known: Knowing, e: SymExpr) -> SymExpr | None:
    """min(x + c, y + c) - min(y, x) -> c"""
    choices = list(_operations(e, "min", "max"))
    if len(choices) > _SIDES:
        return None
    for more, factor in choices:
        for less, other in choices:
            if factor != -other or more.kind != less.kind:
                continue
            (a, b), sides = more.args, less.args
            for x, y in (sides, sides[::-1]):
                distance = (a - x).constant
                if distance is not None and (b - y).constant == distance:
                    return sum_of(_rest(e, more, less), offset_of(e) + distance * factor, e.dtype)
    return None


def _difference_of_quotients(_known: Knowing, e: SymExpr) -> SymExpr | None:
    """(x + c) // d - x // d -> (x % d + c) // d"""
    quotients = [(t, c) for t, c in _operations(e, "floordiv") if t.args[1].constant]
    if len(quotients) > _SIDES:
        return None
    for more, factor in quotients:
        for less, other in quotients:
            if factor != -other or factor < 0 or more.args[1] != less.args[1]:
                continue
            by, distance = more.args[1], (more.args[0] - less.args[0]).constant
            if distance is None:
                continue
            (base, step, sign) = (less, distance, factor) if distance > 0 else (more, -distance, -factor)
            joined = floordiv(floormod(base.args[0], by) + step, by)
            return sum_of([*_rest(e, more, less), (joined, sign)], offset_of(e), e.dtype)
    return None


def _into_choice(_known: Knowing, e: SymExpr) -> SymExpr | None:
    """min(n, i * 8 + 8) - i * 8 -> min(n - i * 8, 8)"""
    factors = dict(terms_of(e))
    for term, factor in _operations(e, "min", "max"):
        inside = {t for a in term.args for t, c in terms_of(a) if factors.get(t) == -factor * c}
        if not inside:
            continue
        moved = [(t, c) for t, c in terms_of(e) if t in inside]
        sides = [sum_of([(a, factor), *moved], 0, e.dtype) for a in term.args]
        kind = term.kind if factor > 0 else {"min": "max", "max": "min"}[term.kind]
        return sum_of([*_rest(e, term, *inside), (OPS[kind](*sides), 1)], offset_of(e), e.dtype)
    return None


# Divisions


def _same_quotient(known: Knowing, e: SymExpr) -> SymExpr | None:
    """x // d -> k and x % d -> x - k * d where k * d <= x < (k + 1) * d"""
    assert isinstance(e, Op)
    x, by = e.args
    d, dividend = by.constant, known.bounds(x)
    if d is not None:
        if d <= 0 or dividend.low == -inf or dividend.high == inf or dividend.low > dividend.high:
            return None
        k = floor(dividend.low, d)
        if k != floor(dividend.high, d):
            return None
        return Const(int(k), e.dtype) if e.kind == "floordiv" else x - int(k) * d
    if dividend.low < 0 or known.bounds(by).low < 0 or known.bounds(x - by).high >= 0:
        return None
    return Const(0, e.dtype) if e.kind == "floordiv" else x


def _known_remainder(known: Knowing, e: SymExpr) -> SymExpr | None:
    """x % d -> r where x is r modulo a multiple of d"""
    assert isinstance(e, Op)
    d = e.args[1].constant
    if d is None or d <= 0:
        return None
    residue = known.residue(e.args[0])
    return Const(residue.base % d, e.dtype) if residue.step % d == 0 else None


def _common_factor(known: Knowing, e: SymExpr) -> SymExpr | None:
    """(i * 8 + j) // 32 -> i // 4,  (i * 8 + j) % 32 -> i % 4 * 8 + j  where 0 <= j < 8"""
    assert isinstance(e, Op)
    x, d = e.args[0], e.args[1].constant
    if d is None or d <= 0 or not isinstance(x, Sum):
        return None
    for g in sorted({gcd(c, d) for _, c in x.terms} - {1}, reverse=True):
        coarse = sum_of([(t, c // g) for t, c in x.terms if c % g == 0], x.offset // g, x.dtype)
        fine = sum_of([(t, c) for t, c in x.terms if c % g], x.offset % g, x.dtype)
        around = known.bounds(fine)
        if around.low == -inf or around.high == inf or floor(around.low, g) != floor(around.high, g):
            continue
        k = int(floor(around.low, g))
        coarse = coarse + k
        return floordiv(coarse, d // g) if e.kind == "floordiv" else floormod(coarse, d // g) * g + (fine - k * g)
    return None


def _small_rest(known: Knowing, e: SymExpr) -> SymExpr | None:
    """i * 45 // 2 -> i * 22,  i * 45 % 2 -> i  where 0 <= i < 2"""
    assert isinstance(e, Op)
    x, d = e.args[0], e.args[1].constant
    if d is None or d <= 0:
        return None
    quotient = sum_of([(t, c // d) for t, c in terms_of(x) if c >= d], 0, x.dtype)
    if quotient.constant == 0:
        return None
    rest = x - quotient * d
    around = known.bounds(rest)
    if around.low == -inf or around.high == inf or floor(around.low, d) != floor(around.high, d):
        return None
    k = int(floor(around.low, d))
    return quotient + k if e.kind == "floordiv" else rest - k * d


def _multiples_of_symbol(_known: Knowing, e: SymExpr) -> SymExpr | None:
    """(i * n + j) // n -> i + j // n,  (i * n + j) % n -> j % n"""
    assert isinstance(e, Op)
    x, by = e.args
    if by.constant is not None or isinstance(by, Sum):
        return None
    atoms = by.atoms if isinstance(by, Product) else (by,)
    quotients: list[tuple[SymExpr, int]] = []
    for term, c in terms_of(x):
        left = list(term.atoms) if isinstance(term, Product) else [term]
        if all(a in left for a in atoms):
            for a in atoms:
                if a in left:
                    left.remove(a)
            if mul(product(left, x.dtype), by) == term:
                quotients.append((product(left, x.dtype), c))
    if not quotients:
        return None
    quotient = sum_of(quotients, 0, x.dtype)
    rest = x - mul(quotient, by)
    return quotient + floordiv(rest, by) if e.kind == "floordiv" else floormod(rest, by)


def _truncated_point(known: Knowing, e: SymExpr) -> SymExpr | None:
    """truncdiv(x, d) -> 0 and truncmod(x, d) -> x where 0 <= x < d"""
    assert isinstance(e, Op)
    x, by = e.args
    if known.bounds(x).low < 0 or known.bounds(by).low < 0 or known.bounds(x - by).high >= 0:
        return None
    return Const(0, e.dtype) if e.kind == "truncdiv" else x


# Minima and maxima


def sides_of(e: SymExpr, kind: str) -> Iterator[SymExpr]:
    """Yield the operands of nested operations of one kind."""
    if isinstance(e, Op) and e.kind == kind:
        for a in e.args:
            yield from sides_of(a, kind)
    else:
        yield e


def _dominated(known: Knowing, e: SymExpr) -> SymExpr | None:
    """min(i, i // 2, 9) -> i // 2  where 0 <= i <= 9"""
    assert isinstance(e, Op)
    sides = list(sides_of(e, e.kind))
    if len(sides) > _SIDES:
        return None
    kept: list[SymExpr] = []
    for side in sides:
        if any(_covers(known, e.kind, other, side) for other in kept):
            continue
        kept = [*(other for other in kept if not _covers(known, e.kind, side, other)), side]
    if len(kept) == len(sides):
        return None
    out = kept[0]
    for side in kept[1:]:
        out = OPS[e.kind](out, side)
    return out


def _covers(known: Knowing, kind: str, a: SymExpr, b: SymExpr) -> bool:
    """Return whether b is redundant beside a."""
    difference = known.bounds(a - b)
    return difference.high <= 0 if kind == "min" else difference.low >= 0


def _choice_of_compared(_known: Knowing, e: SymExpr) -> SymExpr | None:
    """select(a < b, a, b) -> min(a, b)"""
    condition, a, b = e.children()
    if not isinstance(condition, Op) or condition.kind not in ("lt", "le", "gt", "ge"):
        return None
    x, y = condition.args if condition.kind in ("lt", "le") else condition.args[::-1]
    return OPS["min"](a, b) if (x, y) == (a, b) else OPS["max"](a, b) if (x, y) == (b, a) else None


_DIVISION: tuple[SimplifyRule, ...] = (
    _same_quotient,
    _known_remainder,
    _common_factor,
    _small_rest,
    _multiples_of_symbol,
)
RULES: dict[str, tuple[SimplifyRule, ...]] = {
    "+": (
        _point,
        _joined_digits,
        _joined_again,
        _without_remainder,
        _difference_of_quotients,
        _difference_of_choices,
        _into_choice,
    ),
    "floordiv": (_same_quotient, _common_factor, _small_rest, _multiples_of_symbol),
    "floormod": _DIVISION,
    "truncdiv": (_truncated_point,),
    "truncmod": (_truncated_point,),
    "min": (_dominated,),
    "max": (_dominated,),
    "select": (_choice_of_compared,),
    "not": (_negation,),
    **dict.fromkeys(COMPARISONS, (_decided,)),
}
"""The rules by kind of operation."""
