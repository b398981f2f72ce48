"""`Analyzer.rewrite_simplify`: expressions brought to TVM's normal forms by the rules of `rewrite_rules`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from enum import IntFlag
from fractions import Fraction
from math import inf
from typing import Any, Protocol

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute

from ....diagnostics import TiraxError
from ....dialects import tir
from ....dialects.dtypes import bit_width, is_float, is_scalable, lanes_of, scalar_of
from ....dialects.sym.bounds import Interval, Residue
from ....dialects.sym.operations import COMPARISONS
from ....handles.tir.prim_expr import PrimExpr
from ....target import Target, has_scalable_vectors
from .junctions import conjunction
from .rules import OverflowingRuleError, RewriteRule, dtype_within, holds, instance, match, matching, pattern_of
from .terms import DIVISIONS, FALSE, TRUE, Term, build, const, expression_of, mentions, never_fails, raw, term_of

_INDEX = (i32, i64)
_LIMIT = 10_000
_GREATEST = (1 << 63) - 1


class Extension(IntFlag):
    """What `rewrite_simplify` does beyond its rules, by TVM's names."""

    NoExtensions = 0
    TransitivelyProveInequalities = 1
    ConvertBooleanToAndOfOrs = 2
    ApplyConstraintsToBooleanBranches = 4
    ComparisonOfProductAndSum = 8


class Knowledge(Protocol):
    """What an analyzer knows."""

    enabled_extensions: Extension

    def bounds(self, expr: PrimExpr) -> Interval: ...

    def residue(self, expr: PrimExpr) -> Residue: ...

    def is_constrained(self, expr: Any) -> bool:
        """Whether a condition was said to hold of one of the variables of an expression, beyond their ranges."""
        ...

    def can_prove(self, expr: Any) -> bool:
        """Whether a condition holds for certain."""
        ...

    def bound_value(self, var: Any) -> Any:
        """What a variable is bound to, itself where it is bound to nothing."""
        ...

    def constraint_scope(self, constraint: Any) -> Any:
        """A `with` statement inside of which a condition holds."""
        ...


