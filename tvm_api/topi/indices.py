"""Numbers, indices and shapes of `tvm.topi.utils`, as expressions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import Any

from ...handles.target import Target
from ...handles.tir.prim_expr import PrimExpr
from .. import arith, tir


def prod(x: Sequence[Any]) -> Any:
    """Return the product of extents; of none, the constant 1."""
    return reduce(mul, x) if x else tir.const(1, "int32")


def ceil_div(a: Any, b: Any) -> Any:
    """Return `a / b` rounded up, of numbers that are not negative."""
    return tir.indexdiv(a + (b - 1), b)


def simplify(expr: Any) -> Any:
    """Return the simplified expression; a number unchanged."""
    return arith.Analyzer().simplify(expr) if isinstance(expr, PrimExpr) else expr


def get_const_float(expr: Any) -> float:
    """Return the number that an expression of floats simplifies to. Raises `ValueError` for anything else."""
    if isinstance(expr, float):
        return expr
    known = simplify(expr)
    if not isinstance(known, tir.FloatImm):
        raise ValueError(f"expected a constant of floats, found {expr}")
    return float(known.value)


def get_float_tuple(in_tuple: Sequence[Any]) -> tuple[float, ...]:
    """Return the numbers that expressions of floats simplify to."""
    return tuple(map(get_const_float, in_tuple))


def ravel_index(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """Return the place in row-major order of an element of a tensor, None without dimensions."""
    place = None
    for index, extent in zip(indices, shape, strict=False):
        place = index if place is None else place * extent + index
    return place


def unravel_index(idx: Any, shape: Sequence[Any]) -> list[Any]:
    """Return the indices of the element at a place in row-major order, which is within the tensor."""
    indices: list[Any] = []
    for extent in reversed(shape):
        if isinstance(extent, int) and extent == 0:
            indices.insert(0, 0)
        elif len(indices) == len(shape) - 1:
            indices.insert(0, idx)
        else:
            indices.insert(0, tir.indexmod(idx, extent))
            idx = tir.indexdiv(idx, extent)
    return indices


def get_max_power2_factor(n: int, max_value: int | None = None) -> int:
    """Return the greatest power of 2 that divides `n` and is at most `max_value`."""
    factor = 1
    while n and n % (2 * factor) == 0 and (max_value is None or 2 * factor <= max_value):
        factor *= 2
    return factor


def is_empty_shape(shape: Sequence[Any]) -> bool:
    """Return whether an extent is known to be 0."""
    extents = (e.constant if isinstance(e, PrimExpr) else e for e in shape)
    return any(extent is not None and int(extent) == 0 for extent in extents)


def swap(arr: list[Any], axis: int) -> list[Any]:
    """Return the list with the last element and that at `axis`, which comes before it, in each other's place."""
    return [*arr[:axis], arr[-1], *arr[axis + 1 : -1], arr[axis]]


def is_target(names: str | Sequence[str]) -> bool:
    """Return whether one of the names is a key of the current target. Raises `ValueError` without a target."""
    target: Any = Target.current(allow_none=False)
    return any(name in target.keys for name in ([names] if isinstance(names, str) else names))


__all__ = [
    "ceil_div",
    "get_const_float",
    "get_float_tuple",
    "get_max_power2_factor",
    "is_empty_shape",
    "is_target",
    "prod",
    "ravel_index",
    "simplify",
    "swap",
    "unravel_index",
]
