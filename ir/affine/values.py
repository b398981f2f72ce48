"""Index arithmetic: SSA values as symbolic expressions, and back.

`sym_expr_of(v)` reads the tree of tir ops that computes an integer (or a condition on integers) as a `SymExpr`. What is
no integer arithmetic (a load, a loop variable, an iterator) becomes a variable that stands for the SSA value itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Operation, OpResult, SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width, is_unsigned
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import ARITHMETIC, Algebra, Const, Op, Sum, SymExpr, Var, i1
from ...dialects.sym.operations import DIVISIONS

_CLASSES: dict[str, type[Operation]] = {
    **{"truncdiv" if name == "div" else name: cls for name, cls in tir.BINARY.items()},
    "not": tir.NotOp,
    "select": tir.SelectOp,
}
"""The tir operations by the names of scalar operations."""
_CONSTRUCTORS = {cls: ARITHMETIC[name] for name, cls in _CLASSES.items()}
_DIVISIONS = frozenset(_CLASSES[name] for name in DIVISIONS)


def sym_expr_of(
    value: SSAValue, memo: dict[SSAValue, SymExpr] | None = None, *, through_casts: bool = False
) -> SymExpr:
    """The expression that computes `value`; a `Var` of the value where it is no integer arithmetic.

    `through_casts`: a conversion to a wider integer is what it converts, as if index arithmetic never overflowed. The
    expression may then be of a narrower type than the value. A `memo` is for one of the two ways only.
    """
    memo = {} if memo is None else memo
    expr = memo.get(value)
    if expr is None:
        expr = memo[value] = _expr(value, memo, through_casts)
    return expr


def _expr(value: SSAValue, memo: dict[SSAValue, SymExpr], through_casts: bool) -> SymExpr:
    if not isinstance(value, OpResult):
        return _opaque(value)
    op = value.op
    if isinstance(op, tir.ConstOp) and isinstance(op.value, IntegerAttr):
        return Const(
            op.value.value.data & 1 if value.type == i1 else op.value.value.data, cast(IntegerType, value.type)
        )
    if isinstance(op, ValueOp):
        return op.expr.data
    if through_casts and isinstance(op, tir.CastOp) and widens(op):
        return sym_expr_of(op.value, memo, through_casts=True)
    build = _CONSTRUCTORS.get(type(op))
    if build is None or not all(isinstance(o.type, IntegerType) for o in op.operands):
        return _opaque(value)
    args = [sym_expr_of(o, memo, through_casts=through_casts) for o in op.operands]
    if type(op) in _DIVISIONS and args[1].constant == 0:
        return _opaque(value)
    return build(*args)


def widens(op: tir.CastOp) -> bool:
    """Whether a cast keeps every value: of signed integers, to no narrower type."""
    types = (op.value.type, op.result.type)
    if i1 in types or not all(isinstance(t, IntegerType) and not is_unsigned(t) for t in types):
        return False
    narrow, wide = (bit_width(t) for t in types)
    return narrow <= wide


def _opaque(value: SSAValue) -> Var:
    """The value as a variable."""
    if not isinstance(value.type, IntegerType):
        raise TypeError(f"a value of {value.type} is no integer expression")
    return Var(value, value.type)


class Materializer:
    """Turns expressions into tir ops, given to `insert` in order; equal expressions become one value.

    Everything is of the integer type of the expression; a variable of another width is cast.
    """

    def __init__(self, insert: Callable[[Operation], object]):
        self._insert = insert
        self._typed: dict[IntegerType, _Materialization] = {}

    def __call__(self, expr: SymExpr, dtype: IntegerType | None = None) -> SSAValue:
        """The value of `expr`, of `dtype` (the expression's own where None)."""
        return self.typed(dtype or expr.dtype).of(expr)

    def typed(self, dtype: IntegerType) -> Algebra[SSAValue]:
        """Expressions as values of one integer type."""
        algebra = self._typed.get(dtype)
        if algebra is None:
            algebra = self._typed[dtype] = _Materialization(self._insert, dtype, self)
        return algebra


class _Materialization(Algebra[SSAValue]):
    def __init__(self, insert: Callable[[Operation], object], dtype: IntegerType, whole: Materializer):
        self._insert = insert
        self._dtype = dtype
        self._whole = whole
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
        """What is added first, then what is subtracted."""
        positive = [(t, c) for t, c in e.terms if c > 0]
        parts = [self._scaled(t, c) for t, c in positive]
        if e.offset > 0 or not parts:
            parts.append(self._number(e.offset))
        total = reduce(self.add, parts)
        for t, c in e.terms:
            if c < 0:
                total = self._emit(tir.SubOp(total, self._scaled(t, -c)))
        if e.offset < 0 and positive:
            total = self._emit(tir.SubOp(total, self._number(-e.offset)))
        return total

    def _number(self, value: int) -> SSAValue:
        return self.of(Const(value, self._dtype))

    def _scaled(self, term: SymExpr, factor: int) -> SSAValue:
        value = self.of(term)
        return value if factor == 1 else self.mul(value, self._number(factor))

    def op(self, e: Op) -> SSAValue:
        if e.kind == "select":
            condition, *sides = e.args
            args = [self._whole(condition, i1), *map(self.of, sides)]
        elif e.dtype == i1:  # compared in the type of the operands
            inner = max((a.dtype for a in e.args), key=lambda t: t.width.data)
            args = [self._whole(a, inner) for a in e.args]
        else:
            args = [self.of(a) for a in e.args]
        return self._emit(_CLASSES[e.kind](*args))  # pyright: ignore[reportCallIssue]
