"""Folds that rebuild an expression: with other variables, another type, or any other override of `Rebuild`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from xdsl.dialects.builtin import IntegerType

from .expr import Algebra, Const, Op, Product, Sum, SymExpr, Var, i32, i64, mul, product, sum_of
from .operators import OPS


class Rebuild(Algebra["SymExpr"]):
    """Rebuilds an expression in canonical form; overrides define the changes."""

    def const(self, e: Const) -> SymExpr:
        return e

    def var(self, e: Var) -> SymExpr:
        return e

    def product(self, e: Product) -> SymExpr:
        return reduce(mul, [self.of(a) for a in e.atoms], Const(1, e.dtype))

    def sum(self, e: Sum) -> SymExpr:
        return sum_of(self.parts(e), 0, e.dtype)

    def parts(self, e: Sum) -> list[tuple[SymExpr, int]]:
        """Return the summands, with the offset at its written position."""
        parts = [(self.of(t), c) for t, c in e.terms]
        if e.offset:
            parts.insert(e.place, (Const(e.offset, e.dtype), 1))
        return parts

    def op(self, e: Op) -> SymExpr:
        new = super().op(e)
        if e.taken and type(new) is Op and new.kind == e.kind and not new.taken:
            return Op(new.kind, new.args, e.taken)
        return new

    def apply(self, kind: str, args: list[SymExpr]) -> SymExpr:
        return OPS[kind](*args)


class Substitution(Rebuild):
    def __init__(self, mapping: Mapping[Var, SymExpr]):
        self.mapping = mapping

    def var(self, e: Var) -> SymExpr:
        return self.mapping.get(e, e)

    def parts(self, e: Sum) -> list[tuple[SymExpr, int]]:
        """Return the summands; a variable that became a number moves to the end: `m + n -> n + 3`."""
        parts = super().parts(e)
        became = any(type(self.mapping.get(t)) is Const for t, _ in e.terms if type(t) is Var)
        return sorted(parts, key=lambda part: type(part[0]) is Const) if became else parts


class _Retyping(Rebuild):
    def __init__(self, dtype: IntegerType, variables: Mapping[Var, SymExpr]):
        self.dtype = dtype
        self.variables = variables

    def const(self, e: Const) -> SymExpr:
        return Const(e.value, self.dtype) if e.dtype in (i32, i64) else e

    def var(self, e: Var) -> SymExpr:
        return self.variables.get(e, e)

    def product(self, e: Product) -> SymExpr:
        return product([self.of(a) for a in e.atoms], self.dtype)

    def sum(self, e: Sum) -> SymExpr:
        return sum_of(self.parts(e), 0, self.dtype)


def retyped(e: SymExpr, dtype: IntegerType, variables: Mapping[Var, SymExpr]) -> SymExpr:
    """Return an index expression with its variables replaced and its constants converted to another integer type."""
    return e.fold(_Retyping(dtype, variables))


SymExpr.substitution = Substitution
