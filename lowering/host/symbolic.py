"""Symbolic expressions as native integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from xdsl.dialects import llvm
from xdsl.ir import Block, Operation, SSAValue

from ...diagnostics import ShapeError
from ...dialects.sym.expr import Const, Op, Product, Sum, SymExpr, Var
from .builder import I1, I64, Code, f64

_EXACT = 2.0**62
"""Below this a value computed in floating point is within 64 bits for certain."""


class Scope:
    """The values of symbolic variables at a point of a function, and what has been computed of them.

    What is computed is remembered, so a scope belongs to code that the point where it was made dominates; `child` is
    for code behind a branch.
    """

    def __init__(self, code: Code, parent: Scope | None = None):
        self.code = code
        self.values: dict[str, SSAValue] = dict(parent.values) if parent else {}
        self._memo: dict[SymExpr, SSAValue] = dict(parent._memo) if parent else {}
        self.zero_division: Callable[[], Block] | None = parent.zero_division if parent else None
        """Gives the block, without arguments, to go to when a divisor is zero."""
        self.overflow: Callable[[], Block] | None = parent.overflow if parent else None
        """The same for values that do not fit 64 bits."""
        self._signed: set[str] = set(parent._signed) if parent else set()

    def child(self) -> Scope:
        """A scope with what is known here, to which more may be added without effect here."""
        return Scope(self.code, self)

    def knows(self, expr: SymExpr) -> bool:
        """Whether all variables of `expr` have values."""
        return all(v.value is not None or v.name in self.values for v in expr.free_vars())

    def bind(self, var: Var, value: SSAValue, signed: bool = False) -> None:
        """Give a named variable its value; `signed` where it is no extent, so that it may be negative."""
        assert isinstance(var.name, str)
        self.values[var.name] = value
        if signed:
            self._signed.add(var.name)

    def is_non_negative(self, expr: SymExpr) -> bool:
        """Whether `expr` cannot be negative."""
        return is_non_negative(expr) and not any(v.name in self._signed for v in expr.free_vars())

    def emit(self, expr: SymExpr) -> SSAValue:
        """The i64 value of `expr` (i1 for conditions). Raises `ShapeError` for a variable without a value."""
        if isinstance(expr, Const):
            return self.code.integer(expr.value, expr.dtype if expr.dtype == I1 else I64)
        if isinstance(expr, Var):
            return self._variable(expr)
        found = self._memo.get(expr)
        if found is None:
            if self.overflow is not None and isinstance(expr, Sum | Product):
                self._check_range(expr, self.overflow)
            found = self._memo[expr] = self._build(expr)
        return found

    def emit_wrapping(self, expr: SymExpr) -> SSAValue:
        """The same for what is known to fit 64 bits, or need not be exact."""
        return self._build(expr) if isinstance(expr, Sum | Product) else self.emit(expr)

    def real(self, expr: SymExpr) -> SSAValue:
        """The value as a double, computed as one where it is a polynomial."""
        code = self.code
        if isinstance(expr, Const):
            return code.real(expr.value)
        if isinstance(expr, Product):
            return reduce(lambda a, b: code.binary(llvm.FMulOp, a, b), [self.real(a) for a in expr.atoms])
        if isinstance(expr, Sum):
            total = code.real(expr.offset)
            for term, factor in expr.terms:
                total = code.binary(llvm.FAddOp, total, code.binary(llvm.FMulOp, self.real(term), code.real(factor)))
            return total
        return code.cast(llvm.SIToFPOp, self.emit(expr), f64)

    def _check_range(self, expr: SymExpr, overflow: Callable[[], Block]) -> None:
        """A sum is right in 64 bits, whatever its terms are, if its value fits."""
        code, value = self.code, self.real(expr)
        fits = code.value(llvm.FCmpOp(value, code.real(_EXACT), "olt"))
        if not self.is_non_negative(expr):
            fits = code.both(fits, code.value(llvm.FCmpOp(code.real(-_EXACT), value, "olt")))
        code.unless(fits, overflow())

    def _variable(self, var: Var) -> SSAValue:
        value = var.value if not isinstance(var.name, str) else self.values.get(var.name)
        if value is None:
            raise ShapeError(
                f"the symbolic variable '{var.name}' has no value",
                expected="a parameter or a match_cast that has it as an extent by itself",
            )
        return value

    def _build(self, expr: SymExpr) -> SSAValue:
        if isinstance(expr, Product):
            return reduce(lambda a, b: self.code.binary(llvm.MulOp, a, b), [self.emit(a) for a in expr.atoms])
        if isinstance(expr, Sum):
            return self._sum(expr)
        assert isinstance(expr, Op)
        args = [self.emit(a) for a in expr.args]
        if expr.kind in _DIVISIONS:
            self._check_division(expr.args[1], *args)
        return _OPERATIONS[expr.kind](self.code, *args)

    def _sum(self, expr: Sum) -> SSAValue:
        total = self.code.integer(expr.offset) if expr.offset else None
        for term, factor in expr.terms:
            value = self.emit_wrapping(term)
            if factor != 1:
                value = self.code.binary(llvm.MulOp, value, self.code.integer(factor))
            total = value if total is None else self.code.binary(llvm.AddOp, total, value)
        assert total is not None
        return total

    def _check_division(self, divisor: SymExpr, a: SSAValue, b: SSAValue) -> None:
        """Processors trap where the divisor is zero, or -1 and the quotient does not fit."""
        code = self.code
        if divisor.constant is None and self.zero_division is not None:
            code.when(code.compare("eq", b, code.integer(0)), self.zero_division())
        if divisor.constant in (None, -1) and self.overflow is not None:
            code.when(code.compare("eq", a, code.integer(-(2**63))), self.overflow())


def _floor_mod(code: Code, a: SSAValue, b: SSAValue) -> SSAValue:
    rest = code.binary(llvm.SRemOp, a, b)
    crosses = code.compare("slt", code.binary(llvm.XOrOp, rest, b), code.integer(0))
    inexact = code.compare("ne", rest, code.integer(0))
    return code.select(code.both(crosses, inexact), code.binary(llvm.AddOp, rest, b), rest)


def _floor_div(code: Code, a: SSAValue, b: SSAValue) -> SSAValue:
    return code.binary(llvm.SDivOp, code.binary(llvm.SubOp, a, _floor_mod(code, a, b)), b)


def _binary(op: type[Operation]) -> Callable[[Code, SSAValue, SSAValue], SSAValue]:
    return lambda code, a, b: code.binary(op, a, b)


def _compare(predicate: str, swap: bool = False) -> Callable[[Code, SSAValue, SSAValue], SSAValue]:
    return lambda code, a, b: code.compare(predicate, *((b, a) if swap else (a, b)))


def _minimum(code: Code, a: SSAValue, b: SSAValue) -> SSAValue:
    return code.select(code.compare("slt", a, b), a, b)


def _maximum(code: Code, a: SSAValue, b: SSAValue) -> SSAValue:
    return code.select(code.compare("slt", a, b), b, a)


def _negation(code: Code, a: SSAValue) -> SSAValue:
    return code.binary(llvm.XOrOp, a, code.integer(1, I1))


_DIVISIONS = frozenset(("floordiv", "floormod", "truncdiv", "truncmod"))
_OPERATIONS: dict[str, Callable[..., SSAValue]] = {
    "floordiv": _floor_div,
    "floormod": _floor_mod,
    "truncdiv": _binary(llvm.SDivOp),
    "truncmod": _binary(llvm.SRemOp),
    "min": _minimum,
    "max": _maximum,
    "select": Code.select,
    "eq": _compare("eq"),
    "ne": _compare("ne"),
    "lt": _compare("slt"),
    "le": _compare("sle"),
    "gt": _compare("slt", swap=True),
    "ge": _compare("sle", swap=True),
    "and": _binary(llvm.AndOp),
    "or": _binary(llvm.OrOp),
    "not": _negation,
}


def is_non_negative(expr: SymExpr) -> bool:
    """Whether `expr` cannot be negative where its variables are extents."""
    if isinstance(expr, Const):
        return expr.value >= 0
    if isinstance(expr, Sum):
        return expr.offset >= 0 and all(c > 0 and is_non_negative(t) for t, c in expr.terms)
    if isinstance(expr, Product):
        return all(map(is_non_negative, expr.atoms))
    if isinstance(expr, Op):
        if expr.kind in _DIVISIONS:
            return is_non_negative(expr.args[0]) and (expr.args[1].constant or 0) > 0
        return expr.kind in ("min", "max") and all(map(is_non_negative, expr.args))
    return isinstance(expr, Var)
