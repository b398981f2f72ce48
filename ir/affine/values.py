"""Conversion of SSA values to symbolic expressions, and back.

`sym_expr_of(v)` reads the tree of tir ops that computes an integer (or a condition on integers) as a `SymExpr`. Leaves
that are not integer arithmetic (a load, a loop variable, an iterator) become variables for the SSA values themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width, is_unsigned
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import MOST_ADDED, Algebra, Const, Op, Sum, SymExpr, Var, i1, total
from ...dialects.sym.operations import DIVISIONS
from ...dialects.sym.operators import ARITHMETIC

_CLASSES: dict[str, type[Operation]] = {
    **{"truncdiv" if name == "div" else name: cls for name, cls in tir.BINARY.items()},
    "not": tir.NotOp,
    "select": tir.SelectOp,
}
"""The tir operations by names of scalar operations."""
_CONSTRUCTORS = {cls: ARITHMETIC[name] for name, cls in _CLASSES.items()}
_DIVISIONS = frozenset(_CLASSES[name] for name in DIVISIONS)


def sym_expr_of(
    value: SSAValue, memo: dict[SSAValue, SymExpr] | None = None, *, through_casts: bool = False
) -> SymExpr:
    """Return the expression that computes `value`; a `Var` of the value if it is not integer arithmetic.

    `through_casts` looks through widening integer casts, as if index arithmetic never overflowed. The expression may
    then have a narrower type than the value. A `memo` must not be shared between the two modes.
    """
    memo = {} if memo is None else memo
    pending = [value]  # `operands_first`, inlined: nothing is called as often
    while pending:
        each = pending[-1]
        if each in memo:
            pending.pop()
            continue
        parts = _parts(each, through_casts)
        missing = [v for v in parts if v not in memo]
        if missing:
            pending += missing
        else:
            memo[each] = _expr(each, [memo[v] for v in parts])
            pending.pop()
    return memo[value]


def operands_first(value: SSAValue, needed: Callable[[SSAValue], Sequence[SSAValue]]) -> Iterator[SSAValue]:
    """Yield `value` after the values it needs, in postorder.

    Used for all walks along expressions, which may be deeper than Python's stack. A value that is needed twice comes
    twice, but `needed` is called again and may then return nothing.
    """
    stack = [(value, iter(needed(value)))]
    while stack:
        each, rest = stack[-1]
        part = next(rest, None)
        if part is None:
            stack.pop()
            yield each
        else:
            stack.append((part, iter(needed(part))))


def _parts(value: SSAValue, through_casts: bool) -> Sequence[SSAValue]:
    """Return the operands of integer arithmetic, or nothing for other operations."""
    op = value.owner
    if type(op) is tir.CastOp:
        return (op.value,) if through_casts and widens(op) else ()
    if type(op) not in _CONSTRUCTORS:
        return ()
    operands = cast(Operation, op).operands
    return operands if all(isinstance(o.type, IntegerType) for o in operands) else ()


def _expr(value: SSAValue, args: list[SymExpr]) -> SymExpr:
    """Return the expression of a value, given those of its `_parts`."""
    op = value.owner
    if args:
        if type(op) in _DIVISIONS and args[1].constant == 0:
            return _opaque(value)
        return args[0] if type(op) is tir.CastOp else _CONSTRUCTORS[cast("type[Operation]", type(op))](*args)
    if type(op) is tir.ConstOp and isinstance(op.value, IntegerAttr):
        number, dtype = op.value.value.data, cast(IntegerType, value.type)
        return Const(number & 1 if dtype == i1 else number, dtype)
    return op.expr.data if type(op) is ValueOp else _opaque(value)


def conjuncts(condition: SSAValue) -> list[SSAValue]:
    """Return the conjuncts of a condition."""
    op = condition.owner
    return [*conjuncts(op.lhs), *conjuncts(op.rhs)] if isinstance(op, tir.AndOp) else [condition]


def is_fixed(value: SSAValue) -> bool:
    """Return whether a value is constant during a call: a constant, a symbolic value, or a parameter."""
    owner = value.owner
    if isinstance(owner, Block):
        return isinstance(owner.parent_op(), tir.FuncOp)
    return isinstance(owner, tir.ConstOp | ValueOp)


def widens(op: tir.CastOp) -> bool:
    """Return whether a cast of signed integers preserves every value: it does not narrow."""
    types = (op.value.type, op.result.type)
    if i1 in types or not all(isinstance(t, IntegerType) and not is_unsigned(t) for t in types):
        return False
    narrow, wide = (bit_width(t) for t in types)
    return narrow <= wide


def _opaque(value: SSAValue) -> Var:
    """Return the variable that represents a value."""
    if not isinstance(value.type, IntegerType):
        raise TypeError(f"a value of {value.type} is no integer expression")
    return Var(value, value.type)


class Materializer:
    """Conversion of expressions to tir ops, passed to `insert` in order; equal expressions become one value.

    All ops have the integer type of the expression; variables of another width are cast.
    """

    def __init__(self, insert: Callable[[Operation], object]):
        self._insert = insert
        self._typed: dict[IntegerType, _Materialization] = {}

    def __call__(self, expr: SymExpr, dtype: IntegerType | None = None) -> SSAValue:
        """Return the value of `expr` in `dtype` (default: the expression's own)."""
        return self.typed(dtype or expr.dtype).of(expr)

    def typed(self, dtype: IntegerType) -> Algebra[SSAValue]:
        """Return the algebra that evaluates expressions to values of one integer type."""
        algebra = self._typed.get(dtype)
        if algebra is None:
            algebra = self._typed[dtype] = _Materialization(self._insert, dtype, self)
        return algebra


class _Materialization(Algebra[SSAValue]):
    def __init__(self, insert: Callable[[Operation], object], dtype: IntegerType, materialize: Materializer):
        self._insert = insert
        self._dtype = dtype
        self._materialize = materialize
        self._memo: dict[SymExpr, SSAValue] = {}

    def of(self, e: SymExpr) -> SSAValue:
        value = self._memo.get(e)
        if value is None:
            value = self._memo[e] = e.fold(self)
        return value

    def _emit(self, op: Operation) -> SSAValue:
        self._insert(op)
        return op.results[0]

    def const(self, e: Const) -> SSAValue:
        return self._emit(tir.ConstOp(e.value, self._dtype))

    def var(self, e: Var) -> SSAValue:
        value = self._emit(ValueOp(e)) if e.value is None else e.value
        return value if value.type == self._dtype else self._emit(tir.CastOp(value, self._dtype))

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._emit(tir.AddOp(a, b))

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._emit(tir.MulOp(a, b))

    def sum(self, e: Sum) -> SSAValue:
        """Materialize a sum: additions first, then subtractions."""
        positive = [(t, c) for t, c in e.terms if c > 0]
        parts = [self._scaled(t, c) for t, c in positive]
        if e.offset > 0 or not parts:
            parts.append(self._number(e.offset))
        result = total(parts, self.add)
        negative = [(t, -c) for t, c in e.terms if c < 0]
        subtracted = (self._scaled(t, c) for t, c in negative)
        for part in [total(list(subtracted), self.add)] if len(negative) > MOST_ADDED else subtracted:
            result = self._emit(tir.SubOp(result, part))
        if e.offset < 0 and positive:
            result = self._emit(tir.SubOp(result, self._number(-e.offset)))
        return result

    def _number(self, value: int) -> SSAValue:
        return self.of(Const(value, self._dtype))

    def _scaled(self, term: SymExpr, factor: int) -> SSAValue:
        value = self.of(term)
        return value if factor == 1 else self.mul(value, self._number(factor))

    def op(self, e: Op) -> SSAValue:
        if e.kind == "select":
            condition, *sides = e.args
            args = [self._materialize(condition, i1), *map(self.of, sides)]
        elif e.dtype == i1:  # compare in the type of the operands
            inner = max((a.dtype for a in e.args), key=lambda t: t.width.data)
            args = [self._materialize(a, inner) for a in e.args]
        else:
            args = [self.of(a) for a in e.args]
        return self._emit(_CLASSES[e.kind](*args))  # pyright: ignore[reportCallIssue]
