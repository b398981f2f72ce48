"""Lowering of symbolic expressions to arith: sizes in kernels, of type index, and on the host, of type i64."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from xdsl.dialects import arith
from xdsl.dialects.builtin import f64, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.sym.analyzer import ExtentBounds
from ...dialects.sym.expr import Algebra, Const, Op, Product, Sum, SymExpr, Var
from ...dialects.sym.operations import COMPARISONS, CONDITIONS, DIVISIONS, OPERATIONS
from .emitter import INDEX, NO_FLAGS, NSW, Emitter

_ARITH: dict[str, type[Operation]] = {op.name.removeprefix("arith."): op for op in arith.Arith.operations}
_UNSIGNED: dict[str, type[Operation]] = {
    "floordiv": arith.DivUIOp,
    "floormod": arith.RemUIOp,
    "truncdiv": arith.DivUIOp,
    "truncmod": arith.RemUIOp,
}


class Symbolic(Algebra[SSAValue]):
    """Computes expressions as values of `type`; `variable` returns the value of a variable; conditions are 0 or 1.

    `bounds` tells which values cannot be negative, `flags` are those of sums and products.
    """

    def __init__(
        self,
        emit: Emitter,
        variable: Callable[[Var], SSAValue],
        bounds: ExtentBounds | None = None,
        type: Attribute = INDEX,
        flags: Attribute = NSW,
    ):
        self.emit = emit
        self.variable = variable
        self.bounds = bounds or ExtentBounds()
        self.type = type
        self.flags = flags

    def is_nonnegative(self, e: SymExpr) -> bool:
        """Return whether an expression cannot be negative, provided that it is defined."""
        return self.bounds.of(e).low >= 0

    def unchecked(self, e: SymExpr) -> SSAValue:
        """Return the value of an expression that is known to fit its type, or need not be exact."""
        return e.fold(self) if isinstance(e, Sum | Product) else self.of(e)

    def divided(self, e: Op, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Return a quotient or remainder, 0 if the divisor is 0: kernels must not trap."""
        if self.bounds.of(e.args[1]).low > 0:
            return self.division(e, lhs, rhs)
        return divided(self.emit, rhs, lambda divisor: self.division(e, lhs, divisor), quotient="div" in e.kind)

    def division(self, e: Op, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Return a quotient or remainder for a divisor that is not 0."""
        if all(map(self.is_nonnegative, e.args)):
            return self.emit.binary(_UNSIGNED[e.kind], lhs, rhs)
        if e.kind == "floormod":
            return floor_mod(self.emit, lhs, rhs, False, self.flags)
        return self.emit.binary(_ARITH[OPERATIONS[e.kind].arith], lhs, rhs)

    def condition(self, e: SymExpr) -> SSAValue:
        """Return an i1 that is true if an expression is not 0."""
        if isinstance(e, Op) and e.kind in COMPARISONS:
            return self.emit.compare(OPERATIONS[e.kind].arith, *map(self.of, e.args))
        if isinstance(e, Op) and e.kind in CONDITIONS:
            lhs, rhs = [*map(self.condition, e.args), self.emit.constant(1, i1)][:2]
            return self.emit.binary(arith.XOrIOp if e.kind == "not" else _ARITH[OPERATIONS[e.kind].arith], lhs, rhs)
        return self.emit.compare("ne", self.of(e), self.emit.constant(0, self.type))

    def const(self, e: Const) -> SSAValue:
        return self.emit.constant(e.value, self.type)

    def var(self, e: Var) -> SSAValue:
        return self.variable(e)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit.add(a, b, self.flags)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit.mul(a, b, self.flags)

    def sum(self, e: Sum) -> SSAValue:
        terms = [self.mul(self.unchecked(t), self.emit.constant(c, self.type)) for t, c in e.terms]
        return reduce(self.add, terms, self.emit.constant(e.offset, self.type))

    def op(self, e: Op) -> SSAValue:
        if e.kind in CONDITIONS:
            return self.emit.select(self.condition(e), *(self.emit.constant(n, self.type) for n in (1, 0)))
        if e.kind == "select":
            return self.emit.select(self.condition(e.args[0]), *map(self.of, e.args[1:]))
        lhs, rhs = map(self.of, e.args)
        if e.kind in DIVISIONS:
            return self.divided(e, lhs, rhs)
        return self.emit.binary(_ARITH[OPERATIONS[e.kind].arith], lhs, rhs)


class Reals(Algebra[SSAValue]):
    """Computes polynomials as doubles; their variables and other operations are computed by `integers`."""

    def __init__(self, emit: Emitter, integers: Algebra[SSAValue]):
        self.emit = emit
        self.integers = integers

    def const(self, e: Const) -> SSAValue:
        return self.emit.constant(float(e.value), f64)

    def var(self, e: SymExpr) -> SSAValue:
        value = self.integers.of(e)
        if value.type == INDEX:
            value = self.emit.from_index(value, i64)
        return self.emit.pure(arith.SIToFPOp, (value,), f64)

    op = var

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit.binary(arith.AddfOp, a, b, NO_FLAGS)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit.binary(arith.MulfOp, a, b, NO_FLAGS)


def divided(emit: Emitter, divisor: SSAValue, divide: Callable[[SSAValue], SSAValue], *, quotient: bool) -> SSAValue:
    """Return `divide(divisor)`, or 0 if the divisor is 0, the value of a remainder by 1. `divide` never sees a zero
    divisor.
    """
    if emit.known.get(divisor):
        return divide(divisor)
    zero, one = (emit.constant(n, divisor.type) for n in (0, 1))
    by_zero = emit.compare("eq", divisor, zero)
    result = divide(emit.select(by_zero, one, divisor))
    return emit.select(by_zero, zero, result) if quotient else result


def floor_mod(emit: Emitter, a: SSAValue, b: SSAValue, unsigned: bool, flags: Attribute = NSW) -> SSAValue:
    """a - floor(a / b) * b."""
    if unsigned:
        return emit.binary(arith.RemUIOp, a, b)
    return emit.sub(a, emit.mul(emit.binary(arith.FloorDivSIOp, a, b), b, flags), flags)
