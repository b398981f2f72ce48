"""Index arithmetic: SSA values as symbolic expressions, and back.

`sym_expr_of(v)` reads the tree of tir ops that computes an integer (or a condition on integers) as a `SymExpr`. What is
no integer arithmetic (a load, a loop variable, an iterator) becomes a variable that stands for the SSA value itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Operation, OpResult, SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width, is_unsigned
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import OPS, Const, Op, Product, Sum, SymExpr, Var, add, i1, mul

_KINDS: dict[type[Operation], Callable[..., SymExpr]] = {
    tir.AddOp: add,
    tir.SubOp: lambda a, b: add(a, mul(b, -1)),
    tir.MulOp: mul,
    tir.DivOp: OPS["truncdiv"],
    tir.TruncModOp: OPS["truncmod"],
    tir.FloorDivOp: OPS["floordiv"],
    tir.FloorModOp: OPS["floormod"],
    tir.MinOp: OPS["min"],
    tir.MaxOp: OPS["max"],
    tir.AndOp: OPS["and"],
    tir.OrOp: OPS["or"],
    tir.NotOp: OPS["not"],
    tir.SelectOp: OPS["select"],
    **{tir.BINARY[k]: OPS[k] for k in ("eq", "ne", "lt", "le", "gt", "ge")},
}
_DIVISIONS = frozenset({tir.DivOp, tir.TruncModOp, tir.FloorDivOp, tir.FloorModOp})


def sym_expr_of(
    value: SSAValue, memo: dict[SSAValue, SymExpr] | None = None, *, through_casts: bool = False
) -> SymExpr:
    """The expression that computes `value`; a `Var` of the value where it is no integer arithmetic.

    `through_casts`: a conversion to a wider integer is what it converts, as if index arithmetic never overflowed. The
    expression may then be of a narrower type than the value. A `memo` is for one of the two ways only.
    """
    memo = {} if memo is None else memo
    found = memo.get(value)
    if found is None:
        found = memo[value] = _expr(value, memo, through_casts)
    return found


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
    build = _KINDS.get(type(op))
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


_CLASSES: dict[str, type[Operation]] = {
    "floordiv": tir.FloorDivOp,
    "floormod": tir.FloorModOp,
    "truncdiv": tir.DivOp,
    "truncmod": tir.TruncModOp,
    "min": tir.MinOp,
    "max": tir.MaxOp,
    "and": tir.AndOp,
    "or": tir.OrOp,
    **{k: tir.BINARY[k] for k in ("eq", "ne", "lt", "le", "gt", "ge")},
}


class Materializer:
    """Turns expressions into tir ops, given to `insert` in order; equal expressions become one value.

    Everything is of the integer type of the expression; a variable of another width is cast.
    """

    def __init__(self, insert: Callable[[Operation], object]):
        self._insert = insert
        self._memo: dict[tuple[SymExpr, IntegerType], SSAValue] = {}

    def __call__(self, expr: SymExpr, dtype: IntegerType | None = None) -> SSAValue:
        """The value of `expr`, of `dtype` (the expression's own where None)."""
        wanted = dtype or expr.dtype
        key = (expr, wanted)
        found = self._memo.get(key)
        if found is None:
            found = self._memo[key] = self._build(expr, wanted)
        return found

    def _add(self, op: Operation) -> SSAValue:
        self._insert(op)
        return op.results[0]

    def _cast(self, value: SSAValue, dtype: IntegerType) -> SSAValue:
        return value if value.type == dtype else self._add(tir.CastOp(value, dtype))

    def _build(self, expr: SymExpr, dtype: IntegerType) -> SSAValue:
        if isinstance(expr, Const):
            return self._add(tir.ConstOp(expr.value, dtype))
        if isinstance(expr, Var):
            value = expr.value
            return self._cast(self._add(ValueOp(expr)) if value is None else value, dtype)
        if isinstance(expr, Product):
            return self._fold(tir.MulOp, [self(a, dtype) for a in expr.atoms])
        if isinstance(expr, Sum):
            return self._sum(expr, dtype)
        return self._op(cast(Op, expr), dtype)

    def _fold(self, cls: Callable[[SSAValue, SSAValue], Operation], values: list[SSAValue]) -> SSAValue:
        out = values[0]
        for v in values[1:]:
            out = self._add(cls(out, v))
        return out

    def _sum(self, expr: Sum, dtype: IntegerType) -> SSAValue:
        positive = [(t, c) for t, c in expr.terms if c > 0]
        parts = [self._scaled(t, c, dtype) for t, c in positive]
        if expr.offset > 0 or not parts:
            parts.append(self(Const(expr.offset, dtype), dtype))
        out = self._fold(tir.AddOp, parts)
        for t, c in expr.terms:
            if c < 0:
                out = self._add(tir.SubOp(out, self._scaled(t, -c, dtype)))
        if expr.offset < 0 and positive:
            out = self._add(tir.SubOp(out, self(Const(-expr.offset, dtype), dtype)))
        return out

    def _scaled(self, term: SymExpr, factor: int, dtype: IntegerType) -> SSAValue:
        value = self(term, dtype)
        return value if factor == 1 else self._add(tir.MulOp(value, self(Const(factor, dtype), dtype)))

    def _op(self, expr: Op, dtype: IntegerType) -> SSAValue:
        if expr.kind == "not":
            return self._add(tir.NotOp(self(expr.args[0], i1)))
        if expr.kind == "select":
            cond, a, b = expr.args
            return self._add(tir.SelectOp(self(cond, i1), self(a, dtype), self(b, dtype)))
        inner = max((a.dtype for a in expr.args), key=lambda t: t.width.data) if expr.dtype == i1 else dtype
        args = [self(a, inner) for a in expr.args]
        return self._add(_CLASSES[expr.kind](*args))  # pyright: ignore[reportCallIssue]
