"""Element-wise binary operators with broadcasting. An operand is a tensor or a scalar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import i1

from ..handles.tir import math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import ExprLike, PrimExpr
from ..te.axis import shape_dims
from ..te.broadcast import (
    Indices,
    add,
    broadcast_indices,
    broadcast_shapes,
    broadcasting,
    divide,
    element_of,
    multiply,
    over_axes,
    subtract,
    zero_like,
)
from ..te.tensor import Tensor


def _logical(build: Callable[..., PrimExpr]) -> Callable[[Any, Any], PrimExpr]:
    return lambda a, b: build(a, b)


def _logical_xor(a: ExprLike, b: ExprLike) -> PrimExpr:
    return tx.bitwise_xor(tx.logical_or(a), tx.logical_or(b))


floor_divide = broadcasting("floor_divide", tx.floordiv)
mod = broadcasting("mod", tx.truncmod)
floor_mod = broadcasting("floor_mod", tx.floormod)
power = broadcasting("power", math_functions.power)
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
    """Repeat `data` along new leading dimensions and those of extent 1 to get `shape`.

    An extent may turn out to be 1 only at run time.
    """
    dims = shape_dims(shape)
    filled = dims[len(dims) - len(data.dims) :]

    def element(i: Indices) -> PrimExpr:
        rows = zip(broadcast_indices(data.dims, i, dims), data.dims, filled, strict=True)
        return data(
            *(
                k if d == o or d.constant else tx.select(tx.equal(tx.from_sym(d), 1), zero_like(d), k)
                for k, d, o in rows
            )
        )

    return over_axes(dims, element, "T_broadcast_to", "broadcast")


def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return `x` where the condition is not zero, else `y`; all three broadcast."""
    dims = broadcast_shapes([condition.dims, x.dims, y.dims])

    def element(i: Indices) -> PrimExpr:
        c = element_of(condition, i, dims)
        holds = c if condition.type == i1 else tx.not_equal(c, 0)
        return tx.select(holds, element_of(x, i, dims), element_of(y, i, dims))

    return over_axes(dims, element, "T_where", "broadcast")


__all__ = [
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "broadcast_to", "divide", "equal", "floor_divide",
    "floor_mod", "greater", "greater_equal", "left_shift", "less", "less_equal", "logical_and", "logical_or",
    "logical_xor", "maximum", "minimum", "mod", "multiply", "not_equal", "power", "right_shift", "subtract",
    "where",
]  # fmt: skip
