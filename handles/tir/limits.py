"""The greatest, the least and the infinite value of a dtype."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i1

from ...dialects.dtypes import dtype_name, is_float
from .prim_expr import DTypeLike, PrimExpr, as_type, const, integer_range

_FLOAT_MAX = {"float64": 1.7976931348623157e308, "float32": 3.4028234663852886e38, "float16": 65504.0}

_BFLOAT16_MAX = 3.3895313892515355e38


def max_value(dtype: DTypeLike) -> PrimExpr:
    """Return the greatest finite value of a dtype."""
    element = as_type(dtype)
    if is_float(element):
        return const(_FLOAT_MAX.get(dtype_name(element), _BFLOAT16_MAX), element)
    return const(1, element) if element == i1 else const(integer_range(element)[1], element)


def min_value(dtype: DTypeLike) -> PrimExpr:
    """Return the least finite value of a dtype."""
    element = as_type(dtype)
    if is_float(element):
        return const(-_FLOAT_MAX.get(dtype_name(element), _BFLOAT16_MAX), element)
    return const(0, element) if element == i1 else const(integer_range(element)[0], element)


def infinity(dtype: DTypeLike) -> PrimExpr:
    """Return positive infinity of a floating point dtype."""
    return const(math.inf, dtype)
