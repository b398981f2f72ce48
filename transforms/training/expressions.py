"""Building blocks of gradients: functions that return detached expressions, and the tape that inserts them.

A rule is written as a formula, `g * (1 - y * y)`, and the tape inserts it into the dataflow block, binding by binding.
An expression that is used twice is bound once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import TupleType, i64
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import relax
from ...dialects.dtypes import is_float
from ...dialects.names import set_name
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import Const, ExprLike, SymExpr, product
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Constant, Expr, Tuple, Var
from ...ir.names import NameSupply

Dims = tuple[SymExpr, ...]


def call(name: str, *args: Any, **attrs: Any) -> Expr:
    """Return a detached call of the operator `relax.<name>`; a list provides the fields of a tuple argument."""
    values: list[Any] = []
    for a in args:
        fields = cast("list[Expr]", a) if isinstance(a, list) else None
        values.append([f.ssa for f in fields] if fields is not None else None if a is None else to_expr(a).ssa)
    return to_expr(relax.OPERATORS[f"relax.{name}"].make(*values, **attrs).results[0])


def tensor(x: Expr) -> TensorType:
    """Return the struct info of a tensor."""
    return cast(TensorType, x.ssa.type)


def dims(x: Expr) -> Dims:
    """Return the extents of a tensor of known shape."""
    extents = tensor(x).dims
    assert extents is not None  # `Gradient` refuses operands of unknown shape
    return extents


def rank(x: Expr) -> int:
    """Return the rank of a tensor of known shape."""
    return len(dims(x))


def shape(extents: Sequence[ExprLike]) -> Expr:
    """Return a shape value."""
    return to_expr(relax.ShapeOp(extents).result)


def prim(value: ExprLike) -> Expr:
    """Return a scalar value."""
    return to_expr(relax.PrimValueOp(value).result)


def number(value: float, like: Expr) -> Expr:
    """Return a constant tensor of rank 0, with the dtype of `like`."""
    return constant(value, tensor(like).element)


def constant(value: Any, dtype: Attribute | None) -> Expr:
    """Return a constant tensor."""
    return Constant.on(relax.ConstantOp.of(value, cast(Attribute, dtype)).result)


def extent(value: SymExpr, dtype: Attribute | None) -> Expr:
    """Return an extent, or a product of extents, as a tensor of rank 0."""
    if value.constant is not None:
        return constant(value.constant, dtype)
    # the single element of the range from n to n + 1
    return call("squeeze", call("arange", prim(value), prim(value + 1), prim(1), dtype=dtype), axis=[0])


def count(x: Expr, axes: Sequence[int]) -> SymExpr:
    """Return the number of elements along `axes`."""
    return product([Const(1, i64), *(dims(x)[a] for a in axes)])


def zeros(t: Attribute) -> Expr:
    """Return zeros of a type: a tensor of known shape, or a tuple of these."""
    if isinstance(t, TupleType):
        return Tuple([zeros(f) for f in t.types])
    if not isinstance(t, TensorType) or t.dims is None or t.element is None:
        raise UnsupportedError("there are no zeros of this type", expected="a tensor of known shape and dtype", found=t)
    return call("zeros", shape(t.dims), dtype=t.element)


def zeros_like(x: Expr) -> Expr:
    """Return zeros in the shape of x."""
    return zeros(x.ssa.type) if tensor(x).dims is not None else call("zeros_like", x)


def where(condition: Expr, yes: Expr, no: Expr) -> Expr:
    """Return `yes` where the condition holds, else `no`."""
    return call("where", condition, yes, no)


def total(x: Expr, axes: Sequence[int] | None = None, keepdims: bool = False) -> Expr:
    """Return the sum along `axes`, all of them if None; x itself if there are none."""
    if axes is not None and not axes:
        return x
    return call("sum", x, axis=axes if axes is None else list(axes), keepdims=keepdims)


def mean(x: Expr, axes: Sequence[int]) -> Expr:
    """Return the mean along `axes`, which are kept with extent 1."""
    return call("mean", x, axis=list(axes), keepdims=True) if axes else x


def reshape(x: Expr, to: Sequence[ExprLike]) -> Expr:
    """Return x in another shape."""
    return call("reshape", x, shape(to))


def broadcast(x: Expr, to: Sequence[ExprLike]) -> Expr:
    """Return x broadcast to a shape."""
    return call("broadcast_to", x, shape(to))


def permute(x: Expr, axes: Sequence[int]) -> Expr:
    """Permute dimensions: dimension i of the result is dimension axes[i] of x; x itself if nothing changes."""
    return x if list(axes) == list(range(len(axes))) else call("permute_dims", x, axes=list(axes))


def inverse(axes: Sequence[int]) -> list[int]:
    """Return the inverse of the permutation `axes`; for other distinct axes, the order that sorts them."""
    return sorted(range(len(axes)), key=lambda i: axes[i])


def field(value: Expr, index: int) -> Expr:
    """Return a field of a tuple."""
    return value[index]


def added(a: Expr, b: Expr) -> Expr:
    """Return a + b, field by field for tuples."""
    t = a.ssa.type
    if isinstance(t, TupleType):
        return Tuple([added(field(a, i), field(b, i)) for i in range(len(t.types))])
    return call("add", a, b)


def is_differentiable(t: Attribute) -> bool:
    """Return whether values of a type have gradients: floating-point tensors, and tuples with such a field."""
    if isinstance(t, TupleType):
        return any(map(is_differentiable, t.types))
    return isinstance(t, TensorType) and (t.element is None or is_float(t.element))


class Tape:
    """Inserter of detached expressions before the end of a dataflow block; names are `lv`, `lv1`, …"""

    def __init__(self, end: Operation):
        self._end = end
        self._names = NameSupply()
        self.placed: list[Operation] = []

    def bind(self, expr: Expr, name: str) -> SSAValue:
        """Bind an expression to a variable named like `name`, after binding its operands."""
        value = expr.ssa
        op = value.op if isinstance(value, OpResult) and value.op.parent is None else relax.BindOp(value)
        self.operands(op)
        self.insert(op, self._names.fresh(name))
        return op.results[0]

    def normalize(self, expr: Expr) -> Expr:
        """Return the expression with its operands bound; the expression itself is not bound."""
        value = expr.ssa
        if isinstance(value, OpResult) and value.op.parent is None:
            self.operands(value.op)
        return expr

    def operands(self, op: Operation) -> None:
        """Insert the detached operands of a detached op, recursively, in order of use."""
        for value in op.operands:
            if isinstance(value, OpResult) and value.op.parent is None:
                self.operands(value.op)
                self.insert(value.op, None if isinstance(value.op, relax.INLINE_OPS) else self._names.fresh("lv"))

    def insert(self, op: Operation, name: str | None) -> None:
        """Insert an op whose operands are in the block."""
        block = self._end.parent
        assert block is not None
        block.insert_op_before(op, self._end)
        set_name(op.results[0], name)
        self.placed.append(op)


def discard(expr: Expr) -> None:
    """Drop an unused detached expression, and the operands that only it used."""
    stack = [expr.ssa]
    while stack:
        value = stack.pop()
        if isinstance(value, OpResult) and value.op.parent is None and value.first_use is None:
            operands = list(value.op.operands)
            value.op.operands = []
            stack += operands


def handle(value: SSAValue) -> Expr:
    """Return the handle of a value of the block."""
    return to_expr(value) if isinstance(value, OpResult) and relax.is_inline(value.op) else Var.on(value)
