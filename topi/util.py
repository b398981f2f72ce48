"""What the operators share."""

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
    """What sums are computed in: half precision sums in single."""
    return f32 if dtype in (f16, bf16) else dtype


def affine(value: PrimExpr, gamma: PrimExpr | None, beta: PrimExpr | None, dtype: Attribute) -> PrimExpr:
    """value * gamma + beta in the type of `value`, rounded to `dtype`. None is left out."""
    out = value if gamma is None else value * gamma.astype(value.type)
    return (out if beta is None else out + beta.astype(value.type)).astype(dtype)


def normalize_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front. Raises `ShapeError` where it is out of range."""
    if not -rank <= axis < rank:
        raise ShapeError("the axis is out of range", expected=f"from {-rank} to {rank - 1}", found=axis)
    return axis % rank if rank else 0


def normalize_axes(axes: int | Sequence[int] | None, rank: int) -> list[int]:
    """Sorted axes counted from the front, all of them for None."""
    if axes is None:
        return list(range(rank))
    return sorted(normalize_axis(int(a), rank) for a in ([axes] if isinstance(axes, int) else axes))


def scalar(value: Scalar, like: Tensor) -> PrimExpr:
    """A number as a constant of the tensor's dtype."""
    return value if isinstance(value, PrimExpr) else const(value, like.type)


def divisor(extent: SymExpr) -> PrimExpr:
    """What indices of `extent` elements are divided by: 1 where there are none, for then no index is."""
    return from_sym(extent) if extent.constant != 0 else const(1, extent.dtype)


def unit_like(dims: Sequence[SymExpr]) -> SymExpr:
    """The extent 1 of the dtype of `dims`."""
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
