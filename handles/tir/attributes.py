"""Attributes of functions, modules and statements as Python values: numbers, strings, arrays, lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute

from ...diagnostics import TiraxError
from ...dialects.attributes import from_attr, to_attr
from ...dialects.dtypes import dtype_of
from ...dialects.relax.data import TensorDataAttr
from ...dialects.tir import TargetAttr
from ...runtime.ndarray import array
from ...target import Target as CPUTarget
from ..target import Target
from .prim_expr import PrimExpr


def attr_of(value: Any) -> Attribute | None:
    """Convert a Python value, an array, a scalar constant, a target, or a list or mapping of them, to an attribute.

    Raises `TiraxError` for anything else.
    """
    if value is None or isinstance(value, Attribute | bool | int | float | str):
        return to_attr(value)
    if isinstance(value, CPUTarget):
        return Target(value).__tirax_script_value__()
    if isinstance(value, list | tuple):
        return to_attr([attr_of(v) for v in cast("Sequence[Any]", value)])
    if isinstance(value, Mapping):
        parts = {k: attr_of(v) for k, v in cast("Mapping[str, Any]", value).items()}
        return DictionaryAttr({k: part for k, part in parts.items() if part is not None})
    if isinstance(value, np.ndarray):
        return TensorDataAttr.from_numpy(value, dtype_of(value.dtype.name))
    if hasattr(value, "item"):
        return to_attr(value.item())
    if isinstance(value, PrimExpr) and value.constant is not None:
        return to_attr(value.constant)
    raise TiraxError("not an attribute", expected="a number, a string, an array or a list of them", found=repr(value))


def value_of(attr: Attribute) -> Any:
    """Return the inverse of `attr_of`; arrays are copies."""
    if isinstance(attr, TensorDataAttr):
        return array(attr.numpy())
    if isinstance(attr, TargetAttr):
        return Target(attr)
    if isinstance(attr, ArrayAttr):
        return [value_of(a) for a in cast("ArrayAttr[Attribute]", attr)]
    return from_attr(attr)