class RewriteSimplifier:
    """Simplifies one expression; what `analyzer` knows proves the conditions of rules."""

    def __init__(self, analyzer: Knowledge):
        self._analyzer = analyzer
        self._known: list[dict[Term, Term]] = [{}]
        self._bounds: list[dict[Term, Interval]] = [{}]
        self._steps = 0
        self._resolving: set[Term] = set()
        self._in_junction = False
        self._questions: dict[str, Callable[..., bool]] = {
            "nonneg": lambda x: self.low(x) >= 0,
            "positive": lambda x: self.low(x) > 0,
            "divides": lambda x: self.low(x) >= 0,  # that it is not 0 is what dividing by it says
            "within": lambda x, n: self.low(x) >= 0 and self.high(x) < n.value,
            "varies": lambda x: x.op != "const",
            "same": self.same,
            "negated": lambda x, y: self.same(x, build("mul", y, const(-1, y.dtype))),
        }

    def __call__(self, expr: PrimExpr) -> PrimExpr:
        """The normal form; an expression that is nested too deeply for Python's stack is left as it is."""
        try:
            return expression_of(self.simplified(term_of(expr.ssa)))
        except RecursionError:
            return expr

    # What is known

    def bounds(self, term: Term) -> Interval:
        """The least and the greatest value of an integer, infinite where unknown, or not below 2**63 - 1."""
        known = self._bounds[-1].get(term)
        if known is None:
            low, high = self._analyzer.bounds(expression_of(term))
            known = Interval(low if low > -_GREATEST else -inf, high if high < _GREATEST else inf)
            self._bounds[-1][term] = known
        return known

    def low(self, term: Term) -> float:
        return self.bounds(term).low

    def high(self, term: Term) -> float:
        return self.bounds(term).high

    def same(self, a: Term, b: Term) -> bool:
        """Whether two integers are equal for certain."""
        return a is b or self.simplified(build("sub", a, b)).number == 0

    # Rewriting

    def simplified(self, term: Term) -> Term:
        """The normal form of a term."""
        known = self._known[-1].get(term)
        if known is not None:
            return known
        found = self._known[-1][term] = self._visit(term)
        self._known[-1].setdefault(found, found)
        return found

    def _visit(self, term: Term) -> Term:
        if term.op in ("const", "leaf"):
            return self._bound(term) if term.op == "leaf" and term.dtype in _INDEX else term
        visit = _VISITORS.get(term.op)
        if visit is not None:
            return visit(self, term)
        args = [self.simplified(a) for a in term.args]
        if term.op in ("call", "cast", "broadcast", "ramp", "load"):
            return raw(term.op, *args, dtype=term.dtype, value=term.value)
        return self._operation(term.op, *args)

    def _bound(self, leaf: Term) -> Term:
        """What a variable is bound to; itself where that is made of it again, as of `n` where `n == uint8(n)`."""
        expr = expression_of(leaf)
        value = self._analyzer.bound_value(expr)
        if value is expr or leaf in self._resolving:
            return leaf
        self._resolving.add(leaf)
        try:
            found = self.simplified(term_of(value.ssa))
        finally:
            self._resolving.discard(leaf)
        return leaf if mentions(found, leaf) else found

    def _operation(self, op: str, a: Term, b: Term) -> Term:
        """A binary operation on terms in normal form."""
        if lanes_of(a.dtype) > 1:
            return self._vectors(op, a, b)
        if op in DIVISIONS and b.number == 0 and not is_float(a.dtype):
            raise TiraxError("an expression divides by zero", found=str(expression_of(raw(op, a, b))))
        term = build(op, a, b)
        if term.op != op or term.args != (a, b):
            return term
        if op == "sub" and a is b and not is_float(a.dtype):
            return const(0, a.dtype)
        if op in COMPARISONS and a is b and not is_float(a.dtype):
            return const(op in ("eq", "le", "ge"), i1)
        if a.dtype not in _INDEX and a.dtype != i1:
            return term
        if op in _EXTREMES and (_counts_lanes(a) or _counts_lanes(b)):
            shorter = self._by_rules(term)
            if shorter is not term:
                return shorter
        decided = self._decided(op, a, b)
        return decided if decided is not None else self._by_rules(term)

    def _by_rules(self, term: Term) -> Term:
        for rule in matching(term):
            binding: dict[str, Term] = {}
            if match(rule.before, term, binding):
                with suppress(OverflowingRuleError):
                    if holds(rule, binding, self._questions):
                        found = instance(rule.after, binding, dtype_within(term))
                        return self._applied(rule, found, term)
        return term

    def _applied(self, rule: RewriteRule, found: Term, term: Term) -> Term:
        self._steps += 1
        return self.simplified(found) if rule.again and found is not term and self._steps < _LIMIT else found

    def _decided(self, op: str, a: Term, b: Term) -> Term | None:
        """What bounds alone say."""
        if a.dtype == i1:
            return None
        decide = _BY_BOUNDS.get(op)
        return decide(self, a, b) if decide is not None else None

    # Conditions

    def _negated(self, term: Term) -> Term:
        if term.op == "const":
            return FALSE if term.value else TRUE
        if term.op == "not":
            return term.args[0]
        negated = _NEGATED.get(term.op)
        if negated is None or term.op in _ORDERS and is_float(scalar_of(term.args[0].dtype)):
            if term.op in ("and", "or"):
                a, b = map(self._negated, term.args)
                return self._operation("or" if term.op == "and" else "and", a, b)
            return raw("not", term)
        op, swap = negated
        a, b = reversed(term.args) if swap else term.args
        return self._at_most(a, b) if op == "le" else raw(op, a, b)

    def _at_most(self, a: Term, b: Term) -> Term:
        """a <= b, an equation where a is at least the constant b."""
        if b.op == "const" and a.dtype in _INDEX and self.low(a) == b.value:
            return raw("eq", a, b)
        return raw("le", a, b)

    def _under(self, condition: Term, term: Term) -> Term:
        """The normal form of a term where a condition holds."""
        with self._analyzer.constraint_scope(expression_of(condition)):
            self._known.append({})
            self._bounds.append({})
            try:
                return self.simplified(term)
            finally:
                self._known.pop()
                self._bounds.pop()

    def visit_select(self, term: Term) -> Term:
        """Both sides are evaluated: one that might fail where it is not taken is not simplified for where it is."""
        condition = self.simplified(term.args[0])
        if condition.op == "const" or lanes_of(condition.dtype) > 1:
            x, y = map(self.simplified, term.args[1:])
        else:
            x, y = self._side(condition, term.args[1]), self._side(self._negated(condition), term.args[2])
        return x if x is y else build("select", condition, x, y)

    def _side(self, condition: Term, side: Term) -> Term:
        return self._under(condition, side) if never_fails(side) else self.simplified(side)

    def visit_branch(self, term: Term) -> Term:
        condition = self.simplified(term.args[0])
        if condition.op == "const":
            return self.simplified(term.args[1 if condition.value else 2])
        x, y = self._under(condition, term.args[1]), self._under(self._negated(condition), term.args[2])
        if x is y:
            return x
        if x.op == "if" and x.args[2] is y:
            both = self._operation("and", condition, x.args[0])
            return raw("if", both, x.args[1], y, dtype=term.dtype)
        return raw("if", condition, x, y, dtype=term.dtype)

    def visit_junction(self, term: Term) -> Term:
        """`and` and `or`: where that is asked for, a side is simplified for where the other one does not decide."""
        outermost = not self._in_junction and lanes_of(term.dtype) == 1
        self._in_junction = True
        try:
            found = self._junction(term)
            if outermost and Extension.ConvertBooleanToAndOfOrs in self._analyzer.enabled_extensions:
                spread = conjunction(found, self.simplified, self._under)
                return found if spread is None else spread
            return found
        finally:
            self._in_junction = not outermost

    def _junction(self, term: Term) -> Term:
        a, b = map(self.simplified, term.args)
        if Extension.ApplyConstraintsToBooleanBranches in self._analyzer.enabled_extensions:
            b = self._beside(term.op, a, b)
            a = self._beside(term.op, b, a)
        return self._operation(term.op, a, b)

    def _beside(self, op: str, side: Term, other: Term) -> Term:
        """The other side of a junction, which matters only where this one does not decide it."""
        if side.op == "const" or other.op == "const" or lanes_of(side.dtype) > 1:
            return other
        return self._under(side if op == "and" else self._negated(side), other)

    def visit_not(self, term: Term) -> Term:
        return self._negated(self.simplified(term.args[0]))

    def visit_order(self, term: Term) -> Term:
        """`>`, `<=`, `>=` and `!=` by `<` and `==`."""
        a, b = map(self.simplified, term.args)
        if is_float(scalar_of(a.dtype)):  # of NaN neither `<` nor `>=` holds
            op, swap = _MIRRORED.get(term.op, (term.op, False))
            return self._operation(op, *((b, a) if swap else (a, b)))
        op, swap, negate = _BY_LESS[term.op]
        found = self._operation(op, *((b, a) if swap else (a, b)))
        return self._narrowed(self._vector_negated(found)) if negate else found

    def _narrowed(self, term: Term) -> Term:
        """What a condition comes to by what was said of its variables: a <= b  ->  a == b where b <= a."""
        if term.op not in _NARROWER or term.args[0].dtype not in _INDEX:
            return term
        a, b = term.args
        if not self._analyzer.is_constrained(expression_of(raw("sub", a, b))):
            return term
        for fact, swap, op in _NARROWER[term.op]:
            if self._analyzer.can_prove(expression_of(raw(fact, b, a) if swap else raw(fact, a, b))):
                a, b = (b, a) if op == "eq" and a.op == "const" or op == "lt" and swap else (a, b)
                return raw(op, a, b)
        return term

    def _vector_negated(self, term: Term) -> Term:
        if term.op == "broadcast":
            return raw("broadcast", self._negated(term.args[0]), dtype=term.dtype)
        return self._negated(term)

    def visit_cast(self, term: Term) -> Term:
        x = self.simplified(term.args[0])
        if x.op == "const" and lanes_of(term.dtype) == 1:
            number = x.value
            if is_float(term.dtype) or number == number and abs(number) != inf:
                return const(number if is_float(term.dtype) or term.dtype == i1 else int(number), term.dtype)
        return x if x.dtype == term.dtype else raw("cast", x, dtype=term.dtype)

    def visit_call(self, term: Term) -> Term:
        args = [self.simplified(a) for a in term.args]
        fold = _CALLS.get(term.value)
        if fold is not None and all(a.op == "const" for a in args):
            return const(fold(*((a.value, bit_width(a.dtype)) for a in args)), term.dtype)
        return raw("call", *args, dtype=term.dtype, value=term.value)

    # Vectors

    def _vectors(self, op: str, a: Term, b: Term) -> Term:
        lanes = a.dtype
        if a.op == b.op == "broadcast":
            return _broadcast(self._operation(op, a.args[0], b.args[0]), lanes)
        if op in DIVISIONS and b.op == "broadcast" and b.args[0].number == 0 and not is_float(scalar_of(lanes)):
            raise TiraxError("an expression divides by zero", found=str(expression_of(raw(op, a, b))))
        if op in ("min", "max") and a.op == op and b.op == a.args[1].op == "broadcast":
            return raw(op, a.args[0], _broadcast(self._operation(op, a.args[1].args[0], b.args[0]), lanes))
        if b.op == "broadcast" and is_float(a.dtype) and op in ("add", "sub") and b.args[0].number == 0:
            return a
        combine = _RAMPS.get(op)
        found = combine(self, a, b, lanes) if combine is not None and not is_float(a.dtype) else None
        return found if found is not None else raw(op, a, b)

    def _sum(self, op: str, a: Term, b: Term, lanes: Attribute) -> Term | None:
        (x, s), (y, t) = _steps_of(a), _steps_of(b)
        if x is None or y is None or s is None or t is None:
            return None
        return _ramp(self._operation(op, x, y), self._operation(op, s, t), lanes)

    def _product(self, op: str, a: Term, b: Term, lanes: Attribute) -> Term | None:
        if a.op == "broadcast":
            a, b = b, a
        if a.op != "ramp" or b.op != "broadcast":
            return None
        base, step = (self._operation("mul", part, b.args[0]) for part in a.args)
        return _ramp(base, step, lanes)

    def _quotient(self, op: str, a: Term, b: Term, lanes: Attribute) -> Term | None:
        """Lanes of a ramp divided by one constant, where they step evenly or have one quotient."""
        known = self._divided(op, a, b)
        if known is None:
            return None
        base, step, divisor, (coeff, rest) = known
        name = "floordiv" if op == "floordiv" else "div"
        if step % divisor == 0:
            return _ramp(self._operation(name, base, b.args[0]), const(step // divisor, base.dtype), lanes)
        if _one_block(step, lanes, divisor, coeff, rest):
            return _broadcast(self._operation(name, base, b.args[0]), lanes)
        return None

    def _remainder(self, op: str, a: Term, b: Term, lanes: Attribute) -> Term | None:
        known = self._divided(op, a, b)
        if known is None:
            return None
        base, step, divisor, (coeff, rest) = known
        name = "floormod" if op == "floormod" else "truncmod"
        if step % divisor == 0:
            return _broadcast(self._operation(name, base, b.args[0]), lanes)
        if coeff % divisor == 0:
            ramp = _ramp(const(rest % divisor, base.dtype), const(step, base.dtype), lanes)
            first, last = rest % divisor, rest % divisor + (_count(lanes) - 1) * step
            return ramp if first >= 0 and max(first, last) < divisor and last >= 0 else raw(op, ramp, b)
        if _one_block(step, lanes, divisor, coeff, rest):
            return _ramp(self._operation(name, base, b.args[0]), const(step, base.dtype), lanes)
        return None

    def _divided(self, op: str, a: Term, b: Term) -> tuple[Term, int, int, tuple[int, int]] | None:
        if a.op != "ramp" or b.op != "broadcast" or a.args[1].op != "const" or b.args[0].op != "const":
            return None
        (base, step), divisor = a.args, int(b.args[0].value)
        rounds_down = op.startswith("floor") or (self.low(base) >= 0 and step.value >= 0)
        if divisor <= 0 or not rounds_down:
            return None
        found = self._analyzer.residue(expression_of(base))
        return base, int(step.value), divisor, (found.step, found.base)

    # By bounds

    def _min(self, a: Term, b: Term) -> Term | None:
        low, high = self._difference(a, b)
        return a if high <= 0 else b if low >= 0 else None

    def _max(self, a: Term, b: Term) -> Term | None:
        low, high = self._difference(a, b)
        return a if low >= 0 else b if high <= 0 else None

    def _difference(self, a: Term, b: Term) -> tuple[float, float]:
        """Bounds of a - b: of what counts lanes, which has no greatest value, by the difference itself."""
        if not _counts_lanes(a) and not _counts_lanes(b):
            return self.low(a) - self.high(b), self.high(a) - self.low(b)
        difference = self.simplified(build("sub", a, b))
        low, high = self._scaled_bounds(difference)
        if not (low < 0 < high and has_scalable_vectors(Target.current())):
            return low, high
        bounds = [self.bounds(self.simplified(_with_vscale(difference, k))) for k in _VSCALES]
        return min(least for least, _ in bounds), max(most for _, most in bounds)

    def _scaled_bounds(self, term: Term) -> Interval:
        """Bounds of a term, which has the sign of one factor where the other one is positive."""
        low, high = self.bounds(term)
        for factor, scale in (term.args, term.args[::-1]) if term.op == "mul" else ():
            if self.low(scale) > 0:
                least, most = self._scaled_bounds(factor)
                low, high = (max(low, 0) if least >= 0 else low), (min(high, 0) if most <= 0 else high)
        return Interval(low, high)

    def _less(self, a: Term, b: Term) -> Term | None:
        low, high = self.bounds(self.simplified(build("sub", a, b)))
        if high < 0 or self._product_is_below_sum(a, b):
            return TRUE
        return FALSE if low >= 0 else None

    def _product_is_below_sum(self, a: Term, b: Term) -> bool:
        """x * y * c1 < (x + y) * c2 of positive x and y: c1 < c2 / x + c2 / y, which is least for the greatest."""
        if Extension.ComparisonOfProductAndSum not in self._analyzer.enabled_extensions:
            return False
        binding: dict[str, Term] = {}
        pattern = _PRODUCT_BELOW_SUM[a.op == "mul" and a.args[1].op == "const"]
        if not match(pattern[0], a, binding) or not any(match(p, b, dict(binding)) for p in pattern[1:]):
            return False
        c2, c1 = b.args[1].value, binding["c1"].value if "c1" in binding else 1
        sides = [binding["x"], binding["y"]]
        if c1 <= 0 or c2 <= 0 or any(self.low(s) <= 0 for s in sides):
            return False
        return sum((Fraction(c2, int(high)) for high in map(self.high, sides) if high != inf), Fraction()) > c1

    def _equal(self, a: Term, b: Term) -> Term | None:
        difference = self.simplified(build("sub", a, b))
        low, high = self.bounds(difference)
        if low == high == 0:
            return TRUE
        if low > 0 or high < 0:
            return FALSE
        found = self._analyzer.residue(expression_of(difference))
        return FALSE if (found.base % found.step if found.step else found.base) else None

    def _whole(self, a: Term, b: Term) -> Term | None:
        """0 // b where 0 <= a < b."""
        return const(0, a.dtype) if self._is_below(a, b) else None

    def _rest(self, a: Term, b: Term) -> Term | None:
        if self._is_below(a, b):
            return a
        if b.op == "const" and b.value > 0:
            found = self._analyzer.residue(expression_of(a))
            if found.step % b.value == 0:
                return const(found.base % b.value, a.dtype)
        return None

    def _truncated_rest(self, a: Term, b: Term) -> Term | None:
        return self._rest(a, b) if self.low(a) >= 0 else None

    def _is_below(self, a: Term, b: Term) -> bool:
        """Whether 0 <= a < b; what counts lanes, which has no greatest value, is compared as it stands."""
        if self.low(a) < 0:
            return False
        if self.high(a) < self.low(b):
            return True
        return _counts_lanes(b) and self._analyzer.can_prove(expression_of(raw("lt", a, b)))


_PRODUCT_BELOW_SUM: dict[bool, tuple[Any, ...]] = {
    scaled: tuple(pattern_of(text) for text in ("x * y * c1" if scaled else "x * y", "(x + y) * c2", "(y + x) * c2"))
    for scaled in (False, True)
}


_EXTREMES = ("min", "max")
_VSCALES = range(1, 17)
"""What `T.vscale()` may be on a processor with SVE: its vectors have 128 to 2048 bits."""


def _with_vscale(term: Term, number: int) -> Term:
    """A term in which `T.vscale()` is a number."""
    if term.op == "call" and term.value == "vscale":
        return const(number, term.dtype)
    args = [_with_vscale(a, number) for a in term.args]
    return raw(term.op, *args, dtype=term.dtype, value=term.value) if args else term


def _counts_lanes(term: Term) -> bool:
    """Whether `T.vscale()` stands in a term."""
    return term.op == "call" and term.value == "vscale" or any(map(_counts_lanes, term.args))


def _broadcast(x: Term, like: Attribute) -> Term:
    return raw("broadcast", x, dtype=tir.with_lanes(x.dtype, like))


def _ramp(base: Term, step: Term, like: Attribute) -> Term:
    return raw("ramp", base, step, dtype=tir.with_lanes(base.dtype, like))


def _steps_of(term: Term) -> tuple[Term | None, Term | None]:
    """The first lane and the step, which is 0 of a broadcast."""
    if term.op == "ramp":
        return term.args[0], term.args[1]
    return (term.args[0], const(0, term.args[0].dtype)) if term.op == "broadcast" else (None, None)


def _count(vector: Attribute) -> float:
    """The number of lanes; of a scalable vector there is no bound."""
    return inf if is_scalable(vector) else lanes_of(vector)


def _one_block(step: int, lanes: Attribute, divisor: int, coeff: int, rest: int) -> bool:
    """Whether lanes from a base of coeff * k + rest on, `step` apart, have the same quotient by a divisor."""
    length = (_count(lanes) - 1) * step
    if coeff % divisor == 0:
        return rest // divisor == (rest + length) // divisor
    return coeff > 0 and divisor % coeff == 0 and rest % coeff == 0 and 0 <= length < coeff


_NEGATED: dict[str, tuple[str, bool]] = {
    "lt": ("le", True), "le": ("lt", True), "gt": ("le", False), "ge": ("lt", False),
    "eq": ("ne", False), "ne": ("eq", False),
}  # fmt: skip
"""What a comparison is where it does not hold, and whether its sides change places."""

_BY_LESS: dict[str, tuple[str, bool, bool]] = {
    "gt": ("lt", True, False), "le": ("lt", True, True), "ge": ("lt", False, True), "ne": ("eq", False, True),
}  # fmt: skip

_ORDERS = frozenset(("lt", "le", "gt", "ge"))
_MIRRORED: dict[str, tuple[str, bool]] = {"gt": ("lt", True), "ge": ("le", True)}

_NARROWER: dict[str, tuple[tuple[str, bool, str], ...]] = {
    "le": (("le", True, "eq"), ("ne", False, "lt")), "ne": (("le", False, "lt"), ("le", True, "lt")),
}  # fmt: skip
"""What is known of the sides of a comparison, whether with its sides swapped, and what it comes to then."""

_VISITORS: dict[str, Callable[[RewriteSimplifier, Term], Term]] = {
    "select": RewriteSimplifier.visit_select,
    "if": RewriteSimplifier.visit_branch,
    "and": RewriteSimplifier.visit_junction,
    "or": RewriteSimplifier.visit_junction,
    "not": RewriteSimplifier.visit_not,
    "cast": RewriteSimplifier.visit_cast,
    "call": RewriteSimplifier.visit_call,
    **dict.fromkeys(_BY_LESS, RewriteSimplifier.visit_order),
}

_BY_BOUNDS: dict[str, Callable[[Any, Term, Term], Term | None]] = {
    "min": RewriteSimplifier._min,  # pyright: ignore[reportPrivateUsage]
    "max": RewriteSimplifier._max,  # pyright: ignore[reportPrivateUsage]
    "lt": RewriteSimplifier._less,  # pyright: ignore[reportPrivateUsage]
    "eq": RewriteSimplifier._equal,  # pyright: ignore[reportPrivateUsage]
    "floordiv": RewriteSimplifier._whole,  # pyright: ignore[reportPrivateUsage]
    "div": RewriteSimplifier._whole,  # pyright: ignore[reportPrivateUsage]
    "floormod": RewriteSimplifier._rest,  # pyright: ignore[reportPrivateUsage]
    "truncmod": RewriteSimplifier._truncated_rest,  # pyright: ignore[reportPrivateUsage]
}

_RAMPS: dict[str, Callable[..., Term | None]] = {
    "add": lambda s, a, b, n: s._sum("add", a, b, n),
    "sub": lambda s, a, b, n: s._sum("sub", a, b, n),
    "mul": lambda s, a, b, n: s._product("mul", a, b, n),
    **{op: lambda s, a, b, n, op=op: s._quotient(op, a, b, n) for op in ("floordiv", "div")},
    **{op: lambda s, a, b, n, op=op: s._remainder(op, a, b, n) for op in ("floormod", "truncmod")},
}

_CALLS: dict[str, Callable[..., int]] = {
    "shift_left": lambda a, b: a[0] << b[0] if 0 <= b[0] < a[1] else 0,
    "shift_right": lambda a, b: a[0] >> min(b[0], a[1]),
    "bitwise_and": lambda a, b: a[0] & b[0],
    "bitwise_or": lambda a, b: a[0] | b[0],
    "bitwise_xor": lambda a, b: a[0] ^ b[0],
    "clz": lambda a: a[1] - (a[0] & ((1 << a[1]) - 1)).bit_length(),
}
"""Calls of constants: each argument is a value and the width of its dtype in bits."""
