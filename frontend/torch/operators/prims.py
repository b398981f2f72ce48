"""PyTorch's primitives, which its reference implementations and decompositions are written in.

Most are an operator of ATen by the same or another name; those that differ have rows here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....handles.relax.expr import Expr, ShapeExpr, const
from ...importing.relax_operators import R
from ..emitter import Emitter, Extent, cast_to, dtype_of, is_float, shape_of
from ..promotion import in_single
from ..table import CONVERTERS, add_rows, row
from . import creation, elementwise, manipulation, reduction

_SAME = (
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_not",
    "bitwise_or", "bitwise_xor", "ceil", "clone", "cos", "cosh", "digamma", "eq", "erf", "erfc", "exp", "exp2", "expm1",
    "floor", "fmax", "fmin", "fmod", "gcd", "ge", "gt", "hypot", "igamma", "igammac", "isfinite", "item", "le",
    "lgamma", "log", "log10", "log1p", "log2", "lt", "maximum", "minimum", "mul", "ne", "neg", "nextafter", "pow",
    "reciprocal", "remainder", "round", "rsqrt", "sign", "signbit", "sin", "sinh", "sqrt", "sub", "tan", "tanh",
    "trunc", "cat", "reshape",
)  # fmt: skip
"""Primitives that are the operator of ATen of the same name."""
_RENAMED = {
    "bessel_i0": "i0", "bessel_i0e": "special_i0e", "bessel_i1": "special_i1", "bessel_i1e": "special_i1e",
    "bessel_j0": "special_bessel_j0", "bessel_j1": "special_bessel_j1", "erf_inv": "erfinv", "erfcx": "special_erfcx",
    "ndtri": "special_ndtri", "spherical_bessel_j0": "special_spherical_bessel_j0", "zeta": "special_zeta",
    "shift_left": "bitwise_left_shift", "shift_right_arithmetic": "bitwise_right_shift", "where": "where.self",
    "transpose": "permute", "rev": "flip", "squeeze": "squeeze.dims", "view_of": "alias",
    "view_of_dtype": "view.dtype", "conj": "resolve_conj", "conj_physical": "resolve_conj", "fill": "fill.Scalar",
    "as_strided": "as_strided", "as_strided_scatter": "as_strided_scatter", "real": "resolve_conj",
}  # fmt: skip
"""Primitives that are an operator of ATen of another name."""

add_rows((f"prims::{name}", CONVERTERS[name]) for name in _SAME)
add_rows((f"prims::{name}", CONVERTERS[aten]) for name, aten in _RENAMED.items())


def _reduction(
    convert: Callable[..., Expr],
) -> Callable[[Emitter, Expr, Sequence[int] | None, str | None], Expr]:
    def apply(e: Emitter, inp: Expr, dims: Sequence[int] | None, output_dtype: str | None = None) -> Expr:
        return convert(e, inp if output_dtype is None else cast_to(inp, output_dtype), dims)

    return apply


def _product(e: Emitter, x: Expr, dims: Sequence[int] | None) -> Expr:
    return reduction.prod_dim(e, x, dims, dtype=dtype_of(x))


add_rows(
    (f"prims::{name}", _reduction(convert))
    for name, convert in (
        ("amax", reduction.amax),
        ("amin", reduction.amin),
        ("sum", lambda e, x, dims: reduction.sum_dim(e, x, dims, dtype=dtype_of(x))),
        ("prod", _product),
    )
)


@row("prims::var")
def var(
    e: Emitter, inp: Expr, dims: Sequence[int] | None, correction: float | None = 1, *, output_dtype: str | None = None
) -> Expr:
    """Return the variance over dimensions."""
    return reduction.var(e, inp if output_dtype is None else cast_to(inp, output_dtype), dims, correction)


@row("prims::div")
def div(e: Emitter, x: Expr, other: Expr) -> Expr:
    """Return the quotient; of integers rounded towards zero."""
    return elementwise.div(e, x, other, rounding_mode=None if is_float(dtype_of(x)) else "trunc")


@row("prims::cbrt")
@in_single
def cbrt(e: Emitter, x: Expr) -> Expr:
    """Return the cube root, of the sign of x."""
    size = R.power(R.abs(x), const(1 / 3, dtype_of(x)))
    return R.where(R.less(x, const(0, dtype_of(x))), R.negative(size), size)


@row("prims::iota")
def iota(e: Emitter, length: Extent, *, start: Extent, step: Extent, dtype: str, requires_grad: bool = False) -> Expr:
    """Return start, start + step, … , so many."""
    return creation.arange(e, start, start + length * step, step, dtype)


@row("prims::full")
def full(e: Emitter, shape: Sequence[Extent], fill_value: Any, *, dtype: str, requires_grad: bool = False) -> Expr:
    """Return a tensor filled with a value."""
    return creation.filled(e, shape, fill_value, dtype)


@row("prims::full_like")
def full_like(e: Emitter, a: Expr, fill_value: Any, *, dtype: str, requires_grad: bool = False) -> Expr:
    """Return a tensor filled with a value, in the shape of another."""
    return creation.filled(e, shape_of(a), fill_value, dtype)


@row("prims::empty", "prims::empty_permuted", "prims::empty_strided")
def empty(e: Emitter, shape: Sequence[Extent], rest: Any = None, *, dtype: str, requires_grad: bool = False) -> Expr:
    """Return an uninitialized tensor, as zeros."""
    return creation.filled(e, shape, 0, dtype)


@row("prims::copy_strided", "prims::device_put")
def copy(e: Emitter, a: Expr, place: Any = None, non_blocking: bool = False) -> Expr:
    """Return the tensor itself: all are row-major and on one device."""
    return a


@row("prims::collapse", "prims::collapse_view")
def collapse(e: Emitter, a: Expr, start: int, end: int) -> Expr:
    """Merge the dimensions from start to end, inclusive."""
    return manipulation.flatten(e, a, start, end)


@row("prims::split_dim")
def split_dim(e: Emitter, a: Expr, dim: int, outer_length: Extent) -> Expr:
    """Split a dimension in two."""
    return manipulation.unflatten(e, a, dim, [outer_length, -1])


@row("prims::broadcast_in_dim")
def broadcast_in_dim(e: Emitter, a: Expr, shape: Sequence[Extent], broadcast_dimensions: Sequence[int]) -> Expr:
    """Place the dimensions of a tensor among those of `shape` and repeat it along the others."""
    between: list[Extent] = [1] * len(shape)
    for extent, dim in zip(shape_of(a), broadcast_dimensions, strict=True):
        between[dim] = extent
    return R.broadcast_to(e.emit(R.reshape(a, ShapeExpr(between))), ShapeExpr(shape))
