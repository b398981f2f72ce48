"""Binary operators, element by element on operands that broadcast. An operand is a tensor or a scalar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import i1

from ..diagnostics import ShapeError
from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import ExprLike, PrimExpr
from ..te.tensor import Tensor
from .util import Indices, over_axes, shape_dims, zero_like

Operand = Tensor | ExprLike


def broadcast_shapes(shapes: Sequence[Sequence[SymExpr]]) -> list[SymExpr]:
    """The shape that `shapes` broadcast to; symbolic extents are taken to agree.

    Raises `ShapeError` where two constant extents cannot.
    """
    rank = max(len(s) for s in shapes)
    longest = max(shapes, key=len)
    out: list[SymExpr] = [Const(1, d.dtype) for d in longest]
    for shape in shapes:
        for i, extent in enumerate(shape, rank - len(shape)):
            known, given = out[i].constant, extent.constant
            if known == 1 or (known is None and given not in (None, 1)):
                out[i] = extent
            elif known is not None and given not in (None, 1, known):
                raise ShapeError("the shapes do not broadcast", expected=f"{known} or 1 in dimension {i}", found=given)
    return out


def broadcast_indices(shape: Sequence[SymExpr], indices: Sequence[PrimExpr], out: Sequence[SymExpr]) -> list[PrimExpr]:
    """Indices of a result of shape `out` as indices of an operand of `shape`: 0 where the operand is repeated."""
    skipped = len(out) - len(shape)
    rows = zip(shape, indices[skipped:], out[skipped:], strict=True)
    return [zero_like(d) if d.constant == 1 and o.constant != 1 else i for d, i, o in rows]


def _element(operand: Operand, indices: Indices, out: Sequence[SymExpr]) -> ExprLike:
    return operand(*broadcast_indices(operand.dims, indices, out)) if isinstance(operand, Tensor) else operand


def broadcasting(name: str, build: Callable[[Any, Any], PrimExpr]) -> Callable[..., Any]:
    """An operator on operands that broadcast, whose element is what `build` makes of theirs."""

    def apply(lhs: Operand, rhs: Operand) -> Any:
        tensors = [t for t in (lhs, rhs) if isinstance(t, Tensor)]
        if not tensors:
            return build(lhs, rhs)
        shape = broadcast_shapes([t.dims for t in tensors])
        return over_axes(
            shape, lambda i: build(_element(lhs, i, shape), _element(rhs, i, shape)), f"T_{name}", "broadcast"
        )

    apply.__name__ = name
    apply.__doc__ = f"{name}, element by element with broadcasting."
    return apply


def _logical(build: Callable[..., PrimExpr]) -> Callable[[Any, Any], PrimExpr]:
    return lambda a, b: build(a, b)


def _logical_xor(a: ExprLike, b: ExprLike) -> PrimExpr:
    return tx.bitwise_xor(tx.logical_or(a), tx.logical_or(b))


add = broadcasting("add", tx.add)
subtract = broadcasting("subtract", tx.subtract)
multiply = broadcasting("multiply", tx.multiply)
divide = broadcasting("divide", tx.div)
floor_divide = broadcasting("floor_divide", tx.floordiv)
mod = broadcasting("mod", tx.truncmod)
floor_mod = broadcasting("floor_mod", tx.floormod)
power = broadcasting("power", tx.power)
maximum = broadcasting("maximum", tx.maximum)
minimum = broadcasting("minimum", tx.minimum)
equal = broadcasting("equal", tx.equal)
not_equal = broadcasting("not_equal", tx.not_equal)
greater = broadcasting("greater", tx.greater)
greater_equal = broadcasting("greater_equal", tx.greater_equal)
less = broadcasting("less", tx.less)
less_equal = broadcasting("less_equal", tx.less_equal)
logical_and = broadcasting("logical_and", _logical(tx.logical_and))
logical_or = broadcasting("logical_or", _logical(tx.logical_or))
logical_xor = broadcasting("logical_xor", _logical_xor)
bitwise_and = broadcasting("bitwise_and", tx.bitwise_and)
bitwise_or = broadcasting("bitwise_or", tx.bitwise_or)
bitwise_xor = broadcasting("bitwise_xor", tx.bitwise_xor)
left_shift = broadcasting("left_shift", tx.shift_left)
right_shift = broadcasting("right_shift", tx.shift_right)


def broadcast_to(data: Tensor, shape: Any) -> Tensor:
    """`data` repeated along dimensions of extent 1 and new leading ones, to fill `shape`."""
    dims = shape_dims(shape)
    return over_axes(dims, lambda i: _element(data, i, dims), "T_broadcast_to", "broadcast")


def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """`x` where the condition is not zero, else `y`; all three broadcast."""
    dims = broadcast_shapes([condition.dims, x.dims, y.dims])

    def element(i: Indices) -> PrimExpr:
        c = _element(condition, i, dims)
        holds = c if condition.type == i1 else tx.not_equal(c, 0)
        return tx.select(holds, _element(x, i, dims), _element(y, i, dims))

    return over_axes(dims, element, "T_where", "broadcast")


__all__ = [
    "add",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "divide",
    "equal",
    "floor_divide",
    "floor_mod",
    "greater",
    "greater_equal",
    "left_shift",
    "less",
    "less_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "not_equal",
    "power",
    "right_shift",
    "subtract",
    "where",
]
