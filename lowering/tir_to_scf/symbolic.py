"""Symbolic expressions as arith: sizes in kernels, which are of type index, and on the host, where they are i64."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.sym.expr import CONDITIONS, Const, Op, Product, Sum, SymExpr, Var
from .emitter import INDEX, NSW, Emitter


class Symbolic:
    """Expressions as values of `type`, over what `variable` says that variables are.

    `unsigned` says which variables cannot be negative: extents. `flags` are those of sums and products.
    """

    def __init__(
        self,
        emit: Emitter,
        variable: Callable[[Var], SSAValue],
        unsigned: Callable[[Var], bool],
        type: Attribute = INDEX,
        flags: Attribute = NSW,
    ):
        self.emit = emit
        self.variable = variable
        self.unsigned = unsigned
        self.type = type
        self.flags = flags

    def value(self, expr: SymExpr) -> SSAValue:
        """The value of `expr`, of a condition 0 or 1."""
        if isinstance(expr, Const):
            return self.emit.constant(expr.value, self.type)
        if isinstance(expr, Var):
            return self.variable(expr)
        if expr.dtype == i1 and isinstance(expr, Op) and expr.kind in CONDITIONS:
            one, zero = (self.emit.constant(n, self.type) for n in (1, 0))
            return self.emit.select(self.condition(expr), one, zero)
        return self.wrapping(expr)

    def wrapping(self, expr: SymExpr) -> SSAValue:
        """The same for what is no leaf and no condition."""
        if isinstance(expr, Product):
            return reduce(lambda a, b: self.emit.mul(a, b, self.flags), map(self.value, expr.atoms))
        if isinstance(expr, Sum):
            return self._sum(expr)
        assert isinstance(expr, Op)
        return self._operation(expr)

    def condition(self, expr: SymExpr) -> SSAValue:
        """Whether `expr` is not 0, as an i1."""
        if isinstance(expr, Op) and expr.kind in _COMPARES:
            return self.emit.compare(_COMPARES[expr.kind], *map(self.value, expr.args))
        if isinstance(expr, Op) and expr.kind in _LOGIC:
            lhs, rhs = map(self.condition, expr.args)
            return self.emit.binary(_LOGIC[expr.kind], lhs, rhs)
        if isinstance(expr, Op) and expr.kind == "not":
            return self.emit.binary(arith.XOrIOp, self.condition(expr.args[0]), self.emit.constant(1, i1))
        return self.emit.compare("ne", self.value(expr), self.emit.constant(0, self.type))

    def is_non_negative(self, expr: SymExpr) -> bool:
        """Whether `expr` cannot be negative where it has a value."""
        return is_non_negative(expr, self.unsigned)

    def _sum(self, expr: Sum) -> SSAValue:
        total = self.emit.constant(expr.offset, self.type)
        for term, factor in expr.terms:
            value = self.wrapping(term) if isinstance(term, Product) else self.value(term)
            product = self.emit.mul(value, self.emit.constant(factor, self.type), self.flags)
            total = self.emit.add(total, product, self.flags)
        return total

    def divisible(self, expr: Op, lhs: SSAValue, rhs: SSAValue) -> None:
        """Called before each division; where code runs that divides by an extent, that is not 0."""

    def _operation(self, expr: Op) -> SSAValue:
        if expr.kind == "select":
            return self.emit.select(self.condition(expr.args[0]), *map(self.value, expr.args[1:]))
        lhs, rhs = map(self.value, expr.args)
        if expr.kind in ("min", "max"):
            return self.emit.binary(arith.MinSIOp if expr.kind == "min" else arith.MaxSIOp, lhs, rhs)
        self.divisible(expr, lhs, rhs)
        unsigned = all(map(self.is_non_negative, expr.args))
        if expr.kind == "floormod":
            return floor_mod(self.emit, lhs, rhs, unsigned, self.flags)
        return self.emit.binary(_UNSIGNED[expr.kind] if unsigned else _SIGNED[expr.kind], lhs, rhs)


_COMPARES = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_LOGIC: dict[str, type[Operation]] = {"and": arith.AndIOp, "or": arith.OrIOp}
_SIGNED: dict[str, type[Operation]] = {
    "floordiv": arith.FloorDivSIOp,
    "truncdiv": arith.DivSIOp,
    "truncmod": arith.RemSIOp,
}
_UNSIGNED: dict[str, type[Operation]] = {
    "floordiv": arith.DivUIOp,
    "truncdiv": arith.DivUIOp,
    "truncmod": arith.RemUIOp,
}


def floor_mod(emit: Emitter, a: SSAValue, b: SSAValue, unsigned: bool, flags: Attribute = NSW) -> SSAValue:
    """a - floor(a / b) * b."""
    if unsigned:
        return emit.binary(arith.RemUIOp, a, b)
    return emit.sub(a, emit.mul(emit.binary(arith.FloorDivSIOp, a, b), b, flags), flags)


def is_extent(var: Var) -> bool:
    """Whether a variable is an extent, for it has a name: those are never negative."""
    return isinstance(var.name, str)


def is_non_negative(expr: SymExpr, unsigned: Callable[[Var], bool] = is_extent) -> bool:
    """Whether `expr` cannot be negative where it has a value and the variables that are `unsigned` are not.

    It is asked of many expressions, and seldom of deep ones: `Analyzer.bounds` would find more, and take longer.
    """
    if isinstance(expr, Const):
        return expr.value >= 0
    if isinstance(expr, Var):
        return unsigned(expr)
    if isinstance(expr, Sum) and (expr.offset < 0 or any(c < 0 for _, c in expr.terms)):
        return False
    if not isinstance(expr, Op):
        return all(is_non_negative(e, unsigned) for e in expr.children())
    if expr.kind in CONDITIONS:
        return True
    signs = (is_non_negative(e, unsigned) for e in expr.args[-2:])
    return any(signs) if expr.kind == "max" else all(signs)
