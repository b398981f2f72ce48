"""Floats that are converted to bytes and back stay floats, as for a sum that is quantized before an addition.

    float(int32(uint8(x)) - int32(p))    ->    trunc(x) - float(int32(p))        0 <= x <= 255, p a byte

Both forms are exact; trunc returns -0 between -1 and 0. The byte of a NaN is unspecified: here it stays a NaN.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute, SSAValue

from ....dialects import tir
from ....dialects.dtypes import ui8
from ...rewrite import before
from ..analysis.stages import Stage, tree

_RANGES: dict[Attribute, tuple[int, int]] = {ui8: (0, 255), i8: (-128, 127)}


def fold_requantize(stage: Stage) -> None:
    """Remove conversions of floats to bytes and back from a stage."""
    for op in tree(stage.store.value):
        if not isinstance(op, tir.CastOp) or op.result.type != f32 or op.value.type != i32:
            continue
        number, less = op.value, None
        if isinstance(number.owner, tir.SubOp):
            number, less = number.owner.lhs, number.owner.rhs
        bounded = _bounded(number)
        if bounded is None or not (less is None or _is_byte(less)):
            continue
        insert = before(op)
        value = tir.CallIntrinOp("trunc", [bounded], f32)
        insert(value)
        if less is not None:
            insert(zero := tir.CastOp(less, f32))
            insert(value := tir.SubOp(value.result, zero.result))
        op.result.replace_all_uses_with(value.results[0])


def _bounded(number: SSAValue) -> SSAValue | None:
    """Return the float that an int32 was converted from via a byte, if it was clamped to the byte's range."""
    byte = number.owner.value if isinstance(number.owner, tir.CastOp) else None
    if byte is None or byte.type not in _RANGES or not isinstance(byte.owner, tir.CastOp):
        return None
    value = byte.owner.value
    return value if value.type == f32 and _is_within(value, *_RANGES[byte.type]) else None


def _is_within(value: SSAValue, low: int, high: int) -> bool:
    """Return whether a value is clamped, by a maximum and a minimum in either order, to numbers from `low` to
    `high`.
    """
    outer = value.owner
    inner = outer.lhs.owner if isinstance(outer, tir.MinOp | tir.MaxOp) else None
    if not isinstance(outer, tir.MinOp | tir.MaxOp) or not isinstance(inner, tir.MinOp | tir.MaxOp):
        return False
    bounds = [_constant(op.rhs) for op in (outer, inner)]
    return type(outer) is not type(inner) and all(bound is not None and low <= bound <= high for bound in bounds)


def _constant(value: SSAValue) -> float | None:
    return float(value.owner.py_value) if isinstance(value.owner, tir.ConstOp) else None


def _is_byte(value: SSAValue) -> bool:
    return isinstance(value.owner, tir.CastOp) and value.owner.value.type in _RANGES
