"""Integer solutions of linear equations by TVM's rules: the matrix is made diagonal by integer steps (Smith)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...dialects.sym import int_set as sets
from ...handles.tir import prim_expr as tx
from ...handles.tir.domains import Range
from ...handles.tir.expr_kinds import class_name, expr_node
from ...handles.tir.prim_expr import PrimExpr
from ...handles.tir.variables import Var
from .arith.analyzer import Analyzer, domain_of
from .arith.ranges import to_sym, to_view


def bezout(a: int, b: int) -> tuple[int, int, int]:
    """Return g, x and y with `g = a * x + b * y`, where g is the greatest common divisor up to its sign."""
    x, last_x, r, last_r = 0, 1, b, abs(a)
    while r:
        q = abs(last_r) // abs(r) * (1 if last_r * r > 0 else -1)
        last_r, r = r, last_r - q * r
        last_x, x = x, last_x - q * x
    factor = last_x if a >= 0 else -last_x
    return last_r, factor, (last_r - factor * a) // b if b else 1


def _mixed(a: int, x: PrimExpr, b: int, y: PrimExpr) -> PrimExpr:
    return tx.const(a, x.dtype) * x + tx.const(b, y.dtype) * y


def _difference(a: int, x: PrimExpr, b: int, y: PrimExpr) -> PrimExpr:
    return tx.const(a, x.dtype) * x - tx.const(b, y.dtype) * y


@dataclass
class System:
    """`rows · new = sides` with `old = change · new`; `new` are the new unknowns in terms of the old ones."""

    new: list[PrimExpr]
    rows: list[list[int]] = field(default_factory=list[list[int]])
    sides: list[PrimExpr] = field(default_factory=list[PrimExpr])
    change: list[list[int]] = field(default_factory=list[list[int]])

    def __post_init__(self) -> None:
        size = len(self.new)
        self.change = [[int(i == j) for j in range(size)] for i in range(size)]

    def diagonalize(self) -> None:
        """Make the matrix diagonal by unimodular steps on equations and on unknowns."""
        at = 0
        while at < min(len(self.rows), len(self.new)):
            self._choose(at)
            if self.rows[at][at]:
                self._clear_column(at)
                if self._clear_row(at):
                    continue  # the column may have other entries again
            at += 1

    def _choose(self, at: int) -> None:
        """Exchange equations, and else unknowns, so that the diagonal entry is the smallest one of its column."""
        best = at
        for i in range(at, len(self.rows)):
            old, new = self.rows[best][at], self.rows[i][at]
            if new and (not old or abs(new) < abs(old)):
                best = i
        for values in (self.rows, self.sides):
            values[at], values[best] = values[best], values[at]  # pyright: ignore[reportArgumentType, reportCallIssue]
        other = next((j for j in range(at + 1, len(self.new)) if self.rows[at][j]), None)
        if self.rows[at][at] or other is None:
            return
        for line in (*self.rows[at:], *self.change):
            line[at], line[other] = line[other], line[at]
        self.new[at], self.new[other] = self.new[other], self.new[at]

    def _clear_column(self, at: int) -> None:
        for i in range(at + 1, len(self.rows)):
            if not self.rows[i][at]:
                continue
            g, a, b = _step(self.rows[at][at], self.rows[i][at])
            m, n = self.rows[at][at] // g, self.rows[i][at] // g
            upper, lower = self.rows[at], self.rows[i]
            self.rows[at] = [a * p + b * q for p, q in zip(upper, lower, strict=True)]
            self.rows[i] = [n * p - m * q for p, q in zip(upper, lower, strict=True)]
            first, second = self.sides[at], self.sides[i]
            self.sides[at] = _mixed(a, first, b, second)
            self.sides[i] = _difference(n, first, m, second)

    def _clear_row(self, at: int) -> bool:
        """Clear the row right of the diagonal; return whether the column may have changed."""
        changed = False
        for j in range(at + 1, len(self.new)):
            if not self.rows[at][j]:
                continue
            changed |= self.rows[at][j] % self.rows[at][at] != 0
            g, a, b = _step(self.rows[at][at], self.rows[at][j])
            m, n = self.rows[at][at] // g, self.rows[at][j] // g
            for line in (*self.rows[at:], *self.change):
                line[at], line[j] = a * line[at] + b * line[j], n * line[at] - m * line[j]
            first, second = self.new[at], self.new[j]
            self.new[at] = _mixed(m, first, n, second)
            self.new[j] = _difference(b, first, a, second)
        return changed


def _step(pivot: int, entry: int) -> tuple[int, int, int]:
    """Return the divisor and the factors that clear an entry; a pivot that divides it stays as it is."""
    return bezout(pivot, entry) if entry % pivot else (pivot, 1, 0)


@dataclass
class Solved:
    """The solution: old variables in terms of new ones and back, ranges of the new ones, and relations of them."""

    variables: list[PrimExpr] = field(default_factory=list[PrimExpr])
    ranges: dict[PrimExpr, Range] = field(default_factory=dict[PrimExpr, Range])
    relations: list[PrimExpr] = field(default_factory=list[PrimExpr])
    old: dict[PrimExpr, PrimExpr] = field(default_factory=dict[PrimExpr, PrimExpr])
    new: dict[PrimExpr, PrimExpr] = field(default_factory=dict[PrimExpr, PrimExpr])


Coefficients = Callable[[PrimExpr, Sequence[PrimExpr]], list[PrimExpr]]


def solve(
    relations: Sequence[PrimExpr],
    variables: Sequence[PrimExpr],
    ranges: Mapping[PrimExpr, Range],
    coefficients: Coefficients,
) -> Solved:
    """Solve the linear equations with constant factors; what is none stays a relation, in terms of the new variables.

    If there is no solution, the only relation is false and nothing is mapped.
    """
    rules = _knowing(ranges)
    system, rest = System(list(variables)), []
    for relation in relations:
        row = _row(relation, variables, rules, coefficients)
        if row is None:
            rest.append(relation)
        else:
            system.rows.append(row[0])
            system.sides.append(row[1])
    system.diagonalize()
    solved = Solved()
    for j, side in enumerate(system.sides):
        pivot = system.rows[j][j] if j < len(variables) else 0
        left = tx.floormod(side, tx.const(abs(pivot), side.dtype)) if pivot else side
        condition = rules.simplify(tx.equal(left, tx.const(0, left.dtype)))
        if condition.constant is None:
            solved.relations.append(condition)
        elif not condition.constant:
            return Solved(relations=[tx.const(False, "bool")])
    _map(system, variables, rules, solved)
    _note_ranges(variables, ranges, solved)
    solved.relations += [_substituted(relation, solved.old) for relation in rest]
    return solved


def _knowing(ranges: Mapping[PrimExpr, Range]) -> Analyzer:
    rules = Analyzer()
    for var, domain in ranges.items():
        rules.bind(var, domain)
    return rules


def _row(
    relation: PrimExpr, variables: Sequence[PrimExpr], rules: Analyzer, coefficients: Coefficients
) -> tuple[list[int], PrimExpr] | None:
    """Return the factors of the variables in an equation and the other side, or None for other relations."""
    node = expr_node(relation.ssa)
    if class_name(node) != "EQ" or not variables:
        return None
    linear = coefficients(rules.simplify(node.part_of("a") - node.part_of("b")), variables)
    factors = [e.constant for e in linear[:-1]]
    if not linear or None in factors:
        return None
    return [int(f) for f in factors if f is not None], tx.const(0, linear[-1].dtype) - linear[-1]


def _map(system: System, variables: Sequence[PrimExpr], rules: Analyzer, solved: Solved) -> None:
    values: list[PrimExpr] = []
    for j, expr in enumerate(system.new):
        pivot = system.rows[j][j] if j < len(system.rows) else 0
        if pivot:
            side = system.sides[j] if pivot > 0 else tx.const(0, system.sides[j].dtype) - system.sides[j]
            values.append(rules.simplify(tx.floordiv(side, tx.const(abs(pivot), side.dtype))))
            continue
        value = rules.simplify(expr)
        old = f"_{value}" if class_name(expr_node(value.ssa)) == "Var" else ""
        var = Var(f"n{len(solved.variables)}{old}", expr.dtype)
        values.append(var)
        solved.variables.append(var)
        solved.new[var] = value
    for i, var in enumerate(variables):
        total = tx.const(0, var.dtype)
        for factor, value in zip(system.change[i], values, strict=True):
            total = total + tx.const(factor, var.dtype) * value
        solved.old[var] = rules.simplify(total)


def _note_ranges(variables: Sequence[PrimExpr], ranges: Mapping[PrimExpr, Range], solved: Solved) -> None:
    """Infer the ranges of new variables; what the old ranges say beyond these become relations."""
    own = {var for var in variables if var in ranges}
    solved.ranges.update({var: domain for var, domain in ranges.items() if var not in own})
    domains = domain_of(ranges)
    for var, value in solved.new.items():
        low, high = sets.values_of(to_sym(value), domains)
        if low is not None and high is not None:
            first, extent = to_view(low), to_view(high - low + 1)
            solved.ranges[var] = Range.from_min_extent(tx.cast(var.dtype, first), tx.cast(var.dtype, extent))
    rules = _knowing(solved.ranges)
    for var in (v for v in variables if v in own):
        domain, value = ranges[var], solved.old[var]
        for limit in (tx.less_equal(domain.min, value), tx.less(value, domain.min + domain.extent)):
            condition = rules.simplify(limit)
            if not condition.constant:
                solved.relations.append(condition)


def _substituted(relation: PrimExpr, values: Mapping[PrimExpr, PrimExpr]) -> PrimExpr:
    from .tir_functor import substitute

    return substitute(relation, dict(values)) if values else relation


__all__ = ["Solved", "solve"]
