"""`tvm.topi.utils`: constants out of expressions, paddings as tuples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...handles.tir.prim_expr import PrimExpr
from .layouts import pad_pairs
from .math import const_vector


def get_const_int(expr: Any) -> int:
    """A Python integer. Raises `TiraxError` for a symbolic expression."""
    return int(expr)


def equal_const_int(expr: Any, value: int) -> bool:
    """Whether an expression is this constant."""
    known = expr.constant if isinstance(expr, PrimExpr) else expr
    return known is not None and int(known) == value


def get_const_tuple(in_tuple: Sequence[Any]) -> tuple[Any, ...]:
    """Constants as Python integers, symbolic expressions as they are."""
    return tuple(e if isinstance(e, PrimExpr) and e.constant is None else int(e) for e in in_tuple)


def get_pad_tuple_generic(padding: Any, kernel: Sequence[int]) -> tuple[int, ...]:
    """The padding before each dimension, then that after each, of windows of extents `kernel`."""
    pairs = pad_pairs(padding, [int(k) for k in kernel])
    return (*(b for b, _ in pairs), *(a for _, a in pairs))


def get_pad_tuple(padding: Any, kernel: Sequence[int]) -> tuple[int, ...]:
    """(top, left, bottom, right)"""
    return get_pad_tuple_generic(padding, kernel)


def get_pad_tuple1d(padding: Any, kernel: Any) -> tuple[int, ...]:
    """(left, right)"""
    return get_pad_tuple_generic(padding, kernel if isinstance(kernel, list | tuple) else [kernel])


def get_pad_tuple3d(padding: Any, kernel: Sequence[int]) -> tuple[int, ...]:
    """(front, top, left, back, bottom, right)"""
    return get_pad_tuple_generic(padding, kernel)


__all__ = [
    "const_vector",
    "equal_const_int",
    "get_const_int",
    "get_const_tuple",
    "get_pad_tuple",
    "get_pad_tuple1d",
    "get_pad_tuple3d",
    "get_pad_tuple_generic",
]
