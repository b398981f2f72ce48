"""Values of lowered programs: numbers, arrays of terms, and memory. Integers have no sign there; terms have.

A value's dtype is that of the operation or buffer that it comes from; an operation that reads it with the other sign
reads numbers anew, and terms as a function of them of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType, VectorType
from xdsl.ir import Attribute

from ...dialects.dtypes import numpy_dtype
from ..elementwise import CONCRETE, compute
from ..terms import NotCoveredError, Terms, is_unknown

Value = Any


def dtype_of(t: Attribute) -> np.dtype[Any]:
    """Return the dtype of a scalar, or of the elements of a vector or memory; an index is an int64."""
    if isinstance(t, VectorType | MemRefType):
        t = t.element_type
    if isinstance(t, IndexType):
        return np.dtype(np.int64)
    if t == IntegerType(1):
        return np.dtype(np.bool_)
    return np.dtype(numpy_dtype(t))


def number(value: Value) -> Any:
    """Return the numbers of a value that are known. Raises `NotCoveredError`."""
    return value.numbers()[()] if isinstance(value, Terms) else value


def signed(value: Value) -> Value:
    return _with_sign(value, "i")


def unsigned(value: Value) -> Value:
    return _with_sign(value, "u")


def _with_sign(value: Value, kind: str) -> Value:
    dtype = value.dtype
    if dtype.kind in ("b", kind):
        return value
    return viewed(value, np.dtype(f"{kind}{dtype.itemsize}"))


def viewed(value: Value, dtype: np.dtype[Any]) -> Value:
    """Return integers as those of another dtype with the same bits."""
    if value.dtype == dtype:
        return value
    if is_unknown(value):
        return value.call(f"bits as {dtype}").as_dtype(dtype)
    return np.asarray(number(value)).astype(dtype)[()]


def alike(values: Sequence[Value]) -> list[Value]:
    """Return integers under the dtype of the first one that is not known; others are returned as they are."""
    if not values or values[0].dtype.kind not in "iu":
        return list(values)
    dtype = next((v.dtype for v in values if is_unknown(v)), values[0].dtype)
    return [viewed(v, dtype) if v.dtype.kind in "iu" and v.dtype.itemsize == dtype.itemsize else v for v in values]


def evaluated(name: str, *values: Value) -> Value:
    """Return an elementwise function of numpy on values."""
    values = tuple(alike(values))
    if any(map(is_unknown, values)):
        return compute(name, *values)
    function = getattr(np, name, None) or CONCRETE[name]
    with np.errstate(all="ignore"):
        return function(*map(number, values))


def stored(value: Value, dtype: np.dtype[Any]) -> Value:
    """Return a value as memory of a dtype holds it: a boolean is a byte, integers have no sign."""
    if value.dtype == dtype:
        return value
    if dtype.kind == "b":
        if is_unknown(value):
            if value.source is None:
                raise NotCoveredError("a byte is stored as a boolean")
            return value.source
        return np.asarray(number(value)).astype(bool)[()]
    if value.dtype.kind in "iu" and dtype.kind in "iu" and value.dtype.itemsize == dtype.itemsize:
        return viewed(value, dtype)
    if value.dtype.kind == "b" and dtype.itemsize == 1:
        return value.astype(dtype)
    raise NotCoveredError(f"{value.dtype} is stored as {dtype}")


class Slots:
    """Memory of 64-bit slots, which may hold addresses: the context of a parallel loop."""

    dtype = np.dtype(np.int64)

    def __init__(self, count: int):
        self.values: list[Any] = [None] * count

    @property
    def shape(self) -> tuple[int]:
        return (len(self.values),)


class Address:
    """The address of memory, as a number."""

    dtype = np.dtype(np.int64)

    def __init__(self, memory: Any):
        self.memory = memory


def place(memory: Any, indices: Sequence[Any], lanes: int = 1) -> tuple[Any, ...]:
    """Return the index of an element, or of lanes from it on. Raises `OutsideError` beyond the memory."""
    at = [int(number(i)) for i in indices]
    last = [*at[:-1], at[-1] + lanes - 1] if at else at
    if any(not 0 <= low <= high < extent for low, high, extent in zip(at, last, memory.shape, strict=True)):
        raise OutsideError(f"the element {at} of memory {list(memory.shape)}")
    return (*at[:-1], slice(at[-1], at[-1] + lanes)) if lanes > 1 and at else tuple(at)


class OutsideError(Exception):
    """An access outside of memory."""
