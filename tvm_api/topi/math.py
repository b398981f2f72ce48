"""Elementwise operators."""

from __future__ import annotations

from typing import Any

from ... import topi as _topi
from ...dialects import tir
from ...dialects.dtypes import dtype_of
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr
from ...te.broadcast import broadcasting as _broadcasting
from ...te.functions import atan2 as _atan2
from ...te.functions import logaddexp as _logaddexp
from ...te.tensor import Tensor, compute
from ...topi import broadcast as _broadcast
from ...topi import elementwise as _elementwise
from ...topi.broadcast import *  # noqa: F403
from ...topi.elementwise import *  # noqa: F403  # pyright: ignore[reportAssignmentType]  # three stand below
from ...topi.fast_math import fast_erf, fast_exp, fast_tanh
from ...topi.tvm_forms import floor_divide, floor_mod  # noqa: F401  # instead of those of broadcast

atan2 = _broadcasting("atan2", _atan2)
log_add_exp = _broadcasting("log_add_exp", _logaddexp)


def cast(x: Tensor | PrimExpr, dtype: str, span: object = None) -> Any:
    """Convert `x`, a tensor or a scalar, to `dtype`."""
    return _topi.cast(x, dtype) if isinstance(x, Tensor) else tx.cast(dtype, x)


def logical_not(data: Tensor) -> Tensor:
    """Return the elementwise logical negation."""
    return _topi.logical_not(data)


def bitwise_not(data: Tensor) -> Tensor:
    """Return the elementwise ~data."""
    return _topi.bitwise_not(data)


def reinterpret(x: Tensor, dtype: str) -> Tensor:
    """Reinterpret the bits of `x` as `dtype` of the same width."""
    return compute(
        x.dims, lambda *i: PrimExpr(tir.ReinterpretOp(x(*i).value, dtype_of(dtype)).result), "compute", "elemwise"
    )


def ceil_log2(x: Tensor) -> Tensor:
    """Return the smallest k with x <= 2**k, in the dtype of `x`."""
    return _topi.cast(_topi.ceil(_topi.log2(_topi.cast(x, "float64"))), x.type)


def elemwise_sum(xs: list[Tensor]) -> Tensor:
    """Return the sum of tensors of one shape."""
    return _topi.elemwise_sum(xs)


def const_vector(vector: Any, name: str = "const_vector") -> Tensor:
    """Return a tensor with the values of a numpy array."""
    return _topi.const_vector(vector, name)


def fixed_point_multiply(x: Tensor, multiplier: int, shift: int) -> Tensor:
    """Return x * multiplier * 2**(-31 - shift) of 32-bit integers, rounded."""
    return _elementwise.fixed_point_multiply(x, multiplier, shift)


def fixed_point_multiply_per_axis(
    x: Tensor,
    y: Tensor,
    lshift: Tensor,
    rshift: Tensor,
    is_lshift_required: int,
    is_rshift_required: int,
    axes: Any,
) -> Tensor:
    """Return x * 2**lshift * y * 2**(-rshift - 31), rounded, with multipliers and shifts indexed by `axes`."""
    required = (bool(int(is_lshift_required)), bool(int(is_rshift_required)))
    return _elementwise.fixed_point_multiply_per_axis(x, y, lshift, rshift, required, [int(a) for a in axes])


__all__ = [
    "atan2", "ceil_log2", "const_vector", "fast_erf", "fast_exp", "fast_tanh", "fixed_point_multiply",
    "fixed_point_multiply_per_axis", "log_add_exp", "reinterpret",
]  # fmt: skip
__all__ += [*_broadcast.__all__, *_elementwise.__all__]
