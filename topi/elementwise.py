"""Element-wise unary operators, fixed-point arithmetic, and tensors filled with one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute

from ..diagnostics import ShapeError
from ..dialects.dtypes import dtype_of, is_float, is_unsigned
from ..handles.tir import math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import ExprLike, PrimExpr
from ..te.axis import shape_dims
from ..te.broadcast import over_axes
from ..te.tensor import Tensor, compute
from .util import Scalar, scalar


def _unary(name: str, build: Callable[[ExprLike], PrimExpr]) -> Callable[[Tensor], Tensor]:
    def apply(x: Tensor) -> Tensor:
        return compute(x.dims, lambda *i: build(x(*i)), "compute", "elemwise")

    apply.__name__, apply.__doc__ = name, f"{name}, element by element."
    return apply


def _unary_over_axes(name: str, build: Callable[[PrimExpr], PrimExpr]) -> Callable[[Tensor], Tensor]:
    def apply(x: Tensor) -> Tensor:
        return over_axes(x.dims, lambda i: build(x(*i)), f"T_{name}", "elemwise")

    apply.__name__, apply.__doc__ = name, f"{name}, element by element."
    return apply


def _sign(x: PrimExpr) -> PrimExpr:
    one, zero = tx.const(1, x.type), tx.const(0, x.type)
    minus = tx.select(x < zero, tx.const(-1, x.type), zero) if not tx.is_unsigned(x.type) else zero
    return tx.select(x > zero, one, minus)


abs = _unary("abs", math_functions.abs_)
acos, acosh = _unary("acos", math_functions.acos), _unary("acosh", math_functions.acosh)
asin, asinh = _unary("asin", math_functions.asin), _unary("asinh", math_functions.asinh)
atan, atanh = _unary("atan", math_functions.atan), _unary("atanh", math_functions.atanh)
cos, cosh = _unary("cos", math_functions.cos), _unary("cosh", math_functions.cosh)
sin, sinh = _unary("sin", math_functions.sin), _unary("sinh", math_functions.sinh)
tan, tanh = _unary("tan", math_functions.tan), _unary("tanh", math_functions.tanh)
ceil, floor, trunc = (
    _unary("ceil", math_functions.ceil),
    _unary("floor", math_functions.floor),
    _unary("trunc", math_functions.trunc),
)
round = _unary("round", math_functions.nearbyint)
exp, log = _unary("exp", math_functions.exp), _unary("log", math_functions.log)
log2, log10 = _unary("log2", math_functions.log2), _unary("log10", math_functions.log10)
erf, sigmoid = _unary("erf", math_functions.erf), _unary("sigmoid", math_functions.sigmoid)
sqrt, rsqrt = _unary("sqrt", math_functions.sqrt), _unary("rsqrt", math_functions.rsqrt)
isfinite, isinf, isnan = (
    _unary("isfinite", math_functions.isfinite),
    _unary("isinf", math_functions.isinf),
    _unary("isnan", math_functions.isnan),
)
identity = _unary("identity", tx.convert)
sign = _unary_over_axes("sign", _sign)
logical_not = _unary_over_axes("logical_not", tx.logical_not)
bitwise_not = _unary_over_axes("bitwise_not", tx.bitwise_not)


def negative(x: Tensor) -> Tensor:
    """Return -x."""
    if is_unsigned(x.type):
        return compute(x.dims, lambda *i: tx.const(0, x.type) - x(*i), "compute", "elemwise")
    return compute(x.dims, lambda *i: -x(*i), "compute", "elemwise")


def cast(x: Tensor, dtype: str | Attribute) -> Tensor:
    """Return `x` converted to `dtype`."""
    return compute(x.dims, lambda *i: x(*i).astype(dtype), "compute", "elemwise")


def rounded(x: Tensor, dtype: Attribute) -> Tensor:
    """Return `x` converted to `dtype`, or `x` itself if it has that dtype."""
    return x if x.type == dtype else cast(x, dtype)


def clip(x: Tensor, a_min: Scalar, a_max: Scalar) -> Tensor:
    """Return `x` limited to [a_min, a_max]; `a_max` if that is below `a_min`."""
    low, high = (tx.cast(x.type, v) for v in (a_min, a_max))
    low = tx.minimum(low, high)
    return compute(x.dims, lambda *i: tx.maximum(tx.minimum(x(*i), high), low), "compute", "elemwise")


def full(shape: Any, dtype: str | Attribute, fill_value: Scalar | Tensor) -> Tensor:
    """Return a tensor filled with a number, or with the element of a tensor of rank 0."""
    element = dtype_of(dtype) if isinstance(dtype, str) else dtype

    def value() -> PrimExpr:
        return tx.cast(element, fill_value() if isinstance(fill_value, Tensor) else _number(fill_value, element))

    return over_axes(shape_dims(shape), lambda _: value(), "T_full")


def _number(value: Scalar, dtype: Attribute) -> Scalar:
    return tx.const(value, dtype) if isinstance(value, int) and is_float(dtype) else value


def full_like(x: Tensor, fill_value: Scalar) -> Tensor:
    """Return a tensor with the shape of `x`, filled with a number."""
    return over_axes(x.dims, lambda _: scalar(fill_value, x), "T_full_like")


def elemwise_sum(xs: Sequence[Tensor]) -> Tensor:
    """Return the sum of tensors of the same shape. Raises `ShapeError` for an empty list."""
    if not xs:
        raise ShapeError("there is nothing to add", expected="one tensor or more", found=0)
    return over_axes(xs[0].dims, lambda i: reduce(tx.add, [x(*i) for x in xs]), "T_elemwise_sum", "elemwise")


__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_not", "cast", "ceil", "clip", "cos",
    "cosh", "elemwise_sum", "erf", "exp", "floor", "full", "full_like", "identity", "isfinite", "isinf",
    "isnan", "log", "log2", "log10", "logical_not", "negative", "round", "rsqrt", "sigmoid", "sign", "sin",
    "sinh", "sqrt", "tan", "tanh", "trunc",
]  # fmt: skip


def fixed_point_multiply(x: Tensor, multiplier: int, shift: int) -> Tensor:
    """Return x * multiplier * 2**(shift - 31), rounded."""

    def element(*i: PrimExpr) -> PrimExpr:
        numbers = (tx.const(n, i32) for n in (multiplier, 31, shift))
        return tx.call_intrin(i32, "q_multiply_shift", x(*i), *numbers)

    return compute(x.dims, element, "compute")


def fixed_point_multiply_per_axis(
    x: Tensor, y: Tensor, lshift: Tensor, rshift: Tensor, required: tuple[bool, bool], axes: Sequence[int]
) -> Tensor:
    """Return x * 2**lshift * y * 2**(-rshift - 31), rounded; `required`: whether there are left and right shifts."""

    def element(*i: PrimExpr) -> PrimExpr:
        own = [i[a] for a in axes]
        flags = (tx.const(r, i1) for r in required)
        values = (y(*own), lshift(*own), rshift(*own), tx.const(31, i32))
        return tx.call_intrin(i32, "q_multiply_shift_per_axis", x(*i), *values, *flags)

    return compute(x.dims, element, "compute", "broadcast")
