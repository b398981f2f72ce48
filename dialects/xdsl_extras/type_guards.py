"""Type guards for xDSL's generic types that also state their parameters: after `isinstance` these would be unknown.

Their classes are final; `isinstance` would run Python code when it is false.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeGuard

from xdsl.dialects.builtin import ArrayAttr, IntAttr, IntegerAttr, IntegerType, MemRefType, VectorType
from xdsl.ir import Attribute


def is_vector(t: Attribute) -> TypeGuard[VectorType[Attribute]]:
    """Return whether `t` is a vector type."""
    return type(t) is VectorType


def is_memref(t: Attribute) -> TypeGuard[MemRefType[Attribute]]:
    """Return whether `t` is a memref type."""
    return type(t) is MemRefType


def is_integer(t: Attribute) -> TypeGuard[IntegerType[int]]:
    """Return whether `t` is an integer type (index is not one)."""
    return type(t) is IntegerType


def is_integer_attr(value: Attribute | None) -> TypeGuard[IntegerAttr[Any]]:
    """Return whether `value` is an integer attribute."""
    return type(value) is IntegerAttr


def element_type(type: Attribute) -> Attribute:
    """Return the element type of a vector type; any other type itself."""
    return type.element_type if is_vector(type) else type


def with_element(type: Attribute, element: Attribute) -> Attribute:
    """Return `type` with its element type replaced: a vector of the same shape, or `element` itself for a scalar."""
    return _vector(element, type.shape) if is_vector(type) else element


@lru_cache(maxsize=1024)
def _vector(element: Attribute, shape: ArrayAttr[IntAttr]) -> VectorType[Attribute]:
    return VectorType(element, shape)
