"""Helpers for rules of operator passes: producers of values, and constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.dtypes import is_float, numpy_dtype, ui8
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import SymExpr

Array = np.ndarray[Any, Any]
Dims = tuple[SymExpr, ...]


def producer(value: SSAValue, name: str) -> Operator | None:
    """Return the operator `name` that defines a value, or None if another op does."""
    owner = value.owner
    return owner if isinstance(owner, Operator) and owner.name == f"relax.{name}" else None


def dims_of(value: SSAValue) -> Dims | None:
    """Return the sizes of a floating-point tensor, or None if unknown."""
    t = value.type
    return t.dims if isinstance(t, TensorType) and t.element is not None and is_float(t.element) else None


def used_once(value: SSAValue, name: str) -> Operator | None:
    """Return the operator `name` that defines a value with a single use, or None."""
    return producer(value, name) if value.has_one_use() else None


def both_ways(op: Operator) -> list[tuple[SSAValue, SSAValue]]:
    """Return the operands in both orders."""
    a, b = op.operands
    return [(a, b), (b, a)]


def without_scale(value: SSAValue, once: bool = True) -> tuple[SSAValue, float | None]:
    """Return (x, scale) of a product with, or quotient by, a constant; the scale is None for other constants."""
    for name in ("multiply", "divide"):
        op = used_once(value, name) if once else producer(value, name)
        if op is None:
            continue
        for scaled, other in both_ways(op)[: 2 if name == "multiply" else 1]:
            factor = number(other)
            if factor is not None and dims_of(scaled) == dims_of(value):
                return scaled, factor if name == "multiply" else 1 / factor if factor else None
    return value, 1.0


def number(value: SSAValue) -> float | None:
    """Return the number in a constant of one element, or None."""
    t = value.type
    if not isinstance(t, TensorType) or t.dims is None or any(dim.constant != 1 for dim in t.dims):
        return None
    array = constant_array(value)
    return None if array is None else float(array.item())


def fits_attention(q: Dims, k: Dims, v: Dims) -> bool:
    """Return whether matrices (…, length, size) suit attention: nothing broadcasts, keys match queries and values."""
    same_lead = len(q) == len(k) == len(v) >= 2 and q[:-2] == k[:-2] == v[:-2]
    return same_lead and q[-1] == k[-1] and k[-2] == v[-2]


def constant_array(value: SSAValue) -> Array | None:
    """Return the elements of a constant, also if it is converted, dequantized or transposed.

    None for other values.
    """
    op = value.owner
    if isinstance(op, relax.ConstantOp):
        return op.value.numpy()
    change = _CHANGES.get(op.name) if isinstance(op, Operator) else None
    if change is None:
        return None
    assert isinstance(op, Operator)
    arrays = [array for operand in op.operands if (array := constant_array(operand)) is not None]
    return change(op, *arrays) if len(arrays) == len(op.operands) else None


def bytes_of(value: SSAValue) -> relax.ConstantOp | None:
    """Return the constant byte matrix that is converted to floating point, or None for other values."""
    converted = producer(value, "astype")
    constant = None if converted is None or len(dims_of(value) or ()) != 2 else converted.operands[0].owner
    return constant if isinstance(constant, relax.ConstantOp) and constant.value.data.dtype in (i8, ui8) else None


def _converted(op: Operator, array: Array) -> Array:
    element = cast(TensorType, op.results[0].type).element
    assert element is not None
    return array.astype(numpy_dtype(element))


def _permuted(op: Operator, array: Array) -> Array:
    return array.transpose(op.attr("axes"))


def _difference(_: Operator, array: Array, zero: Array) -> Array:
    return array - zero


def _product(_: Operator, array: Array, scale: Array) -> Array:
    return array * scale


_CHANGES: dict[str, Callable[..., Array]] = {
    "relax.astype": _converted,
    "relax.permute_dims": _permuted,
    "relax.subtract": _difference,
    "relax.multiply": _product,
}
"""Operators that are evaluated on constants; the last two remove a zero point and apply a scale."""
