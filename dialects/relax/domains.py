"""The data types that operators are defined on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute

from ..dtypes import is_float


@dataclass(frozen=True)
class Domain:
    """Some of the data types, and how a diagnostic calls them."""

    text: str
    examples: str
    holds: Callable[[Attribute], bool]


NUMBERS = Domain("a numeric type", "float32, int64, …", lambda t: t != i1)
FLOATS = Domain("a floating point type", "float16, float32, …", is_float)
INTEGERS = Domain("an integer type", "int32, int64, …", lambda t: isinstance(t, IntegerType) and t != i1)
INTEGERS_AND_BOOL = Domain("an integer type or bool", "int32, bool, …", lambda t: isinstance(t, IntegerType))
BOOL = Domain("the type bool", "bool", lambda t: t == i1)

_MOVES = (
    "astype wrap_param permute_dims reshape flatten broadcast_to expand_dims squeeze concat split stack repeat tile "
    "flip take strided_slice dynamic_strided_slice gather_elements gather_nd index_tensor slice_scatter where "
    "layout_transform zeros_like ones_like full_like full shape_of to_vdevice hint_on_device print memory.view "
    "memory.ensure_zero_offset memory.kill_tensor vm.kill_object"
)
MOVES = frozenset(f"relax.{name}" for name in _MOVES.split())
"""Operators that only move and convert elements: they take the data types that nothing is computed with, too."""
