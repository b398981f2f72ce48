"""`Analyzer.rewrite_simplify`: convert expressions to TVM's normal forms by the rules of `rewrite_rules`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import gcd, inf

from xdsl.dialects.builtin import i1, i32, i64

from ....diagnostics import TiraxError
from ....dialects.dtypes import bit_width, is_float, lanes_of, scalar_of
from ....dialects.sym.operations import COMPARISONS
from ....handles.tir.prim_expr import PrimExpr
from .decisions import BY_BOUNDS, counts_lanes
from .junctions import conjunction
from .rules import OverflowingRuleError, RewriteRule, dtype_within, holds, instance, match, matching
from .simplifier import Extension, Knowledge, Simplifier
from .terms import DIVISIONS, FALSE, TRUE, Term, build, const, expression_of, mentions, never_fails, raw, term_of
from .vectors import combined

_INDEX = (i32, i64)
_LIMIT = 10_000


class RewriteSimplifier(Simplifier):
    """Simplifies one expression; facts of `analyzer` prove the conditions of rules."""

    def __init__(self, analyzer: Knowledge):
        super().__init__(analyzer)
        self._known: list[dict[Term, Term]] = [{}]
        self._steps = 0
        self._resolving: set[Term] = set()
        self._in_junction = False
        self._questions: dict[str, Callable[..., bool]] = {
            "nonneg": lambda x: self.low(x) >= 0,
            "positive": lambda x: self.low(x) > 0,
            "divides": lambda x: self.low(x) >= 0,  # a division by it implies that it is not 0
            "within": lambda x, n: self.low(x) >= 0 and self.high(x) < n.value,
            "plain": lambda x: x.op not in _EXTREMES,
            "varies": lambda x: x.op != "const",
            "same": self.same,
            "negated": lambda x, y: self.same(x, build("mul", y, const(-1, y.dtype))),
        }

    def __call__(self, expr: PrimExpr) -> PrimExpr:
        """Return the normal form; an expression nested too deeply for Python's stack is unchanged."""
        try:
            return expression_of(self.simplified(term_of(expr.ssa)))
        except RecursionError:
            return expr

    # Rewriting

    def simplified(self, term: Term) -> Term:
        """Return the normal form of a term."""
        known = self._known[-1].get(term)
        if known is not None:
            return known
        normal = self._known[-1][term] = self._visit(term)
        self._known[-1].setdefault(normal, normal)
        return normal

    def _visit(self, term: Term) -> Term:
        if term.op in ("const", "leaf"):
            return self._bound(term) if term.op == "leaf" and term.dtype in _INDEX else term
        visit = _VISITORS.get(term.op)
        if visit is not None:
            return visit(self, term)
        args = [self.simplified(a) for a in term.args]
        if term.op in ("call", "cast", "broadcast", "ramp", "load"):
            return raw(term.op, *args, dtype=term.dtype, value=term.value)
        return self.operation(term.op, *args)

    def _bound(self, leaf: Term) -> Term:
        """Return the value that a variable is bound to; the variable itself for a cyclic binding such as `n ==
        uint8(n)`.
        """
        expr = expression_of(leaf)
        value = self.analyzer.bound_value(expr)
        if value is expr or leaf in self._resolving:
            return leaf
        self._resolving.add(leaf)
        try:
            bound_term = self.simplified(term_of(value.ssa))
        finally:
            self._resolving.discard(leaf)
        return leaf if mentions(bound_term, leaf) else bound_term

    def operation(self, op: str, a: Term, b: Term) -> Term:
        """Return the normal form of a binary operation on terms in normal form."""
        if lanes_of(a.dtype) > 1:
            return combined(self, op, a, b)
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
        if op in _EXTREMES and (counts_lanes(a) or counts_lanes(b)):
            shorter = self._by_rules(term)
            if shorter is not term:
                return shorter
        decide = BY_BOUNDS.get(op) if a.dtype != i1 else None
        decided = decide(self, a, b) if decide is not None else None
        return decided if decided is not None else self._by_rules(term)

    def _by_rules(self, term: Term) -> Term:
        for rule in matching(term):
            binding: dict[str, Term] = {}
            if match(rule.before, term, binding):
                with suppress(OverflowingRuleError):
                    if holds(rule, binding, self._questions):
                        result = instance(rule.after, binding, dtype_within(term))
                        return self._applied(rule, result, term)
        return self._over_common_factor(term) if term.op == "lt" and term.args[0].dtype in _INDEX else term

    def _over_common_factor(self, term: Term) -> Term:
        """Divide both sides of `a < b` by a factor that they have in common: `x * 4 < y * 8` becomes `x < y * 2`."""
        residues = [self.residue(a) for a in term.args]
        factor = gcd(*(n for r in residues for n in (r.base, r.step)))
        if factor <= 1 or self._steps >= _LIMIT:
            return term
        self._steps += 1
        divisor = const(factor, term.args[0].dtype)
        return self.operation("lt", *(self.simplified(build("floordiv", a, divisor)) for a in term.args))

    def _applied(self, rule: RewriteRule, result: Term, term: Term) -> Term:
        self._steps += 1
        return self.simplified(result) if rule.again and result is not term and self._steps < _LIMIT else result

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
                return self.operation("or" if term.op == "and" else "and", a, b)
            return raw("not", term)
        op, swap = negated
        a, b = reversed(term.args) if swap else term.args
        return self._at_most(a, b) if op == "le" else raw(op, a, b)

    def _at_most(self, a: Term, b: Term) -> Term:
        """Return a <= b, as an equation if a is at least the constant b."""
        if b.op == "const" and a.dtype in _INDEX and self.low(a) == b.value:
            return raw("eq", a, b)
        return raw("le", a, b)

    def _under(self, condition: Term, term: Term) -> Term:
        """Return the normal form of a term under the assumption of a condition."""
        with self.analyzer.constraint_scope(expression_of(condition)):
            self._known.append({})
            self.known_bounds.append({})
            try:
                return self.simplified(term)
            finally:
                self._known.pop()
                self.known_bounds.pop()

    def visit_select(self, term: Term) -> Term:
        """Simplify a select; both sides are evaluated, so the condition is not assumed in a side that might fail."""
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
            both = self.operation("and", condition, x.args[0])
            return raw("if", both, x.args[1], y, dtype=term.dtype)
        return raw("if", condition, x, y, dtype=term.dtype)

    def visit_junction(self, term: Term) -> Term:
        """Simplify `and` and `or`; with the extension, each operand under the assumption that the other is
        inconclusive.
        """
        outermost = not self._in_junction and lanes_of(term.dtype) == 1
        self._in_junction = True
        try:
            result = self._junction(term)
            if outermost and Extension.ConvertBooleanToAndOfOrs in self.analyzer.enabled_extensions:
                spread = conjunction(result, self.simplified, self._under)
                return result if spread is None else spread
            return result
        finally:
            self._in_junction = not outermost

    def _junction(self, term: Term) -> Term:
        a, b = map(self.simplified, term.args)
        if Extension.ApplyConstraintsToBooleanBranches in self.analyzer.enabled_extensions:
            b = self._beside(term.op, a, b)
            a = self._beside(term.op, b, a)
        return self.operation(term.op, a, b)

    def _beside(self, op: str, side: Term, other: Term) -> Term:
        """Simplify the other operand of a junction under the assumption that `side` does not decide it."""
        if side.op == "const" or other.op == "const" or lanes_of(side.dtype) > 1:
            return other
        return self._under(side if op == "and" else self._negated(side), other)

    def visit_not(self, term: Term) -> Term:
        return self._negated(self.simplified(term.args[0]))

    def visit_order(self, term: Term) -> Term:
        """Rewrite `>`, `<=`, `>=` and `!=` in terms of `<` and `==`."""
        a, b = map(self.simplified, term.args)
        if is_float(scalar_of(a.dtype)):  # for NaN neither `<` nor `>=` holds
            op, swap = _MIRRORED.get(term.op, (term.op, False))
            return self.operation(op, *((b, a) if swap else (a, b)))
        op, swap, negate = _BY_LESS[term.op]
        result = self.operation(op, *((b, a) if swap else (a, b)))
        if not negate:
            return result
        negated = self._vector_negated(result)
        return self._narrowed(self._by_difference(negated) if negated.op in _DIFFERENCES else negated)

    def _by_difference(self, term: Term) -> Term:
        """Return `a != b` as an order, or `a <= b` as an equation, if the operands are ordered anyway."""
        a, b = term.args
        if a.dtype not in _INDEX or self._in_junction:
            return term
        low, high = self.bounds(self.simplified(build("sub", a, b)))
        if term.op == "ne" and low >= 0:
            return raw("lt", b, a)
        if term.op == "ne" and high <= 0:
            return raw("lt", a, b)
        if term.op == "le" and low >= 0:
            return raw("eq", b, a) if a.op == "const" else raw("eq", a, b)
        return term

    def _narrowed(self, term: Term) -> Term:
        """Simplify a comparison by facts about its operands: a <= b  ->  a == b if b <= a."""
        if term.op not in _NARROWER or term.args[0].dtype not in _INDEX:
            return term
        a, b = term.args
        if not self.analyzer.is_constrained(expression_of(raw("sub", a, b))):
            return term
        for fact, swap, op in _NARROWER[term.op]:
            if self.analyzer.can_prove(expression_of(raw(fact, b, a) if swap else raw(fact, a, b))):
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


