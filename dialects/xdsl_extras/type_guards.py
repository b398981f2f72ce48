"""Tests for xDSL's generic types that say their parameters, too: after `isinstance` these would be unknown.

Their classes are final, and `isinstance` asks Python code where it is false.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeGuard

from xdsl.dialects.builtin import ArrayAttr, IntAttr, IntegerAttr, IntegerType, MemRefType, VectorType
from xdsl.ir import Attribute


def is_vector(t: Attribute) -> TypeGuard[VectorType[Attribute]]:
    """Whether `t` is a vector type."""
    return type(t) is VectorType


def is_memref(t: Attribute) -> TypeGuard[MemRefType[Attribute]]:
    """Whether `t` is a memref type."""
    return type(t) is MemRefType


def is_integer(t: Attribute) -> TypeGuard[IntegerType[int]]:
    """Whether `t` is an integer type (index is none)."""
    return type(t) is IntegerType


def is_integer_attr(value: Attribute | None) -> TypeGuard[IntegerAttr[Any]]:
    """Whether `value` is an integer attribute."""
    return type(value) is IntegerAttr


def element_type(type: Attribute) -> Attribute:
    """The element type of a vector type; any other type itself."""
    return type.element_type if is_vector(type) else type


def with_element(type: Attribute, element: Attribute) -> Attribute:
    """`type` with its element type replaced: a vector of the same shape, or `element` itself for a scalar."""
    return _vector(element, type.shape) if is_vector(type) else element


@lru_cache(maxsize=1024)
def _vector(element: Attribute, shape: ArrayAttr[IntAttr]) -> VectorType[Attribute]:
    return VectorType(element, shape)
