"""Linear inequalities solved for integer variables by elimination (Fourier and Motzkin), by TVM's rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd, lcm

from ...dialects.sym import int_set as sets
from ...handles.array import Array
from ...handles.tir import prim_expr as tx
from ...handles.tir.domains import Range
from ...handles.tir.expr_kinds import class_name, expr_node
from ...handles.tir.expr_trees import children, same_tree
from ...handles.tir.prim_expr import ExprLike, PrimExpr
from ...handles.tir.variables import Var
from .arith.analyzer import Analyzer, domain_of
from .arith.ranges import to_sym, to_view
from .tir_functor import substitute

Ranges = Mapping[PrimExpr, Range]
Coefficients = Callable[[PrimExpr, Sequence[PrimExpr]], list[PrimExpr]]


def _knowing(ranges: Ranges) -> Analyzer:
    rules = Analyzer()
    for var, domain in ranges.items():
        rules.bind(var, domain)
    return rules


def _zero(e: PrimExpr) -> PrimExpr:
    return tx.const(0, e.dtype)


def _at_most(a: PrimExpr, b: PrimExpr, rules: Analyzer) -> bool:
    return rules.can_prove(tx.less_equal(rules.simplify(a - b), _zero(a)))


@dataclass(frozen=True, repr=False, eq=False)
class IntGroupBounds:
    """Bounds of `coef * v`: the greatest of `lower` from below, the least of `upper` from above, all of `equal`."""

    coef: PrimExpr
    lower: Sequence[PrimExpr]
    equal: Sequence[PrimExpr]
    upper: Sequence[PrimExpr]

    def __init__(
        self, coef: ExprLike, lower: Sequence[ExprLike], equal: Sequence[ExprLike], upper: Sequence[ExprLike]
    ) -> None:
        object.__setattr__(self, "coef", tx.convert(coef))
        for name, values in (("lower", lower), ("equal", equal), ("upper", upper)):
            object.__setattr__(self, name, Array(map(tx.convert, values)))

    @staticmethod
    def from_range(rng: Range) -> IntGroupBounds:
        """Return the bounds that a range is."""
        return IntGroupBounds(tx.const(1, rng.min.dtype), [], [], []).within(rng)

    def within(self, rng: Range) -> IntGroupBounds:
        """Return these bounds together with those of a range of the variable, which come first."""
        rules = Analyzer()
        first = rules.simplify(rng.min * self.coef)
        if rng.extent.constant == 1:
            return IntGroupBounds(self.coef, self.lower, [first, *self.equal], self.upper)
        last = rules.simplify((rng.min + rng.extent - 1) * self.coef)
        return IntGroupBounds(self.coef, [first, *self.lower], self.equal, [last, *self.upper])

    def replaced(self, values: Mapping[PrimExpr, PrimExpr]) -> IntGroupBounds:
        """Return the bounds with variables replaced."""

        def new(bounds: Sequence[PrimExpr]) -> list[PrimExpr]:
            return [substitute(e, dict(values)) for e in bounds] if values else list(bounds)

        return IntGroupBounds(self.coef, new(self.lower), new(self.equal), new(self.upper))

    def find_best_range(self, ranges: Ranges | None = None) -> Range | None:
        """Return the smallest range that a pair of bounds gives while other variables are in `ranges`, or None."""
        rules = _knowing(ranges or {})
        lows, highs = [*self.equal, *self.lower], [*self.equal, *self.upper]
        if len(lows) == len(highs) == 1 and self.coef.constant == 1:
            return Range(rules.simplify(lows[0]), rules.simplify(highs[0] + 1))
        best: tuple[PrimExpr, PrimExpr] | None = None
        for low in lows:
            first = rules.simplify(tx.floordiv(low + self.coef - 1, self.coef))
            for high in highs:
                span = self._span(low, high, first, ranges or {}, rules)
                if span is not None and (best is None or rules.can_prove(tx.less(span - best[1], _zero(span)))):
                    best = first, span
        return None if best is None else Range.from_min_extent(best[0], rules.simplify(best[1] + 1))

    def _span(self, low: PrimExpr, high: PrimExpr, first: PrimExpr, ranges: Ranges, rules: Analyzer) -> PrimExpr | None:
        """Return the greatest difference of the last and the first value, by two formulas, or None."""
        whole = tx.floordiv(high - low, self.coef)
        parts = tx.floordiv(high, self.coef) - first
        best: PrimExpr | None = None
        for difference in (whole, parts):
            end = sets.values_of(to_sym(rules.simplify(difference)), domain_of(ranges)).high
            if end is None:
                continue
            last = rules.simplify(tx.cast(low.dtype, to_view(end)))
            best = last if best is None or rules.can_prove(tx.less(last - best, _zero(last))) else best
        return best

    def conditions(self, var: PrimExpr) -> list[PrimExpr]:
        """Return the bounds as conditions on a variable."""
        left = self.coef * var
        return [
            *(tx.equal(left, e) for e in self.equal),
            *(tx.greater_equal(left, e) for e in self.lower),
            *(tx.less_equal(left, e) for e in self.upper),
        ]

    def __repr__(self) -> str:
        return f"IntGroupBounds(coef={self.coef}, lower={self.lower}, equal={self.equal}, upper={self.upper})"


_Term = tuple[int, PrimExpr]
"""`c * v + e <= 0`"""


@dataclass
class _Elimination:
    """The inequalities `e <= 0` that are left, in normal form, while variables are eliminated in order."""

    rules: Analyzer
    ranges: Ranges
    coefficients: Coefficients
    current: list[PrimExpr] = field(default_factory=list[PrimExpr])
    rest: list[PrimExpr] = field(default_factory=list[PrimExpr])
    bounds: dict[PrimExpr, IntGroupBounds] = field(default_factory=dict[PrimExpr, IntGroupBounds])

    def add(self, relation: PrimExpr, to: list[PrimExpr]) -> None:
        """Add a relation to others unless they imply it; those that it implies are removed."""
        new = _normalized(self.rules.simplify(relation), self.rules)
        if self.rules.can_prove(new) or any(same_tree(e.ssa, new.ssa) for e in to):
            return
        if class_name(new) == "LE":
            for old in [e for e in to if class_name(e) == "LE"]:
                if _at_most(new.part_of("a"), old.part_of("a"), self.rules):
                    return
                if _at_most(old.part_of("a"), new.part_of("a"), self.rules):
                    to[:] = [e for e in to if e is not old]
        to.append(new)

    def eliminate(self, var: PrimExpr) -> None:
        """Record the bounds of a variable, and combine those from below with those from above."""
        above: list[_Term] = []
        below: list[_Term] = []
        domain = self.ranges.get(var)
        if domain is not None:
            below.append((-1, self.rules.simplify(domain.min)))
            last = self.rules.simplify(domain.min + domain.extent - 1)
            above.append((1, _zero(last) - last))
        left: list[PrimExpr] = []
        for relation in self.current:
            self._classify(var, relation, above, below, left)
        for c, e in above:
            for d, f in below:
                g = gcd(c, -d)
                new = tx.const(c // g, var.dtype) * f + tx.const(-d // g, var.dtype) * e
                self.add(tx.less_equal(new, _zero(new)), left)
        self.bounds[var] = self._bounds(var, above, below)
        self.current = left

    def _classify(
        self, var: PrimExpr, relation: PrimExpr, above: list[_Term], below: list[_Term], left: list[PrimExpr]
    ) -> None:
        kind = class_name(relation)
        linear = self.coefficients(relation.part_of("a"), [var]) if kind in ("LE", "EQ") else []
        factor = linear[0].constant if linear else None
        if factor is None:
            self.rest.append(relation)
            return
        if factor == 0:
            self.add(relation, left)
            return
        term = int(factor), linear[1]
        (above if factor > 0 else below).append(term)
        if kind == "EQ":
            (below if factor > 0 else above).append((-term[0], _zero(term[1]) - term[1]))

    def _bounds(self, var: PrimExpr, above: Sequence[_Term], below: Sequence[_Term]) -> IntGroupBounds:
        common = lcm(*(abs(c) for c, _ in (*above, *below)))
        uppers = self._tightest(var, common, above, lambda a, b: _at_most(a, b, self.rules))
        lowers = self._tightest(var, common, below, lambda a, b: _at_most(b, a, self.rules))
        equal = [u for u in uppers if any(same_tree(u.ssa, w.ssa) for w in lowers)]
        uppers, lowers = (
            [e for e in limits if not any(same_tree(e.ssa, q.ssa) for q in equal)] for limits in (uppers, lowers)
        )
        return IntGroupBounds(tx.const(common, var.dtype), lowers, sorted(equal, key=_size), uppers)

    def _tightest(
        self, var: PrimExpr, common: int, terms: Sequence[_Term], implies: Callable[[PrimExpr, PrimExpr], bool]
    ) -> list[PrimExpr]:
        out: list[PrimExpr] = []
        for c, e in terms:
            bound = self.rules.simplify(tx.const(-common // c, var.dtype) * e)
            if not any(implies(old, bound) for old in out):
                out = [*(old for old in out if not implies(bound, old)), bound]
        return out

    def others(self) -> list[PrimExpr]:
        """Return the relations without the eliminated variables; only false if they contradict each other."""
        out: list[PrimExpr] = []
        for relation in self.current:
            condition = self.rules.simplify(relation)
            if condition.constant is None:
                out.append(condition)
            elif not condition.constant:
                return [tx.const(False, "bool"), *self.rest]
        return [*out, *self.rest]


def _size(e: PrimExpr) -> int:
    return 1 + sum(_size(expr_node(v)) for v in children(e.ssa))


_SIDES = {"LT": ("a", "b", 1), "LE": ("a", "b", 0), "GT": ("b", "a", 1), "GE": ("b", "a", 0)}


def _normalized(relation: PrimExpr, rules: Analyzer) -> PrimExpr:
    """Return a comparison as `e <= 0`, an equation as `e == 0`; other conditions as they are."""
    node = expr_node(relation.ssa)
    kind = class_name(node)
    if kind in ("EQ", "NE"):
        e = rules.simplify(node.part_of("a") - node.part_of("b"))
        return (tx.equal if kind == "EQ" else tx.not_equal)(e, _zero(e))
    if kind not in _SIDES:
        return node
    small, large, more = _SIDES[kind]
    e = rules.simplify(node.part_of(small) - node.part_of(large) + more)
    return tx.less_equal(e, _zero(e))


def _eliminated(
    variables: Sequence[PrimExpr], ranges: Ranges, relations: Sequence[PrimExpr], coefficients: Coefficients
) -> tuple[dict[PrimExpr, IntGroupBounds], list[PrimExpr]]:
    """Return the bounds of each variable, and all relations that the solution keeps."""
    elimination = _Elimination(_knowing(ranges), ranges, coefficients)
    for relation in relations:
        elimination.add(relation, elimination.current)
    for var in variables:
        elimination.eliminate(var)
    conditions = [c for v in variables for c in elimination.bounds[v].conditions(v)]
    return elimination.bounds, [*conditions, *elimination.others()]


def _single(bounds: IntGroupBounds) -> PrimExpr | None:
    """Return the only value that an equation gives a variable, or None."""
    return bounds.equal[0] if bounds.coef.constant == 1 and bounds.equal else None


def _is_empty(best: Range, rules: Analyzer) -> bool:
    return _at_most(best.extent, _zero(best.extent), rules)


def to_ranges(
    variables: Sequence[PrimExpr], ranges: Ranges, relations: Sequence[PrimExpr], coefficients: Coefficients
) -> tuple[dict[PrimExpr, Range], list[PrimExpr]] | None:
    """Return ranges of the variables and the relations beyond them; None if there are no solutions.

    A range may use the variables after its own.
    """
    bounds, conditions = _eliminated(variables, ranges, relations, coefficients)
    found: dict[PrimExpr, Range] = {}
    known = dict(ranges)
    for var in reversed(variables):
        rules, own = _knowing(known), bounds[var]
        value = _single(own)
        if value is not None:
            best = Range(value, rules.simplify(value + 1))
        else:
            best = (own.within(known[var]) if var in known else own).find_best_range(known)
            if best is not None and _is_empty(best, rules):
                return None
        if best is not None:
            found[var] = known[var] = best
    rules = _knowing(known)
    return found, [c for c in conditions if not rules.can_prove(c)]


@dataclass
class Deskewed:
    """New variables from 0 on, their ranges and relations, and both maps."""

    variables: list[PrimExpr] = field(default_factory=list[PrimExpr])
    ranges: dict[PrimExpr, Range] = field(default_factory=dict[PrimExpr, Range])
    relations: list[PrimExpr] = field(default_factory=list[PrimExpr])
    there: dict[PrimExpr, PrimExpr] = field(default_factory=dict[PrimExpr, PrimExpr])
    back: dict[PrimExpr, PrimExpr] = field(default_factory=dict[PrimExpr, PrimExpr])


def deskewed(
    variables: Sequence[PrimExpr], ranges: Ranges, relations: Sequence[PrimExpr], coefficients: Coefficients
) -> Deskewed | None:
    """Return the inequalities in new variables whose ranges begin at 0; None if there are no solutions."""
    bounds, conditions = _eliminated(variables, ranges, relations, coefficients)
    out, known = Deskewed(), dict(ranges)
    rules = _knowing(known)
    for var in reversed(variables):
        own = bounds[var].replaced(out.there)
        value = _single(own)
        if value is not None:
            out.there[var] = value
            continue
        best = (own.within(known[var]) if var in known else own).find_best_range(known)
        if best is None:
            out.there[var] = out.back[var] = var
            out.variables.insert(0, var)
        elif best.extent.constant == 1:
            out.there[var] = best.min
        elif _is_empty(best, rules):
            return None
        else:
            new = Var(f"{var}.shifted", var.dtype)
            first = substitute(best.min, dict(out.back)) if out.back else best.min
            out.there[var], out.back[new] = new + best.min, rules.simplify(var - first)
            known[new] = out.ranges[new] = Range.from_min_extent(tx.const(0, var.dtype), best.extent)
            out.variables.insert(0, new)
            rules.bind(new, known[new])
    for condition in conditions:
        new = rules.simplify(substitute(condition, dict(out.there)))
        if not new.constant:
            out.relations.append(new)
    return out


__all__ = ["IntGroupBounds", "deskewed", "to_ranges"]
