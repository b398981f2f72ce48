"""Symbolic expressions as scalar expressions, in their written form."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ...dialects.sym import expr as sym
from ...dialects.sym.writing import signed_parts
from .prim_expr import BINARY, PrimExpr, add, const, logical_not, multiply, select, subtract, truncdiv
from .variables import SizeVar


class SymbolicNodes(sym.Algebra[PrimExpr]):
    """Converts symbolic expressions to arithmetic on variables, in their written form."""

    def const(self, e: sym.Const) -> PrimExpr:
        return const(e.value, e.dtype)

    def var(self, e: sym.Var) -> PrimExpr:
        return SizeVar(str(e.name), e.dtype) if e.value is None else PrimExpr(e.value)

    def sum(self, e: sym.Sum) -> PrimExpr:
        out: PrimExpr | None = None
        for term, factor, added in signed_parts(e):
            number = const(factor, e.dtype)
            part = number if term is None else self.of(term) if factor == 1 else multiply(self.of(term), number)
            out = part if out is None else add(out, part) if added else subtract(out, part)
        return cast(PrimExpr, out)

    def mul(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return multiply(a, b)

    def apply(self, kind: str, args: list[PrimExpr]) -> PrimExpr:
        return _SYMBOLIC[kind](*args)


_SYMBOLIC: dict[str, Callable[..., PrimExpr]] = {
    **BINARY,
    "truncdiv": truncdiv,
    "not": logical_not,
    "select": select,
}