_EXTREMES = ("min", "max")
_NEGATED: dict[str, tuple[str, bool]] = {
    "lt": ("le", True), "le": ("lt", True), "gt": ("le", False), "ge": ("lt", False),
    "eq": ("ne", False), "ne": ("eq", False),
}  # fmt: skip
"""The negation of each comparison, and whether its operands are swapped."""

_BY_LESS: dict[str, tuple[str, bool, bool]] = {
    "gt": ("lt", True, False), "le": ("lt", True, True), "ge": ("lt", False, True), "ne": ("eq", False, True),
}  # fmt: skip

_ORDERS = frozenset(("lt", "le", "gt", "ge"))
_MIRRORED: dict[str, tuple[str, bool]] = {"gt": ("lt", True), "ge": ("le", True)}

_DIFFERENCES = ("ne", "le")
_NARROWER: dict[str, tuple[tuple[str, bool, str], ...]] = {
    "le": (("le", True, "eq"), ("ne", False, "lt")), "ne": (("le", False, "lt"), ("le", True, "lt")),
}  # fmt: skip
"""A fact about the operands of a comparison, whether they are swapped in it, and the comparison it then
reduces to.
"""

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

_CALLS: dict[str, Callable[..., int]] = {
    "shift_left": lambda a, b: a[0] << b[0] if 0 <= b[0] < a[1] else 0,
    "shift_right": lambda a, b: a[0] >> min(b[0], a[1]),
    "bitwise_and": lambda a, b: a[0] & b[0],
    "bitwise_or": lambda a, b: a[0] | b[0],
    "bitwise_xor": lambda a, b: a[0] ^ b[0],
    "clz": lambda a: a[1] - (a[0] & ((1 << a[1]) - 1)).bit_length(),
}
"""Constant folding of calls: each argument is a value and the bit width of its dtype."""
