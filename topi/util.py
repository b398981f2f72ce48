"""Helpers shared by the operators."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute

from ..diagnostics import ShapeError
from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir.prim_expr import PrimExpr, const, from_sym
from ..te.axis import shape_dims
from ..te.broadcast import Indices, over_axes, zero_like
from ..te.tensor import Tensor

Scalar = bool | int | float | PrimExpr


def wide_type(dtype: Attribute) -> Attribute:
    """Return the accumulator type of sums: float32 for half precision."""
    return f32 if dtype in (f16, bf16) else dtype


def affine(value: PrimExpr, gamma: PrimExpr | None, beta: PrimExpr | None, dtype: Attribute) -> PrimExpr:
    """Return value * gamma + beta in the type of `value`, rounded to `dtype`; an operand that is None is left out."""
    out = value if gamma is None else value * gamma.astype(value.type)
    return (out if beta is None else out + beta.astype(value.type)).astype(dtype)


def normalize_axis(axis: int, rank: int) -> int:
    """Return `axis` counted from the front. Raises `ShapeError` if it is out of range."""
    if not -rank <= axis < rank:
        raise ShapeError("the axis is out of range", expected=f"from {-rank} to {rank - 1}", found=axis)
    return axis % rank if rank else 0


def normalize_axes(axes: int | Sequence[int] | None, rank: int) -> list[int]:
    """Return sorted axes counted from the front; None selects all of them."""
    if axes is None:
        return list(range(rank))
    return sorted(normalize_axis(int(a), rank) for a in ([axes] if isinstance(axes, int) else axes))


def scalar(value: Scalar, like: Tensor) -> PrimExpr:
    """Return a number as a constant of the tensor's dtype."""
    return value if isinstance(value, PrimExpr) else const(value, like.type)


def divisor(extent: SymExpr) -> PrimExpr:
    """Return the divisor of indices for `extent` elements: 1 for an empty dimension, which has no indices."""
    return from_sym(extent) if extent.constant != 0 else const(1, extent.dtype)


def unit_like(dims: Sequence[SymExpr]) -> SymExpr:
    """Return the extent 1 in the dtype of `dims`."""
    return Const(1, dims[0].dtype) if dims else Const(1)


__all__ = [
    "Indices",
    "Scalar",
    "affine",
    "divisor",
    "normalize_axes",
    "normalize_axis",
    "over_axes",
    "scalar",
    "shape_dims",
    "unit_like",
    "zero_like",
]
