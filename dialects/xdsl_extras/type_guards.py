"""Tests for xDSL's generic types that say their parameters, too: after `isinstance` these would be unknown."""

from __future__ import annotations

from typing import Any, TypeGuard

from xdsl.dialects.builtin import IntegerAttr, IntegerType, MemRefType, VectorType
from xdsl.ir import Attribute


def is_vector(type: Attribute) -> TypeGuard[VectorType[Attribute]]:
    """Whether `type` is a vector type."""
    return isinstance(type, VectorType)


def is_memref(type: Attribute) -> TypeGuard[MemRefType[Attribute]]:
    """Whether `type` is a memref type."""
    return isinstance(type, MemRefType)


def is_integer(type: Attribute) -> TypeGuard[IntegerType[int]]:
    """Whether `type` is an integer type (index is none)."""
    return isinstance(type, IntegerType)


def is_integer_attr(value: Attribute | None) -> TypeGuard[IntegerAttr[Any]]:
    """Whether `value` is an integer attribute."""
    return isinstance(value, IntegerAttr)


def element_type(type: Attribute) -> Attribute:
    """The element type of a vector type; any other type itself."""
    return type.element_type if is_vector(type) else type


def with_element(type: Attribute, element: Attribute) -> Attribute:
    """`type` with its element type replaced: a vector of the same shape, or `element` itself for a scalar."""
    return VectorType(element, type.shape) if is_vector(type) else element
