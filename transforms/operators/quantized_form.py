"""Quantization as operators of floats write it out, rounded to the nearest even integer: divided by the scale, as ONNX
has it, or multiplied by its inverse, as PyTorch has it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import SSAValue

from ...dialects.dtypes import numpy_dtype, ui8
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from .rules import number, producer


@dataclass(frozen=True)
class QuantizedForm:
    """What is quantized, its scale and its zero point."""

    x: SSAValue
    scale: float
    zero: float


def quantized_form(op: Operator) -> QuantizedForm | None:
    """What `astype(minimum(maximum(round(x / scale) + zero, least), greatest))` consists of, in float32 to bytes.

    x may be multiplied by a constant as well: `scale` is the inverse of that.

    None where it is something else.
    """
    out = op.results[0].type
    if not isinstance(out, TensorType) or out.element not in (i8, ui8):
        return None
    limits = np.iinfo(numpy_dtype(out.element))
    value: SSAValue | None = op.operands[0]
    for name, limit in (("minimum", limits.max), ("maximum", limits.min)):
        value = _beside(value, name, float(limit))
    if value is None or not isinstance(value.type, TensorType) or value.type.element != f32:
        return None
    shifted, zero = producer(value, "add"), 0.0
    if shifted is not None:
        value, added = shifted.operands
        point = number(added)
        if point is None:
            return None
        zero = point
    rounded = producer(value, "round")
    scaled = None if rounded is None else scaled_by(rounded.operands[0])
    return None if scaled is None else QuantizedForm(scaled[0], 1 / scaled[1], zero)


def scaled_by(value: SSAValue) -> tuple[SSAValue, float] | None:
    """(x, factor): what is divided by a constant, or multiplied by one; None where that is 0, or there is none."""
    for name in ("divide", "multiply"):
        op = producer(value, name)
        factor = None if op is None else number(op.operands[1])
        if op is not None and factor:
            return op.operands[0], 1 / factor if name == "divide" else factor
    return None


def _beside(value: SSAValue | None, name: str, constant: float) -> SSAValue | None:
    """The first operand of the operator `name` that gives a value, where the second one is this constant."""
    op = None if value is None else producer(value, name)
    return op.operands[0] if op is not None and number(op.operands[1]) == constant else None
