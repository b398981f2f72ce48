"""Packed functions that check, split and build shapes at run time, and the codes that control them.

The shapes that a function knows are kept in a heap, an array of int64. Each code is followed by a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from .dtypes import to_dtype
from .errors import ArgumentError, DTypeError, ShapeError
from .ndarray import NDArray, ShapeTuple, array
from .registry import register_func


class MatchShapeCode(IntEnum):
    """The action for an extent; its operand is the number that follows."""

    ASSERT_EQUAL_TO_IMM = 0
    """It must equal the number."""
    STORE_TO_HEAP = 1
    """It is stored at this index of the heap."""
    NO_OP = 2
    """No action."""
    ASSERT_EQUAL_TO_LOAD = 3
    """It must equal the value at this index of the heap."""


class MakeShapeCode(IntEnum):
    """The source of an extent; its operand is the number that follows."""

    USE_IMM = 0
    """It is the number."""
    LOAD_SHAPE = 1
    """It is loaded from this index of the heap."""


@register_func("vm.builtin.alloc_shape_heap")
def alloc_shape_heap(size: int) -> NDArray:
    """Return a heap of `size` values."""
    return array(np.zeros(size, np.int64))


@register_func("vm.builtin.match_shape")
def match_shape(x: Any, heap: Any, ndim: int, *codes: Any) -> None:
    """Match a shape, or that of an array, with `ndim` pairs of a code and a number; a text for errors follows.

    Raises `ShapeError` if one of them fails.
    """
    *pairs, context = codes
    shape = tuple(x.shape) if hasattr(x, "shape") else tuple(x)
    if len(shape) != ndim:
        raise ShapeError(f"{context}a shape has the wrong rank", expected=ndim, found=len(shape))
    for axis, extent in enumerate(shape):
        code, operand = pairs[2 * axis : 2 * axis + 2]
        _match(int(extent), heap, code, operand, f"{context}extent {axis}")


@register_func("vm.builtin.match_prim_value")
def match_prim_value(value: int, heap: Any, code: int, operand: int, context: str) -> None:
    """Match a number. Raises `ShapeError`."""
    _match(int(value), heap, code, operand, f"{context}a value")


def _match(value: int, heap: Any, code: int, operand: int, what: str) -> None:
    if code == MatchShapeCode.STORE_TO_HEAP:
        heap[operand] = value
    elif code != MatchShapeCode.NO_OP:
        expected = operand if code == MatchShapeCode.ASSERT_EQUAL_TO_IMM else int(heap[operand])
        if value != expected:
            raise ShapeError(f"{what} does not match", expected=expected, found=value)


@register_func("vm.builtin.make_shape")
def make_shape(heap: Any, ndim: int, *codes: int) -> ShapeTuple:
    """Return the shape of `ndim` extents, given by a code and a number each."""
    return ShapeTuple([make_prim_value(heap, *codes[2 * i : 2 * i + 2]) for i in range(ndim)])


@register_func("vm.builtin.make_prim_value")
def make_prim_value(heap: Any, code: int, operand: int) -> int:
    """Return the number given by a code and its operand."""
    return operand if code == MakeShapeCode.USE_IMM else int(heap[operand])


@register_func("vm.builtin.check_tensor_info")
def check_tensor_info(x: Any, ndim: int, dtype: Any, context: str) -> None:
    """Check that a value is an array of this rank and dtype; -1 and a void dtype accept any.

    Raises `ArgumentError`, `ShapeError` and `DTypeError`.
    """
    if not hasattr(x, "dtype") or not hasattr(x, "ndim"):
        raise ArgumentError(f"{context}no tensor", expected="a tensor", found=type(x).__name__)
    if ndim not in (-1, x.ndim):
        raise ShapeError(f"{context}a tensor has the wrong rank", expected=ndim, found=x.ndim)
    if dtype not in (None, "void") and to_dtype(x.dtype) != to_dtype(dtype):
        raise DTypeError(f"{context}a tensor has the wrong dtype", expected=str(dtype), found=str(x.dtype))


@register_func("vm.builtin.check_shape_info")
def check_shape_info(x: Any, ndim: int, context: str) -> None:
    """Check that a value is a shape of this rank; -1 accepts any. Raises `ArgumentError` and `ShapeError`."""
    if not isinstance(x, tuple):
        raise ArgumentError(f"{context}no shape", expected="a shape", found=type(x).__name__)
    if ndim not in (-1, len(x)):
        raise ShapeError(f"{context}a shape has the wrong rank", expected=ndim, found=len(x))


@register_func("vm.builtin.check_prim_value_info")
def check_prim_value_info(x: Any, dtype: Any, context: str) -> None:
    """Check that a value is a number of this dtype's kind. Raises `ArgumentError`."""
    kinds = float | np.floating if to_dtype(dtype).kind == "f" else int | np.integer | bool | np.bool_
    if not isinstance(x, kinds):
        raise ArgumentError(f"{context}no number", expected=str(dtype), found=type(x).__name__)


@register_func("vm.builtin.check_tuple_info")
def check_tuple_info(x: Any, size: int, context: str) -> None:
    """Check that a value is a tuple of `size` fields. Raises `ArgumentError`."""
    if not isinstance(x, Sequence) or len(x) != size:
        found = f"{len(x)} fields" if isinstance(x, Sequence) else type(x).__name__
        raise ArgumentError(f"{context}no such tuple", expected=f"a tuple of {size}", found=found)


@register_func("vm.builtin.check_func_info")
def check_func_info(x: Any, context: str) -> None:
    """Check that a value is a function. Raises `ArgumentError`."""
    if not callable(x):
        raise ArgumentError(f"{context}no function", expected="a function", found=type(x).__name__)


@register_func("vm.builtin.tuple_getitem")
def tuple_getitem(x: Sequence[Any], index: int) -> Any:
    """Return a field of a tuple."""
    return x[index]
